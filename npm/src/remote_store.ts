// A Weir node decides, over HTTP. All calls in one turn of the event loop become one request.

import { Batcher, StoreError } from "./batcher.js";
import type { Decision } from "./decision.js";
import { FailoverStore, type FailureOptions } from "./failover.js";
import type { Quota } from "./quota.js";

export interface RemoteStoreOptions extends FailureOptions {
  /** Where the node is: "http://10.0.0.7:8080". */
  url: string;
  /** In place of the global one. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Sent with every request, an Authorization for instance. */
  headers?: Record<string, string>;
}

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

const CHECKS_MAX = 256;  // of one request

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
    limit: result.limit,
  };
}

export class RemoteStore extends FailoverStore {
  private readonly batcher = new Batcher<Check, Decision>(CHECKS_MAX, (checks) =>
    this.send(checks));
  private readonly url: string;

  constructor(private readonly options: RemoteStoreOptions) {
    super(options);
    this.url = options.url.replace(/\/+$/, "");
  }

  protected ask(quota: Quota, bucket: string, key: string, cost: number): Promise<Decision> {
    return this.batcher.add(checkOf(quota, bucket, key, cost));
  }

  protected forget(quota: Quota, bucket: string, key: string): Promise<unknown> {
    return this.post("/v1/reset", checkOf(quota, bucket, key, 1));
  }

  private async send(checks: Check[]): Promise<Decision[]> {
    const { results } = (await this.post("/v1/check", { checks })) as { results: Result[] };
    return results.map(decisionOf);
  }

  private async post(path: string, body: unknown): Promise<unknown> {
    const send = this.options.fetch ?? fetch;
    const response = await send(this.url + path, {
      method: "POST",
      headers: { ...this.options.headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) {
      throw new StoreError(`the node answered ${response.status}: ${await response.text()}`);
    }
    return response.json();
  }
}
