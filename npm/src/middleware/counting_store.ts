// A store for express-rate-limit 8 and hono-rate-limiter:
//
//   rateLimit({ store: new CountingStore() })
//
// Those ask a store for counts and decide themselves. So neither bursts nor costs fit through,
// and a denied request counts like any other; our own middlewares have all of that.

import { Limiter } from "../limiter.js";
import {
  MAX_KEYS, MEMORY_NAMES, MemoryStore, type MemoryStoreOptions,
} from "../memory_store.js";
import type { Decision } from "../decision.js";
import {
  checkMaxKeys, checkObject, checkOption, checkOptional, isCount, isText, ownOptions, type NamesOf,
} from "../options.js";
import type { Store } from "../store.js";
import { FirstHitWindows } from "./first_hit_windows.js";

export interface CountingStoreOptions extends MemoryStoreOptions {
  /** Where counts are; memory unless given. */
  store?: Store<Decision> | Store<Promise<Decision>>;
  /** Keys of other prefixes have counts of their own. */
  prefix?: string;
  /**
   * When a key's window begins: with its first hit, as in the memory of those packages, or at a
   * multiple of `windowMs` since 1970, as in the server. `first_hit` in memory unless given;
   * `aligned` with a store, whose programs agree on no other beginning.
   */
  windows?: "first_hit" | "aligned";
  clock?: () => number;
}
const NAMES: NamesOf<CountingStoreOptions> = {
  ...MEMORY_NAMES, store: true, prefix: true, windows: true, clock: true,
};

const WINDOWS = ["first_hit", "aligned"];
const COUNT_MAX = 1_000_000_000;  // nobody is limited here
const WINDOW_MS = 60_000;
const WINDOW_MAX_MS = 366 * 24 * 3600_000;

export class CountingStore {
  readonly prefix: string;
  /** Whether counts are this process's own. */
  readonly localKeys: boolean;
  /** Forgets all keys; a store has no list of them. */
  readonly resetAll: (() => void) | undefined;
  private readonly options: CountingStoreOptions;
  private windowMs = WINDOW_MS;
  private limiter: Limiter<Decision | Promise<Decision>>;

  constructor(options: CountingStoreOptions = {}) {
    this.options = ownOptions(options, "store, prefix or maxKeys", NAMES);
    const { prefix = "", store, maxKeys, windows } = this.options;
    checkOptional("prefix", prefix, isText(prefix), "a text");
    checkMaxKeys(maxKeys);
    checkOptional("windows", windows, WINDOWS.includes(windows!), `one of ${WINDOWS.join(", ")}`);
    this.prefix = prefix;
    this.localKeys = store === undefined;
    checkOptional("windows", windows, this.localKeys || windows === "aligned",
                  "aligned, as a store's are");
    this.limiter = this.freshLimiter();
    if (this.localKeys) this.resetAll = () => void (this.limiter = this.freshLimiter());
  }

  /** Called by the middleware, with its own options. */
  init(options: { windowMs: number }): void {
    checkObject(options, "windowMs");
    const { windowMs } = options;
    const isRight = isCount(windowMs, 1) && windowMs <= WINDOW_MAX_MS;
    checkOption("windowMs", windowMs, isRight, "milliseconds, from 1 to 366 days");
    this.windowMs = windowMs;
    this.limiter = this.freshLimiter();
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
    const { clock = Date.now } = this.options;
    const { remaining, resetAfter, resetAt = clock() + 1000 * resetAfter } =
      await this.limiter.hit(this.prefix, key, { cost });
    return { totalHits: COUNT_MAX - remaining, resetTime: new Date(resetAt) };
  }

  private freshLimiter(): Limiter<Decision | Promise<Decision>> {
    const { maxKeys = MAX_KEYS, windows, clock = Date.now } = this.options;
    const memory = windows === "aligned" ? new MemoryStore({ maxKeys })
                                         : new FirstHitWindows(maxKeys);
    const { store = memory } = this.options;
    const window = this.windowMs / 1000;
    return new Limiter({ limit: COUNT_MAX, window, algorithm: "fixed_window", clock },
                       store as Store<Decision | Promise<Decision>>);
  }
}
