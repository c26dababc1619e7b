// The Durable Object, in a runtime of a page: storage that survives, and restarts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ALGORITHMS, DurableStore, Limiter, WeirCounter } from "@weir/limiter";

// Objects by name. `restart()` loses what is in memory.
function runtime() {
  const storages = new Map();
  let objects = new Map();
  const objectOf = (name) => {
    if (!storages.has(name)) storages.set(name, new Map());
    const values = storages.get(name);
    if (!objects.has(name)) {
      let ready;
      const state = {
        blockConcurrencyWhile: (work) => (ready = work()),
        storage: {
          get: async (key) => values.get(key),
          put: async (key, value) => void values.set(key, structuredClone(value)),
          delete: async (key) => void values.delete(key),
          deleteAll: async () => values.clear(),
          setAlarm: async (at) => void values.set("alarm", at),
        },
      };
      const object = new WeirCounter(state);
      objects.set(name, { object, ready });
    }
    return objects.get(name);
  };
  return {
    storages,
    restart: () => (objects = new Map()),
    object: objectOf,
    namespace: {
      idFromName: (name) => name,
      get: (name) => ({
        async fetch(url, init) {
          const { object, ready } = objectOf(name);
          await ready;
          return object.fetch(new Request(url, init));
        },
      }),
    },
  };
}

for (const algorithm of ALGORITHMS) {
  test(`${algorithm}: exact from many clients, and after restarts`, async () => {
    const world = runtime();
    const store = new DurableStore({ namespace: world.namespace, onFailure: "throw" });
    const limiter = new Limiter({ limit: 10, window: "1h", algorithm }, store);
    const hits = await Promise.all(Array(150).fill().map(() => limiter.hit("", "k")));
    world.restart();
    hits.push(...(await Promise.all(Array(150).fill().map(() => limiter.hit("", "k")))));
    assert.equal(hits.filter(({ allowed }) => allowed).length, 10);
    const other = await limiter.hit("", "other");
    assert.equal(other.remaining, 9);
    assert.ok(other.resetAt > Date.now() && other.resetAt <= Date.now() + 1000 * other.resetAfter);
    await limiter.reset("", "k");
    world.restart();
    assert.equal((await limiter.hit("", "k")).allowed, true);
    assert.equal((await limiter.hit("", "k", { cost: 11 })).retryAfter, Infinity);
  });
}

test("a counter that holds nothing is given back", async () => {
  const world = runtime();
  const { namespace } = world;
  const limiter = new Limiter({ limit: 10, window: "1m" }, new DurableStore({ namespace }));
  await limiter.hit("", "k");
  const [[name, values]] = world.storages;
  assert.ok(values.get("alarm") > Date.now() + 60_000);
  await world.object(name).object.alarm();
  assert.equal(values.size, 0);
  assert.equal((await limiter.hit("", "k")).remaining, 9);
});

test("what is no call is refused, and counts nothing", async () => {
  const world = runtime();
  for (const body of ["", "{}", "[]", '{"quota":{"limit":-1,"window":1},"cost":1}',
                      '{"quota":{"limit":1,"window":1},"cost":"x"}']) {
    const response = await world.namespace.get("k").fetch("http://w/", { method: "POST", body });
    assert.equal(response.status, 400, body);
  }
});

test("an object that is away is no denial", async () => {
  const namespace = { idFromName: (name) => name, get: () => ({ fetch: async () => {
    throw new Error("the object has moved");
  } }) };
  const of = (onFailure) =>
    new Limiter({ limit: 1, window: "1m" }, new DurableStore({ namespace, onFailure }));
  const local = of("local");
  assert.equal((await local.hit("", "k")).allowed, true);
  assert.equal((await local.hit("", "k")).allowed, false, "memory decides meanwhile");
  assert.equal(local.store.failures, 2);
  const allow = of("allow");
  for (let i = 0; i < 3; ++i) assert.equal((await allow.hit("", "k")).allowed, true);
  assert.equal((await of("deny").hit("", "k")).retryAfter, 1);
  await assert.rejects(of("throw").hit("", "k"), /has moved/);
});
