// Stores that others keep: a Redis that a node of Weir shares, and a node itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ALGORITHMS, Limiter, RedisStore, RemoteStore } from "@weir/limiter";
import { redisClient, startNode, startRedis, until } from "./world.mjs";

const allowedOf = (decisions) => decisions.filter(({ allowed }) => allowed).length;
const HOUR = { limit: 10, window: "1h" };

async function checkAt(url, fields) {
  const body = JSON.stringify({ mode: "strict", window: 3600, ...fields });
  return (await fetch(`${url}/check`, { method: "POST", body })).json();
}

const isConnected = async (url) =>
  (await (await fetch(`${url}/health`)).json()).redis === "connected";

test("a node and a program share one counter of a Redis", async (t) => {
  const socket = await startRedis(t);
  const url = await startNode(t, "--redis", `unix://${socket}`, "--redis-deadline", "10s",
                              "--threads", "1");
  await until(() => isConnected(url));
  const send = await redisClient(t, socket);
  const store = new RedisStore({ client: send, onFailure: "throw", deadline: 20_000 });
  const names = ["plain", "日本", "😀", "\0", "x".repeat(300)];
  for (const algorithm of ALGORITHMS) {
    const limiter = new Limiter({ ...HOUR, algorithm }, store);
    for (const key of names) {
      const fields = { key, bucket: "b", limit: 10, algorithm };
      const before = await checkAt(url, fields);
      const mine = await limiter.hit("b", key, { cost: 2 });
      const after = await checkAt(url, fields);
      assert.deepEqual([before.remaining, mine.remaining, after.remaining], [9, 7, 6],
                       `${algorithm} ${key.slice(0, 9)}`);
      assert.equal(mine.limit, after.limit);
    }
  }
  const bucket = { limit: 7, window: "1h", burst: 20, algorithm: "token_bucket" };
  const burst = new Limiter(bucket, store);
  const fields = { key: "k", limit: 7, burst: 20, algorithm: "token_bucket" };
  assert.equal((await burst.hit("", "k")).remaining, 19);
  assert.equal((await checkAt(url, fields)).remaining, 18);
  assert.ok(send.calls.filter((name) => name === "EVAL").length <= 1, "the node's very script");
});

test("redis: exactly the limit, in few calls, from clients of any kind", async (t) => {
  const socket = await startRedis(t);
  const send = await redisClient(t, socket);
  const ioredis = { call: (command, ...words) => send([command, ...words]) };
  const nodeRedis = { sendCommand: send };
  const limiters = [send, ioredis, nodeRedis].map((client) =>
    new Limiter(HOUR, new RedisStore({ client, onFailure: "throw", deadline: 20_000 })));
  const hits = [];
  for (let i = 0; i < 300; ++i) hits.push(limiters[i % 3].hit("", "k"));
  assert.equal(allowedOf(await Promise.all(hits)), 10);
  assert.ok(send.calls.length <= 12, send.calls.join(" "));

  const denied = await limiters[0].hit("", "k");
  assert.ok(denied.retryAfter > 0 && denied.retryAfter <= 7200);
  assert.equal((await limiters[1].hit("", "k")).resetAt, denied.resetAt, "by the clock of Redis");
  assert.equal((await limiters[0].hit("", "k", { cost: 11 })).retryAfter, Infinity);
  await limiters[1].reset("", "k");
  assert.equal((await limiters[2].hit("", "k")).remaining, 9);
});

test("redis: drains and hits leave nothing, and none counts twice", async (t) => {
  const send = await redisClient(t, await startRedis(t));
  const store = new RedisStore({ client: send, onFailure: "throw", deadline: 20_000 });
  const limiter = new Limiter(HOUR, store);
  const drains = Array(20).fill().map(() => limiter.drain("", "k", { cost: 7 }));
  const hits = Array(5).fill().map(() => limiter.hit("", "k"));
  const drained = allowedOf(await Promise.all(drains));
  assert.ok(7 * drained + allowedOf(await Promise.all(hits)) <= 10);
  const after = await limiter.hit("", "k", { cost: 0 });
  assert.equal(after.remaining, 0);
  assert.equal((await limiter.hit("", "k")).allowed, false);
});

