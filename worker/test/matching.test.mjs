// Tables that are asked of the server and of the Worker: which rules apply to a request, under
// which keys and limits; when schedules hold; what denials say.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startNode } from "../../npm/test/world.mjs";
import { buildWorker } from "./world.mjs";

const folder = new URL(".", import.meta.url).pathname;
const built = buildWorker("matching", { file: join(folder, "matching.yaml"), words: ["--types"] });
const { matching, scheduleOf } = await import(pathToFileURL(join(built, "matching.js")));
const tableIn = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

const found = (list) => Object.fromEntries(list.map(({ rule, ...more }) => [rule, more]));

// A table says of a rule its key, or some of what there is to say.
function assertRules(actual, wanted, name) {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(wanted).sort(), name);
  for (const [rule, says] of Object.entries(wanted)) {
    const fields = typeof says === "string" ? { key: says } : says;
    const same = Object.keys(fields).map((field) => [field, actual[rule][field]]);
    assert.deepEqual(Object.fromEntries(same), fields, `${rule}: ${name}`);
  }
}

function askWorker({ path, method = "GET", host = "other.test", client, country = "", headers }) {
  const fields = client === undefined ? headers : { ...headers, "CF-Connecting-IP": client };
  const lines = Object.entries(fields ?? {}).flatMap(([name, value]) =>
    [value].flat().map((line) => [name, line]));
  // The URL stays as it is: parsing it would change its path.
  const request = { method, url: `https://${host}${path}`, headers: new Headers(lines) };
  return found(matching(request, country));
}

async function askServer(url, { country, headers, ...request }) {
  const told = { ...headers, ...(country === undefined ? {} : { "CF-IPCountry": country }) };
  const asked = { method: "GET", host: "other.test", headers: told, ...request };
  const reply = await fetch(`${url}/v1/explain`, { method: "POST", body: JSON.stringify(asked) });
  const text = await reply.text();
  if (reply.status !== 200) return `${reply.status} ${text}`;
  return found(JSON.parse(text).applies);
}

test("the server and the Worker match alike", async (t) => {
  const url = await startNode(t, "--config", join(folder, "matching.yaml"), "--threads", "1");
  for (const { rules, ...request } of tableIn("requests.json")) {
    const name = JSON.stringify(request);
    assertRules(askWorker(request), rules, `the Worker: ${name}`);
    const server = await askServer(url, request);
    // The server's API refuses what is no address; its doors take it for none.
    if (typeof server === "string") assert.match(server, /^400 .*client/, name);
    else assertRules(server, rules, `the server: ${name}`);
  }
});

// ExportedRules.KeepTheHours asks the server's part.
test("schedules hold when the server's do", () => {
  for (const { exported, holds } of tableIn("schedules.json")) {
    const schedule = scheduleOf(exported);
    for (const [at, held] of Object.entries(holds)) {
      const now = Date.parse(`${at.replace(" ", "T")}Z`);
      assert.equal(schedule(now), held, `${JSON.stringify(exported)} ${at}`);
    }
  }
});
