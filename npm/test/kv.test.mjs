// Limits over KV: what they admit, and what a KV that fails does to them (nothing).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as weir from "@weir/limiter";
import {
  CASES, offer, rowOf, simulate, SimulatedKv, withRandom,
} from "../tools/kv_simulation.mjs";

const { KvStore, Limiter, Quota } = weir;
const START = 1_763_836_020_000;
const FIELDS = { limit: 10, window: 60 };

// A limiter of one place, whose `tick` waits for what it does in the background.
function placeOn(kv, { time = { now: START }, ...options } = {}, quota = FIELDS) {
  const work = [];
  const waitUntil = (each) => work.push(each);
  const store = new KvStore({ kv, interval: 1100, waitUntil, ...options });
  const limiter = new Limiter({ ...quota, clock: () => time.now }, store);
  const tick = async (ms) => {
    await Promise.all(work.splice(0));
    time.now += ms;
  };
  return { limiter, store, time, tick };
}

function mapKv() {
  const values = new Map();
  return {
    values,
    get: async (name) => values.get(name) ?? null,
    put: async (name, value) => void values.set(name, value),
    delete: async (name) => void values.delete(name),
  };
}

// The simulation gives the same figures each time, so the documents have exactly those.
const DOCUMENT = readFileSync(join(process.env.WEIR_ROOT, "docs/internals/worker.md"), "utf8");
for (const setting of CASES) {
  const { limit, window, places, load } = setting;
  test(`${limit} in ${window} s, ${places} places, ${load} x: as documented`, async () => {
    const row = await rowOf(weir, setting);
    assert.ok(DOCUMENT.includes(row), row);
    if (window !== 60 || load !== 3) return;
    const store = new KvStore({ kv: mapKv(), places });
    const { expected, hard } = store.bound(new Quota({ limit, window }));
    const percent = Number(row.split(" | ")[4].split(" ")[0]);
    assert.equal(expected, Math.ceil((limit * percent) / 100), "what bound() says");
    assert.equal(hard, limit * places);
  });
}

test("a key is written once a second at most", async () => {
  const { writes, seconds } = await simulate(weir, { limit: 1000, window: 60, places: 4 });
  assert.ok(writes > 0 && writes < seconds, `${writes} writes in ${seconds} s`);
});

test("half the limit: everything is admitted", async () => {
  const setting = { limit: 600, window: 60, places: 4, load: 0.5, windows: 4 };
  const { shared, exact } = await simulate(weir, setting);
  assert.equal(shared, exact);
});

test("what one place has admitted, another sees, but for an even share", async () => {
  const kv = mapKv();
  const first = placeOn(kv);
  for (let i = 0; i < 9; ++i) await first.limiter.hit("", "k");
  await first.tick(2000);
  assert.equal((await first.limiter.hit("", "k")).allowed, true);
  await first.tick(0);
  const second = placeOn(kv, { time: { now: START + 2000 } });
  for (let i = 0; i < 5; ++i) assert.equal((await second.limiter.hit("", "k")).allowed, true);
  const decision = await second.limiter.hit("", "k");
  assert.equal(decision.allowed, false);
  assert.equal(decision.limit, 10);
  assert.ok(decision.retryAfter > 0 && decision.retryAfter <= 120);
});

test("a flood: no window holds more than the hard bound", async () => {
  const setting = { limit: 10, window: 60, places: 2, load: 100, windows: 6 };
  const { limit, window, places } = setting;
  const time = { now: START };
  const kv = new SimulatedKv(time);
  const stores = [...Array(places).keys()].map((place) =>
    new KvStore({ kv: kv.place(), places, place: `p${place}` }));
  const limiters = stores.map((store) =>
    new Limiter({ limit, window, clock: () => time.now }, store));
  const admitted = Array(setting.windows).fill(0);
  // By other dice the first place writes before the second reads.
  await withRandom(1, () => offer(setting, time, async (place) => {
    const { allowed } = await limiters[place].hit("", "k");
    admitted[Math.floor((time.now - START) / (1000 * window))] += allowed;
  }));
  const { hard } = stores[0].bound(limiters[0].quota);
  assert.equal(admitted[0], hard, "no place has heard of the other");
  assert.ok(admitted.every((count) => count <= hard), String(admitted));
});

