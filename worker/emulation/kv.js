// An emulated KV namespace, as strict as the real one: one write a key in WRITE_EVERY ms, an
// expiry of 60 s at least, a quota on writes. Places read it through kv_place.js.
//
// It speaks what workerd makes of KV calls: GET and PUT /NAME?urlencoded=true.

const TTL_MIN_S = 60;
const values = new Map();
const counts = { writes: 0, refused: 0 };

async function put(name, request, url, env) {
  const value = await request.text();  // always read: else workerd waits for ever
  const now = Date.now();
  const known = values.get(name);
  const ttl = Number(url.searchParams.get("expiration_ttl") ?? Infinity);
  if (ttl < TTL_MIN_S) return new Response("expiration_ttl must be at least 60", { status: 400 });
  const isEarly = known !== undefined && now - known.at < Number(env.WRITE_EVERY);
  if (isEarly || counts.writes >= Number(env.WRITES_MAX)) {
    ++counts.refused;
    return new Response("Too Many Requests", { status: 429 });
  }
  ++counts.writes;
  values.set(name, { value, at: now, until: now + 1000 * ttl });
  return new Response("");
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const name = url.pathname.slice(1);
    if (name === "_counts") return Response.json(counts);
    if (request.method === "PUT") return put(name, request, url, env);
    if (request.method === "DELETE") {
      values.delete(name);
      return new Response("");
    }
    const found = values.get(name);
    if (found === undefined || found.until <= Date.now()) return new Response("", { status: 404 });
    return new Response(found.value);
  },
};