test("redis: a lost script and a lost secret cost nothing but a call", async (t) => {
  const send = await redisClient(t, await startRedis(t));
  const store = new RedisStore({ client: send, onFailure: "throw", deadline: 20_000 });
  const limiter = new Limiter(HOUR, store);
  await limiter.hit("", "k");
  await send(["SCRIPT", "FLUSH"]);
  assert.equal((await limiter.hit("", "k")).remaining, 8);
  const secret = await send(["GET", "weir:{fleet}:secret"]);
  await send(["FLUSHALL"]);
  await send(["SCRIPT", "FLUSH"]);
  assert.equal((await limiter.hit("", "k")).remaining, 9);
  assert.equal(await send(["GET", "weir:{fleet}:secret"]), secret, "the fleet's secret is back");
});

test("redis: a secret that a node has brought back counts within a minute", async (t) => {
  const send = await redisClient(t, await startRedis(t));
  const store = new RedisStore({ client: send, onFailure: "throw", deadline: 20_000 });
  const limiter = new Limiter(HOUR, store);
  await limiter.hit("", "k");
  await send(["SET", "weir:{fleet}:secret", "x".repeat(192)]);
  assert.equal((await limiter.hit("", "k")).remaining, 8);
  const { now } = Date;
  t.after(() => { Date.now = now; });
  Date.now = () => now() + 61_000;
  assert.equal((await limiter.hit("", "k")).remaining, 9);
});

test("redis: what is under a key and no state of ours, and a secret that is none", async (t) => {
  const send = await redisClient(t, await startRedis(t));
  const patient = { client: send, onFailure: "throw", deadline: 20_000 };
  const of = () => new Limiter(HOUR, new RedisStore(patient));
  const limiter = of();
  await limiter.hit("", "k");
  const [name] = (await send(["KEYS", "weir:{*"])).filter((key) => !key.includes("fleet"));
  await send(["SET", name, "garbage"]);
  await assert.rejects(limiter.hit("", "k"), /StoreError/);
  await send(["DEL", name]);
  await send(["RPUSH", name, "x"]);
  await assert.rejects(limiter.hit("", "k"), /StoreError/);
  await send(["SET", "weir:{fleet}:secret", "short"]);
  await assert.rejects(of().hit("", "k"), /no secret/);
});

test("redis: an outage is no denial, and is over by itself", async () => {
  let isAway = true;
  const client = async ([, , , ...words]) => {
    if (isAway) throw new Error("connect ECONNREFUSED");
    return words.length < 3 ? "00".repeat(192) : [1, 64 * 4, 1];
  };
  const store = new RedisStore({ client });
  const limiter = new Limiter({ limit: 2, window: "1h" }, store);
  const meanwhile = [];
  for (let i = 0; i < 3; ++i) meanwhile.push(await limiter.hit("", "k"));
  assert.deepEqual(meanwhile.map(({ allowed }) => allowed), [true, true, false]);
  assert.equal(store.failures, 3);
  isAway = false;
  assert.equal((await limiter.hit("", "k")).remaining, 4, "Redis decides again");

  const hangs = new RedisStore({ client: () => new Promise(() => {}), deadline: 5 });
  assert.equal((await new Limiter(HOUR, hangs).hit("", "k")).allowed, true, "nobody waits");
});

