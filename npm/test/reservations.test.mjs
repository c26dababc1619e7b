// Reservations and slots: what a node holds for a program while its work is under way.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  DurableStore, headers, KvStore, Limiter, RedisStore, RemoteStore, Reservation,
} from "@weir/limiter";
import { folderOf, start, startNode, startRedis, until } from "./world.mjs";

const QUOTA = { limit: 1000, window: "1h" };
const PATIENT = { onFailure: "throw", deadline: 20_000 };
const RULES = `
rules:
  - {id: tokens, limit: 100, window: 1h, max_holds: 2, allow: [vip]}
  - {id: refunds, limit: 100, window: 1h, max_holds: 2, lapse: refund}
  - {id: plain, limit: 100, window: 1h}
  - {id: exports, of: concurrency, limit: 2}
`;

const nodeOf = (t, ...words) => nodeBy(t, RULES, ...words);
async function nodeBy(t, rules, ...words) {
  const file = join(folderOf(t), "weir.yaml");
  writeFileSync(file, rules);
  return startNode(t, "--config", file, "--threads", "2", ...words);
}
const limiterOf = (url, options = {}) =>
  new Limiter(QUOTA, new RemoteStore({ url, ...PATIENT, ...options }));

// The units that a rule, or a quota, has left next to holds. An estimate that never fits says them.
async function leftOf(limiter, key, rule) {
  const { allowed, remaining } = await limiter.reserve("b", key, {
    cost: rule ? 101 : 1001, hold: "1s", rule });
  assert.equal(allowed, false);
  return remaining;
}

test("an estimate is held, and the cost that is known afterwards is charged", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const held = await limiter.reserve("b", "k", { cost: 700, hold: "1m" });
  assert.ok(held instanceof Reservation);
  assert.deepEqual([held.allowed, held.remaining, held.retryAfter, held.limit],
                   [true, 300, 0, 1000]);
  assert.match(held.token, /^[0-9a-f]{32}$/);
  assert.equal(headers(held, limiter.quota)["X-RateLimit-Remaining"], "300", "it is a decision");
  const slot = await limiter.acquire("b", "k", { hold: 1, limit: 1 });
  assert.throws(() => headers(slot, limiter.quota), /^RangeError: decision must be what hit/);
  assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(held))).sort(),
                   ["allowed", "limit", "moreAfter", "remaining", "resetAfter", "retryAfter"],
                   "its token, and the store's headers, go to nobody");

  const denied = await limiter.reserve("b", "k", { cost: 301, hold: 60 });
  assert.deepEqual([denied.allowed, denied.remaining, denied.token], [false, 300, undefined]);
  assert.ok(denied.retryAfter > 60 && denied.retryAfter <= 7200, String(denied.retryAfter));
  assert.equal(await denied.commit(5), false, "nothing was held");

  assert.equal(await held.commit(120), true);
  assert.equal(await leftOf(limiter, "k"), 880);
  assert.equal(await held.commit(120), false, "twice does nothing, and says so");
  assert.equal(await limiter.store.commit(held.token, 120), false, "and so does the node");
  assert.equal(await leftOf(limiter, "k"), 880);
  assert.equal((await limiter.hit("b", "k")).remaining, 999, "hits are counted apart");

  const more = await limiter.reserve("b", "k", { cost: 800, hold: "1m" });
  assert.equal(await more.commit(1500), true, "a cost above the estimate and the limit");
  assert.equal(await leftOf(limiter, "k"), 0);
});

test("in parts: the last one counts, and a hold grows with them", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const held = await limiter.reserve("b", "k", { cost: 100, hold: "1m" });
  assert.equal(await held.report(50), true);
  assert.equal(await leftOf(limiter, "k"), 900, "the estimate is held on");
  assert.equal(await held.report(400), true);
  assert.equal(await leftOf(limiter, "k"), 600);
  assert.equal(await held.commit(250), true);
  assert.equal(await leftOf(limiter, "k"), 750);
  assert.equal(await held.report(900), false);
  assert.equal(await leftOf(limiter, "k"), 750);
});

