// Counters in KV as others keep them: a number, or the times of all requests as a JSON array.
// For their data, not for their precision: every request reads and writes.

import { decisionOf, type Decision } from "../decision.js";
import type { Quota } from "../quota.js";
import type { KvNamespace } from "./kv_namespace.js";

export type PlainFormat = "log" | "count";

const TTL_MIN_S = 60;
const TEXT_MAX = 1 << 20;

interface Counter {
  /** Units that fit into TEXT_MAX; what is longer is not read. */
  unitsMax: number;
  used(text: string | null, since: number): number[];
  text(times: number[]): string;
}

// The times that count, oldest first. A number stands for so many without a time.
const COUNTERS: Record<PlainFormat, Counter> = {
  log: {
    unitsMax: 1 << 16,
    used(text, since) {
      const times: unknown = JSON.parse(text ?? "[]");
      if (!Array.isArray(times)) throw new TypeError("no array");
      const first = times.findIndex((time) => time > since);
      return first < 0 ? [] : times.slice(first).filter(Number.isFinite);
    },
    text: (times) => JSON.stringify(times),
  },
  count: {
    unitsMax: TEXT_MAX,
    used(text, since) {
      const count = Number(text ?? 0);
      if (!(Number.isInteger(count) && count >= 0 && count <= TEXT_MAX)) throw new Error("none");
      return Array(count).fill(since);
    },
    text: (times) => String(times.length),
  },
};

export class PlainCounters {
  constructor(
    private readonly kv: KvNamespace,
    private readonly format: PlainFormat,
    private readonly failures: { reads: number; writes: number; values: number },
  ) {}

  get limitMax(): number {
    return COUNTERS[this.format].unitsMax;
  }

  /** REQUIRES: a limit up to limitMax. */
  async spend(name: string, quota: Quota, cost: number, now: number): Promise<Decision> {
    const windowMs = quota.windowUs / 1000;
    let times = await this.read(name, now - windowMs);
    const fits = times.length + cost <= quota.limit;
    const oldest = times[0] ?? now;
    const left = 1000 * Math.max(0, oldest + windowMs - now);
    const remaining = Math.max(0, quota.limit - times.length - (fits ? cost : 0));
    const more = remaining < quota.limit ? left : 0;
    if (!fits) {
      return decisionOf(cost > quota.limit ? 2 : 1, quota.limit, remaining, left, left, more,
                        1000 * now);
    }
    if (cost > 0) times = times.concat(Array(cost).fill(Math.floor(now)));
    if (cost < 0) times.splice(0, -cost);
    if (cost !== 0) await this.write(name, times, windowMs);
    return decisionOf(0, quota.limit, remaining, 0, left, more, 1000 * now);
  }

  private async read(name: string, since: number): Promise<number[]> {
    let text: string | null = null;
    try {
      text = await this.kv.get(name);
    } catch {
      ++this.failures.reads;
    }
    try {
      if (text !== null && text.length > TEXT_MAX) throw new RangeError("too long");
      return COUNTERS[this.format].used(text, since);
    } catch {
      ++this.failures.values;
      return [];
    }
  }

  private async write(name: string, times: number[], windowMs: number): Promise<void> {
    const expirationTtl = Math.max(TTL_MIN_S, Math.ceil(windowMs / 1000));
    try {
      await this.kv.put(name, COUNTERS[this.format].text(times), { expirationTtl });
    } catch {
      ++this.failures.writes;
    }
  }
}
