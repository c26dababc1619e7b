// One table of denials, asked of the server's /auth and of the Worker: they answer alike, as the
// rules' `on_deny` says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startNode } from "../../npm/test/world.mjs";
import { buildWorker } from "./world.mjs";

const folder = new URL(".", import.meta.url).pathname;
const built = buildWorker("denials", { file: join(folder, "denials.yaml") });
const { worker } = await import(pathToFileURL(join(built, "matching.js")));
const table = JSON.parse(readFileSync(join(folder, "denials.json"), "utf8"));

const kv = { get: async () => null, put: async () => {}, delete: async () => {} };
const env = { KV: kv, ORIGIN: { fetch: async () => new Response("origin") }, METRICS_TOKEN: "t" };
const context = { waitUntil: () => {} };

async function askWorker({ path, client = "", country, headers = {} }) {
  const fields = { ...headers, "CF-Connecting-IP": client };
  const asked = new Request(`https://www.example.com${path}`, { headers: fields });
  Object.defineProperty(asked, "cf", { value: { country } });
  const reply = await worker.fetch(asked, env, context);
  return { status: reply.status, statusText: reply.statusText,
           headers: Object.fromEntries(reply.headers), body: await reply.text() };
}

function askServer(url, { path, client, country = "", headers = {} }) {
  const fields = {
    ...headers, "X-Forwarded-Method": "GET", "X-Forwarded-Uri": path,
    "X-Forwarded-Host": "www.example.com", "CF-IPCountry": country,
    ...(client === undefined ? {} : { "X-Forwarded-For": client }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/auth`, { headers: fields }, (reply) => {
      let body = "";
      reply.setEncoding("utf8").on("data", (more) => (body += more));
      reply.on("end", () => resolve({ status: reply.statusCode, headers: reply.headers, body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

test("the server and the Worker deny alike", async (t) => {
  const url = await startNode(t, "--config", join(folder, "denials.yaml"), "--threads", "1");
  for (const { ask, answer } of table) {
    for (const [who, says] of [["the Worker", await askWorker(ask)],
                               ["the server", await askServer(url, ask)]]) {
      const name = `${who}: ${ask.path}`;
      assert.equal(says.status, answer.status, name);
      for (const [field, value] of Object.entries(answer.headers ?? {})) {
        assert.equal(says.headers[field], value, `${name}: ${field}`);
      }
      if (answer.body !== undefined) assert.equal(says.body, answer.body, name);
    }
  }
});

test("an answer has the text of its status", async () => {
  const textsBy = { "/json/a": "I'm a teapot", "/list?key=mallory": "Too Many Requests",
                    "/status": "Forbidden", "/weir/metrics": "Not Found" };
  for (const [path, text] of Object.entries(textsBy)) {
    assert.equal((await askWorker({ path })).statusText, text, path);
  }
});

test("a denial keeps those of the Worker's fields that its rule does not set", async () => {
  const { headers } = await askWorker({ path: "/status", client: "192.0.2.1", country: "FR" });
  assert.equal(headers["access-control-allow-origin"], "*");
  assert.equal(headers["cache-control"], "max-age=3");
  assert.equal(headers.country, "FR");
  assert.equal(headers.ip, "192.0.2.1");
});

test("denials are counted once each, of lists and of rules in shadow", async () => {
  const denialsBy = async (rule) => {
    const told = new Request("https://www.example.com/weir/metrics",
                             { headers: { Authorization: "Bearer t" } });
    const text = await (await worker.fetch(told, env, context)).text();
    const name = `weir_worker_rule_denials_total{rule="${rule}"} `;
    return Number(text.split("\n").find((line) => line.startsWith(name)).slice(name.length));
  };
  const before = await denialsBy("list");
  assert.equal((await askWorker({ path: "/list?key=mallory" })).status, 429);
  assert.equal(await denialsBy("list"), before + 1);
  assert.equal((await askWorker({ path: "/both" })).status, 200);
  assert.equal(await denialsBy("in-shadow"), 1);
});