test("HTTP's word for a part is no option: it would commit for good", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const held = await limiter.reserve("b", "k", { cost: 300, hold: "1m" });
  for (const name of ["commit", "report"]) {
    for (const [options, said] of [[{ more: true }, '"more"'], [null, "null"], [5, "5"]]) {
      const refused = { name: "TypeError", message: new RegExp(`no option ${said}; report\\(\\)`) };
      await assert.rejects(held[name](100, options), refused);
      await assert.rejects(limiter.store[name](held.token, 100, options), refused);
    }
  }
  assert.equal(await leftOf(limiter, "k"), 700, "nothing is told, and the hold stays");
  assert.equal(await held.commit(250, {}), true);
  assert.equal(await leftOf(limiter, "k"), 750);
});

test("what is over is said once, and asks nobody any more", async () => {
  const answers = {
    "/v1/reserve": [200, { allowed: true, remaining: 1, retry_after: 0, limit: 5, token: "t" }],
    "/v1/commit": [200, { charged: true }],
  };
  answers["/v1/acquire"] = answers["/v1/reserve"];
  answers["/v1/release"] = [200, { released: true }];
  let asked = [];
  const fetch = async (url, { body }) => {
    const path = new URL(url).pathname;
    asked.push(JSON.parse(body).more ? `${path} more` : path);
    const [status, answer] = answers[path];
    return new Response(JSON.stringify(answer), { status });
  };
  const limiter = limiterOf("http://node", { fetch });
  const begin = async (ask) => {
    const held = await ask;
    asked = [];
    return held;
  };
  const reserve = () => begin(limiter.reserve("b", "k", { cost: 5, hold: 1 }));
  const slot = await begin(limiter.acquire("b", "k", { hold: 1 }));
  assert.deepEqual([await slot.release(), await slot.release()], [true, false]);
  assert.deepEqual(asked, ["/v1/release"]);
  const held = await reserve();
  const said = [await held.report(1), await held.report(2), await held.commit(3),
                await held.report(4), await held.commit(5)];
  await held[Symbol.asyncDispose]();
  assert.deepEqual(said, [true, true, true, false, false]);
  assert.deepEqual(asked, ["/v1/commit more", "/v1/commit more", "/v1/commit"]);
  const lapsed = await reserve();
  answers["/v1/commit"] = [404, { type: "urn:weir:problem:unknown-token" }];
  assert.deepEqual([await lapsed.report(1), await lapsed.commit(2)], [false, false]);
  assert.deepEqual(asked, ["/v1/commit more"]);
});

test("await using: the end of a block commits the last part, else the estimate", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const dispose = (held) => held[Symbol.asyncDispose]();
  const held = await limiter.reserve("b", "k", { cost: 100, hold: "1m" });
  await dispose(held);
  assert.equal(await leftOf(limiter, "k"), 900);
  assert.equal(await held.commit(1), false);
  const parts = await limiter.reserve("b", "k", { cost: 100, hold: "1m" });
  await parts.report(10);
  await dispose(parts);
  assert.equal(await leftOf(limiter, "k"), 890);
  const done = await limiter.reserve("b", "k", { cost: 100, hold: "1m" });
  await done.commit(5);
  await dispose(done);
  assert.equal(await leftOf(limiter, "k"), 885, "what was committed is charged once");
  await dispose(await limiter.reserve("b", "k", { cost: 1000, hold: "1m" }));  // denied
  assert.equal(await leftOf(limiter, "k"), 885);
});

test("a lapse charges the last part, else the estimate; a commit comes too late", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const lapsed = async (rule, parts) => {
    const key = `${rule} ${parts}`;
    const held = await limiter.reserve("b", key, { cost: 60, hold: "2s", rule });
    for (const part of parts) assert.equal(await held.report(part), true);
    const later = await limiter.reserve("b", `${key} later`, { cost: 60, hold: "2s", rule });
    await until(async () => !(await later.report(1)));
    assert.equal(await held.commit(1), false);
    return leftOf(limiter, key, rule);
  };
  const left = await Promise.all([
    lapsed(undefined, []), lapsed(undefined, [90, 10]), lapsed("tokens", []),
    lapsed("refunds", []), lapsed("refunds", [10]),
  ]);
  assert.deepEqual(left, [940, 990, 40, 100, 90]);
});

