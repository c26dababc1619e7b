// The whole Worker in simulated time, over a simulated KV. It admits what the simulation of limits
// over KV says, also in the rows that are too long or too fast to be measured on workerd.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  CASES, offer, percentOf, simulate, SimulatedKv, START, withRandom,
} from "../../npm/tools/kv_simulation.mjs";
import { BUILD, buildWorker } from "./world.mjs";

const WITHIN = 5;  // points
const LOAD = 3;
const LARGE_LIMIT = 1000;
const ORIGIN = { fetch: () => new Response("") };

const weir = await import(pathToFileURL(join(BUILD, "npm/package/node.js")));
// ./dev test --long tries the rows of many requests, too, which take minutes.
const LIMIT_MAX = process.env.WEIR_TESTS === "long" ? Infinity : 60;
const cases = CASES.filter(({ limit, places, load }) =>
  limit <= LIMIT_MAX && places <= 4 && load === LOAD);
const idOf = ({ limit, window }) => `of-${limit}-${window}`;
const rules = new Map(cases.map((setting) => [
  idOf(setting), `  - { id: ${idOf(setting)}, match: { path: /${idOf(setting)} }, key: client, ` +
                 `limit: ${setting.limit}, window: ${setting.window}s }`]));
const built = buildWorker("simulated", { text: `rules:\n${[...rules.values()].join("\n")}\n` });

// Each place has a module of its own, as each isolate does.
const isolateOf = async (name) =>
  (await import(`${pathToFileURL(join(built, "worker_in_node.js"))}?${name}`)).default;

/** What the Worker at all places has admitted of one key. */
async function admittedBy(setting, time) {
  const kv = new SimulatedKv(time);
  const isolates = [];
  for (let place = 0; place < setting.places; ++place) {
    const isolate = await isolateOf(`${idOf(setting)}-${setting.places}-${place}`);
    const env = { KV: kv.place(), PLACES: String(setting.places), ORIGIN };
    isolates.push({ isolate, env });
  }
  const headers = { "CF-Connecting-IP": "192.0.2.1" };
  let admitted = 0;
  await offer(setting, time, async (place) => {
    const { isolate, env } = isolates[place];
    const request = new Request(`https://a.test/${idOf(setting)}`, { headers });
    const { status } = await isolate.fetch(request, env, { waitUntil() {} });
    assert.ok(status === 200 || status === 429, `status ${status}`);
    admitted += status === 200;
  });
  return admitted;
}

// And without the Worker's log, a line a second of it.
async function inSimulatedTime(work) {
  const [{ now }, { log }] = [Date, console];
  const time = { now: START };
  Date.now = () => time.now;
  console.log = () => {};
  try {
    return await work(time);
  } finally {
    Object.assign(Date, { now });
    Object.assign(console, { log });
  }
}

for (const setting of cases) {
  const { limit, window, places } = setting;
  test(`${limit} in ${window} s, ${places} places: as the simulation says`, async () => {
    const seeded = { ...setting, seed: 1, windows: limit < LARGE_LIMIT ? 10 : 3 };
    const said = await simulate(weir, seeded);
    const worker = await inSimulatedTime((time) =>
      withRandom(seeded.seed, () => admittedBy(seeded, time)));
    const percents = ["shared", "worker"].map((way) => percentOf([{ ...said, worker }], way));
    console.log(`| ${limit} in ${window} s | ${places} | ${percents.join(" % | ")} % |`);
    assert.ok(Math.abs(percents[0] - percents[1]) <= WITHIN, String(percents));
  });
}
