// Load on several places at once, and what they admit of it.

import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** One request: its status, headers and body. */
export function ask(url, question = {}) {
  const { client = "192.0.2.1", path = "/", method = "GET", headers = {} } = question;
  return new Promise((resolve, reject) => {
    const options = { agent, method, headers: { "CF-Connecting-IP": client, ...headers } };
    const sent = request(url + path, options, (reply) => {
      let body = "";
      reply.setEncoding("utf8").on("data", (more) => (body += more));
      reply.on("end", () => resolve({ status: reply.statusCode, headers: reply.headers, body }));
    });
    sent.on("error", (error) => {
      // The server has closed a connection that was not used for a while.
      const isUnused = sent.reusedSocket && error.code === "ECONNRESET";
      isUnused ? resolve(ask(url, question)) : reject(error);
    });
    sent.end();
  });
}

/** Counts by windows since 1970, as a limit and its bound do. */
export class WindowCounts {
  constructor(windowMs) {
    this.windowMs = windowMs;
    this.counts = new Map();
  }
  add(time) {
    const window = Math.floor(time / this.windowMs);
    this.counts.set(window, (this.counts.get(window) ?? 0) + 1);
    this.counts.delete(window - 2);
  }
  /** The counts of the window that `time` lies in, and of the one before. */
  at(time) {
    const window = Math.floor(time / this.windowMs);
    return [window, window - 1].map((each) => this.counts.get(each) ?? 0);
  }
}

/**
 * So many requests a second, for so many seconds, five of six to the first place and the others
 * to the rest. Calls `onAnswer(status, place)` for each. Ends early when `signal` aborts it, and by
 * the first error of a request; what is under way then is nobody's any more.
 */
export async function offerLoad({ urls, perSecond, seconds, client, signal }, onAnswer) {
  const begin = performance.now();
  const pending = new Set();
  const total = perSecond * seconds;
  let failure;
  for (let sent = 0; sent < total;) {
    if (signal?.aborted) return;
    if (failure !== undefined) throw failure;
    const due = Math.min(total, ((performance.now() - begin) * perSecond) / 1000);
    for (; sent < due; ++sent) {
      const isFirst = sent % 6 < 5 || urls.length === 1;
      const place = isFirst ? 0 : 1 + (Math.floor(sent / 6) % (urls.length - 1));
      const answer = ask(urls[place], { client })
        .then(({ status }) => onAnswer(status, place))
        .catch((error) => (failure ??= error))
        .finally(() => pending.delete(answer));
      pending.add(answer);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(pending);
  if (failure !== undefined) throw failure;
}