test("a rule's own limits count, and its bound of holds is a denial", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const reserve = (key, cost) => limiter.reserve("b", key, { cost, hold: "1m", rule: "tokens" });
  const first = await reserve("k", 60);
  assert.deepEqual([first.allowed, first.remaining, first.limit], [true, 40, 100]);
  await reserve("k", 1);
  const third = await reserve("k", 1);
  assert.deepEqual([third.allowed, third.token], [false, undefined]);
  assert.ok(third.retryAfter >= 55 && third.retryAfter <= 60, "until the first hold lapses");
  assert.equal(await first.commit(10), true);
  assert.equal((await reserve("k", 89)).allowed, true);
  assert.equal(limiter.store.failures, 0, "a denial is no failure");
  const vip = await reserve("vip", 100);
  assert.equal(await vip.commit(70), true, "taken, though nothing counts it");
});

test("with a rule a key is the key of every other door, in whichever bucket", async (t) => {
  const url = await nodeOf(t);
  const limiter = limiterOf(url);
  const terms = { hold: "1m", rule: "tokens", cost: 60 };
  const post = async (path, body) =>
    (await (await fetch(url + path, { method: "POST", body: JSON.stringify(body) })).json());
  for (const key of ["ann", "x".repeat(4096), "я".repeat(2048), "😀".repeat(1024)]) {
    assert.equal((await post("/v1/reserve", { ...terms, cost: 30, key })).remaining, 70);
    assert.equal((await limiter.reserve("one", key, terms)).remaining, 10, key.slice(0, 3));
    assert.equal((await limiter.reserve("two", key, { ...terms, cost: 1 })).allowed, false);
    const slot = { hold: "1m", rule: "exports" };
    assert.equal((await post("/v1/acquire", { ...slot, key })).remaining, 1);
    assert.equal((await limiter.acquire("one", key, slot)).remaining, 0);
  }
  for (const key of ["", "x".repeat(4097), "я".repeat(2049), "\uD800"]) {
    assert.equal((await limiter.reserve("b", key, terms)).remaining, 40, "no other door has it");
  }
});

test("tokens: of another node, forged, of a slot; and by another program", async (t) => {
  const url = await nodeOf(t);
  const [here, there] = [limiterOf(url), limiterOf(await nodeOf(t))];
  const held = await here.reserve("b", "k", { cost: 60, hold: "1m" });
  const slot = await here.acquire("b", "k", { hold: "1m", limit: 1 });
  assert.equal(await there.store.commit(held.token, 1), false);
  for (const token of ["0".repeat(32), "", "\0", "x".repeat(5000), slot.token]) {
    const answer = here.store.commit(token, 1);
    token === "" ? await assert.rejects(answer, /StoreError/) : assert.equal(await answer, false);
  }
  assert.equal(await here.store.release(held.token), false);
  assert.equal(await leftOf(here, "k"), 940);
  const other = new RemoteStore({ url, ...PATIENT });
  assert.equal(await other.commit(held.token, 10), true, "who knows it may");
  assert.equal(await held.commit(10), false);
});

test("any node commits what another has reserved in their Redis", async (t) => {
  const socket = await startRedis(t);
  const words = ["--redis", `unix://${socket}`, "--redis-deadline", "10s"];
  const urls = [await nodeOf(t, ...words), await nodeOf(t, ...words)];
  for (const url of urls) {
    await until(async () => (await (await fetch(`${url}/health`)).json()).redis === "connected");
  }
  const [here, there] = urls.map((url) => limiterOf(url));
  const held = await here.reserve("b", "k", { cost: 60, hold: "1m", rule: "tokens" });
  assert.equal(held.token.length, 128);
  assert.equal(await there.store.commit(held.token, 10), true);
  assert.equal(await held.commit(10), false);
  assert.equal(await leftOf(there, "k", "tokens"), 90);
});

