// What the tests ask of the Worker's parts, outside of a Worker.

import exported from "#rules";
import { factsOf } from "./request_facts.js";
import { appliedRules, compileRules, type ExportedRules, type Rule } from "./rules.js";

export { scheduleOf } from "./schedule.js";
export { compileRules } from "./rules.js";
export { pathReadings } from "./request_path.js";
export { factsOf } from "./request_facts.js";
export { default as worker } from "./worker.js";

const RULES = compileRules(exported as ExportedRules);

export interface Match {
  rule: string;
  key: string;
  tier: string;
  decided_by: string;
  limit: number;
}

const DECIDED_BY = { allow: "not_counted", deny: "deny_list", missing: "missing_key" };

/** The rules that apply, as /v1/explain shows them. Undefined: the Worker refuses the request. */
export function matching(request: Request, country: string, rules: Rule[] = RULES,
): Match[] | undefined {
  const facts = factsOf(request, country);
  if (facts === undefined) return undefined;
  const applied = appliedRules(rules, facts, Date.now());
  return applied.map(({ rule, key, tier, list, quotas }) => ({
    rule: rule.id, key, tier, limit: quotas[0]!.capacity,
    decided_by: list === undefined ? "counter" : DECIDED_BY[list],
  }));
}
