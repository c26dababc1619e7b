// Middlewares, by the shapes that their frameworks call them with. packages.test.mjs has the
// frameworks themselves.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as weir from "@weir/limiter";

const { CountingStore, Limiter, limitExpress, limitFastify, limitFetch, limitHono } = weir;

const DENIAL = { error: "Too Many Requests", errorCode: 429 };
const START = 1_763_836_000_000;
const twoAMinute = () => new Limiter({ limit: 2, window: "1m", clock: () => START });

test("fetch: passes, tells, denies", async () => {
  const key = (request) => request.headers.get("x-user");
  const handler = limitFetch({ limiter: twoAMinute(), key, policy: "api" },
                             (request, suffix) => new Response(request.method + suffix));
  const ask = (headers) => handler(new Request("http://a/", { headers }), "!");
  const first = await ask({ "x-user": "u" });
  assert.equal(await first.text(), "GET!");
  assert.equal(first.headers.get("ratelimit"), '"api";r=1;t=80');
  await ask({ "x-user": "u" });
  const denied = await ask({ "x-user": "u" });
  assert.equal(`${denied.status} ${denied.statusText}`, "429 Too Many Requests");
  assert.equal(denied.headers.get("retry-after"), "50");
  assert.deepEqual(await denied.json(), DENIAL);
});

test("fetch: what a handler answers to a WebSocket stays as it is", async () => {
  const upgrade = { status: 101, body: null, headers: new Headers() };
  for (const answer of [upgrade, undefined, Response.error()]) {
    const handler = limitFetch({ limiter: twoAMinute(), key: () => "k" }, () => answer);
    assert.equal(await handler(new Request("http://a/")), answer);
  }
});

