// The header fields that tell a client its limit: those of the IETF's draft, and those that most
// clients know. Seconds are rounded up: nobody is told to come back too early.

import type { Decision } from "./decision.js";
import { checkOption, checkOptional, checkText, ownOptions, type NamesOf } from "./options.js";
import type { Quota } from "./quota.js";

const FORMS = ["draft-10", "draft-7", "draft-6", "none"] as const;
const RESETS = ["seconds", "epoch"] as const;
const X_HEADERS = ["limit", "remaining", "reset"] as const;

/** What the server's settings `headers`, `x_headers` and `x_reset` say. */
export interface HeaderStyle {
  /** The draft of the RateLimit fields: draft-10 unless given. */
  headers?: (typeof FORMS)[number];
  /** Which X-RateLimit- fields there are: all unless given. */
  xHeaders?: readonly (typeof X_HEADERS)[number][];
  /** What X-RateLimit-Reset says: seconds unless given, or the second since 1970. */
  xReset?: (typeof RESETS)[number];
}
export const STYLE_NAMES: NamesOf<HeaderStyle> = { headers: true, xHeaders: true, xReset: true };

export function checkHeaderStyle({ headers, xHeaders, xReset }: HeaderStyle): void {
  const oneOf = (names: readonly string[], value: unknown): boolean =>
    names.includes(value as string);
  checkOptional("headers", headers, oneOf(FORMS, headers), `one of ${FORMS.join(", ")}`);
  checkOptional("xHeaders", xHeaders,
                Array.isArray(xHeaders) && xHeaders.every((name) => oneOf(X_HEADERS, name)),
                `a list of ${X_HEADERS.join(", ")}`);
  checkOptional("xReset", xReset, oneOf(RESETS, xReset), `one of ${RESETS.join(", ")}`);
}

const quoted = (name: string): string =>
  `"${name.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;

// A burst above the limit takes the limit's place, with the time in which it is earned: so no more
// is left than the policy says. `;w` only where that is whole seconds.
function policyOf({ limit, capacity, windowUs }: Quota): [number, string] {
  const most = Math.max(limit, capacity);
  const earnedIn = BigInt(most || 1) * BigInt(windowUs);
  const perSecond = BigInt(limit || 1) * 1_000_000n;
  return [most, earnedIn % perSecond === 0n ? `;w=${earnedIn / perSecond}` : ""];
}

function draftFields(
  form: HeaderStyle["headers"], decision: Decision, quota: Quota, policy: string, more: number,
): Record<string, string> {
  const { limit, remaining } = decision;
  const reset = Math.ceil(decision.resetAfter);
  const [most, window] = policyOf(quota);
  const old = `${most}${window}`;
  const name = quoted(policy);
  const until = Number.isFinite(decision.retryAfter) && more > 0 ? `;t=${more}` : "";
  switch (form) {
    case "none": return {};
    case "draft-6": return {
      "RateLimit-Limit": String(limit),
      "RateLimit-Remaining": String(remaining),
      "RateLimit-Reset": String(reset),
      "RateLimit-Policy": old,
    };
    case "draft-7": return {
      "RateLimit": `limit=${limit}, remaining=${remaining}, reset=${reset}`,
      "RateLimit-Policy": old,
    };
    default: return {
      "RateLimit": `${name};r=${remaining}${until}`,
      "RateLimit-Policy": `${name};q=${most}${window}`,
    };
  }
}

/**
 * `policy` is the limit's name. `Retry-After` is there only if waiting helps.
 */
export function headers(
  decision: Decision, quota: Quota, policy = "default", style: HeaderStyle = {},
): Record<string, string> {
  const own = ownOptions(style, "headers, xHeaders or xReset", STYLE_NAMES);
  checkHeaderStyle(own);
  return fieldsOf(decision, quota, policy, own);
}

// Never early, never as much as a second late, and the same for all calls of a window. It is made
// of whole microseconds, as a sum in seconds is a little more or less.
function resetSecond({ resetAfter, resetAt = Date.now() + 1000 * resetAfter }: Decision): number {
  return Math.ceil(Math.round(resetAt * 1000) / 1e6);
}

/** REQUIRES: a style that is checked. */
export function fieldsOf(
  decision: Decision, quota: Quota, policy = "default", style: HeaderStyle = {},
): Record<string, string> {
  const isWhole = typeof decision?.allowed === "boolean" && decision.resetAfter >= 0;  // no Slot
  checkOption("decision", decision, isWhole,
              "what hit() answers, awaited unless it comes from memory");
  checkOption("quota", quota, typeof quota?.windowUs === "number", "that of the limiter");
  checkText("policy", policy);
  const { xHeaders = X_HEADERS, xReset } = style;
  const fields: Record<string, string> = {};
  const has = (name: (typeof X_HEADERS)[number]): boolean => xHeaders.includes(name);
  if (has("limit")) fields["X-RateLimit-Limit"] = String(decision.limit);
  if (has("remaining")) fields["X-RateLimit-Remaining"] = String(decision.remaining);
  if (has("reset")) {
    const isEpoch = xReset === "epoch";
    const reset = isEpoch ? resetSecond(decision) : Math.ceil(decision.resetAfter);
    fields["X-RateLimit-Reset"] = String(reset);
  }
  const more = Math.ceil(decision.moreAfter || 0);  // a store of the program's own may lack it
  Object.assign(fields, draftFields(style.headers, decision, quota, policy, more));
  if (!decision.allowed && Number.isFinite(decision.retryAfter)) {
    fields["Retry-After"] = String(Math.max(1, more, Math.ceil(decision.retryAfter)));
  }
  return fields;
}
