// What limits over KV admit, in per cent of an exact limiter that sees everything. The package's
// own KvStore runs against a simulated KV: its reads are up to a minute old, and its keys take one
// write a second. One hot key, so many times its limit offered, ten windows.
//
//   node kv_simulation.mjs [PACKAGE]      prints the table of docs/internals/worker.md;
//                                         src/kv/bound.ts has the same figures. Each run prints
//                                         the same.
//
// Most of a client's requests come to one place: five of six, the others to the rest evenly.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const WINDOWS = 10;
const LOAD = 3;
const FLOOD = 300;
const STALE_MS = 60_000;
const WRITE_MS = 1000;
const RUNS = 3;
const KEYS = 5;  // of a run, one after the other; of a large limit one says as much
const LARGE_LIMIT = 1000;
export const START = 1_763_836_020_000;  // when a window begins

export const CASES = [
  [60, 60, 1], [10, 60, 2], [60, 60, 2], [1000, 60, 2], [10, 60, 4], [60, 60, 4], [1000, 60, 4],
  [600, 600, 4], [5000, 3600, 4], [10, 60, 8], [60, 60, 8], [1000, 60, 8], [10, 60, 2, FLOOD],
  [10, 60, 4, FLOOD],
].map(([limit, window, places, load = LOAD]) => ({ limit, window, places, load }));

// A KV as the worst of its places sees it: what a place has read stays, misses too.
export class SimulatedKv {
  constructor(time) {
    this.time = time;
    this.values = new Map();
    this.refused = 0;
  }
  place() {
    const cache = new Map();
    return {
      get: async (name) => {
        let cached = cache.get(name);
        if (cached === undefined || this.time.now - cached.at >= STALE_MS) {
          cached = { value: this.values.get(name)?.value ?? null, at: this.time.now };
          cache.set(name, cached);
        }
        return cached.value;
      },
      put: async (name, value, { expirationTtl }) => {
        if (expirationTtl < 60) throw new Error("400: expiration_ttl must be at least 60");
        const known = this.values.get(name);
        if (known !== undefined && this.time.now - known.at < WRITE_MS) {
          ++this.refused;
          throw new Error("429: too many writes to one key");
        }
        this.values.set(name, { value, at: this.time.now });
      },
      delete: async (name) => void this.values.delete(name),
    };
  }
}

// Numbers from 0 to 1, the same in each run.
function randomOf(seed) {
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
}

function shareOf(place, places) {
  if (places === 1) return 1;
  return place === 0 ? 5 / 6 : 1 / (6 * (places - 1));
}

/** Calls `ask(place)` for each request, in order, with the time set. */
export async function offer({ limit, window, places, load = LOAD, windows = WINDOWS, seed = 1 },
                            time, ask) {
  const random = randomOf(seed);
  const every = (1000 * window) / (load * limit);
  for (let at = 0; at < 1000 * window * windows; at += -Math.log(1 - random()) * every) {
    time.now = START + at;
    let place = 0;
    for (let left = random(); place < places - 1; ++place) {
      left -= shareOf(place, places);
      if (left < 0) break;
    }
    await ask(place);
  }
}

const OTHER_DICE = 0x9e3779b9;

// The store's own dice are the run's, too.
export async function withRandom(seed, work) {
  const { random } = Math;
  Math.random = randomOf(seed ^ OTHER_DICE);
  try {
    return await work();
  } finally {
    Math.random = random;
  }
}

/** What each way to count has admitted of one key. */
export const simulate = (weir, setting) =>
  withRandom(setting.seed ?? 1, () => simulateKey(weir, setting));

async function simulateKey(weir, setting) {
  const { Limiter, KvStore } = weir;
  const { limit, window, places } = setting;
  const time = { now: START };
  const kv = new SimulatedKv(time);
  const limiterOf = (store) => new Limiter({ limit, window, clock: () => time.now }, store);
  const range = [...Array(places).keys()];
  const exact = limiterOf();
  const alone = range.map(() => limiterOf());
  const stores = range.map((place) => new KvStore({ kv: kv.place(), places, place: `p${place}` }));
  const shared = stores.map(limiterOf);

  const admitted = { exact: 0, alone: 0, shared: 0 };
  await offer(setting, time, async (place) => {
    admitted.exact += exact.hit("", "k").allowed;
    admitted.alone += alone[place].hit("", "k").allowed;
    admitted.shared += (await shared[place].hit("", "k")).allowed;
  });
  const writes = stores.reduce((sum, store) => sum + store.counts.writes, 0);
  return { ...admitted, writes, seconds: window * (setting.windows ?? WINDOWS) };
}

/** The seeds of each run. */
export function seedsOf({ limit }) {
  const keys = limit < LARGE_LIMIT ? KEYS : 1;
  return Array.from({ length: RUNS }, (_, run) =>
    Array.from({ length: keys }, (_, key) => run * keys + key + 1));
}

/** Per cent of what an exact limiter has admitted; of several keys, together. */
export function percentOf(admitted, way) {
  const sum = (name) => admitted.reduce((total, each) => total + each[name], 0);
  return Math.round((100 * sum(way)) / sum("exact"));
}

export const middleOf = (list) => list.sort((a, b) => a - b)[list.length >> 1];

/** Per cent of an exact limiter, the middle one of three runs. */
export async function simulateThrice(weir, setting) {
  const runs = [];
  for (const seeds of seedsOf(setting)) {
    const keys = [];
    for (const seed of seeds) keys.push(await simulate(weir, { ...setting, seed }));
    runs.push(keys);
  }
  const middle = (way) => middleOf(runs.map((keys) => percentOf(keys, way)));
  return { alone: middle("alone"), shared: middle("shared") };
}

/** A row of docs/internals/worker.md. */
export async function rowOf(weir, setting) {
  const { limit, window, places, load } = setting;
  const { alone, shared } = await simulateThrice(weir, setting);
  const percents = [alone, shared, 100 * places].map((percent) => `${percent} %`);
  return `| ${[`${limit} in ${window} s`, `${load} x`, places, ...percents].join(" | ")} |`;
}

async function main(folder) {
  const weir = await import(pathToFileURL(resolve(folder, "node.js")));
  console.log("| limit | offered | places | each place alone | over KV | never more than |");
  console.log("|---|---|---|---|---|---|");
  for (const setting of CASES) console.log(await rowOf(weir, setting));
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main(process.argv[2] ?? ".");
