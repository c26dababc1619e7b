// Runs the tests of the console's pure parts by node's own runner, bundled by esbuild.
//
//   node run_tests.mjs BUILD

import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const CONSOLE = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = resolve(process.argv[2], "pure_tests");

rmSync(out, { recursive: true, force: true });
const tests = readdirSync(join(CONSOLE, "test")).filter((name) => name.endsWith(".test.mjs"));
execFileSync("esbuild", [
  ...tests.map((name) => join(CONSOLE, "test", name)), "--bundle", "--platform=node",
  "--format=esm", "--loader:.svg=text", "--out-extension:.js=.mjs", `--outdir=${out}`,
  "--log-level=warning",
], { stdio: "inherit" });
const { status } = spawnSync(process.execPath, ["--test", out], { stdio: "inherit" });
process.exit(status ?? 1);
