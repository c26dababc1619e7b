// `weir export` refuses a rule with its place, or the Worker can load it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { buildWorker, ROOT, WEIR } from "./world.mjs";

const built = buildWorker("export", { text: "rules: []\n" });
const { Rules } = await import(pathToFileURL(join(built, "matching.js")));

// How many rules of the file the Worker has, and the lines of those that have been refused.
function exported(file, store) {
  const { status, stdout, stderr } = spawnSync(WEIR, ["export", file, "--store", store]);
  if (status === 0) return { rules: new Rules(stdout.subarray(1)).all.length, refused: [] };
  const lines = stderr.toString().trim().split("\n").filter((line) => !line.startsWith("see "));
  const places = lines.map((line) => /^(.*?):(?:(\d+):\d+:)? ./.exec(line));
  assert.ok(places.every((place) => place !== null && place[1] === file), lines.join("\n"));
  return { rules: 0, refused: places.map((place) => Number(place[2])) };
}

test("every rule file of this repository is refused with its place, or can be loaded", () => {
  const folders = ["tests", "examples", "docs", "deploy", "worker", "src", "fuzz"];
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name)))
    .filter((name) => /\.ya?ml$/.test(name));
  assert.ok(files.length > 10);
  const loaded = files.flatMap((file) =>
    ["kv", "durable"].map((store) => exported(file, store).rules));
  assert.ok(loaded.some((rules) => rules > 0));
});

test("a time zone of the server's is refused, or JavaScript has it", () => {
  const folder = "/usr/share/zoneinfo";
  const zones = readdirSync(folder, { recursive: true }).filter((name) => /^[\w/+-]+$/.test(name));
  const rule = (zone, index) => `  - { id: z${index}, match: {}, limit: 1, window: 1s, ` +
    `active: { zone: ${zone} } }`;
  const file = join(built, "zones.yaml");
  for (let lines = ["rules:", ...zones.map(rule)];;) {
    writeFileSync(file, `${lines.join("\n")}\n`);
    const { rules, refused } = exported(file, "kv");
    if (refused.length === 0) return assert.ok(rules > 300, String(rules));
    lines = lines.filter((_, index) => !refused.includes(index + 1));
  }
});
