// What limits over KV admit on real workerd, next to the simulation of the same requests: ten
// windows at three times the limit, the middle one of three runs. Time is scaled: a window of a
// minute lasts three seconds, reads are three seconds old, a key takes twenty writes a second. It
// prints the second table of docs/internals/worker.md and takes minutes, so it is for
// WEIR_TESTS=long. On a machine that is too busy to keep time it says so, and proves nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import {
  CASES, middleOf, offer, percentOf, seedsOf, simulateThrice, START,
} from "../../npm/tools/kv_simulation.mjs";
import { ask } from "../tools/load.mjs";
import { BUILD, buildWorker, requireWorkerd, startPlaces } from "./world.mjs";

if (process.env.WEIR_TESTS !== "long") {
  console.log("skipped: it takes minutes; ./dev test --long -R worker_kv_table runs it");
  process.exit(77);
}

const SCALE = 20;
const WINDOW_S = 60;
const LOAD = 3;
const WITHIN = 5;  // points
const LATE_MAX_MS = 200;  // four seconds of scaled time
const TICK_MS = 2;

const workerd = requireWorkerd();
const weir = await import(pathToFileURL(join(BUILD, "npm/package/node.js")));
const { Limiter } = weir;
const cases = CASES.filter(
  ({ window, places, load }) => window === WINDOW_S && places <= 4 && load === LOAD);
const limits = [...new Set(cases.map(({ limit }) => limit))];
const rule = (limit) =>
  `  - { id: of-${limit}, match: { path: /${limit} }, key: client, limit: ${limit}, ` +
  `window: ${(1000 * WINDOW_S) / SCALE}ms }`;
const built = buildWorker("kv_table", { text: `rules:\n${limits.map(rule).join("\n")}\n` });

// One key: the requests of the simulation, and what is admitted of them.
async function keyOf(setting, seed) {
  const { limit } = setting;
  const time = { now: START };
  const requests = [];
  await offer({ ...setting, seed }, time, async (place) => {
    requests.push({ at: (time.now - START) / SCALE, place });
  });
  const exact = new Limiter({ limit, window: WINDOW_S / SCALE });
  const client = `10.${setting.places}.${limit % 251}.${seed}`;
  const key = { requests, admitted: { exact: 0, shared: 0 } };
  key.send = async (url) => {
    key.admitted.exact += exact.hit("", client).allowed;
    const { status } = await ask(url, { client, path: `/${limit}` });
    assert.ok(status === 200 || status === 429, `status ${status}`);
    key.admitted.shared += status === 200;
  };
  return key;
}

// All requests of these keys, when they are due. By how much the latest was late, or its answer.
async function play(keys, urls) {
  const requests = keys.flatMap((key) =>
    key.requests.map((request) => ({ ...request, send: key.send })));
  requests.sort((a, b) => a.at - b.at);
  const window = (1000 * WINDOW_S) / SCALE;
  const begin = Math.ceil(Date.now() / window) * window;
  const pending = new Set();
  const failures = [];
  let late = 0;
  for (let sent = 0; sent < requests.length;) {
    const elapsed = Date.now() - begin;
    for (; sent < requests.length && requests[sent].at <= elapsed; ++sent) {
      const { at, place, send } = requests[sent];
      const answer = send(urls[place]).catch((error) => failures.push(error)).finally(() => {
        late = Math.max(late, Date.now() - begin - at);
        pending.delete(answer);
      });
      pending.add(answer);
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(pending);
  if (failures.length > 0) throw failures[0];
  return late;
}

// The setting's figure in each run: its keys of a run come together.
async function measure(setting, urls) {
  const runs = [];
  let late = 0;
  for (const seeds of seedsOf(setting)) {
    const keys = await Promise.all(seeds.map((seed) => keyOf(setting, seed)));
    late = Math.max(late, await play(keys, urls));
    runs.push(percentOf(keys.map(({ admitted }) => admitted), "shared"));
  }
  return { runs, late };
}

for (const setting of cases) {
  const { limit, places } = setting;
  test(`${limit} in ${WINDOW_S} s, ${places} places: as the simulation says`, async (t) => {
    const { places: urls } = await startPlaces(t, workerd, built, places, { scale: SCALE });
    const { runs, late } = await measure(setting, urls);
    const { shared } = await simulateThrice(weir, setting);
    const measured = middleOf(runs);
    const cells = [`${limit} in ${WINDOW_S} s`, places, `${shared} %`, `${measured} %`];
    console.log(`| ${cells.join(" | ")} |`);
    if (late > LATE_MAX_MS) return t.skip(`too busy: a request was ${Math.round(late)} ms late`);
    assert.ok(Math.abs(measured - shared) <= WITHIN, `${runs} against ${shared}`);
  });
}
