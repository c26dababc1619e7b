// What tests and benchmarks compare the package with, from npm, into a folder of the build. The
// package itself needs none of it. Where npm is out of reach it says so, and they are skipped.
//
//   node peers.mjs FOLDER

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const PEERS = ["workerd", "express@5", "hono", "@hono/node-server", "fastify",
               "express-rate-limit@8", "hono-rate-limiter", "rate-limiter-flexible", "ioredis",
               "redis", "bun", "deno", "axe-core"];
const TIMEOUT_MS = 180_000;

const folder = resolve(process.argv[2]);
const manifest = join(folder, "package.json");
const isThere = (peer) => existsSync(join(folder, "node_modules", peer.replace(/(.)@.*/, "$1")));

if (!PEERS.every(isThere)) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(manifest)) writeFileSync(manifest, '{"private":true}\n');
  console.log(`==> npm brings ${PEERS.length} packages to compare with, into ${folder}`);
  const { status, error } = spawnSync(
    "npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PEERS],
    { cwd: folder, timeout: TIMEOUT_MS, stdio: ["ignore", "ignore", "ignore"] });
  if (status !== 0) {
    const why = error?.code === "ENOENT" ? "npm is not installed" : "npm is out of reach";
    console.log(`==> ${why}: tests on workerd, Express, Bun and other peers are skipped`);
  }
}