test("remote: a node decides, and what comes in one turn is one request", async (t) => {
  const url = await startNode(t, "--threads", "1");
  let requests = 0;
  const counting = (...words) => (++requests, fetch(...words));
  const options = { url: `${url}/`, fetch: counting, onFailure: "throw", deadline: 20_000 };
  const limiter = new Limiter(HOUR, new RemoteStore(options));
  const hits = await Promise.all(Array(600).fill().map((_, i) => limiter.hit("b", `k${i % 3}`)));
  assert.equal(allowedOf(hits), 30);
  assert.equal(requests, 3, "256 checks each at most");
  assert.equal((await limiter.hit("b", "k0", { cost: 11 })).retryAfter, Infinity);
  assert.equal((await limiter.hit("b", "k0")).limit, 10);
  const bucket = { limit: 1, window: "1h", burst: 5, algorithm: "token_bucket" };
  assert.equal((await new Limiter(bucket, new RemoteStore(options)).hit("", "k")).remaining, 4);
});

test("remote: a key that a node would refuse fails nobody's call", async (t) => {
  const url = await startNode(t, "--threads", "1");
  const store = new RemoteStore({ url, onFailure: "throw", deadline: 20_000 });
  const limiter = new Limiter({ limit: 1, window: "1h" }, store);
  const keys = ["honest", "k".repeat(5000), "k".repeat(5001), "\uD800", "\uDC00", "",
    "\u20AC".repeat(1024)];
  for (const expected of [true, false]) {
    const hits = await Promise.all(keys.map((key) => limiter.hit("b", key)));
    assert.deepEqual(hits.map(({ allowed }) => allowed), keys.map(() => expected));
  }
});

test("remote, redis: what failed is a StoreError that says why", async () => {
  const why = async (store, pattern) => {
    const limiter = new Limiter(HOUR, store);
    await assert.rejects(limiter.hit("", "k"), { name: "StoreError", message: pattern });
    await assert.rejects(async () => limiter.reset("", "k"), { name: "StoreError" });
  };
  const options = { onFailure: "throw", deadline: 20_000 };
  const url = "http://127.0.0.1:1";
  await why(new RemoteStore({ url, ...options }), /fetch failed: .*(ECONNREFUSED|bad port)/);
  await why(new RemoteStore({ url, ...options, fetch: async () => new Response("<html>") }),
            /^http:.* answered what is no JSON object: is it a node of Weir/);
  const away = () => Promise.reject(new Error("connect ECONNREFUSED"));
  await why(new RedisStore({ client: away, ...options }),
            /^the store does not answer: connect ECONNREFUSED$/);
  await assert.rejects(
    new Limiter(HOUR, new RemoteStore({ url, ...options, fetch: async () => new Response("{}") }))
      .hit("", "k"), { name: "StoreError", message: /answered without results/ });
});

test("remote: a node that is away, or answers nonsense, is no denial", async () => {
  const answers = [
    [async () => { throw new Error("refused"); }, /^the store does not answer: refused$/],
    [() => { throw new RangeError("its own"); }, /^the store does not answer: its own$/],
    [async () => new Response("no", { status: 503 }), /^the node answered 503: no$/],
    [async () => new Response("{}"), /answered without results$/],
    [async () => new Response('{"results":[]}'), /^an answer is missing$/],
    [async () => new Response('{"results":[null]}'), /what is no decision$/],
    [async () => new Response('{"results":[{}]}'), /what is no decision$/],
    [async () => new Response('{"results":[{"allowed":false}]}'), /what is no decision$/],
    [async () => new Response("<html>"), /answered what is no JSON/],
    [() => new Promise(() => {}), /^no answer within 20 ms$/],
  ];
  for (const [answer, says] of answers) {
    const store = new RemoteStore({ url: "http://node", fetch: answer, deadline: 20 });
    const limiter = new Limiter({ limit: 1, window: "1m" }, store);
    assert.equal((await limiter.hit("", "k")).allowed, true);
    assert.equal((await limiter.hit("", "k")).allowed, false);
    assert.equal(store.failures, 2);
    assert.equal(store.lastFailure.name, "StoreError");
    assert.match(store.lastFailure.message, says);
  }
});
