// The header fields that tell a client its limit: those of the IETF's draft 10, and those that
// most clients know. Seconds are rounded up: nobody is told to come back too early.

import type { Decision } from "./decision.js";
import { checkOption, checkText } from "./options.js";
import type { Quota } from "./quota.js";

const quoted = (name: string): string =>
  `"${name.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;

/**
 * `policy` is the limit's name. `Retry-After` is there only if waiting helps.
 */
export function headers(
  decision: Decision, quota: Quota, policy = "default",
): Record<string, string> {
  checkOption("decision", decision, typeof decision?.allowed === "boolean",
              "what hit() answers, awaited unless it comes from memory");
  checkOption("quota", quota, typeof quota?.windowUs === "number", "that of the limiter");
  checkText("policy", policy);
  const reset = Math.ceil(decision.resetAfter);
  const waits = !decision.allowed && Number.isFinite(decision.retryAfter);
  const retry = Math.max(1, Math.ceil(decision.retryAfter));
  const window = quota.windowUs % 1e6 === 0 ? `;w=${quota.windowUs / 1e6}` : "";
  const name = quoted(policy);
  const fields: Record<string, string> = {
    "X-RateLimit-Limit": String(decision.limit),
    "X-RateLimit-Remaining": String(decision.remaining),
    "X-RateLimit-Reset": String(reset),
    "RateLimit": `${name};r=${decision.remaining};t=${waits ? retry : reset}`,
    "RateLimit-Policy": `${name};q=${quota.limit}${window}`,
  };
  if (waits) fields["Retry-After"] = String(retry);
  return fields;
}
