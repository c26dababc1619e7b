// A Weir node decides, over HTTP. All hits in one turn of the event loop become one request.

import { Batcher, StoreError } from "./batcher.js";
import { uncounted, type Decision } from "./decision.js";
import { digestOf } from "./digest.js";
import { FAILURE_NAMES, FailoverStore, type FailureOptions } from "./failover.js";
import { NodeClient, Refusal, type NodeOptions } from "./node_client.js";
import {
  checkOption, checkOptional, isFunction, isText, isUnicode, ownOptions, shown, type NamesOf,
} from "./options.js";
import type { Quota } from "./quota.js";
import {
  checkNoMore, type Held, type HoldingStore, type HoldTerms, type SlotTerms,
} from "./reservation.js";
import type { SyncStore } from "./store.js";

export interface RemoteStoreOptions extends NodeOptions, FailureOptions {}
const NAMES: NamesOf<RemoteStoreOptions> = {
  url: true, fetch: true, headers: true, ...FAILURE_NAMES,
};

interface Check {
  key: string;
  bucket: string;
  cost: number;
  limit: number;
  window: number;
  algorithm: string;
  burst?: number;
}

interface Result {
  allowed: boolean;
  remaining: number;
  retry_after: number | null;
  reset_after: number;
  limit: number;
}

type Granted = Result & { token?: string };

const isProblem = (error: unknown, ...kinds: string[]): error is Refusal =>
  error instanceof Refusal && kinds.some((kind) => error.type === `urn:weir:problem:${kind}`);

const CHECKS_MAX = 256;  // of one request
const LATE_DEADLINES = 10;  // for what a late answer holds
const TEXT_MAX = 1024;   // UTF-16 units, at most three bytes each; a node takes 4,096 bytes
const KEY_BYTES_MAX = 4096;

// Whether a node takes the text as it is. One that it refused would fail all calls of the turn.
const isTaken = (text: string): boolean => text.length <= TEXT_MAX && isUnicode(text);

// Whether any door of a node takes the key: by a rule it must be the same key at all of them.
const isRulesKey = (key: string): boolean =>
  key !== "" && key.length <= KEY_BYTES_MAX && isUnicode(key) &&
  new TextEncoder().encode(key).length <= KEY_BYTES_MAX;

function succeeds(make: () => unknown): boolean {
  try {
    return make() !== undefined;
  } catch {
    return false;
  }
}

