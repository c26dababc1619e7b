// What all middlewares do: one hit a request, its headers, and the answer to a denial.

import type { Decision } from "../decision.js";
import { headers } from "../headers.js";
import type { Limiter } from "../limiter.js";

export interface MiddlewareOptions<Request> {
  limiter: Limiter<Decision> | Limiter<Promise<Decision>>;
  /** Keys of other buckets have counters of their own. */
  bucket?: string;
  /** Who is limited. Nothing: the request passes, uncounted. */
  key?: (request: Request) => string | undefined;
  /** What the request costs: 1 unless given. */
  cost?: (request: Request) => number;
  /** The limit's name in the header fields. */
  policy?: string;
}

export interface Outcome {
  allowed: boolean;
  headers: Record<string, string>;
}

export const DENIAL = JSON.stringify({ error: "Too Many Requests", errorCode: 429 });

/** Nothing if the request is not limited. */
export async function limitRequest<Request>(
  options: MiddlewareOptions<Request>, request: Request, key: string | undefined,
): Promise<Outcome | undefined> {
  if (key === undefined) return undefined;
  const cost = options.cost?.(request) ?? 1;
  const decision = await options.limiter.hit(options.bucket ?? "", key, { cost });
  return {
    allowed: decision.allowed,
    headers: headers(decision, options.limiter.quota, options.policy),
  };
}
