// The load that `./dev worker --load` offers ends when it is stopped, and when the places are.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import { offerLoad } from "../tools/load.mjs";

async function withServer(onRequest, body) {
  const server = createServer(onRequest).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await body({ urls: [`http://127.0.0.1:${server.address().port}`], perSecond: 500,
                 seconds: Infinity, client: "192.0.2.1" });
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
}

test("a place that dies under load is an error of the load, and of nobody else", async () => {
  let asked = 0;
  const onRequest = (request, reply) => (++asked > 20 ? request.destroy() : reply.end());
  await withServer(onRequest, async (load) => {
    await assert.rejects(offerLoad(load, () => {}), { code: "ECONNRESET" });
  });
});

test("load that is stopped leaves what is under way, and its errors", async () => {
  const loading = new AbortController();
  let asked = 0;
  const onRequest = () => ++asked === 20 && loading.abort();  // answers none
  await withServer(onRequest, (load) => offerLoad({ ...load, signal: loading.signal }, () => {}));
  assert.ok(asked >= 20);
});
