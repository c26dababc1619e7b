// What a call costs in node, beside what others use there: JSON, nanoseconds of CPU a call.
//
//   node bench.mjs PACKAGE PEERS

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const KEYS = 100_000;
const ROUNDS = 5;
const PEER_ROUNDS = 2;
const HOT_CALLS = 2_000_000;

const [folder, cache] = process.argv.slice(2).map((path) => resolve(path));
const begun = performance.now();
const { Limiter } = await import(pathToFileURL(join(folder, "node.js")));
const figures = { import: performance.now() - begun };

// Time of this process: a busy machine stretches any other.
const cpuNs = () => process.cpuUsage().user * 1000;
// A key is a new string each time, as one that came in a request is.
const keyOf = (number) => `user:${(number * 7919) % KEYS}`;

function perCall(rounds, call) {
  let best = Infinity;
  for (let round = 0; round < rounds; ++round) {
    const from = cpuNs();
    for (let i = 0; i < KEYS; ++i) call(keyOf(i));
    best = Math.min(best, (cpuNs() - from) / KEYS);
  }
  return best;
}

async function perCallLater(rounds, call) {
  let best = Infinity;
  for (let round = 0; round < rounds; ++round) {
    const from = cpuNs();
    for (let i = 0; i < KEYS; ++i) await call(keyOf(i));
    best = Math.min(best, (cpuNs() - from) / KEYS);
  }
  return best;
}

function ours() {
  const limiter = new Limiter({ limit: 1000, window: 60 });
  figures.hit = perCall(2 * ROUNDS, (key) => limiter.hit("api", key));

  const core = limiter.store.core;
  const [quota, bucket] = [core.numberOfQuota(limiter.quota), core.numberOfBucket("api")];
  const length = core.put("user:1");
  const now = Date.now() * 1000;
  const from = cpuNs();
  for (let i = 0; i < HOT_CALLS; ++i) core.exports.weir_spend(quota, bucket, length, 1, now);
  figures.decision = (cpuNs() - from) / HOT_CALLS;
}

async function peers() {
  const require = createRequire(join(cache, "package.json"));
  const { RateLimiterMemory } = require("rate-limiter-flexible");
  const flexible = new RateLimiterMemory({ points: 1000, duration: 60 });
  const consume = (key) => flexible.consume(key);
  figures["rate-limiter-flexible"] = await perCallLater(PEER_ROUNDS, consume);
  const { MemoryStore } = require("express-rate-limit");
  const store = new MemoryStore();
  store.init({ windowMs: 60_000 });
  figures["express-rate-limit"] = await perCallLater(PEER_ROUNDS, (key) => store.increment(key));
}

ours();
try {
  await peers();
} catch (error) {
  if (error.code !== "MODULE_NOT_FOUND") throw error;
}
console.log(JSON.stringify(figures));
process.exit(0);  // the others have timers
