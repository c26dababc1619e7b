// The header fields that tell a client its limit: those of the IETF's draft 10, and those that
// most clients know. Seconds are rounded up: nobody is told to come back too early.

import type { Decision } from "./decision.js";
import type { Quota } from "./quota.js";

const quoted = (name: string): string =>
  `"${name.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;

/**
 * `policy` is the limit's name. `Retry-After` is there only if waiting helps.
 */
export function headers(
  decision: Decision, quota: Quota, policy = "default",
): Record<string, string> {
  const reset = Math.ceil(decision.resetAfter);
  const waits = !decision.allowed && Number.isFinite(decision.retryAfter);
  const more = Math.ceil(decision.moreAfter || 0);  // a store of the program's own may lack it
  const retry = Math.max(1, more, Math.ceil(decision.retryAfter));
  const until = Number.isFinite(decision.retryAfter) && more > 0 ? `;t=${more}` : "";
  const window = quota.windowUs % 1e6 === 0 ? `;w=${quota.windowUs / 1e6}` : "";
  const name = quoted(policy);
  const fields: Record<string, string> = {
    "X-RateLimit-Limit": String(decision.limit),
    "X-RateLimit-Remaining": String(decision.remaining),
    "X-RateLimit-Reset": String(reset),
    "RateLimit": `${name};r=${decision.remaining}${until}`,
    "RateLimit-Policy": `${name};q=${quota.limit}${window}`,
  };
  if (waits) fields["Retry-After"] = String(retry);
  return fields;
}
