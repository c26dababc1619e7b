// What a store that others keep (Redis, a node, a Durable Object) means when it is away: an
// outage is no denial. No call waits longer than its deadline.

import { StoreError } from "./batcher.js";
import { isDecision, uncounted, type Decision } from "./decision.js";
import { checkOptional, isCount, type NamesOf } from "./options.js";
import { MemoryStore } from "./memory_store.js";
import type { Quota } from "./quota.js";
import type { Held } from "./reservation.js";
import type { AsyncStore, SyncStore } from "./store.js";

export interface FailureOptions {
  /**
   * What a call gets while the store is away. `local` (unless given): this program's memory
   * decides, with the whole limit; `throw`: a StoreError.
   */
  onFailure?: "local" | "allow" | "deny" | "throw";
  /** Milliseconds until a call counts as failed: 250 unless given. */
  deadline?: number;
}
export const FAILURE_NAMES: NamesOf<FailureOptions> = { onFailure: true, deadline: true };

const DEADLINE_MS = 250;
export const DEADLINE_MAX_MS = 2 ** 31 - 1;  // of a timer
const ON_FAILURE = ["local", "allow", "deny", "throw"];

// fetch says why in the cause of "fetch failed", clients of Redis in the message.
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  const why = [message ?? String(error), cause?.message].filter((text) => text).join(": ");
  return Object.assign(new StoreError(`the store does not answer: ${why}`), { cause: error });
}

export abstract class FailoverStore implements AsyncStore {
  /** Calls that the store did not answer in time. */
  failures = 0;
  /** Why the last of them failed. */
  lastFailure?: StoreError;
  private readonly onFailure: NonNullable<FailureOptions["onFailure"]>;
  protected readonly deadline: number;
  private local: SyncStore | undefined;

  constructor(options: FailureOptions) {
    const { onFailure, deadline } = options;
    checkOptional("onFailure", onFailure, ON_FAILURE.includes(onFailure as string),
                  `one of ${ON_FAILURE.join(", ")}`);
    checkOptional("deadline", deadline, isCount(deadline, 1) && deadline! <= DEADLINE_MAX_MS,
                  "a number of milliseconds, 1 at least");
    this.onFailure = onFailure ?? "local";
    this.deadline = deadline ?? DEADLINE_MS;
  }

  protected abstract ask(quota: Quota, bucket: string, key: string,
                         cost: number): Promise<Decision>;
  protected abstract forget(quota: Quota, bucket: string, key: string): Promise<unknown>;

  async spend(quota: Quota, bucket: string, key: string, cost: number,
              now: number): Promise<Decision> {
    return this.decided(this.ask(quota, bucket, key, cost), quota,
                        (local) => local.spend(quota, bucket, key, cost, now));
  }

  async reset(quota: Quota, bucket: string, key: string): Promise<void> {
    await this.certain(this.forget(quota, bucket, key));
  }

  /** What the store answers, else what `onFailure` says; `local` asks memory. */
  protected async decided(answer: Promise<Held>, quota: Quota,
                          local: (memory: SyncStore) => Decision): Promise<Held> {
    try {
      const decision = await this.inTime(answer);
      if (!isDecision(decision)) throw new StoreError("the store answers what is no decision");
      return decision;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      ++this.failures;
      this.lastFailure = storeErrorOf(error);
      if (this.onFailure === "throw") throw this.lastFailure;
      if (this.onFailure !== "local") return uncounted(this.onFailure, quota.capacity);
      return local((this.local ??= new MemoryStore()));
    }
  }

  /** What the store answers in time, or a StoreError: nothing stands in for it. */
  protected async certain<T>(answer: Promise<T>): Promise<T> {
    try {
      return await this.inTime(answer);
    } catch (error) {
      throw error instanceof RangeError ? error : storeErrorOf(error);
    }
  }

  private inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError(`no answer within ${this.deadline} ms`)), this.deadline);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
