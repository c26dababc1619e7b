// The rules in force as they are written, for all pages. For those who may change them.

import { type Ask, UNASKED, ask } from "./api";
import * as json from "./json";
import { feed } from "./live";
import { session } from "./session";

/** `origin`: who has written it. */
export interface Written {
  readonly rule: json.Fields;
  readonly origin: string;
  /** Whether it is within its hours. */
  readonly inForce: boolean;
}

/** How often the hours of rules are looked at. */
const HOURS_MS = 20_000;

class WrittenRules {
  version = "";
  rules: ReadonlyMap<string, Written> = new Map();
  private asked: number | undefined;
  private loadedMs = 0;

  /** What is wrong, if the rules did not come. */
  async load(how: Ask = {}): Promise<string> {
    this.asked = feed.last?.rulesVersion;
    const { ok, body, problem } = await ask("/admin/rules", how);
    if (!ok) return problem;
    this.version = String(body.version ?? "");
    this.rules = new Map(json.objects(body.rules).map(({ id, origin, rule, in_force }) =>
      [json.text(id) ?? "", { rule: json.object(rule), origin: json.text(origin) ?? "",
        inForce: in_force !== false }]));
    this.loadedMs = Date.now();
    return "";
  }

  /** Asks once for each version that the figures name, and again where rules have hours. */
  follow(): void {
    const version = feed.last?.rulesVersion;
    const isDue = Date.now() - this.loadedMs > HOURS_MS && [...this.rules.values()]
      .some(({ rule }) => rule.active);
    const isKnown = version === this.asked || String(version) === this.version;
    if (isKnown && !isDue || !session.mayChange) return;
    this.loadedMs = Date.now();
    void this.load(UNASKED);
  }
}

export const written = new WrittenRules();

/** The ids of the rules, as well as this page may know them. */
export async function ruleNames(): Promise<string[]> {
  const seen = (feed.last?.rules ?? []).map(({ rule }) => rule);
  const isKnown = session.mayChange && await written.load() === "";
  return (isKnown ? [...written.rules.keys()] : seen).filter(Boolean);
}
