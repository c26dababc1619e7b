// Starts the Worker on workerd, Cloudflare's runtime, with an emulated KV: several places, each
// on a port of its own. workerd comes from npm and is for tests and trials only.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const EMULATION = resolve(dirname(fileURLToPath(import.meta.url)), "../emulation");
const COMPATIBILITY = "2025-06-01";
const READY_MS = 30_000;

/** workerd's program in a folder that npm has installed it in; nothing if it is not there. */
export function workerdIn(cache) {
  try {
    const require = createRequire(join(resolve(cache), "package.json"));
    const program = require.resolve("workerd/package.json");
    const [os, cpu] = [process.platform, process.arch === "x64" ? "64" : process.arch];
    const path = resolve(dirname(program), `../@cloudflare/workerd-${os}-${cpu}/bin/workerd`);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const text = (value) => JSON.stringify(String(value));
const binding = (name, value) => `(name = ${text(name)}, text = ${text(value)})`;
const service = (name, modules, bindings, more = "") => `
    (name = ${text(name)}, worker = (
      compatibilityDate = "${COMPATIBILITY}",
      modules = [${modules}],
      bindings = [${bindings.join(", ")}]${more})),`;
const plain = (file) => `(name = "${file}", esModule = embed "${file}")`;
const wasm = (file) => `(name = "${file}", wasm = embed "${file}")`;
const WORKER_FILES = ["worker.js", "weir.wasm", "rules.wasm"];
const WORKER_MODULES = WORKER_FILES.map((file) => (file.endsWith(".js") ? plain : wasm)(file));
const COUNTER = `,
      durableObjectNamespaces = [(className = "WeirCounter", uniqueKey = "weir")],
      durableObjectStorage = (inMemory = void)`;

function placeServices(place, { scale, places }) {
  return service(`kv-${place}`, plain("kv_place.js"), [
    `(name = "KV", service = "kv")`, binding("STALENESS", 60_000 / scale),
  ]) + service(`place-${place}`, WORKER_MODULES, [
    `(name = "KV", kvNamespace = "kv-${place}")`,
    `(name = "COUNTER", durableObjectNamespace = "WeirCounter")`,
    `(name = "ORIGIN", service = "origin")`,
    binding("PLACES", places.length), binding("KV_STALENESS", 60_000 / scale),
    binding("KV_WRITE_EVERY", 1000 / scale), binding("METRICS_TOKEN", "metrics"),
  ], COUNTER);
}

function configOf(options) {
  const { places, scale, writesMax } = options;
  const sockets = places.map(({ name, port }) =>
    `(name = "${name}", address = "127.0.0.1:${port}", http = (), service = "place-${name}")`);
  sockets.push(`(name = "kv", address = "127.0.0.1:0", http = (), service = "kv")`);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [${service("kv", plain("kv.js"), [
    binding("WRITE_EVERY", 1000 / scale), binding("WRITES_MAX", writesMax)])}${
    service("origin", plain("origin.js"), [])}${
    places.map(({ name }) => placeServices(name, options)).join("")}
  ],
  sockets = [${sockets.join(", ")}]
);
`;
}

/**
 * `built` is what build.mjs has made. Time goes `scale` times as fast for the KV; the rules'
 * windows are theirs. Returns workerd's process, the URL of each place and of "kv", and stop().
 */
export async function startWorkerd({ workerd, built, places, scale = 1, writesMax = 1e9 }) {
  const folder = join(resolve(built), `workerd-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  for (const file of WORKER_FILES) cpSync(join(built, file), join(folder, file));
  cpSync(EMULATION, folder, { recursive: true });
  writeFileSync(join(folder, "config.capnp"), configOf({ places, scale, writesMax }));
  const child = spawn(workerd, ["serve", "config.capnp", "--control-fd=3"],
                      { cwd: folder, stdio: ["ignore", "pipe", "pipe", "pipe"] });
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  }
  const urls = {};
  await new Promise((done, fail) => {
    const why = (what) => fail(new Error(`workerd ${what}:\n${lines.join("\n")}`));
    const timer = setTimeout(() => why("does not listen"), READY_MS);
    child.on("error", (error) => why(String(error)));
    child.on("exit", (code) => why(`ended with ${code}`));
    createInterface({ input: child.stdio[3] }).on("line", (line) => {
      const { event, socket, port } = JSON.parse(line);
      if (event === "listen") urls[socket] = `http://127.0.0.1:${port}`;
      if (Object.keys(urls).length < places.length + 1) return;
      clearTimeout(timer);
      done();
    });
  });
  const ended = new Promise((done) => child.on("exit", done));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid, urls, lines, ended, stop };
}
