// What the tests ask of the Worker's parts, outside of a Worker.

import exported from "#rules";
import { requestText } from "./request_text.js";
import { Rules } from "./rules.js";

export { Rules } from "./rules.js";
export { default as worker } from "./worker.js";

const RULES = new Rules(exported.subarray(1));

export interface Match {
  rule: string;
  key: string;
  tier: string;
  decided_by: string;
  limit: number;
}

const DECIDED_BY = { allow: "not_counted", deny: "deny_list", missing: "missing_key" };

/** The rules that apply, as /v1/explain shows them. Undefined: the Worker refuses the request. */
export function matching(request: Request, country: string, now = Date.now()): Match[] | undefined {
  return RULES.match(requestText(request, country), now)?.map(
    ({ rule, key, tier, list, quotas }) => ({
      rule: rule.id, key, tier, limit: quotas[0]!.capacity,
      decided_by: list === undefined ? "counter" : DECIDED_BY[list],
    }));
}
