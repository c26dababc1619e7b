// The packed package, installed into empty projects: Node both ways, Bun, Deno; and with the real
// Express, Hono, Fastify, express-rate-limit, ioredis and node-redis. All come from npm: where
// npm/tools/peers.mjs has not brought one, its tests are skipped and say so.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as weir from "@weir/limiter";
import { folderOf, startRedis } from "./world.mjs";

const CACHE = resolve(process.env.WEIR_NPM_CACHE ?? "build/npm-cache");
const PACKAGE = resolve("node_modules/@weir/limiter");
const require = createRequire(join(CACHE, "package.json"));
const needs = (name) =>
  existsSync(join(CACHE, "node_modules", name)) ? {} : { skip: `${name} is not in ${CACHE}` };
// Some are for import alone.
async function peer(name) {
  const { exports, main } = JSON.parse(
    readFileSync(join(CACHE, "node_modules", name, "package.json"), "utf8"));
  const entry = exports?.["."]?.import ?? exports?.import ?? main ?? "index.js";
  const file = typeof entry === "string" ? entry : entry.default;
  return import(pathToFileURL(join(CACHE, "node_modules", name, file)));
}

// The package's own README is what users copy.
const README = readFileSync(join(PACKAGE, "README.md"), "utf8");
const [, TEN_LINES] = /```js\n(import [^]*?)```/.exec(README);
const REQUIRED = TEN_LINES.replace(/import (\{.*\}) from "(.*)";/, 'const $1 = require("$2");');
const SAYS = /^true 4 0\n\{[^]*RateLimit-Policy.*q=5;w=60[^]*\}$/;  // each prints in its own way

