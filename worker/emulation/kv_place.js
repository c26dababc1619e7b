// The KV as one place sees it: what it has read it keeps for STALENESS ms, misses too.

const cache = new Map();

export default {
  async fetch(request, env) {
    if (request.method !== "GET") return env.KV.fetch(request);
    const name = new URL(request.url).pathname;
    let known = cache.get(name);
    if (known === undefined || Date.now() - known.at >= Number(env.STALENESS)) {
      const reply = await env.KV.fetch(request);
      known = { status: reply.status, text: await reply.text(), at: Date.now() };
      cache.set(name, known);
    }
    return new Response(known.text, { status: known.status });
  },
};