test("a key that hardly uses its limit is never written", async () => {
  const kv = mapKv();
  const { limiter, store, tick } = placeOn(kv, {}, { limit: 1000, window: 60 });
  for (let i = 0; i < 100; ++i) {
    await limiter.hit("", "k");
    await tick(2000);
  }
  assert.equal(store.counts.writes, 0);
});

test("the bound: every place by itself, and what the simulation found", () => {
  const { store } = placeOn(mapKv(), { places: 4 });
  const many = store.bound(new Quota({ limit: 100, window: 60 }));
  assert.deepEqual(many, { hard: 400, expected: 114 });
  const few = store.bound(new Quota({ limit: 5, window: 60 }));
  assert.deepEqual(few, { hard: 20, expected: 20 }, "nothing is known below the table");
});

const rejects = async () => {
  throw new Error("KV is away");
};
const BROKEN = {
  "reads fail": { ...mapKv(), get: rejects },
  "writes fail": { ...mapKv(), put: rejects },
  "both fail": { ...mapKv(), get: rejects, put: rejects },
  "reads hang": { ...mapKv(), get: () => new Promise(() => {}) },
  "no JSON": { ...mapKv(), get: async () => "<html>" },
  "a number": { ...mapKv(), get: async () => "7" },
  "null": { ...mapKv(), get: async () => "null" },
  "another version": { ...mapKv(), get: async () => '{"v":2,"p":{"x":[1,2,3,4]}}' },
  "no numbers": { ...mapKv(), get: async () => '{"v":1,"p":{"x":["a",null,{},1e999]}}' },
  "too few numbers": { ...mapKv(), get: async () => '{"v":1,"p":{"x":[1]}}' },
  "negative ones": { ...mapKv(), get: async () => '{"v":1,"p":{"x":[-1,-1,-1,-1]}}' },
  "undefined": { ...mapKv(), get: async () => undefined },
  "a megabyte": { ...mapKv(), get: async () => "x".repeat(1 << 20) },
  "a prototype": { ...mapKv(), get: async () => '{"v":1,"p":{"__proto__":[1,2,3,4]}}' },
};
for (const [what, kv] of Object.entries(BROKEN)) {
  test(`a KV that is broken (${what}): the place's own limit, and no error`, async () => {
    const { limiter, store, tick } = placeOn(kv, { wait: 5 });
    let admitted = 0;
    for (let i = 0; i < 30; ++i) {
      admitted += (await limiter.hit("", "k")).allowed;
      if (what !== "reads hang") await tick(500);
    }
    assert.equal(admitted, 10);
    const { reads, writes, values } = store.failures;
    const counted = reads + writes + values > 0;
    const fails = { "reads hang": 0, "no numbers": 0, "too few numbers": 0, "negative ones": 0,
                    "a prototype": 0, "undefined": 0 };
    assert.equal(counted, fails[what] === undefined, JSON.stringify(store.failures));
  });
}

test("a read that never ends does not keep a key from all others", async () => {
  const kv = { ...mapKv(), get: () => new Promise(() => {}) };
  const { limiter, store, time } = placeOn(kv, { wait: 0 });
  await limiter.hit("", "k");
  time.now += 29_000;
  await limiter.hit("", "k");
  assert.equal(store.counts.reads, 1, "it may still come");
  time.now += 2000;
  await limiter.hit("", "k");
  assert.equal(store.counts.reads, 2);
});

test("a failed write is made good by the next", async () => {
  const kv = mapKv();
  const put = kv.put;
  kv.put = rejects;
  const { limiter, store, tick } = placeOn(kv);
  for (let i = 0; i < 8; ++i) await limiter.hit("", "k");
  await tick(2000);
  await limiter.hit("", "k");
  await tick(0);
  assert.ok(store.failures.writes >= 1);
  kv.put = put;
  await tick(3000);
  await limiter.hit("", "k");
  await tick(0);
  const [[at, , current]] = Object.values(JSON.parse([...kv.values.values()][0]).p);
  assert.equal(current, 10);
  assert.equal(at, START + 5000);
});

test("a place whose clock is ahead denies others no longer than its units count", async () => {
  const kv = mapKv();
  const ahead = placeOn(kv, { time: { now: START + 3600_000 } });
  for (let i = 0; i < 10; ++i) await ahead.limiter.hit("", "k");
  await ahead.tick(2000);
  await ahead.limiter.hit("", "k");
  await ahead.tick(0);
  const { limiter, time } = placeOn(kv);
  await limiter.hit("", "k");
  time.now += 400_000;
  assert.equal((await limiter.hit("", "k")).allowed, true);
});

