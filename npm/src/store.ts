// Store: where counters live. Implement it to keep them somewhere of your own.

import type { Decision } from "./decision.js";
import { checkOption } from "./options.js";
import type { Algorithm, Quota } from "./quota.js";

/** `now` is in milliseconds since 1970; a store with a clock of its own ignores it. */
export interface Store<Answer extends Decision | Promise<Decision>,
                       Counts extends Algorithm = Algorithm> {
  /** By which it can count: all unless given. */
  readonly algorithms?: readonly Counts[];
  /** As far as it can count; as far as anybody does unless given. */
  readonly limitMax?: number;
  /** Spends `cost` units of the key, if they fit. 0 looks, a negative cost gives back. */
  spend(quota: Quota, bucket: string, key: string, cost: number, now: number): Answer;
  /** Forgets what the key has spent. */
  reset(quota: Quota, bucket: string, key: string, now: number): void | Promise<void>;
}

/** Throws for a quota that the store cannot keep. */
export function checkKept(quota: Quota, store: Store<Decision | Promise<Decision>>): void {
  const { algorithms = [quota.name], limitMax = Infinity } = store;
  checkOption("algorithm", quota.name, algorithms.includes(quota.name),
              `one of ${algorithms.join(", ")}, by which this store counts`);
  checkOption("limit", quota.limit, quota.limit <= limitMax,
              `at most ${limitMax}, as far as this store counts`);
}

export type SyncStore = Store<Decision>;
export type AsyncStore = Store<Promise<Decision>>;
