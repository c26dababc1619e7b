// The scenarios of tests/scenarios, asked of the Worker, over a KV that nobody else writes to.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { buildWorker, ROOT } from "./world.mjs";

const FOLDER = join(ROOT, "tests/scenarios");
const START = 1_700_006_400_000;  // midnight
const MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const TO_JSON = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
const ENV = {
  KV: { get: async () => null, put: async () => {}, delete: async () => {} },
  ORIGIN: { fetch: async () => new Response("origin") },
};

const read = (file) =>
  JSON.parse(execFileSync("/usr/bin/python3", ["-c", TO_JSON, join(FOLDER, file)])).scenarios;
const listOf = (value) => (value === undefined ? [] : [value].flat());

// docs/internals/worker.md says what `weir export` refuses.
const IN_WINDOWS = [undefined, "fixed_window", "sliding_window"];
const knows = (rule) =>
  [rule, ...listOf(rule.more_limits), ...listOf(rule.tiers), ...listOf(rule.overrides)]
    .every(({ algorithm }) => IN_WINDOWS.includes(algorithm)) &&
  rule.on_deny?.block === undefined && rule.overdraft === undefined && rule.enabled !== false &&
  (rule.cost === undefined || Number.isInteger(rule.cost));
const canSay = (step) => "request" in step || ("hit" in step && (step.cost ?? 1) === 1);
const canPlay = ({ only, rules = [], steps }) =>
  (only === undefined || listOf(only).includes("worker")) && rules.length > 0 &&
  rules.every(knows) && steps.every(canSay);

// As scenario.cc makes rules reachable that say nothing of it.
const reachable = (rule) => (rule.match !== undefined ? rule : {
  ...rule, match: { path: `/${rule.id}` }, group: rule.id, key: "header:X-Key",
  ...(rule.tiers === undefined ? {} : { tier: "header:X-Tier" }),
});

function requestOf(step, rules) {
  const target = step.request ?? `/${step.rule ?? rules[0].id}`;
  const fields = listOf(step.headers).map((line) => line.split(/: (.*)/s).slice(0, 2));
  fields.push(["CF-Connecting-IP", step.client ?? "192.0.2.1"]);
  if ("hit" in step) fields.push(["X-Key", String(step.hit)], ["X-Tier", step.tier ?? ""]);
  const headers = new Headers();
  for (const [name, value] of fields) headers.append(name, value);
  return { method: step.method ?? "GET", url: `https://${step.host ?? "localhost"}${target}`,
           headers };
}

async function play({ name, rules, settings = {}, steps }, file) {
  const text = JSON.stringify({ ...settings, rules: rules.map(reachable) });
  const built = buildWorker("scenario", { text });
  const module = pathToFileURL(join(built, "worker_in_node.js"));
  const { default: worker } = await import(`${module}?${encodeURIComponent(name)}`);
  let now = START;
  const { now: clock } = Date;
  Date.now = () => now;
  try {
    for (const step of steps) {
      if (step.at !== undefined) now = START + parseInt(step.at) * MS[step.at.slice(-1)];
      for (let turn = 0; turn < (step.times ?? 1); ++turn) {
        const reply = await worker.fetch(requestOf(step, rules), ENV, { waitUntil() {} });
        const what = `${file}: ${name}: ${JSON.stringify(step)}`;
        assert.equal(reply.status === 200, step.denied === undefined, what);
        if (step.status !== undefined) assert.equal(reply.status, step.status, what);
        if (step.body !== undefined) assert.equal(await reply.text(), step.body, what);
      }
    }
  } finally {
    Date.now = clock;
  }
}

test("the Worker plays the scenarios that it can", async () => {
  const log = console.log;
  console.log = () => {};  // a line a second of the Worker's
  let played = 0;
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"))) {
    for (const scenario of read(file).filter(canPlay)) {
      await play(scenario, file);
      ++played;
    }
  }
  console.log = log;
  assert.ok(played >= 20, String(played));
});