test("slots: so much work at once, until it is released or ends by itself", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const acquire = (options) => limiter.acquire("b", "k", { hold: "1m", ...options });
  for (const options of [{ limit: 2 }, { rule: "exports" }]) {
    const first = await acquire(options);
    assert.deepEqual({ ...first }, { allowed: true, limit: 2, remaining: 1, retryAfter: 0 });
    const second = await acquire(options);
    const third = await acquire(options);
    assert.deepEqual([third.allowed, third.remaining, third.token], [false, 0, undefined]);
    assert.ok(third.retryAfter > 50 && third.retryAfter <= 60);
    assert.equal(await third.release(), false);
    assert.equal(await first.release(), true);
    assert.equal(await first.release(), false, "once");
    const next = await acquire(options);
    assert.equal(next.allowed, true);
    await second[Symbol.asyncDispose]();
    assert.equal((await acquire({ ...options, hold: "20ms" })).allowed, true);
    await until(async () => (await acquire(options)).allowed);
  }
  assert.equal((await limiter.acquire("", "k", { hold: 1, limit: 1 })).allowed, true);
  assert.equal((await limiter.acquire("b", "", { hold: 1, limit: 1 })).allowed, true);
  assert.equal((await limiter.acquire("b", "\uD800", { hold: 1, limit: 1 })).allowed, true);
  assert.equal((await acquire({ limit: 0 })).retryAfter, Infinity);
});

test("100 callers hold no more than fits, and are over by what costs exceeded", async (t) => {
  const limiter = limiterOf(await nodeOf(t));
  const reserve = () => limiter.reserve("b", "k", { cost: 30, hold: "1m" });
  const all = await Promise.all(Array.from({ length: 100 }, reserve));
  const held = all.filter(({ allowed }) => allowed);
  assert.equal(held.length, 33, "33 of 30 fit in 1,000");
  const costs = held.map((_, i) => (i % 3 === 0 ? 40 : 10));
  const taken = await Promise.all(held.flatMap((each, i) =>
    [each.commit(costs[i]), limiter.store.commit(each.token, costs[i])]));
  assert.equal(taken.filter(Boolean).length, 33, "of two commits at once one counts");
  const spent = costs.reduce((sum, cost) => sum + cost, 0);
  assert.equal(await leftOf(limiter, "k"), 1000 - spent);
  const later = await Promise.all(Array.from({ length: 100 }, reserve));
  const more = later.filter(({ allowed }) => allowed).length;
  assert.equal(more, Math.floor((1000 - spent) / 30));
  const slots = await Promise.all(Array.from({ length: 100 }, () =>
    limiter.acquire("b", "k", { hold: "1m", limit: 7 })));
  assert.equal(slots.filter(({ allowed }) => allowed).length, 7);
});

