// Reservation and Slot: what a store holds while work is under way. The cost of the one is known
// later; of the other only so much may be under way at once.
//
//   const reserved = await limiter.reserve("tokens", user, { cost: 300, hold: "30s" });
//   if (reserved.allowed) await reserved.commit(await answer());

import type { Decision } from "./decision.js";
import { checkNoOptions, hasFunctions } from "./options.js";
import { checkUnits, type Quota } from "./quota.js";

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

export interface SlotTerms {
  /** Until what is held ends by itself, in microseconds. */
  holdUs: number;
  /** Whose limits count in place of the quota, and by the key alone, in no bucket. */
  rule?: string;
}
export interface HoldTerms extends SlotTerms {
  /** Units, 1 at least. */
  cost: number;
}

/** What was decided, and the name of what is held. Nothing is held where there is no name. */
export type Held = Decision & { token?: string };

/** A store that holds units and slots, too. A node of Weir does; counters alone do not. */
export interface HoldingStore {
  reserve(quota: Quota, bucket: string, key: string, terms: HoldTerms, now: number): Promise<Held>;
  acquire(quota: Quota, bucket: string, key: string, terms: SlotTerms): Promise<Held>;
  /** The work is done, and has cost so much. False: nothing is held by that name. */
  commit(token: string, cost: number): Promise<boolean>;
  /** The work has cost so much so far, and goes on. False: nothing is held by that name. */
  report(token: string, cost: number): Promise<boolean>;
  /** False: no slot has that name. */
  release(token: string): Promise<boolean>;
}

/** Over HTTP the field `more` tells the two apart; ignored here, it would end what goes on. */
export function checkNoMore(rest: readonly unknown[]): void {
  checkNoOptions(rest, "report() says what work that goes on has cost, commit() that it is done");
}

/** Throws for a store of counters alone. */
export function checkHolds(store: object): void {
  if (hasFunctions(store, "reserve", "acquire", "commit", "report", "release")) return;
  throw new TypeError(`a ${store.constructor.name} holds nothing for work under way, as it has ` +
                      "counters alone; a node of Weir does: new Limiter(options, " +
                      "new RemoteStore({ url }))");
}

/** What is left of a decision about slots; what is held may end sooner than `retryAfter`. */
type Admission = Pick<Decision, "allowed" | "limit" | "remaining" | "retryAfter">;
interface Holding extends Admission {}

// Private names: a program may answer its client with the decision, as JSON.
abstract class Holding {
  readonly #token: string | undefined;
  #isOver: boolean;

  constructor(decision: Admission, token: string | undefined) {
    Object.assign(this, decision);
    this.#token = token;
    this.#isOver = token === undefined;
  }

  /** A program that knows it can end this, too. None: nothing is held. */
  get token(): string | undefined {
    return this.#token;
  }

  protected async tell(end: (token: string) => Promise<boolean>, goesOn = false): Promise<boolean> {
    if (this.#isOver) return false;
    const isTaken = await end(this.#token!);
    this.#isOver ||= !(goesOn && isTaken);
    return isTaken;
  }

  protected abstract end(): Promise<boolean>;

  /** For `await using`. Where the store does not answer, it ends by itself, later. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => false);
  }
}

export interface Reservation extends Decision {}

/**
 * Units that are held. If nobody commits, their lapse charges what was reported last, else the
 * estimate; of a rule with `lapse: refund` only what was reported. At the end of a block
 * `await using` commits the last report, else the estimate, of such a rule, too, and if the block
 * throws. Where work that failed costs nothing, commit(0).
 */
export class Reservation extends Holding {
  readonly #store: HoldingStore;
  #cost: number;

  constructor(store: HoldingStore, { token, ...decision }: Held, estimate: number) {
    super(decision, token);
    this.#store = store;
    this.#cost = estimate;
  }

  /** The work has cost so much so far, and goes on. False: nothing is held, not any more. */
  async report(cost: number, ...none: []): Promise<boolean> {
    checkNoMore(none);
    checkUnits("cost", cost, 0);
    this.#cost = cost;
    return this.tell((token) => this.#store.report(token, cost), true);
  }

  /**
   * The work is done, and has cost so much. False, and nothing is charged: it was committed before,
   * or has lapsed, or nothing was held. A StoreError: try again, nobody knows.
   */
  async commit(cost: number, ...none: []): Promise<boolean> {
    checkNoMore(none);
    checkUnits("cost", cost, 0);
    this.#cost = cost;
    return this.tell((token) => this.#store.commit(token, cost));
  }

  protected end(): Promise<boolean> {
    return this.commit(this.#cost);
  }
}

/** One of as many pieces of work as may be under way. `await using` releases it. */
export class Slot extends Holding {
  readonly #store: HoldingStore;

  constructor(store: HoldingStore, { allowed, limit, remaining, retryAfter, token }: Held) {
    super({ allowed, limit, remaining, retryAfter }, token);
    this.#store = store;
  }

  /** False: it has ended before, and other work may have it; or nothing was held. */
  release(): Promise<boolean> {
    return this.tell((token) => this.#store.release(token));
  }

  protected end(): Promise<boolean> {
    return this.release();
  }
}
