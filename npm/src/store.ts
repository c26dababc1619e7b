// Store: where counters live. Implement it to keep them somewhere of your own.

import type { Decision } from "./decision.js";
import type { Quota } from "./quota.js";

/** `now` is in milliseconds since 1970; a store with a clock of its own ignores it. */
export interface Store<Answer extends Decision | Promise<Decision>> {
  /** Spends `cost` units of the key, if they fit. 0 looks, a negative cost gives back. */
  spend(quota: Quota, bucket: string, key: string, cost: number, now: number): Answer;
  /** Forgets what the key has spent. */
  reset(quota: Quota, bucket: string, key: string, now: number): void | Promise<void>;
}

export type SyncStore = Store<Decision>;
export type AsyncStore = Store<Promise<Decision>>;
