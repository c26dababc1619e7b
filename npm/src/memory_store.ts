// The embedded store: 27 bytes a key, bounded, in this program's memory. Its answers come at
// once. When it is full, a new key takes the place of an expired one, else of the one nearest to
// expiry. It never takes the place of a key over its limit while others are not.

import { Core } from "./core.js";
import { decisionOf, type Decision } from "./decision.js";
import { checkMaxKeys, checkOption, isCount, ownOptions, type NamesOf } from "./options.js";
import type { Quota } from "./quota.js";
import type { SyncStore } from "./store.js";

export interface MemoryStoreOptions {
  /** Keys that fit: 1,024 to 16,777,216; 100,000 unless given. */
  maxKeys?: number;
  /**
   * Keys of sliding windows that are counted precisely at once, while they are above a quarter of
   * their limit: 0 to 1,048,576, 624 bytes each; 0 unless given.
   */
  preciseKeys?: number;
}
export const MEMORY_NAMES: NamesOf<MemoryStoreOptions> = { maxKeys: true, preciseKeys: true };
const PRECISE_MAX = 1 << 20;

export const MAX_KEYS = 100_000;

export class MemoryStore implements SyncStore {
  private readonly maxKeys: number;
  private readonly preciseKeys: number;
  private core: Core | undefined;

  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = MAX_KEYS, preciseKeys = 0 } = ownOptions(options, "maxKeys", MEMORY_NAMES);
    checkMaxKeys(maxKeys);
    checkOption("preciseKeys", preciseKeys, isCount(preciseKeys, 0) && preciseKeys <= PRECISE_MAX,
                "a number from 0 to 1,048,576");
    this.maxKeys = maxKeys;
    this.preciseKeys = preciseKeys;
  }

  spend(quota: Quota, bucket: string, key: string, cost: number, now: number): Decision {
    const core = this.core ?? this.open(now);
    const quotaIndex = core.numberOfQuota(quota);
    const bucketIndex = core.numberOfBucket(bucket);
    const length = core.put(key);
    const verdict = core.spend(quotaIndex, bucketIndex, length, cost, now * 1000);
    const answer = core.answer;
    return decisionOf(verdict, answer[0]!, answer[1]!, answer[2]!, answer[3]!,
                      answer[5]!, now * 1000);
  }

  reset(quota: Quota, bucket: string, key: string, now: number): void {
    const core = this.core ?? this.open(now);
    const quotaIndex = core.numberOfQuota(quota);
    const bucketIndex = core.numberOfBucket(bucket);
    core.exports.weir_reset(quotaIndex, bucketIndex, core.put(key));
  }

  /** Live keys that had to make room so far. */
  get evictions(): number {
    return this.core?.exports.weir_evictions() ?? 0;
  }

  private open(now: number): Core {
    return (this.core = new Core(this.maxKeys, now * 1000, undefined, this.preciseKeys));
  }
}
