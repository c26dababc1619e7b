// A store for express-rate-limit 8 and hono-rate-limiter:
//
//   rateLimit({ store: new CountingStore() })
//
// Those ask a store for counts and decide themselves. So neither bursts nor costs fit through,
// and a denied request counts like any other; our own middlewares have all of that.

import { Limiter } from "../limiter.js";
import { MEMORY_NAMES, MemoryStore, type MemoryStoreOptions } from "../memory_store.js";
import type { Decision } from "../decision.js";
import {
  checkObject, checkOption, checkOptional, isCount, isText, ownOptions, type NamesOf,
} from "../options.js";
import type { Store } from "../store.js";

export interface CountingStoreOptions extends MemoryStoreOptions {
  /** Where counts are; memory unless given. */
  store?: Store<Decision> | Store<Promise<Decision>>;
  /** Keys of other prefixes have counts of their own. */
  prefix?: string;
  clock?: () => number;
}
const NAMES: NamesOf<CountingStoreOptions> = {
  ...MEMORY_NAMES, store: true, prefix: true, clock: true,
};

const COUNT_MAX = 1_000_000_000;  // nobody is limited here
const WINDOW_MS = 60_000;
const WINDOW_MAX_MS = 366 * 24 * 3600_000;

export class CountingStore {
  readonly prefix: string;
  /** Whether counts are this process's own. */
  readonly localKeys: boolean;
  private readonly options: CountingStoreOptions;
  private limiter: Limiter<Decision | Promise<Decision>>;

  constructor(options: CountingStoreOptions = {}) {
    this.options = ownOptions(options, "store, prefix or maxKeys", NAMES);
    const { prefix = "", store } = this.options;
    checkOptional("prefix", prefix, isText(prefix), "a text");
    this.prefix = prefix;
    this.localKeys = store === undefined;
    this.limiter = this.limiterOf(WINDOW_MS);
  }

  /** Called by the middleware, with its own options. */
  init(options: { windowMs: number }): void {
    checkObject(options, "windowMs");
    const { windowMs } = options;
    const isRight = isCount(windowMs, 1) && windowMs <= WINDOW_MAX_MS;
    checkOption("windowMs", windowMs, isRight, "milliseconds, from 1 to 366 days");
    this.limiter = this.limiterOf(windowMs);
  }

  increment(key: string): Promise<{ totalHits: number; resetTime: Date }> {
    return this.count(key, 1);
  }

  async decrement(key: string): Promise<void> {
    await this.count(key, -1);
  }

  get(key: string): Promise<{ totalHits: number; resetTime: Date }> {
    return this.count(key, 0);
  }

  async resetKey(key: string): Promise<void> {
    await this.limiter.reset(this.prefix, key);
  }

  private async count(key: string, cost: number): Promise<{ totalHits: number; resetTime: Date }> {
    const { remaining, resetAfter } = await this.limiter.hit(this.prefix, key, { cost });
    const { clock = Date.now } = this.options;
    const now = clock();
    return { totalHits: COUNT_MAX - remaining, resetTime: new Date(now + 1000 * resetAfter) };
  }

  private limiterOf(windowMs: number): Limiter<Decision | Promise<Decision>> {
    const quota = { limit: COUNT_MAX, window: windowMs / 1000, algorithm: "fixed_window" as const };
    const { maxKeys, store = new MemoryStore({ maxKeys }), clock = Date.now } = this.options;
    return new Limiter({ ...quota, clock }, store as Store<Decision | Promise<Decision>>);
  }
}