test("keys of any characters have names that KV takes, each its own", async () => {
  const kv = mapKv();
  const { limiter, tick } = placeOn(kv, {}, { limit: 1, window: 60 });
  const keys = ["plain", "with blank", "\ud800", "\ud801", "日本", "x".repeat(600), "a:b", ""];
  for (const key of keys) await limiter.hit("b", key);
  await tick(2000);
  for (const key of keys) await limiter.hit("b", key);
  await tick(0);
  assert.equal(kv.values.size, keys.length);
  for (const name of kv.values.keys()) assert.match(name, /^[\x21-\x7e]{1,512}$/);
});

test("memory keeps a bounded number of keys", async () => {
  const { limiter } = placeOn(mapKv(), { maxKeys: 100 });
  for (let i = 0; i < 5000; ++i) await limiter.hit("", `k${i}`);
  assert.equal(limiter.store.records.size, 100);
});

test("a limiter that KV cannot keep is refused when it is made", async () => {
  const bucket = { ...FIELDS, algorithm: "token_bucket" };
  const expected = /^RangeError: algorithm must be one of sliding_window, fixed_window, .*bucket"$/;
  assert.throws(() => placeOn(mapKv(), {}, bucket), expected);
  assert.throws(() => placeOn(mapKv(), { format: "log" }, { limit: 65_537, window: 60 }),
                /^RangeError: limit must be at most 65536, .*, not 65537$/);
  const { store } = placeOn(mapKv());
  await assert.rejects(store.spend(new Quota(bucket), "", "k", 1, START), expected,
                       "nor does it count by itself");
});

test("format log: an array of times, expired ones dropped from the front", async () => {
  const kv = mapKv();
  const options = { format: "log", prefix: "" };
  const { limiter, time, store } = placeOn(kv, options, { limit: 3, window: 60 });
  const name = "sliding_window:60000000:0::k";
  kv.values.set(name, JSON.stringify([START - 70_000, START - 60_000, START - 30_000]));
  assert.equal((await limiter.hit("", "k")).remaining, 1);
  assert.deepEqual(JSON.parse(kv.values.get(name)), [START - 30_000, START]);
  await limiter.hit("", "k");
  const denied = await limiter.hit("", "k");
  assert.deepEqual([denied.allowed, denied.retryAfter], [false, 30]);
  time.now += 30_001;
  assert.equal((await limiter.hit("", "k")).allowed, true);
  kv.values.set(name, "{}");
  assert.equal((await limiter.hit("", "k")).allowed, true);
  assert.equal(store.failures.values, 1);
  kv.put = rejects;
  for (let i = 0; i < 9; ++i) assert.equal((await limiter.hit("", "k")).allowed, true);
  assert.equal(store.failures.writes, 9);
  assert.equal(store.bound(limiter.quota).hard, Infinity, "it says so");
});

test("formats log and count: a limit has to fit into one value", async () => {
  for (const [format, most] of [["log", 65_536], ["count", 1_048_576]]) {
    const { limiter } = placeOn(mapKv(), { format }, { limit: most, window: 60 });
    const hit = (options) => limiter.hit("", "k", options);
    assert.equal((await hit({ cost: most })).allowed, true);
    assert.equal((await hit()).allowed, false, `${format}: what was written is read`);
    await assert.rejects(() => hit({ limit: most + 1 }), /^RangeError: limit must be at most/);
  }
});

test("format count: a number", async () => {
  const kv = mapKv();
  const { limiter } = placeOn(kv, { format: "count" }, { limit: 2, window: 60 });
  await limiter.hit("", "k");
  assert.equal([...kv.values.values()][0], "1");
  await limiter.hit("", "k");
  assert.equal((await limiter.hit("", "k")).allowed, false);
});

test("the simulated KV is as strict as the real one", async () => {
  const time = { now: START };
  const kv = new SimulatedKv(time);
  const place = kv.place();
  await place.put("k", "1", { expirationTtl: 60 });
  await assert.rejects(place.put("k", "2", { expirationTtl: 60 }), /429/);
  await assert.rejects(place.put("j", "1", { expirationTtl: 59 }), /400/);
  assert.equal(await place.get("k"), "1");
  time.now += 30_000;
  await place.put("k", "2", { expirationTtl: 60 });
  assert.equal(await place.get("k"), "1", "stale");
  time.now += 30_000;
  assert.equal(await place.get("k"), "2");
});
