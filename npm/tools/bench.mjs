// What a call costs in node, for this package and for its peers: JSON, nanoseconds of CPU a call.
//
//   node bench.mjs PACKAGE PEERS             each of CONTENDERS in a process of its own
//   node bench.mjs PACKAGE PEERS CONTENDER   one of them
//
// 100,000 keys, each a new string as one that came in a request is, made while the clock stands.
// `fresh` is the first round, in which all keys are new; `known` the middle one of the rounds
// after it. Each round has an order of its own, by chance: in the order in which they first came,
// a Map finds its keys and values side by side in memory. CPU time, garbage collection included: a
// busy machine stretches any other.

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const KEYS = 100_000;
const KEYS_AT_ONCE = 1000;  // so that they are no burden to the caches
const ROUNDS = 7;
const HOT_CALLS = 500_000;  // a round; all of them fit a limit that a slot holds
const LIMIT = 1000;
const TABLE_LOAD = 0.6;   // src/store/memory/compact_table.h
const SLOT_BYTES = 16;
const LINE = 16;          // 32-bit numbers

const [folder, cache] = process.argv.slice(2, 4).map((path) => resolve(path));
const entry = pathToFileURL(join(folder, "node.js"));
const peers = createRequire(join(cache, "package.json"));

function cpuNs() {
  const { user, system } = process.cpuUsage();
  return 1000 * (user + system);
}
const middleOf = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const order = Int32Array.from({ length: KEYS }, (_, i) => i);
let seed = 1;
const below = (bound) => {  // by chance, the same in each run
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * bound);
};
function shuffle() {
  for (let i = KEYS - 1; i > 0; --i) {
    const other = below(i + 1);
    [order[i], order[other]] = [order[other], order[i]];
  }
}
const newKeys = (first) =>
  Array.from({ length: KEYS_AT_ONCE }, (_, i) => `user:${order[first + i]}`);
let last;  // what is done for nobody need not be done

// Takes the time of each round: the first had new keys only.
const figuresOf = ([fresh, ...known]) => ({ fresh, known: middleOf(known) });

function timeRounds(call) {
  const callAll = (keys) => {
    for (let i = 0; i < KEYS_AT_ONCE; ++i) last = call(keys[i]);
  };
  const rounds = [];
  while (rounds.length <= ROUNDS) {
    shuffle();
    let spent = 0;
    for (let first = 0; first < KEYS; first += KEYS_AT_ONCE) {
      const keys = newKeys(first);
      const from = cpuNs();
      callAll(keys);
      spent += cpuNs() - from;
    }
    rounds.push(spent / KEYS);
  }
  return figuresOf(rounds);
}

async function timeAwaitedRounds(call) {
  const callAll = async (keys) => {
    for (let i = 0; i < KEYS_AT_ONCE; ++i) last = await call(keys[i]);
  };
  const rounds = [];
  while (rounds.length <= ROUNDS) {
    shuffle();
    let spent = 0;
    for (let first = 0; first < KEYS; first += KEYS_AT_ONCE) {
      const keys = newKeys(first);
      const from = cpuNs();
      await callAll(keys);
      spent += cpuNs() - from;
    }
    rounds.push(spent / KEYS);
  }
  return figuresOf(rounds);
}

const CONTENDERS = {
  async hit() {
    const { Limiter } = await import(entry);
    const limiter = new Limiter({ limit: LIMIT, window: 60 });
    return timeRounds((key) => limiter.hit("api", key));
  },
  async decision() {
    const { Limiter } = await import(entry);
    const limiter = new Limiter({ limit: HOT_CALLS * (ROUNDS + 2), window: 60 });
    limiter.hit("api", "user:1");
    const core = limiter.store.core;
    const [quota, bucket] = [core.numberOfQuota(limiter.quota), core.numberOfBucket("api")];
    const length = core.put("user:1");
    const now = Date.now() * 1000;
    const rounds = [];
    while (rounds.length <= ROUNDS) {
      const from = cpuNs();
      for (let i = 0; i < HOT_CALLS; ++i) core.spend(quota, bucket, length, 1, now);
      rounds.push((cpuNs() - from) / HOT_CALLS);
    }
    return figuresOf(rounds);
  },
  // Nobody who counts keys in JavaScript can do without these: the time of day, one access to
  // memory as large as the table, a Map that finds a new string.
  async clock() {
    return timeRounds(() => Date.now());
  },
  async access() {
    const lines = new Int32Array((KEYS / TABLE_LOAD) * (SLOT_BYTES / 4)).fill(2);
    const places = Int32Array.from({ length: KEYS }, () => below(lines.length / LINE) * LINE);
    const rounds = [];
    while (rounds.length <= ROUNDS) {
      const from = cpuNs();
      let found = 0;
      for (let i = 0; i < KEYS; ++i) found = lines[places[i] + (found & 1)];  // not at once
      last = found;
      rounds.push((cpuNs() - from) / KEYS);
    }
    return figuresOf(rounds);
  },
  async map() {
    const counts = new Map();
    return timeRounds((key) => {
      const known = counts.get(key);
      if (known === undefined) return counts.set(key, { count: 1 });
      return ++known.count;
    });
  },
  async import() {
    const begun = performance.now();
    const { Limiter } = await import(entry);
    const imported = performance.now();
    new Limiter({ limit: LIMIT, window: 60 }).hit("api", "user:1");
    return { ms: imported - begun, first_hit_ms: performance.now() - imported };
  },
  async "rate-limiter-flexible"() {
    const { RateLimiterMemory } = peers("rate-limiter-flexible");
    const limiter = new RateLimiterMemory({ points: LIMIT, duration: 60 });
    return timeAwaitedRounds((key) => limiter.consume(key));
  },
  async "express-rate-limit"() {
    const { MemoryStore } = peers("express-rate-limit");
    const store = new MemoryStore();
    store.init({ windowMs: 60_000 });
    return timeAwaitedRounds((key) => store.increment(key));
  },
};

function inProcessOfItsOwn(name) {
  const words = [fileURLToPath(import.meta.url), folder, cache, name];
  return JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }));
}

function isThere(name) {
  try {
    return !name.includes("rate-limit") || peers.resolve(name) !== "";
  } catch {
    return false;
  }
}

const wanted = process.argv[4];
const names = Object.keys(CONTENDERS).filter(isThere);
const figures = wanted === undefined
  ? Object.fromEntries(names.map((name) => [name, inProcessOfItsOwn(name)]))
  : await CONTENDERS[wanted]();
console.log(JSON.stringify(figures));
process.exit(0);  // the others have timers
