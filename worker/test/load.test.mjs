// The load that `./dev worker --load` sends: node --test

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import { offerLoad } from "../tools/load.mjs";

async function place(t, answer) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections() || server.close());
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

test("five of six requests go to the first place", async (t) => {
  const ok = (_, reply) => reply.end();
  const places = [await place(t, ok), await place(t, ok)];
  const counts = [0, 0];
  const load = { urls: places.map(({ url }) => url), perSecond: 600, seconds: 0.1, client: "::1" };
  await offerLoad(load, (status, index) => {
    assert.equal(status, 200);
    ++counts[index];
  });
  assert.deepEqual(counts, [50, 10]);
});

// It ended the process with a stack trace, as every `./dev worker --load` that was stopped did.
test("a place that goes away ends the load with its error", async (t) => {
  const { server, url } = await place(t, (_, reply) => {
    reply.end();
    server.close();
    server.closeAllConnections();
  });
  const load = { urls: [url], perSecond: 600, seconds: 3600, client: "::1" };
  await assert.rejects(offerLoad(load, () => {}), /ECONN|socket hang up/);
});
