// What all middlewares do: one hit a request, its headers, and the answer to a denial.

import type { Decision } from "../decision.js";
import { checkHeaderStyle, fieldsOf, STYLE_NAMES, type HeaderStyle } from "../headers.js";
import type { Key, Limiter } from "../limiter.js";
import {
  checkLimiter, checkOption, checkOptional, isFunction, isText, ownOptions, type NamesOf,
} from "../options.js";

export type KeyOf<Request> = (request: Request) => Key;

export interface MiddlewareOptions<Request> extends HeaderStyle {
  limiter: Limiter<Decision> | Limiter<Promise<Decision>>;
  /** Keys of other buckets have counters of their own. */
  bucket?: string;
  key?: KeyOf<Request>;
  /** What the request costs: 1 unless given. 0 counts nothing. */
  cost?: (request: Request) => number;
  /** The limit's name in the header fields. */
  policy?: string;
}
const NAMES: NamesOf<MiddlewareOptions<unknown>> = {
  ...STYLE_NAMES, limiter: true, bucket: true, key: true, cost: true, policy: true,
};

/** The options, checked. Where no framework says who asks, a key must. */
export function checkMiddleware<Options extends MiddlewareOptions<any>>(
  options: Options, keys: "key may be left out" | "key must be there",
): Options {
  const needsKey = keys === "key must be there";
  const own = ownOptions(options, needsKey ? "limiter and key" : "a limiter", NAMES);
  const { limiter, key, cost, bucket, policy } = own;
  checkLimiter(limiter);
  const checkKey = needsKey ? checkOption : checkOptional;
  checkKey("key", key, isFunction(key), "a function from a request to its key, a string");
  checkOptional("cost", cost, isFunction(cost), "a function from a request to its cost, a number");
  for (const [name, text] of Object.entries({ bucket, policy })) {
    checkOptional(name, text, isText(text), "a text");
  }
  checkHeaderStyle(own);
  return own;
}

export interface Outcome {
  allowed: boolean;
  headers: Record<string, string>;
}

export const DENIAL = JSON.stringify({ error: "Too Many Requests", errorCode: 429 });

export async function limitRequest<Request>(
  options: MiddlewareOptions<Request>, request: Request, key: Key,
): Promise<Outcome> {
  const cost = options.cost?.(request) ?? 1;
  checkOption("cost", cost, cost >= 0, "0 or more, as no request gives back");
  const decision = await options.limiter.hit(options.bucket ?? "", key, { cost });
  return {
    allowed: decision.allowed,
    headers: fieldsOf(decision, options.limiter.quota, options.policy, options),
  };
}
