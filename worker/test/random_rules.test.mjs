// Rules by chance: `weir export` refuses a rule with its place, or the Worker can load it, and
// then finds what the server finds for requests by chance.
//
// WEIR_SEED=N: other rules than every time.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startNode } from "../../npm/test/world.mjs";
import { askServer, askWorker } from "./explain.mjs";
import { buildWorker, ROOT, WEIR } from "./world.mjs";
import { Random, requestOf, ruleOf } from "./random_rules.mjs";

const FILES = 24;
const RULES = 16;  // as many groups as there may be
const REQUESTS = 60;
const SEED = Number(process.env.WEIR_SEED ?? 1);
const HEAD = ["country_header: CF-IPCountry", "rules:"];

const built = buildWorker("random_rules", { text: "rules: []\n" });
const { compileRules, factsOf, matching } = await import(pathToFileURL(join(built, "matching.js")));

// The Worker's texts are strings of bytes.
const readable = (bytes) => Buffer.from(bytes, "latin1").toString();

const exported = (file, store) =>
  spawnSync(WEIR, ["export", file, "--store", store], { encoding: "utf8" });

// Those that are left of the rules, each a line, without those that have been refused; and as JSON.
function exportable(file, lines, store) {
  for (let left = lines;;) {
    writeFileSync(file, `${[...HEAD, ...left].join("\n")}\n`);
    const { status, stdout, stderr } = exported(file, store);
    if (status === 0) return { left, json: JSON.parse(stdout) };
    const places = stderr.trim().split("\n").map((line) => /^(.*?):(\d+):\d+: ./.exec(line));
    assert.ok(places.every((place) => place !== null && place[1] === file), stderr);
    const wrong = new Set(places.map((place) => Number(place[2]) - HEAD.length - 1));
    const kept = left.filter((_, index) => !wrong.has(index));
    assert.ok(kept.length < left.length, stderr);
    left = kept;
  }
}

// What the Worker makes of a denial, which throws if it cannot be sent.
function answerOf({ id, answerTo }) {
  const facts = factsOf({ url: "https://a.test/", method: "GET", headers: new Headers() }, "DE");
  const decision = { allowed: false, remaining: 0, retryAfter: 1, resetAfter: 1, limit: 1 };
  const { status = 429, fields, body } = answerTo({ rule: id, key: "à", decision, facts });
  return new Response(body, { status, headers: new Headers(fields) });
}

test("what is exported can be loaded, and matches as it does in the server", async (t) => {
  let loaded = 0;
  for (let number = 0; number < FILES; ++number) {
    const random = new Random(1000 * SEED + number);
    const lines = Array.from({ length: RULES }, (_, index) => ruleOf(random, index));
    const file = join(built, `rules${number}.yaml`);
    const { left, json } = exportable(file, lines, "durable");
    const rules = compileRules(json);
    loaded += rules.length;
    rules.forEach(answerOf);
    const url = await startNode(t, "--config", file, "--threads", "1");
    for (let i = 0; i < REQUESTS; ++i) {
      const request = requestOf(random);
      const worker = askWorker(matching, request, rules);
      const server = await askServer(url, request);
      const name = `WEIR_SEED=${SEED} ${file} ${JSON.stringify(request)}`;
      assert.deepEqual(Object.keys(worker).sort(), Object.keys(server).sort(), name);
      for (const [rule, { key, tier = "", limit, decided_by }] of Object.entries(server)) {
        const { key: bytes, tier: tierBytes, ...more } = worker[rule];
        const found = { ...more, key: readable(bytes), tier: readable(tierBytes) };
        assert.deepEqual(found, { key, tier, limit, decided_by }, `${rule}: ${name}`);
      }
    }
    assert.ok(left.length > 0);
  }
  assert.ok(loaded > (FILES * RULES) / 4, `only ${loaded} rules were exported`);
});

test("every rule file of this repository is refused with its place, or can be loaded", () => {
  const folders = ["tests", "examples", "docs", "deploy", "worker", "src", "fuzz"];
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name)))
    .filter((name) => /\.ya?ml$/.test(name));
  assert.ok(files.length > 10);
  let loaded = 0;
  for (const file of files) {
    for (const store of ["kv", "durable"]) {
      const { status, stdout, stderr } = exported(file, store);
      if (status === 0) loaded += compileRules(JSON.parse(stdout)).length;
      else for (const line of stderr.trim().split("\n")) assert.ok(line.startsWith(file), line);
    }
  }
  assert.ok(loaded > 0, relative(ROOT, files[0]));
});

test("a time zone of the server's is refused, or JavaScript has it", () => {
  const folder = "/usr/share/zoneinfo";
  const zones = readdirSync(folder, { recursive: true }).filter((name) => /^[\w/+-]+$/.test(name));
  const rule = (zone, index) => `  - { id: z${index}, match: {}, limit: 1, window: 1s, ` +
    `active: { zone: ${zone} } }`;
  const { json } = exportable(join(built, "zones.yaml"), zones.map(rule), "kv");
  assert.ok(compileRules(json).length > 300);
});
