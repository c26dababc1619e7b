// The Worker on real workerd: denials to the letter, failing KVs, Durable Objects.
// Time goes faster for the KV in some.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ask } from "../tools/load.mjs";
import { buildWorker, requireWorkerd, ROOT, startPlaces } from "./world.mjs";

const workerd = requireWorkerd();
const METRICS = { headers: { Authorization: "Bearer metrics" }, path: "/weir/metrics" };

const statusesOf = async (url, count, options) => {
  const replies = [];
  for (let i = 0; i < count; ++i) replies.push((await ask(url, options)).status);
  return replies;
};
const countOf = (list, wanted) => list.filter((each) => each === wanted).length;

async function metric(url, name) {
  const { body } = await ask(url, METRICS);
  return Number(body.split("\n").find((line) => line.startsWith(`${name} `)).split(" ")[1]);
}

test("after the limit: the denial, to the letter", async (t) => {
  const built = buildWorker("denial", { file: join(ROOT, "worker/rules.yaml") });
  const { places: [url, other] } = await startPlaces(t, workerd, built, 2);
  assert.deepEqual(await statusesOf(url, 10), Array(10).fill(200));
  const { status, headers, body } = await ask(url);
  assert.equal(status, 429);
  assert.equal(body, '{"error":"Too Many Requests","errorCode":429}');
  assert.equal(headers["access-control-allow-origin"], "*");
  assert.equal(headers["cache-control"], "max-age=3");
  assert.equal(headers.country, "");
  assert.equal(headers.count, "10");
  assert.equal(headers.ip, "192.0.2.1");
  assert.equal((await ask(url, { client: "192.0.2.2" })).status, 200, "another client");
  assert.equal((await ask(other)).status, 200, "the other place has not heard of it");

  assert.equal((await ask(url, { path: "/weir/metrics" })).status, 404, "metrics are not for all");
  assert.equal(await metric(url, 'weir_worker_requests_total{decision="denied"}'), 1);
  assert.equal(await metric(url, 'weir_worker_rule_denials_total{rule="everyone"}'), 1);
  assert.equal(await metric(url, "weir_worker_errors_total"), 0);
});

test("what one place has admitted, another denies", async (t) => {
  const built = buildWorker("places", { text: `
rules:
  - { id: all, match: { path: /* }, key: client, limit: 30, window: 10m }
` });
  const { places: [first, second] } = await startPlaces(t, workerd, built, 2, { scale: 600 });
  assert.deepEqual(await statusesOf(first, 30), Array(30).fill(200));
  // It writes a minute later, by the KV's clock: within 150 ms.
  while ((await metric(first, 'weir_worker_kv_operations_total{kind="writes"}')) === 0) {
    assert.equal((await ask(first)).status, 429);
  }
  // It leaves the other an even share.
  assert.equal(countOf(await statusesOf(second, 30), 200), 15);
});

test("a KV without quota left limits each place by itself, and counts its failures", async (t) => {
  const built = buildWorker("quota", { text: `
rules:
  - { id: all, match: { path: /* }, key: client, limit: 30, window: 1h }
` });
  const { places: [url] } = await startPlaces(t, workerd, built, 2, { scale: 600, writesMax: 0 });
  const statuses = await statusesOf(url, 40);
  assert.deepEqual([countOf(statuses, 200), countOf(statuses, 429)], [30, 10]);
  while ((await metric(url, 'weir_worker_kv_failures_total{kind="writes"}')) === 0) {
    assert.equal((await ask(url)).status, 429);
  }
  assert.equal(await metric(url, "weir_worker_errors_total"), 0);
});

// That of a request with these lines, which no client of node would send.
function statusOf(url, path, lines) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(port, hostname);
    let reply = "";
    socket.on("error", reject).setEncoding("latin1").on("data", (more) => (reply += more));
    socket.on("end", () => resolve(Number(reply.split(" ")[1])));
    const head = [`GET ${path} HTTP/1.1`, "Host: a.test", "Connection: close", ...lines];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
  });
}

test("another line of Cookie or Authorization brings no fresh counter", async (t) => {
  const built = buildWorker("lines", { text: `
rules:
  - { id: session, match: { path: /cookie }, key: "cookie:s", limit: 3, window: 1h }
  - { id: token, match: { path: /token }, key: "header:Authorization", limit: 3, window: 1h }
  - { id: agent, match: { path: /agent }, key: "header:User-Agent", limit: 1, window: 1h }
  - { id: list, match: { path: /list }, key: "header:X-App", deny: mallory, limit: 9, window: 1h }
` });
  const { places: [url] } = await startPlaces(t, workerd, built, 1);
  const statuses = { "/cookie": [], "/token": [] };
  for (let i = 0; i < 5; ++i) {
    const cookies = ["Cookie: s=mine", `Cookie: s=${i}`];
    const tokens = ["Authorization: Bearer mine", `Authorization: Bearer ${i}`];
    statuses["/cookie"].push(await statusOf(url, "/cookie", cookies));
    statuses["/token"].push(await statusOf(url, "/token", tokens));
  }
  const wanted = [200, 200, 200, 429, 429];
  assert.deepEqual(statuses, { "/cookie": wanted, "/token": wanted });
  assert.equal(await statusOf(url, "/agent", ["User-Agent: a", "User-Agent: b"]), 200);
  assert.equal(await statusOf(url, "/agent", ["User-Agent: a, b"]), 429, "they are one value");
  assert.equal(await statusOf(url, "/agent", ["User-Agent: a"]), 200);
  assert.equal(await statusOf(url, "/list", ["X-App: alice", "X-App: mallory"]), 429);
  assert.equal(await statusOf(url, "/list", ["X-App: alice", "X-App: bob"]), 200);
});

test("Durable Objects: 300 requests by 16 clients, exactly 10 admitted", async (t) => {
  const built = buildWorker("durable", { store: "durable", text: `
rules:
  - { id: exact, match: { path: /exact }, limit: 10, window: 1h, algorithm: sliding_log }
  - { id: both-a, group: x, match: { path: /both }, limit: 3, window: 1h }
  - { id: both-b, group: y, match: { path: /both }, limit: 5, window: 1h, algorithm: token_bucket }
  - { id: shadow, match: { path: /shadow }, limit: 1, window: 1h, shadow: true }
` });
  const { places } = await startPlaces(t, workerd, built, 2);
  let left = 300;
  const statuses = [];
  const client = async (index) => {
    const url = places[0];
    const options = { path: "/exact", client: `10.0.0.${index}` };
    while (left-- > 0) statuses.push((await ask(url, options)).status);
  };
  await Promise.all(Array.from({ length: 16 }, (_, index) => client(index)));
  assert.equal(statuses.length, 300);
  assert.equal(countOf(statuses, 200), 10);
  assert.equal(countOf(statuses, 429), 290);

  const both = await statusesOf(places[0], 5, { path: "/both" });
  assert.equal(countOf(both, 200), 3, "the stricter of two rules");
  assert.deepEqual(await statusesOf(places[0], 3, { path: "/shadow" }), [200, 200, 200]);
  assert.equal(await metric(places[0], 'weir_worker_rule_denials_total{rule="shadow"}'), 2);
  assert.deepEqual(await statusesOf(places[0], 20, { path: "/none" }), Array(20).fill(200));
});
