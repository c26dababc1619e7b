// Tables that are asked of the server and of the Worker: which rules apply to a request, under
// which keys and limits; when schedules hold; what denials say.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startNode } from "../../npm/test/world.mjs";
import { UNKNOWN, askServer, askWorker } from "./explain.mjs";
import { buildWorker } from "./world.mjs";

const folder = new URL(".", import.meta.url).pathname;
const built = buildWorker("matching", { file: join(folder, "matching.yaml"), words: ["--types"] });
const { matching } = await import(pathToFileURL(join(built, "matching.js")));
const tableIn = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

// A table says of a rule its key, or some of what there is to say.
function assertRules(actual, wanted, name) {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(wanted).sort(), name);
  for (const [rule, says] of Object.entries(wanted)) {
    const fields = typeof says === "string" ? { key: says } : says;
    const same = Object.keys(fields).map((field) => [field, actual[rule][field]]);
    assert.deepEqual(Object.fromEntries(same), fields, `${rule}: ${name}`);
  }
}

test("the server and the Worker match alike", async (t) => {
  const url = await startNode(t, "--config", join(folder, "matching.yaml"), "--threads", "1");
  // `worker`: what it alone finds, as it sees the lines of a header joined.
  for (const { rules, worker = rules, ...request } of tableIn("requests.json")) {
    const name = JSON.stringify(request);
    assertRules(askWorker(matching, request), worker, `the Worker: ${name}`);
    const server = await askServer(url, request);
    // The server's API refuses what is no address; its doors take it for none.
    if (typeof server === "string") {
      assert.match(server, /^400 .*client/, name);
      continue;
    }
    const known = Object.entries(rules).filter(([rule]) => !server[UNKNOWN].includes(rule));
    assertRules(server, Object.fromEntries(known), `the server: ${name}`);
  }
});

// As of a Request. Node's own take no line ends, and no characters beyond ISO 8859-1.
function headersOf(name, value) {
  try {
    return new Headers([[name, value]]);
  } catch {
    const get = (wanted) => (wanted.toLowerCase() === name.toLowerCase() ? value : null);
    return { get, [Symbol.iterator]: () => [[name, value]].values() };
  }
}

// tests/attack asks it of every host, over the wire.
test("the values of headers are read as every host reads them", async () => {
  const file = new URL("../../tests/attack/header_values.json", import.meta.url);
  const { rules, sent } = JSON.parse(readFileSync(file, "utf8"));
  const folderOfRules = buildWorker("header_values", { text: rules.join("\n") });
  const { worker } = await import(pathToFileURL(join(folderOfRules, "matching.js")));
  const env = {
    KV: { get: async () => null, put: async () => {}, delete: async () => {} },
    ORIGIN: { fetch: () => new Response("hello") },
  };
  // workerd reads bytes as UTF-8 where they are.
  const text = (bytes) => {
    const decoded = Buffer.from(bytes, "latin1").toString();
    return decoded.includes("\ufffd") ? bytes : decoded;
  };
  for (const [name, status, values] of sent) {
    for (const value of values) {
      const headers = headersOf(name, text(value));
      const request = { method: "GET", url: "https://a.test/", headers };
      const reply = await worker.fetch(request, env, { waitUntil: () => {} });
      assert.equal(reply.status, status, `${name}: ${JSON.stringify(value)}`);
    }
  }
});

const REPEATED = `rules:
  - { id: cookie, group: a, match: {}, key: "cookie:s", limit: 1, window: 1m }
  - { id: whole, group: b, match: {}, key: "header:Cookie", limit: 1, window: 1m }
  - { id: token, group: c, match: {}, key: "header:Authorization", limit: 1, window: 1m }
`;

// Headers joins the lines that a client has sent of a name; the server keeps them.
test("who sends another line of a header has no key of its own", async () => {
  const folderOfRules = buildWorker("repeated", { text: REPEATED });
  const { matching: match } = await import(pathToFileURL(join(folderOfRules, "matching.js")));
  const found = (lines) => {
    const headers = new Headers();
    for (const [name, value] of lines) headers.append(name, value);
    const rules = match({ method: "GET", url: "https://a.test/", headers }, "");
    return Object.fromEntries(rules.map(({ rule, key, decided_by }) => [rule, [key, decided_by]]));
  };
  const counted = (key) => [key, "counter"];
  for (const join of [", ", "; "]) {  // workerd's way, and that of HTTP/2
    const { cookie } = found([["Cookie", `s=1${join}s=2`]]);
    assert.deepEqual(cookie, counted(""), `joined by "${join}"`);
  }
  assert.deepEqual(found([["Cookie", "s=1, s=1"]]).cookie, counted("1"));
  assert.deepEqual(found([["Cookie", "s=1, x"]]).cookie, counted("1"));
  assert.deepEqual(found([["Cookie", "s=1, x=2"]]).whole, counted(""));
  assert.deepEqual(found([["Cookie", "s=1; x=2"]]).whole, counted("s=1; x=2"));

  const tokenOf = (...values) => found(values.map((value) => ["Authorization", value])).token[0];
  assert.equal(tokenOf("Bearer a", "Bearer b"), "");
  assert.equal(tokenOf("Bearer a", "b"), "");
  assert.equal(tokenOf("Bearer a=", "b=c"), "");
  assert.equal(tokenOf("Bearer a", "Bearer a"), "a");
  assert.equal(tokenOf("bearer  a"), "a");
  assert.equal(tokenOf("Basic YTpi"), "YTpi");
  const digest = 'username="a, b", uri="/", qop=auth';
  assert.equal(tokenOf(`Digest ${digest}`), digest);
  const signed = "Credential=a/b/aws4_request, SignedHeaders=host;date, " +
                 "Signature=1f";
  assert.equal(tokenOf(`AWS4-HMAC-SHA256 ${signed}`), signed);
  assert.equal(tokenOf(`AWS4-HMAC-SHA256 ${signed}`, "Basic YTpi"), "");
});

// ExportedRules.KeepTheHours asks the server, whose time zones are not JavaScript's.
test("schedules hold when the server's do", async () => {
  const table = tableIn("schedules.json");
  const rules = table.map(({ active }, index) =>
    `  - { id: r${index}, group: g${index}, match: {}, limit: 1, window: 1m, ` +
    `active: ${JSON.stringify(active)} }`);
  const hours = buildWorker("hours", { text: ["rules:", ...rules].join("\n") });
  const { matching: match } = await import(pathToFileURL(join(hours, "matching.js")));
  const request = { method: "GET", url: "https://a.test/", headers: new Headers() };
  for (const [index, { active, holds }] of table.entries()) {
    for (const [at, held] of Object.entries(holds)) {
      const found = match(request, "", Date.parse(`${at.replace(" ", "T")}Z`));
      const name = `${JSON.stringify(active)} ${at}`;
      assert.equal(found.some(({ rule }) => rule === `r${index}`), held, name);
    }
  }
});
