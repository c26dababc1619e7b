// What the Worker adds to a request in workerd: JSON, microseconds of CPU a request, of workerd
// with the Worker and of workerd with one that only passes requests on.
//
//   node request_cost.mjs BUILT NPM_CACHE
//
// BUILT is what build.mjs has made, for rules that deny nothing. One client asks, so that the KV
// is read once a minute: its reads are not in the figure. The two take turns.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask } from "./load.mjs";
import { startWorkerd, workerdIn } from "./workerd.mjs";

const CONNECTIONS = 8;
const REQUESTS = 4000;  // a round
const ROUNDS = 7;
const TICK_US = 10_000;
const PLAIN = `export default { fetch: (request, env) => env.ORIGIN.fetch(request) };
export class WeirCounter {}
`;

const [built, cache] = process.argv.slice(2);
const workerd = workerdIn(cache);
if (workerd === undefined) {
  console.log("{}");
  process.exit(0);
}

function cpuUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;  // utime and stime
}

async function round({ pid, urls }) {
  const before = cpuUs(pid);
  const loop = async () => {
    for (let i = 0; i < REQUESTS / CONNECTIONS; ++i) {
      const { status } = await ask(urls.a);
      if (status !== 200) throw new Error(`status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  return (cpuUs(pid) - before) / REQUESTS;
}

const folder = mkdtempSync(join(tmpdir(), "weir-bench-workerd-"));
writeFileSync(join(folder, "worker.js"), PLAIN);
for (const file of ["weir.wasm", "rules.wasm"]) cpSync(join(built, file), join(folder, file));
const start = (from) => startWorkerd({ workerd, built: from, places: [{ name: "a", port: 0 }] });
const contenders = { plain: await start(folder), worker: await start(built) };
const times = { plain: [], worker: [] };
for (const contender of Object.values(contenders)) await round(contender);  // not yet compiled
for (let i = 0; i < ROUNDS; ++i) {
  for (const name of Object.keys(contenders)) times[name].push(await round(contenders[name]));
}
await Promise.all(Object.values(contenders).map(({ stop }) => stop()));
rmSync(folder, { recursive: true });
console.log(JSON.stringify(times));
process.exit(0);