// Runs the page's `js` block with these words in it: its result, and the lines that it prints.
async function runPage(page, words, url, result) {
  const text = readFileSync(join(process.env.WEIR_ROOT, page), "utf8");
  const blocks = [...text.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  const code = blocks.find((each) => each.includes(words)).replace("http://127.0.0.1:8080", url);
  const said = [];
  const program = Object.getPrototypeOf(runPage).constructor;
  const run = program("Limiter", "RemoteStore", "console", `${code}\nreturn ${result};`);
  const answer = await run(Limiter, RemoteStore, { log: (...all) => said.push(all.join(" ")) });
  return { code, said, answer };
}

test("README and the pages of reservations and slots show what runs", async (t) => {
  const url = await nodeOf(t);
  const read = await runPage("npm/README.md", "tokens.reserve(", url, "[tokens, reserved, slot]");
  const [tokens, reserved, slot] = read.answer;
  assert.deepEqual([reserved.remaining, slot.remaining], [700, 1]);
  assert.equal((await tokens.reserve("tokens", "alice", { cost: 880, hold: 1 })).allowed, true);
  for (const [page, call] of [["reservations", "reserve("], ["slots", "acquire("]]) {
    const file = `docs/reference/${page}.md`;
    const [, rules] = /```yaml\n([^]*?)```/.exec(
      readFileSync(join(process.env.WEIR_ROOT, file), "utf8"));
    const { code, said } = await runPage(file, call, await nodeBy(t, rules), "0");
    assert.deepEqual(said, [/\/\/ (true .*)/.exec(code)[1]]);
  }
});

// Mistakes of a program, and the errors that name them.
const WRONG = [
  [{ cost: -1, hold: "1m" }, RangeError, /^cost must be a whole number from 1 to 1,000,000,000/],
  [{ cost: 0, hold: "1m" }, RangeError, /^cost must be .* not 0$/],
  [{ cost: 1.5, hold: "1m" }, RangeError, /^cost/],
  [{ cost: "5", hold: "1m" }, RangeError, /^cost .* not "5"/],
  [{ hold: "1m" }, TypeError, /^cost is missing/],
  [{ cost: 5 }, TypeError, /^hold is missing; it must be from 1 ms to the window/],
  [{ cost: 5, hold: "1 minute" }, RangeError, /^hold must be .* a text such as "30s"/],
  [{ cost: 5, hold: -1 }, RangeError, /^hold/],
  [{ cost: 5, hold: "367d" }, RangeError, /^hold must be from 1 ms to the window: .*not "367d"/],
  [{ cost: 5, hold: 1, holt: 1 }, TypeError, /^there is no option "holt"; did you mean hold\?/],
  [{ cost: 5, hold: 1, rule: "" }, RangeError, /^rule must be the id of a rule/],
  [{ cost: 5, hold: 1, rule: "\uD800" }, RangeError, /^rule must be the id of a rule/],
  [{ cost: 5, hold: 1, limit: -1 }, RangeError, /^limit/],
  [undefined, TypeError, /^options must be an object with cost and hold/],
  [{ cost: 5, hold: "61m" }, RangeError, /node refuses it: hold: .*from 1ms to the window, 1h/],
  [{ cost: 5, hold: 1, rule: "plain" }, RangeError, /refuses it: rule: .*with max_holds/],
  [{ cost: 5, hold: 1, rule: "token" }, RangeError, /did you mean 'tokens'\?/],
  [{ cost: 5, hold: 1, rule: "exports" }, RangeError, /\/v1\/acquire/],
];

test("a mistake of the program is its error, whatever onFailure says", async (t) => {
  const url = await nodeOf(t);
  for (const onFailure of ["local", "allow", "deny", "throw"]) {
    const limiter = limiterOf(url, { onFailure });
    for (const [options, type, message] of WRONG) {
      await assert.rejects(limiter.reserve("b", "k", options),
                           (error) => error instanceof type && message.test(error.message),
                           JSON.stringify(options));
    }
    await assert.rejects(limiter.reserve("b", 7, { cost: 1, hold: 1 }), /^TypeError: key/);
    await assert.rejects(limiter.acquire("b", "k", { hold: "25h" }), /^RangeError: .*24h/);
    await assert.rejects(limiter.acquire("b", "k", { hold: "400d" }), /: hold .*1 ms to 24 hours/);
    await assert.rejects(limiter.acquire("b", "k", { hold: 1, limit: 10_001 }), /at most 10000/);
    await assert.rejects(limiter.acquire("b", "k", { hold: 1, cost: 1 }), /no option "cost"/);
    await assert.rejects(limiter.acquire("b", "k", { hold: 1, rule: "\uD800" }), /^R.*: rule/);
    await assert.rejects(limiter.acquire("b", "k", { hold: 1, rule: "plain" }), /of: concurrency/);
    assert.equal(limiter.store.failures, 0);
    const held = await limiter.reserve("b", onFailure, { cost: 1, hold: 1 });
    for (const cost of [-1, 0.5, 1e13, "1", undefined]) {
      await assert.rejects(held.commit(cost), /^(Range|Type)Error: cost/);
      await assert.rejects(held.report(cost), /^(Range|Type)Error: cost/);
    }
    assert.equal(await held.commit(0), true);
    const backoff = new Limiter({ ...QUOTA, algorithm: "exponential_backoff" }, limiter.store);
    await assert.rejects(backoff.reserve("b", "k", { cost: 1, hold: 1 }),
                         /^RangeError: the node refuses it: algorithm: .*give units back/);
  }
});

test("a node in mode async says what to do", async (t) => {
  const socket = await startRedis(t);
  const url = await startNode(t, "--redis", `unix://${socket}`, "--mode", "async");
  await assert.rejects(limiterOf(url).reserve("b", "k", { cost: 1, hold: 1 }),
                       /^RangeError: the node refuses it: mode: .*write 'mode: strict' or local/);
});

test("stores of counters alone refuse, and name the one that holds", async () => {
  const send = async () => [];
  const namespace = { idFromName: () => 1, get: () => ({ fetch: send }) };
  const kv = { get: send, put: send, delete: send, list: send };
  class Half {
    spend() {}
    reset() {}
    reserve() {}
  }
  const stores = [undefined, new Half(), new RedisStore({ client: send }),
                  new DurableStore({ namespace }), new KvStore({ kv, places: 1 })];
  for (const store of stores) {
    const limiter = new Limiter(QUOTA, store);
    const refused = { name: "TypeError", message: new RegExp(
      `^a ${limiter.store.constructor.name} holds nothing .*new RemoteStore`) };
    await assert.rejects(limiter.reserve("b", "k", { cost: 1, hold: 1 }), refused);
    await assert.rejects(limiter.acquire("b", "k", { hold: 1 }), refused);
  }
});

test("a node that is away: onFailure decides what may begin, and a commit says so", async (t) => {
  const words = ["serve", "--http", "127.0.0.1:0"];
  const { child, found } = await start(t, process.env.WEIR_BINARY, words,
                                       (line) => /listening on (http:\S+)/.exec(line));
  const limiters = Object.fromEntries(["local", "allow", "deny", "throw"].map((onFailure) =>
    [onFailure, limiterOf(found[1], { onFailure })]));
  const begun = {};
  for (const [name, limiter] of Object.entries(limiters)) {
    begun[name] = [await limiter.reserve(name, "k", { cost: 600, hold: "1m" }),
                   await limiter.acquire(name, "k", { hold: "1m" })];
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
  for (const [held, slot] of Object.values(begun)) {
    for (const call of [() => held.commit(5), () => held.report(5), () => slot.release()]) {
      await assert.rejects(call(), { name: "StoreError", message: /fetch failed/ });
      await assert.rejects(call(), { name: "StoreError" }, "and may be tried again");
    }
    await held[Symbol.asyncDispose]();
    await slot[Symbol.asyncDispose]();
  }
  const reserve = (name, cost = 600) => limiters[name].reserve("b", "k", { cost, hold: "1m" });
  const acquire = (name) => limiters[name].acquire("b", "k", { hold: "1m" });
  const local = [await reserve("local", 300), await reserve("local", 701)];
  assert.deepEqual(local.map(({ allowed, token }) => [allowed, token]),
                   [[true, undefined], [false, undefined]], "memory spends the estimate");
  assert.equal(await local[0].commit(5), false, "and nothing is held");
  assert.equal((await limiters.local.hit("b", "k", { cost: 701 })).allowed, false);
  assert.equal((await reserve("local", 700)).allowed, true);
  assert.equal((await acquire("local")).allowed, false, "memory has no slots");
  for (const [name, allowed] of [["allow", true], ["deny", false]]) {
    assert.equal((await reserve(name)).allowed, allowed);
    const slot = await acquire(name);
    assert.deepEqual([slot.allowed, slot.token], [allowed, undefined]);
    assert.equal(await slot.release(), false);
    assert.equal(limiters[name].store.failures, 2);
  }
  await assert.rejects(reserve("throw"), { name: "StoreError" });
  await assert.rejects(acquire("throw"), { name: "StoreError" });
});

const NO_JSON = /^http:\/\/node answered what is no JSON object: is it a node of Weir\?$/;
const NO_DECISION = /^the store answers what is no decision$/;
const NOTHING_SAID = /^http:\/\/node does not say whether it has (charged|released) it$/;
const NO_ANSWERS = [
  ["no", 503, /^the node answered 503: no$/],
  ["<html>", 404, /^the node answered 404: <html>$/],
  ["null", 404, /^the node answered 404: null$/],
  ['{"type":"about:blank"}', 404, /^the node answered 404: {"type":"about:blank"}$/],
  ["x".repeat(999), 500, /^the node answered 500: x{200}$/],
  ["null", 200, NO_JSON],
  ["7", 200, NO_JSON],
  ["<html>", 200, NO_JSON],
  ["{}", 200, NO_DECISION, NOTHING_SAID],
  ["[]", 200, NO_DECISION, NOTHING_SAID],
  [undefined, 200, /^no answer within 20 ms$/],
];
test("answers that are none, and one that does not come, say what they are", async () => {
  for (const [text, status, says, saysOfEnd = says] of NO_ANSWERS) {
    const fetch = async () =>
      text === undefined ? new Promise(() => {}) : new Response(text, { status });
    const store = new RemoteStore({ url: "http://node", fetch, deadline: 20, onFailure: "deny" });
    const limiter = new Limiter(QUOTA, store);
    for (const ask of [() => limiter.reserve("b", "k", { cost: 1, hold: 1 }),
                       () => limiter.acquire("b", "k", { hold: 1 })]) {
      const { allowed, retryAfter } = await ask();
      assert.deepEqual([allowed, retryAfter], [false, 1]);
      assert.match(store.lastFailure.message, says);
    }
    assert.equal(store.failures, 2);
    const failed = { name: "StoreError", message: saysOfEnd };
    await assert.rejects(store.commit("t", 1), failed);
    await assert.rejects(store.release("t"), failed);
  }
});

// A limiter of a node that answers so.
function answeredBy(status, body, fields = {}, quota = QUOTA) {
  const fetch = async () => new Response(JSON.stringify(body), { status, headers: fields });
  return new Limiter(quota, new RemoteStore({ url: "http://node", fetch, onFailure: "throw" }));
}

test("too many holds: the limit, if the program has said it, and when to come back", async () => {
  const problem = { type: "urn:weir:problem:too-many-holds" };
  const quota = { limit: 100, window: "1h", algorithm: "token_bucket", burst: 300 };
  for (const [retry, seconds] of [["7", 7], ["-5", 1], ["soon", 1], ["0", 1]]) {
    const limiter = answeredBy(429, problem, { "retry-after": retry }, quota);
    const denied = { allowed: false, remaining: 0, retryAfter: seconds };
    const whole = { ...denied, moreAfter: seconds, resetAfter: 0 };
    const reserve = (more) => limiter.reserve("b", "k", { cost: 1, hold: 1, ...more });
    const acquire = (more) => limiter.acquire("b", "k", { hold: 1, ...more });
    assert.deepEqual({ ...await reserve() }, { ...whole, limit: 300 });
    assert.deepEqual({ ...await reserve({ rule: "r" }) }, { ...whole, limit: 0 }, "unknown");
    assert.deepEqual({ ...await acquire() }, { ...denied, limit: 100 });
    assert.deepEqual({ ...await acquire({ limit: 5 }) }, { ...denied, limit: 5 });
    assert.deepEqual({ ...await acquire({ rule: "r" }) }, { ...denied, limit: 0 });
    assert.equal(limiter.store.failures, 0);
  }
});

test("what a node refuses has words, whatever the node says", async () => {
  const refused = (kind, more = {}) =>
    answeredBy(400, { type: `urn:weir:problem:${kind}`, ...more })
      .reserve("b", "k", { cost: 1, hold: 1, rule: "nope" });
  await assert.rejects(refused("invalid-field"),
                       /^RangeError: the node refuses it: urn:weir:problem:invalid-field$/);
  await assert.rejects(refused("unknown-rule", { detail: "There is none." }),
                       /^RangeError: the node refuses rule "nope": There is none\.$/);
  await assert.rejects(refused("invalid-field", { detail: "x".repeat(9999) }),
                       ({ message }) => message.length < 1100);
});
