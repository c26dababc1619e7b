// The Worker for rules of a test's own, built as `./dev worker` builds it.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { startWorkerd, workerdIn } from "../tools/workerd.mjs";

export const ROOT = resolve(new URL("../..", import.meta.url).pathname);
export const BUILD = process.env.WEIR_BUILD_DIR ?? join(ROOT, "build/dev");
export const WEIR = process.env.WEIR_BINARY ?? join(BUILD, "weir");
const CACHE = join(ROOT, "build/npm-cache");

/** The folder of the Worker for the rules of a YAML file, or of a text. */
export function buildWorker(name, { file, text, store = "kv", words = [] }) {
  const folder = join(BUILD, "worker", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const yaml = file ?? join(folder, "rules.yaml");
  if (text !== undefined) writeFileSync(yaml, text);
  const rules = join(folder, "rules.weir");
  writeFileSync(rules, execFileSync(WEIR, ["export", yaml, "--store", store]));
  const build = join(ROOT, "worker/tools/build.mjs");
  execFileSync(process.execPath, [build, folder, BUILD, rules, ...words],
               { stdio: "inherit" });
  return folder;
}

/** Ends a test program, as skipped, where workerd is not installed. */
export function requireWorkerd() {
  const workerd = workerdIn(CACHE);
  if (workerd !== undefined) return workerd;
  console.log(`skipped: workerd is not in ${CACHE}, as npm is out of reach`);
  process.exit(77);
}

/** The Worker at so many places, until the test ends. */
export async function startPlaces(test, workerd, built, count, options = {}) {
  const places = Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: 0 }));
  const running = await startWorkerd({ workerd, built, places, ...options });
  test.after(() => running.stop());
  return { ...running, places: places.map(({ name }) => running.urls[name]) };
}
