// What limits over KV admit, in per cent of an exact limiter that sees everything: the package's
// own KvStore against a KV whose reads are up to a minute old and whose keys take one write a
// second. One hot key, three times its limit offered, ten windows.
//
//   node kv_simulation.mjs [PACKAGE]      prints the table of docs/worker.md and src/kv/bound.ts
//
// Most of a client's requests come to one place: five of six, the others to the rest evenly.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const WINDOWS = 10;
const LOAD = 3;
const STALE_MS = 60_000;
const WRITE_MS = 1000;
const START = 1_763_836_020_000;
const CASES = [[60, 60, 1], [10, 60, 2], [60, 60, 2], [1000, 60, 2], [10, 60, 4], [60, 60, 4],
               [1000, 60, 4], [600, 600, 4], [5000, 3600, 4], [10, 60, 8], [60, 60, 8],
               [1000, 60, 8]];

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

/** Per cent of what an exact limiter admits, for each way to count. */
export async function simulate(weir, setting) {
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
  const percent = (count) => Math.round((100 * count) / admitted.exact);
  return {
    alone: percent(admitted.alone),
    shared: percent(admitted.shared),
    writes: stores.reduce((sum, store) => sum + store.counts.writes, 0),
    seconds: window * (setting.windows ?? WINDOWS),
  };
}

async function main(folder) {
  const weir = await import(pathToFileURL(resolve(folder, "node.js")));
  console.log("| limit | places | each alone | KvStore | seconds a write | hard bound |");
  console.log("|---|---|---|---|---|---|");
  for (const [limit, window, places] of CASES) {
    const runs = [];
    for (const seed of [1, 2, 3]) runs.push(await simulate(weir, { limit, window, places, seed }));
    // The middle one of three.
    const { alone, shared, writes, seconds } = runs.sort((a, b) => a.shared - b.shared)[1];
    const pace = (seconds / Math.max(1, writes)).toFixed(1);
    const cells = [`${limit} in ${window} s`, places, `${alone} %`, `${shared} %`, pace,
                   `${100 * places} %`];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main(process.argv[2] ?? ".");
