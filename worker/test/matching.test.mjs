// One table of requests, asked of the server (/v1/explain) and of the Worker's rules: the same
// rules apply, under the same keys.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startNode } from "../../npm/test/world.mjs";
import { buildWorker } from "./world.mjs";

const folder = new URL(".", import.meta.url).pathname;
const built = buildWorker("matching", { file: join(folder, "matching.yaml"), words: ["--types"] });
const { matching } = await import(pathToFileURL(join(built, "matching.js")));
const table = JSON.parse(readFileSync(join(folder, "requests.json"), "utf8"));

const found = (list) => Object.fromEntries(list.map(({ rule, key }) => [rule, key]));

function askWorker({ path, method = "GET", host = "other.test", client, country = "", headers }) {
  const fields = client === undefined ? headers : { ...headers, "CF-Connecting-IP": client };
  // The URL stays as it is: parsing it would change its path.
  const request = { method, url: `https://${host}${path}`, headers: new Headers(fields) };
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
  for (const { rules, ...request } of table) {
    const name = JSON.stringify(request);
    assert.deepEqual(askWorker(request), rules, `the Worker: ${name}`);
    const server = await askServer(url, request);
    // The server's API refuses what is no address; its doors take it for none.
    if (typeof server === "string") assert.match(server, /^400 .*client/, name);
    else assert.deepEqual(server, rules, `the server: ${name}`);
  }
});