test("fetch: the options say which fields there are", async () => {
  const style = { headers: "draft-7", xHeaders: ["limit"] };
  const handler = limitFetch({ limiter: twoAMinute(), key: () => "k", ...style },
                             () => new Response());
  const { headers } = await handler(new Request("http://a/"));
  assert.equal(headers.get("ratelimit"), "limit=2, remaining=1, reset=80");
  assert.deepEqual([headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-reset")],
                   ["2", null]);
});

function expressReply() {
  return {
    statusCode: 200, fields: {}, text: undefined,
    setHeader(name, value) { this.fields[name] = value; },
    end(text) { this.text = text; },
  };
}

test("express: by the client's address, an error goes to next", async () => {
  const middleware = limitExpress({ limiter: twoAMinute() });
  let passed = 0;
  for (let i = 0; i < 2; ++i) await middleware({ ip: "192.0.2.1" }, expressReply(), () => ++passed);
  const reply = expressReply();
  await middleware({ ip: "192.0.2.1" }, reply, () => ++passed);
  assert.equal(passed, 2);
  assert.deepEqual([reply.statusCode, JSON.parse(reply.text)], [429, DENIAL]);
  assert.equal(reply.fields["Retry-After"], "50");

  const errors = [];
  const broken = limitExpress({ limiter: twoAMinute(), cost: () => 0.5 });
  await broken({ ip: "192.0.2.1" }, expressReply(), (error) => errors.push(error));
  assert.match(String(errors[0]), /RangeError: cost/);
});

test("hono: a denial is a response, else next", async () => {
  const middleware = limitHono({ limiter: twoAMinute(), key: () => "k" });
  const fields = {};
  const context = {
    header: (name, value) => (fields[name] = value),
    body: (text, status) => new Response(text, { status }),
  };
  let passed = 0;
  const results = [];
  for (let i = 0; i < 3; ++i) results.push(await middleware(context, async () => void ++passed));
  assert.equal(passed, 2);
  assert.deepEqual([results[0], results[2].status], [undefined, 429]);
  assert.equal(fields["X-RateLimit-Remaining"], "0");
});

test("fastify: a hook that answers", async () => {
  const hook = limitFastify({ limiter: twoAMinute(), cost: () => 2 });
  const reply = {
    code(status) { this.status = status; return this; },
    headers(fields) { this.fields = fields; return this; },
    type() { return this; },
    send(text) { this.text = text; return this; },
  };
  assert.equal(await hook({ ip: "a" }, reply), undefined);
  assert.equal(await hook({ ip: "a" }, reply), reply);
  assert.deepEqual([reply.status, JSON.parse(reply.text)], [429, DENIAL]);
});

// What each middleware answers: the statuses of requests with these values of `x-user`.
function replyTo(statuses) {
  return {
    set statusCode(status) { statuses.push(status); },
    code(status) { statuses.push(status); return this; },
    setHeader() {}, end() {}, type() { return this; }, headers() { return this; },
    send() { return this; },
  };
}
const header = ({ headers }) => headers["x-user"];
const MIDDLEWARES = {
  async fetch(limiter, cost, users) {
    const key = (request) => request.headers.get("x-user");
    const handler = limitFetch({ limiter, key, cost }, () => new Response());
    const asked = users.map((user) => handler({ headers: { get: () => user } }));
    return (await Promise.all(asked)).map(({ status }) => status);
  },
  async express(limiter, cost, users) {
    const pass = limitExpress({ limiter, key: header, cost });
    const statuses = [];
    const next = (error) => error ? assert.fail(error) : statuses.push(200);
    for (const user of users) {
      await pass({ headers: { "x-user": user } }, replyTo(statuses), next);
    }
    return statuses;
  },
  async hono(limiter, cost, users) {
    const pass = limitHono({ limiter, key: (context) => context.req.header("x-user"), cost });
    const statuses = [];
    for (const user of users) {
      const context = { req: { header: () => user }, header() {},
                        body: (text, status) => void statuses.push(status) };
      await pass(context, async () => void statuses.push(200));
    }
    return statuses;
  },
  async fastify(limiter, cost, users) {
    const hook = limitFastify({ limiter, key: header, cost });
    const statuses = [];
    for (const user of users) {
      const reply = replyTo(statuses);
      const answer = await hook({ headers: { "x-user": user } }, reply);
      if (answer === undefined) statuses.push(200);
    }
    return statuses;
  },
};

for (const [name, statusesOf] of Object.entries(MIDDLEWARES)) {
  test(`${name}: all who have no key share one`, async () => {
    const users = [undefined, null, "", undefined, "u", "u", null, "u"];
    const wanted = [200, 200, 429, 429, 200, 200, 429, 429];
    assert.deepEqual(await statusesOf(twoAMinute(), undefined, users), wanted);
  });

  test(`${name}: a key or a cost that is none passes nobody`, async () => {
    const limiter = twoAMinute();
    for (const user of [7, NaN, 5n, Symbol("u"), ["u"], { u: 1 }, true, Promise.resolve("u")]) {
      await assert.rejects(statusesOf(limiter, undefined, [user]), /TypeError: key must be/);
    }
    for (const cost of [-1, -1e12, NaN, Infinity, -Infinity, 0.5, 1e13, "1", 1n, {}]) {
      await assert.rejects(statusesOf(limiter, () => cost, ["u"]), /RangeError: cost must be/);
    }
    assert.deepEqual(await statusesOf(limiter, () => 0, ["u", "u", "u"]), [200, 200, 200]);
    assert.deepEqual(await statusesOf(limiter, () => null, ["u", "u", "u"]), [200, 200, 429]);
  });
}

function countingStore(options) {
  const time = { now: START };
  const store = new CountingStore({ clock: () => time.now, ...options });
  store.init({ windowMs: 60_000 });
  return [store, time];
}

for (const [windows, begins] of [[undefined, START], ["first_hit", START],
                                 ["aligned", START - 40_000]]) {
  test(`a store for express-rate-limit: counts, in windows ${windows}`, async () => {
    const [store, time] = countingStore({ windows });
    const resetTime = new Date(begins + 60_000);
    assert.deepEqual(await store.increment("k"), { totalHits: 1, resetTime });
    time.now += 19_999;
    assert.deepEqual(await store.increment("k"), { totalHits: 2, resetTime });
    await store.decrement("k");
    assert.deepEqual(await store.get("k"), { totalHits: 1, resetTime });
    await store.resetKey("k");
    assert.equal((await store.get("k")).totalHits, 0);
    assert.equal((await store.increment("k")).totalHits, 1);
    assert.equal((await store.increment("__proto__")).totalHits, 1);
    await store.resetAll();
    assert.equal((await store.get("k")).totalHits, 0);
    assert.equal((await store.increment("__proto__")).totalHits, 1);
    assert.equal(store.localKeys, true);
  });
}

test("a window of a key's own ends after its length, and never later", async () => {
  const [store, time] = countingStore({});
  const countAt = async (after) => {
    time.now = START + after;
    const { totalHits, resetTime } = await store.increment("k");
    return [totalHits, resetTime - START];
  };
  assert.deepEqual(await countAt(0), [1, 60_000]);
  assert.deepEqual(await countAt(59_999), [2, 60_000]);
  assert.deepEqual(await countAt(60_000), [1, 120_000]);
  assert.deepEqual(await countAt(300_500), [1, 360_500]);
  assert.deepEqual(await countAt(-3_600_000), [2, -3_540_000], "the clock steps back");
  time.now = START;
  await store.decrement("k");
  assert.equal((await store.increment("k")).totalHits, 1, "none of a past window comes back");
});

test("windows of keys' own are bounded, and the oldest makes room", async () => {
  const [store, time] = countingStore({ maxKeys: 1024 });
  for (let i = 0; i < 1025; ++i, ++time.now) await store.increment(`k${i}`);
  assert.equal((await store.get("k0")).totalHits, 0);
  assert.equal((await store.get("k1")).totalHits, 1);
  time.now += 60_000;
  await store.increment("fresh");
  assert.equal((await store.get("k1024")).totalHits, 0);
});

test("counts in a store: its windows are aligned, and nobody forgets them all", async () => {
  const options = { store: twoAMinute().store };
  const [store] = countingStore(options);
  assert.deepEqual([store.localKeys, store.resetAll], [false, undefined]);
  assert.equal((await store.increment("k")).resetTime - START, 20_000);
  new CountingStore({ ...options, windows: "aligned" });
  for (const windows of ["first_hit", "rolling"]) {
    assert.throws(() => new CountingStore({ ...options, windows }), /^RangeError: windows must be/);
  }
});
