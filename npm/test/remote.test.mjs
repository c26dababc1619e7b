// Requests to a node: how many at a time, for how long, and how much of an answer is read.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { Limiter, RemoteStore } from "@weir/limiter";
import { start, until } from "./world.mjs";

const QUOTA = { limit: 1000, window: "1h" };
const url = "http://node";

// A server that answers as `handle` does, and the URL of it.
async function serve(t, handle) {
  const server = createServer((request, response) => {
    request.resume();
    handle(request, response);
  });
  t.after(() => (server.closeAllConnections(), server.close()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

// A store whose requests never end; those that were sent, in `sent`.
function hungStore(options = {}) {
  const sent = [];
  const fetch = (_, init) => (sent.push(init), new Promise(() => {}));
  const store = new RemoteStore({ url, fetch, deadline: 20, onFailure: "throw", ...options });
  return { store, sent };
}

test("the deadline ends a request, and all the calls of a turn have one", async () => {
  const { store, sent } = hungStore();
  const limiter = new Limiter(QUOTA, store);
  const hits = () => Promise.all([limiter.hit("b", "k"), limiter.hit("b", "j")]);
  const calls = [hits, () => limiter.reset("b", "k"), () => store.release("t")];
  for (const call of calls) {
    await assert.rejects(call(), { name: "StoreError", message: /^no answer within 20 ms$/ });
  }
  assert.equal(sent.length, 3);
  await until(() => sent.every(({ signal }) => signal.aborted));
});

test("what a node holds too late ends, whoever has decided meanwhile", async () => {
  const reserve = (limiter) => limiter.reserve("b", "k", { cost: 5, hold: 1 });
  const acquire = (limiter) => limiter.acquire("b", "k", { hold: 1 });
  const decision = { allowed: true, remaining: 1, retry_after: 0, reset_after: 1, limit: 5 };
  const ends = { "/v1/reserve": ["/v1/commit", { token: "t", cost: 0 }],
                 "/v1/acquire": ["/v1/release", { token: "t" }] };
  for (const onFailure of ["local", "allow", "deny", "throw"]) {
    for (const [ask, path] of [[reserve, "/v1/reserve"], [acquire, "/v1/acquire"]]) {
      const sent = [];
      let answer;
      const fetch = (to, { body, signal }) => {
        sent.push([to.slice(url.length), JSON.parse(body)]);
        return new Promise((resolve) => { answer = [resolve, signal]; });
      };
      const limiter = new Limiter(QUOTA, new RemoteStore({ url, fetch, onFailure, deadline: 20 }));
      await ask(limiter).catch(() => {});
      const [resolve, signal] = answer;
      assert.deepEqual([sent.length, signal.aborted, limiter.store.failures], [1, false, 1]);
      resolve(new Response(JSON.stringify({ ...decision, token: "t" })));
      await until(() => sent.length === 2);
      assert.deepEqual(sent[1], ends[path]);

      await ask(limiter).catch(() => {});
      answer[0](new Response(JSON.stringify({ ...decision, allowed: false })));
      await ask(limiter).catch(() => {});
      assert.equal(sent.length, 4, "nothing ends where nothing is held");
      await until(() => answer[1].aborted);  // some time later: who waits for ever is no better
    }
  }
});

test("a node that stood still keeps nothing of what it took meanwhile", async (t) => {
  const { child, found } = await start(
    t, process.env.WEIR_BINARY, ["serve", "--http", "127.0.0.1:0"],
    (line) => /listening on (http:\S+)/.exec(line));
  const of = (deadline) =>
    new Limiter(QUOTA, new RemoteStore({ url: found[1], onFailure: "throw", deadline }));
  const [hasty, patient] = [of(1000), of(20_000)];
  const acquire = (limiter) => limiter.acquire("b", "k", { limit: 2, hold: "1h" });
  const reserve = (limiter) => limiter.reserve("b", "k", { cost: 500, hold: "1h" });
  child.kill("SIGSTOP");
  const calls = [acquire, acquire, reserve, reserve].map((ask) => ask(hasty));
  for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
  child.kill("SIGCONT");
  await until(async () => {
    const held = await reserve(patient);
    await held.commit(0);
    return held.remaining === 500;
  });
  await until(async () => {
    const slot = await acquire(patient);
    await slot.release();
    return slot.remaining === 1;
  });
});

test("64 requests are under way at most; what has no time left is not sent", async () => {
  const { store, sent } = hungStore({ deadline: 500 });
  const calls = Array.from({ length: 200 }, (_, i) => store.release(`t${i}`));
  const ended = await Promise.allSettled(calls);
  assert.ok(ended.every(({ reason }) => /no answer within 500 ms/.test(reason?.message)));
  await until(() => sent.every(({ signal }) => signal.aborted));
  assert.ok(sent.length >= 64 && sent.length < 200, `${sent.length} of one burst`);

  let underWay = 0;
  let most = 0;
  const fetch = async () => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setTimeout(resolve));
    --underWay;
    return new Response('{"released":true}');
  };
  const busy = new RemoteStore({ url, fetch, deadline: 20_000 });
  const taken = await Promise.all(Array.from({ length: 200 }, () => busy.release("t")));
  assert.equal(taken.filter(Boolean).length, 200, "the others wait for their turn");
  assert.equal(most, 64);
});

test("an answer without an end is cut, and its connection closed", async (t) => {
  const chunk = Buffer.alloc(1 << 16, "x");
  for (const status of [200, 500]) {
    let closed = 0;
    const node = await serve(t, (_, response) => {
      response.writeHead(status);
      const more = () => { while (!response.destroyed && response.write(chunk)); };
      response.on("drain", more).on("close", () => ++closed);
      more();
    });
    const store = new RemoteStore({ url: node, onFailure: "throw", deadline: 20_000 });
    await assert.rejects(store.release("t"), ({ name, message }) =>
      name === "StoreError" && message.length < 300 &&
      /answered (what is no JSON|500: xxx)/.test(message));
    await until(() => closed === 1);
  }
});

test("a redirect is an answer that is none", async (t) => {
  const asked = [];
  const node = await serve(t, ({ url: path }, response) => {
    asked.push(path);
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  const store = new RemoteStore({ url: node, deadline: 20_000 });
  await assert.rejects(store.release("t"), /^StoreError: the node answered 307/);
  assert.deepEqual(asked, ["/v1/release"]);
});

test("a node that hangs keeps no program alive", async (t) => {
  const node = await serve(t, () => {});
  const program = `
import { Limiter, RemoteStore } from "@weir/limiter";
const limiter = new Limiter({ limit: 9, window: 60 }, new RemoteStore({ url: "${node}" }));
const all = [limiter.hit("b", "k"), limiter.reserve("b", "k", { cost: 1, hold: 1 })];
for (const { allowed } of await Promise.all(all)) console.log(allowed);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program],
                      { stdio: ["ignore", "pipe", "inherit"], timeout: 20_000 });
  let said = "";
  child.stdout.on("data", (bytes) => { said += bytes; });
  const [code] = await once(child, "close");
  assert.deepEqual([code, said], [0, "true\ntrue\n"]);
});
