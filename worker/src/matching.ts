// What the tests ask of the Worker's rules, outside of a Worker.

import exported from "#rules";
import { factsOf } from "./request_facts.js";
import { compileRules, matchingRules, type ExportedRules } from "./rules.js";

const RULES = compileRules(exported as ExportedRules);

/** The ids of the rules that apply, and their keys. */
export function matching(request: Request, country: string): { rule: string; key: string }[] {
  const facts = factsOf(request, country);
  return matchingRules(RULES, facts).map((rule) => ({ rule: rule.id, key: rule.keyOf(facts) }));
}
