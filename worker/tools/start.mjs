// The Worker on workerd, at two places, until it is stopped: what `./dev worker` runs.
//
//   node start.mjs BUILT NPM_CACHE [--load [PER_SECOND]] [--ports A,B]
//
// --load sends requests of one client to both places and prints what they admit.

import { execFileSync } from "node:child_process";
import { offerLoad, WindowCounts } from "./load.mjs";
import { startWorkerd, workerdIn } from "./workerd.mjs";

const LIMIT = 10;       // of worker/rules.yaml
const WINDOW_MS = 60_000;
const LOAD_PER_SECOND = 400;
const TELL_EVERY_MS = 5000;
const CLIENT = "203.0.113.9";

const [built, cache, ...words] = process.argv.slice(2);
const valueOf = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
const ports = (valueOf("--ports") ?? "8787,8788").split(",");

if (workerdIn(cache) === undefined) {
  const peers = new URL("../../npm/tools/peers.mjs", import.meta.url).pathname;
  execFileSync(process.execPath, [peers, cache], { stdio: "inherit" });
}
const workerd = workerdIn(cache);
if (workerd === undefined) {
  console.error("The Worker runs on workerd, which comes from npm.");
  process.exit(1);
}
const places = [{ name: "a", port: ports[0] }, { name: "b", port: ports[1] }];
const { urls, ended, stop } = await startWorkerd({ workerd, built, places });
const loading = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    loading.abort();
    void stop();
  });
}
console.log(`One Worker at two places, ${LIMIT} requests a minute for each client; try, often:
  curl -i -H 'CF-Connecting-IP: 192.0.2.1' ${urls.a}/
  curl -i -H 'CF-Connecting-IP: 192.0.2.1' ${urls.b}/
  curl -H 'Authorization: Bearer metrics' ${urls.a}/weir/metrics`);

if (words.includes("--load")) {
  const perSecond = Number(valueOf("--load")) || LOAD_PER_SECOND;
  const admitted = new WindowCounts(WINDOW_MS);
  let asked = 0;
  const tell = () => {
    const [current, previous] = admitted.at(Date.now());
    const [now, before] = [current, previous].map((count) => `${(100 * count) / LIMIT} %`);
    console.log(`${asked} requests of ${CLIENT}; admitted in this minute of the clock: ${now} ` +
                `of the limit, in the last: ${before} (at most ${100 * places.length} %)`);
  };
  const timer = setInterval(tell, TELL_EVERY_MS);
  const load = { urls: [urls.a, urls.b], perSecond, seconds: Infinity, client: CLIENT,
                 signal: loading.signal };
  void offerLoad(load, (status) => {
    ++asked;
    if (status === 200) admitted.add(Date.now());
  }).catch(() => clearInterval(timer));
}
await ended;
process.exit(0);
