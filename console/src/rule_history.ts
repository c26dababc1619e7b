// What changed the rules, or one rule: each version, its difference, and one click back.

import { ask } from "./api";
import { type Child, badge, button, fill, h, say } from "./dom";
import { type DiffLine, diffLines, hunks } from "./diff";
import { moment } from "./format";
import * as json from "./json";
import { authorOf } from "./rule_words";
import { toYaml } from "./yaml";

const SHOWN = 20;
const CHANGES_SHOWN = 5;

export class RuleHistory {
  private readonly list = h("ol", { class: "history" });
  private readonly diff = h("div", { class: "diff-place" });
  private readonly message = h("p", { class: "message", role: "status" });
  private told = "";
  readonly element = h("section", { class: "card" }, h("h2", {}, "History"), this.message,
    this.list, this.diff);

  /** `of`: entries of one rule have it, so that each shows what it changed. */
  constructor(private readonly of: "all" | "one",
    private readonly goBack: (entry: json.Fields) => unknown) {}

  show(entries: readonly json.Fields[], problem: string): void {
    say(this.message, problem);
    this.element.hidden = entries.length === 0 && !problem;
    const told = JSON.stringify(entries, (name, value: unknown) =>
      name === "seconds_ago" ? undefined : value);
    if (told === this.told) return;
    this.told = told;
    fill(this.diff);
    fill(this.list, ...entries.slice(0, SHOWN)
      .map((entry, at) => this.item(entry, at === 0, entries[at + 1])),
    entries.length > SHOWN ? h("li", {}, `and ${entries.length - SHOWN} older versions`) : null);
  }

  private item(entry: json.Fields, isNow: boolean, before: json.Fields | undefined): HTMLElement {
    const version = json.number(entry.version) ?? 0;
    const about = (does: string) => ({ class: "quiet small", "aria-label": `${does} ${version}` });
    const back = button("Go back", () => this.goBack(entry), about("Go back to version"), "arrow");
    const compare = button("Compare", () => this.compare(version), about("Compare version"));
    const why = json.text(entry.why);
    return h("li", { "data-version": version },
      h("span", { class: "version" }, `Version ${version}`),
      h("span", { class: "what" }, whatOf(entry), h("small", {},
        ` by ${authorOf(entry)}, in force here from `,
        moment(Date.parse(String(entry.at)) / 1000)),
        why ? h("q", {}, why) : null),
      isNow ? badge(entry.rule === null ? "gone" : "in force", entry.rule === null ? "bad" : "good")
        : h("span", { class: "buttons" }, this.of === "all" ? compare : null, back),
      this.of === "one" && before ? difference(`What version ${version} changed`,
        yamlOf(before.rule), yamlOf(entry.rule)) : null);
  }

  private async compare(version: number): Promise<void> {
    const [then, now] = await Promise.all([ask(`/admin/history/${version}`), ask("/admin/rules")]);
    if (!then.ok || !now.ok) return say(this.message, then.problem || now.problem);
    const [before, after] = [textsOf(then.body), textsOf(now.body)];
    const text = (of: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): string =>
      [...of].flatMap(([id, rule]) => others.get(id) === rule ? [] : [rule]).join("");
    const title = `From version ${version} to now`;
    fill(this.diff, h("h3", {}, title),
      difference(title, text(before, after), text(after, before)));
    this.diff.scrollIntoView({ block: "nearest" });
  }
}

function whatOf(entry: json.Fields): string {
  const changes = json.list(entry.changes).map(String);
  const more = changes.length - CHANGES_SHOWN;
  const nothing = entry.origin === "file" ? "the rules as they were read" : "nothing has changed";
  if (changes.length === 0) return nothing;
  return changes.slice(0, CHANGES_SHOWN).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

function yamlOf(rule: unknown): string {
  return json.isObject(rule) ? toYaml(rule) : "";
}

/** The rules as texts. Each comes bare, or with its origin, as the list has them. */
function textsOf(body: json.Fields): Map<string, string> {
  return new Map(json.objects(body.rules).map((each) => [String(each.id), toYaml([each.rule])]));
}

const SIGNS = { same: " ", added: "+", removed: "-" } as const;

function difference(name: string, before: string, after: string): Child {
  const lines = hunks(diffLines(before, after));
  if (lines.length === 0) return h("p", { class: "empty" }, "These are the same rules.");
  return h("pre", { class: "diff", tabindex: 0, role: "region", "aria-label": name },
    ...lines.map(diffLine));
}

function diffLine(line: DiffLine | null): HTMLElement {
  if (!line) return h("span", { class: "cut" }, "…\n");
  return h("span", { class: line.kind }, `${SIGNS[line.kind]} ${line.text}\n`);
}