const run = (command, words, folder) =>
  execFileSync(command, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
    .trim();

function writeProgram(folder) {
  writeFileSync(join(folder, "main.mjs"), TEN_LINES);
  writeFileSync(join(folder, "main.cjs"), REQUIRED);
}

// An empty project with the package installed, as npm leaves it.
function project(t) {
  const folder = folderOf(t);
  mkdirSync(join(folder, "node_modules/@weir"), { recursive: true });
  symlinkSync(PACKAGE, join(folder, "node_modules/@weir/limiter"));
  writeFileSync(join(folder, "package.json"), '{"dependencies":{"@weir/limiter":"*"}}');
  writeProgram(folder);
  return folder;
}

test("node, by import and by require", (t) => {
  const folder = project(t);
  for (const file of ["main.mjs", "main.cjs"]) {
    assert.match(run(process.execPath, [file], folder), SAYS, file);
  }
});

// README's lines as TypeScript: of an import, and of a project whose files are CommonJS.
function writeTypedPrograms(folder) {
  const [, fetchLine] = /```js\n(export default .*)\n/.exec(README);
  const names = "import { limitFetch } from \"@weir/limiter\";\n" +
                "const handler = () => new Response();\n";
  const program = TEN_LINES + names + fetchLine;
  const required = "import weir = require(\"@weir/limiter\");\n" +
                   "const remaining: number = new weir.Limiter({ limit: 5, window: 60 })" +
                   ".hit(\"\", \"k\").remaining;\nconsole.log(remaining);\n";
  const programs = { "main.mts": program, "main.cts": program, "plain.ts": program,
                     "require.cts": required };
  for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, file), text);
  return Object.keys(programs);
}

// By Debian's tsc, which has made the types.
function checkTypes(folder, resolution, files, lib = "es2022,dom") {
  const module = resolution === "node16" ? "node16" : "commonjs";
  const words = ["--noEmit", "--strict", "--target", "es2022", "--module", module,
                 "--moduleResolution", resolution, "--lib", lib];
  const { status, stdout } = spawnSync("tsc", [...words, ...files],
                                       { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
}

test("README's lines have the types that they need, imported and required", (t) => {
  const folder = project(t);
  checkTypes(folder, "node16", writeTypedPrograms(folder));
});

// A server's project need not know what browsers have.
const WITHOUT_DOM = `
import * as weir from "@weir/limiter";
const quota = { limit: 5, window: 60 };
const limiter = new weir.Limiter(quota);
declare const namespace: weir.DurableStoreOptions["namespace"];
const stores = [new weir.RemoteStore({ url: "http://node" }), new weir.DurableStore({ namespace })];
export const later = new weir.Limiter(quota, stores[0]!).hit("b", "k").then((d) => d.allowed);
declare const answer: { status: number; ok: boolean; headers: { get(name: string): null };
                        json(): Promise<unknown>; text(): Promise<string> };
export const handler = weir.limitFetch(
  { limiter, key: (request) => request.headers.get("x-user") }, () => answer);
const remote = new weir.Limiter(quota, new weir.RemoteStore({ url: "http://node" }));
export async function work(): Promise<boolean> {
  const held = await remote.reserve("b", "k", { cost: 5, hold: "1s" });
  const end: () => Promise<void> = held[Symbol.asyncDispose];
  weir.headers(held, remote.quota);
  await (await remote.acquire("b", "k", { hold: 1 })).release();
  // @ts-expect-error: memory holds nothing
  await limiter.reserve("b", "k", { cost: 5, hold: "1s" });
  // @ts-expect-error: nor does a Redis by itself
  await new weir.Limiter(quota, new weir.RedisStore({ client })).acquire("b", "k", { hold: 1 });
  return held.allowed ? held.commit(5) : end === undefined;
}
export const named: weir.Limiter<Promise<weir.Decision>> = remote;
export const slots = named.acquire("b", "k", { hold: 1 });
export const redis: typeof named = new weir.Limiter(quota, new weir.RedisStore({ client }));
export const memory: weir.Limiter = limiter;
// @ts-expect-error: its type says that it answers at once, as no store does that holds
export const none = memory.acquire("b", "k", { hold: 1 });
// @ts-expect-error: the store keeps its type
export const nonsense = named.store.nonsense;
declare const client: weir.RedisStoreOptions["client"];
export const said = weir.headers(limiter.hit("b", "k"), limiter.quota)["Retry-After"];
`;
test("the types do without lib dom, and are its own where it is there", (t) => {
  const folder = project(t);
  writeFileSync(join(folder, "server.mts"), WITHOUT_DOM);
  checkTypes(folder, "node16", ["server.mts"], "es2022");
  const dom = `import { limitFetch, Limiter } from "@weir/limiter";
const key = (request: Request) => request.headers.get("x-user");
const limiter = new Limiter({ limit: 5, window: 60 });
const handler = (request: Request, env: { a: number }) => new Response(request.url + env.a);
export const made: (request: Request, env: { a: number }) => Promise<Response> =
  limitFetch({ limiter, key }, handler);
`;
  writeFileSync(join(folder, "browser.mts"), dom);
  checkTypes(folder, "node16", ["browser.mts"]);
});

test("the types refuse an algorithm by which the store cannot count", (t) => {
  const folder = project(t);
  writeFileSync(join(folder, "kept.mts"), `
import { KvStore, Limiter, limitFetch, RemoteStore, type KvNamespace } from "@weir/limiter";
declare const kv: KvNamespace;
const quota = { limit: 5, window: 60 };
const store = new KvStore({ kv });
// @ts-expect-error
new Limiter({ ...quota, algorithm: "token_bucket" }, store);
new Limiter({ ...quota, algorithm: "token_bucket" });
new Limiter({ ...quota, algorithm: "token_bucket" }, new RemoteStore({ url: "http://node" }));
const limiter = new Limiter({ ...quota, algorithm: "fixed_window" }, store);
export const later: Promise<boolean> = limiter.hit("b", "k").then((d) => d.allowed);
limitFetch({ limiter: new Limiter(quota, store), key: () => "k" }, () => new Response());
`);
  checkTypes(folder, "node16", ["kept.mts"]);
});

const hasNpm = spawnSync("npm", ["--version"]).status === 0;
const withNpm = hasNpm ? {} : { skip: "npm is not installed" };
test("npm install of the tarball, in an empty project", withNpm, (t) => {
  const folder = folderOf(t);
  const tarball = join(folder, "weir-limiter.tgz");
  // As `./dev npm` packs it.
  run("tar", ["-C", dirname(realpathSync(PACKAGE)), "-czf", tarball, "package"], folder);
  mkdirSync(join(folder, "project"));
  const empty = join(folder, "project");
  const words = ["install", "--offline", "--no-audit", "--no-fund"];
  run("npm", [...words, "--cache", join(folder, "cache"), tarball], empty);
  writeProgram(empty);
  for (const file of ["main.mjs", "main.cjs"]) {
    assert.match(run(process.execPath, [file], empty), SAYS, file);
  }
  const files = writeTypedPrograms(empty);
  checkTypes(empty, "node16", files);
  checkTypes(empty, "node", ["plain.ts"]);  // as before TypeScript knew "exports"
  const installed = JSON.parse(readFileSync(join(empty, "package-lock.json"), "utf8")).packages;
  assert.deepEqual(Object.keys(installed), ["", "node_modules/@weir/limiter"], "no dependencies");
});

test("browsers and others, with the module in the bundle", async () => {
  if (globalThis.crypto === undefined) return;  // node 18
  const { Limiter } = await import(pathToFileURL(join(PACKAGE, "inline.js")));
  assert.equal(new Limiter({ limit: 1, window: 1 }).hit("", "k").allowed, true);
});

test("bun", needs("bun"), (t) => {
  const bun = join(CACHE, "node_modules/.bin/bun");
  assert.match(run(bun, ["main.mjs"], project(t)), SAYS);
});

test("deno", needs("deno"), (t) => {
  const deno = join(CACHE, "node_modules/.bin/deno");
  const words = ["run", "--quiet", "--allow-read", "--allow-env", "--node-modules-dir=manual"];
  assert.match(run(deno, [...words, "main.mjs"], project(t)), SAYS);
});

async function statusesOf(url, count) {
  const replies = [];
  for (let i = 0; i < count; ++i) replies.push(await fetch(url));
  return replies.map(({ status }) => status);
}

async function listening(t, server) {
  await new Promise((resolve) => server.on("listening", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/`;
}

const limiter = () => new weir.Limiter({ limit: 2, window: "1h" });

test("express", needs("express"), async (t) => {
  const app = require("express")();
  app.use(weir.limitExpress({ limiter: limiter() }));
  app.get("/", (_, response) => response.send("ok"));
  const url = await listening(t, app.listen(0, "127.0.0.1"));
  assert.deepEqual(await statusesOf(url, 3), [200, 200, 429]);
  assert.equal((await fetch(url)).headers.get("ratelimit-policy"), '"default";q=2;w=3600');
});

test("express-rate-limit", needs("express-rate-limit"), async (t) => {
  const { rateLimit } = require("express-rate-limit");
  const app = require("express")();
  const store = new weir.CountingStore();
  app.use(rateLimit({ limit: 2, windowMs: 3600_000, standardHeaders: "draft-8", store }));
  app.get("/", (_, response) => response.send("ok"));
  const url = await listening(t, app.listen(0, "127.0.0.1"));
  const before = Date.now();
  assert.deepEqual(await statusesOf(url, 3), [200, 200, 429]);
  const { resetTime } = await store.get("127.0.0.1");
  assert.ok(resetTime - before >= 3600_000, "an hour from the first hit");
  await store.resetAll();
  assert.deepEqual(await statusesOf(url, 1), [200]);
});

test("hono", needs("hono"), async () => {
  const { Hono } = require("hono");
  const app = new Hono();
  app.use(weir.limitHono({ limiter: limiter(), key: (context) => context.req.header("x-user") }));
  app.get("/", (context) => context.text("ok"));
  const ask = async (headers) => (await app.request("/", { headers })).status;
  const headers = { "x-user": "u" };
  assert.deepEqual([await ask(headers), await ask(headers), await ask(headers)], [200, 200, 429]);
  assert.deepEqual([await ask({}), await ask({}), await ask({})], [200, 200, 429]);
});

test("hono-rate-limiter", needs("hono-rate-limiter"), async () => {
  const { Hono } = require("hono");
  const { rateLimiter } = await peer("hono-rate-limiter");
  const app = new Hono();
  const store = new weir.CountingStore();
  app.use(rateLimiter({ limit: 2, windowMs: 3600_000, keyGenerator: () => "k", store }));
  app.get("/", (context) => context.text("ok"));
  const statuses = [];
  for (let i = 0; i < 3; ++i) statuses.push((await app.request("/")).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test("fastify", needs("fastify"), async (t) => {
  const fastify = require("fastify")();
  t.after(() => fastify.close());
  fastify.addHook("onRequest", weir.limitFastify({ limiter: limiter() }));
  fastify.get("/", async () => "ok");
  const url = await fastify.listen({ port: 0, host: "127.0.0.1" });
  assert.deepEqual(await statusesOf(url, 3), [200, 200, 429]);
});

test("ioredis and node-redis", needs("ioredis"), async (t) => {
  const socket = await startRedis(t);
  const Redis = require("ioredis");
  const ioredis = new Redis(socket);
  t.after(() => ioredis.disconnect());
  const nodeRedis = require("redis").createClient({ socket: { path: socket } });
  await nodeRedis.connect();
  t.after(() => nodeRedis.destroy());
  const quota = { limit: 10, window: "1h" };
  const options = { onFailure: "throw", deadline: 20_000 };
  const [one, other] = [ioredis, nodeRedis].map((client) =>
    new weir.Limiter(quota, new weir.RedisStore({ client, ...options })));
  assert.equal((await one.hit("b", "k")).remaining, 9);
  assert.equal((await other.hit("b", "k")).remaining, 8);
  await ioredis.script("FLUSH");
  assert.equal((await one.hit("b", "k")).remaining, 7);
  await ioredis.script("FLUSH");
  assert.equal((await other.hit("b", "k")).remaining, 6);
});
