// Limiter: may this key spend this much now, and if not, when?
//
//   const limiter = new Limiter({ limit: 5, window: "1m" });
//   const { allowed, retryAfter } = limiter.hit("login", userId);

import type { Decision } from "./decision.js";
import { MemoryStore } from "./memory_store.js";
import {
  checkCost, checkOverrides, checkUnits, holdUs, Quota, QUOTA_NAMES, type Algorithm,
  type QuotaOptions, type Window,
} from "./quota.js";
import {
  checkNow, checkOptional, checkText, hasFunctions, isFunction, isText, isUnicode, ownOptions,
  type NamesOf,
} from "./options.js";
import { checkHolds, Reservation, Slot, type HoldingStore, type SlotTerms } from "./reservation.js";
import { checkKept, type Store } from "./store.js";

export interface LimiterOptions extends QuotaOptions {
  /** Keys that the memory fits, without a store: 100,000 unless given. */
  maxKeys?: number;
  /** Milliseconds since 1970. Date.now unless given. */
  clock?: () => number;
}
const LIMITER_NAMES: NamesOf<LimiterOptions> = { ...QUOTA_NAMES, maxKeys: true, clock: true };

export interface HitOptions {
  /** Units to spend: 1 unless given. 0 only looks, a negative cost gives back. */
  cost?: number;
  /** In place of the limiter's own, for this call. */
  limit?: number;
  window?: Window;
}
export type ResetOptions = Omit<HitOptions, "cost">;
const RESET_NAMES: NamesOf<ResetOptions> = { limit: true, window: true };
const HIT_NAMES: NamesOf<HitOptions> = { cost: true, ...RESET_NAMES };

export interface AcquireOptions {
  /** When what is held ends if nobody ends it: 1 ms to the window, of a slot to 24 hours. */
  hold: Window;
  /** A rule of the node, whose limits count; bucket and limiter do while the node is away. */
  rule?: string;
  limit?: number;
}
export interface ReserveOptions extends AcquireOptions {
  /** The estimate: 1 at least. */
  cost: number;
  window?: Window;
}
const ACQUIRE_NAMES: NamesOf<AcquireOptions> = { hold: true, rule: true, limit: true };
const RESERVE_NAMES: NamesOf<ReserveOptions> = { cost: true, window: true, ...ACQUIRE_NAMES };

type Answer = Decision | Promise<Decision>;

// What a type is where something else says which.
type Known<T> = [T][T extends unknown ? 0 : never];

const OVERRIDES_MAX = 256;
const DRAIN_TRIES_MAX = 16;

function then<A extends Answer>(answer: A, next: (decision: Decision) => Answer): A {
  const isLater = hasFunctions(answer, "then");
  return (isLater ? (answer as Promise<Decision>).then(next) : next(answer as Decision)) as A;
}

/** Nothing, as for a missing header, is the key of no characters: all who lack one share it. */
export type Key = string | null | undefined;

// Other values are refused: else all numbers, say, would be that key.
function checkedKey(bucket: string, key: Key): string {
  checkText("bucket", bucket);
  const text = key ?? "";
  checkText("key", text);
  return text;
}

const checkedClock = (clock: () => number) => (): number => {
  const now = clock();
  checkNow(now);
  return now;
};

function termsOf({ hold, rule }: AcquireOptions, most: string): SlotTerms {
  checkOptional("rule", rule, isText(rule) && rule !== "" && isUnicode(rule!),
                "the id of a rule of the node");
  return { holdUs: holdUs(hold, most), rule };
}

// A type that names only what hit() answers has `any`: its store may hold, as reserve() finds out.
type HeldBy<Holds> = unknown extends Holds ? unknown : Holds;