// Refuses here the headers and addresses that fetch would refuse at each call.
function isFields(headers: any): boolean {
  const isPlain = typeof headers === "object" && headers !== null && !isFunction(headers.get);
  return isPlain && Object.values(headers).every(isText) && succeeds(() => new Headers(headers));
}
const isNodesUrl = (url: string): boolean =>
  /^https?:\/\/[^\\/?#@]+(\/[^?#]*)?$/i.test(url) && succeeds(() => new URL(url));

function checkOf(quota: Quota, bucket: string, key: string, cost: number): Check {
  const { limit, window, name, burst } = quota;
  const check: Check = { key, bucket, cost, limit, window, algorithm: name };
  return burst > 0 ? { ...check, burst } : check;
}

function decisionOf(result: Result): Decision {
  return {
    allowed: result.allowed,
    remaining: result.remaining,
    retryAfter: result.retry_after ?? Infinity,
    resetAfter: result.reset_after,
    moreAfter: result.retry_after || result.reset_after,
    limit: result.limit,
  };
}

export class RemoteStore extends FailoverStore implements HoldingStore {
  private readonly batcher = new Batcher<Check, Decision>(CHECKS_MAX, (checks) =>
    this.send(checks));
  private readonly url: string;
  private readonly node: NodeClient;

  constructor(options: RemoteStoreOptions) {
    const own = ownOptions(options, "url", NAMES);
    super(own);
    const { url, fetch: send, headers } = own;
    const told = isText(url) ? url.replace(/\/\/.*@/, "//...@") : url;  // no passwords
    checkOption("url", told, isText(url) && isNodesUrl(url),
                'where a node is: "http://10.0.0.7:8080", without credentials, ? and #');
    checkOptional("fetch", send, isFunction(send), "a function, as the global fetch is");
    checkOptional("headers", headers, isFields(headers),
                  'an object of texts that HTTP allows: { Authorization: "Bearer ..." }');
    this.url = url.replace(/\/+$/, "");
    this.node = new NodeClient({ ...own, url: this.url }, this.deadline);
  }

  protected ask(quota: Quota, bucket: string, key: string, cost: number): Promise<Decision> {
    return this.checkOf(quota, bucket, key, cost).then((check) => this.batcher.add(check));
  }

  protected forget(quota: Quota, bucket: string, key: string): Promise<unknown> {
    return this.checkOf(quota, bucket, key, 1).then((check) => this.node.post("/v1/reset", check));
  }

  async reserve(quota: Quota, bucket: string, key: string, terms: HoldTerms,
                now: number): Promise<Held> {
    const asked = this.hold("/v1/reserve", quota, bucket, key, terms, terms.cost);
    return this.inTimeOrEnded(asked, quota,
                              (local) => local.spend(quota, bucket, key, terms.cost, now),
                              (token) => this.commit(token, 0));
  }

  /** Memory has no slots: while the node is away, `local` denies. */
  async acquire(quota: Quota, bucket: string, key: string, terms: SlotTerms): Promise<Held> {
    return this.inTimeOrEnded(this.hold("/v1/acquire", quota, bucket, key, terms), quota,
                              () => uncounted("deny", quota.limit),
                              (token) => this.release(token));
  }

  async commit(token: string, cost: number, ...none: []): Promise<boolean> {
    checkNoMore(none);
    return this.certain(this.end("/v1/commit", { token, cost }, "charged"));
  }

  async report(token: string, cost: number, ...none: []): Promise<boolean> {
    checkNoMore(none);
    return this.certain(this.end("/v1/commit", { token, cost, more: true }, "charged"));
  }

  release(token: string): Promise<boolean> {
    return this.certain(this.end("/v1/release", { token }, "released"));
  }

  // If the node answers after the deadline, nobody knows the token: the store ends the hold. Work
  // that `local` or `allow` has let begin meanwhile costs nothing there, as in any outage.
  private async inTimeOrEnded(asked: Promise<Held>, quota: Quota,
                              local: (memory: SyncStore) => Decision,
                              end: (token: string) => Promise<unknown>): Promise<Held> {
    let given: Held | undefined;
    try {
      return (given = await this.decided(asked, quota, local));
    } finally {
      void asked.then((held) => held !== given && held.token && end(held.token)).catch(() => {});
    }
  }

  // A mistake of the program is a RangeError, whatever `onFailure` says.
  private async hold(path: string, quota: Quota, bucket: string, key: string,
                     { holdUs, rule }: SlotTerms, cost?: number): Promise<Held> {
    const check = await this.checkOf(quota, bucket, key, cost ?? 1);
    const named = isRulesKey(key) ? key : check.key;
    // A rule has one counter of a key, whichever door asks: a bucket would have its own.
    const counted = rule !== undefined ? { rule, key: named, cost }
                    : cost !== undefined ? check
                    : { limit: check.limit, key: check.key, bucket: check.bucket };
    const body = { ...counted, hold: `${holdUs}us` };
    try {
      const answer = (await this.node.post(path, body, LATE_DEADLINES)) as Granted;
      return { ...decisionOf({ ...answer, reset_after: answer.reset_after ?? 0 }),
               token: answer.token };
    } catch (error) {
      if (isProblem(error, "too-many-holds")) {
        const limit = rule !== undefined ? 0 : cost === undefined ? quota.limit : quota.capacity;
        const { retryAfter } = error;  // and it does not say the limit of a rule
        return { ...uncounted("deny", limit), retryAfter, moreAfter: retryAfter };
      }
      if (!isProblem(error, "invalid-field", "unknown-rule")) throw error;
      const what = isProblem(error, "unknown-rule") ? `rule ${shown(rule)}` : "it";
      throw new RangeError(`the node refuses ${what}: ${error.detail}`);
    }
  }

  private async end(path: string, body: unknown, said: string): Promise<boolean> {
    try {
      const answer = (await this.node.post(path, body)) as Record<string, unknown>;
      if (typeof answer[said] === "boolean") return true;
      throw new StoreError(`${this.url} does not say whether it has ${said} it`);
    } catch (error) {
      if (isProblem(error, "unknown-token")) return false;
      throw error;
    }
  }

  private async checkOf(quota: Quota, bucket: string, key: string, cost: number): Promise<Check> {
    const takenBucket = isTaken(bucket) ? bucket : `sha256:${await digestOf(bucket)}`;
    const takenKey = key !== "" && isTaken(key) ? key : `sha256:${await digestOf(key)}`;
    return checkOf(quota, takenBucket, takenKey, cost);
  }

  private async send(checks: Check[]): Promise<Decision[]> {
    const answer = await this.node.post("/v1/check", { checks });
    const { results } = answer as { results?: (Result | null)[] };
    if (!Array.isArray(results)) throw new StoreError(`${this.url} answered without results`);
    return results.map((result) => decisionOf(result ?? ({} as Result)));
  }
}