export class Limiter<A extends Answer = Decision, Counts extends Algorithm = Algorithm,
                     Holds = A extends Promise<Decision> ? any : unknown> {
  readonly quota: Quota;
  readonly store: Store<A> & HeldBy<Holds>;
  private readonly options: QuotaOptions;
  private readonly clock: () => number;
  private readonly overrides = new Map<string, Quota>();

  /** Without a store, memory decides, and hit() answers at once. */
  constructor(options: LimiterOptions & { algorithm?: Known<Counts> },
              store?: Store<A, Counts> | (Store<A, Counts> & Holds)) {
    const own = ownOptions(options, "limit and window", LIMITER_NAMES);
    const { maxKeys, clock, ...quota } = own;
    this.options = quota;
    this.quota = new Quota(quota);
    checkOptional("clock", clock, isFunction(clock), "a function, as Date.now is");
    checkOptional("store", store, hasFunctions(store, "spend", "reset"),
                  "a Store, such as new RedisStore({ client })");
    if (store !== undefined) checkKept(this.quota, store);
    this.clock = clock === undefined ? Date.now : checkedClock(clock);
    this.store = (store ?? new MemoryStore({ maxKeys })) as unknown as Store<A> & HeldBy<Holds>;
  }

  /** The same key in two buckets has two counters. */
  hit(bucket: string, key: Key, options?: HitOptions): A {
    const text = checkedKey(bucket, key);
    if (options === undefined) return this.store.spend(this.quota, bucket, text, 1, this.clock());
    const [quota, cost] = this.asked(options);
    return this.store.spend(quota, bucket, text, cost, this.clock());
  }

  /**
   * As hit(), but a cost that does not fit takes what is left, and is denied all the same. Others
   * may spend between its steps where hit() answers a promise; then it takes what they leave.
   */
  drain(bucket: string, key: Key, options: HitOptions = {}): A {
    const text = checkedKey(bucket, key);
    const [quota, cost] = this.asked(options);
    const spend = (units: number): A => this.store.spend(quota, bucket, text, units, this.clock());
    // The rest goes first: then the charge is denied once, and says how long from then on.
    const take = (tries: number): A => then(spend(0), ({ remaining }) => {
      const units = remaining > 0 && remaining < cost ? remaining : cost;
      return then(spend(units), (spent) => {
        const isWhole = units === cost;
        if (isWhole && spent.allowed) return spent;
        if (spent.remaining > 0 && tries > 0) return take(tries - 1);
        return isWhole ? spent : spend(cost);
      });
    });
    return take(DRAIN_TRIES_MAX);
  }

  /**
   * Holds units, which nobody else can spend, until their cost is known. By a limit, not by a rule,
   * what is held and charged is counted apart from hits. The store must be a HoldingStore.
   */
  async reserve(this: Limiter<A, Counts, HoldingStore>, bucket: string, key: Key,
                options: ReserveOptions): Promise<Reservation> {
    checkHolds(this.store);
    const text = checkedKey(bucket, key);
    const own = ownOptions(options, "cost and hold", RESERVE_NAMES);
    checkUnits("cost", own.cost, 1);
    const quota = this.quotaOf(own.limit, own.window);
    const terms = { cost: own.cost, ...termsOf(own, "the window") };
    const held = await this.store.reserve(quota, bucket, text, terms, this.clock());
    return new Reservation(this.store, held, own.cost);
  }

  /** Takes one of `limit` slots, for work of which only so much may be under way. */
  async acquire(this: Limiter<A, Counts, HoldingStore>, bucket: string, key: Key,
                options: AcquireOptions): Promise<Slot> {
    checkHolds(this.store);
    const text = checkedKey(bucket, key);
    const own = ownOptions(options, "hold", ACQUIRE_NAMES);
    const quota = this.quotaOf(own.limit, undefined);
    const terms = termsOf(own, "24 hours");
    return new Slot(this.store, await this.store.acquire(quota, bucket, text, terms));
  }

  /** Forgets what the key has spent. */
  reset(bucket: string, key: Key, options: ResetOptions = {}): void | Promise<void> {
    const text = checkedKey(bucket, key);
    const { limit, window } = ownOptions(options, "limit or window", RESET_NAMES);
    return this.store.reset(this.quotaOf(limit, window), bucket, text, this.clock());
  }

  private asked(options: HitOptions): [Quota, number] {
    const { cost = 1, limit, window } = ownOptions(options, "cost, limit or window", HIT_NAMES);
    checkCost(cost);
    return [this.quotaOf(limit, window), cost];
  }

  private quotaOf(limit: number | undefined, window: Window | undefined): Quota {
    if (limit === undefined && window === undefined) return this.quota;
    checkOverrides(limit, window);
    const name = `${limit}/${window}`;
    let quota = this.overrides.get(name);
    if (quota === undefined) {
      if (this.overrides.size === OVERRIDES_MAX) this.overrides.clear();
      quota = new Quota({
        ...this.options,
        limit: limit ?? this.options.limit,
        window: window ?? this.options.window,
      });
      this.overrides.set(name, quota);
    }
    return quota;
  }
}
