// The changes of the rules: each version, its difference from now, and one click back.

import { ask } from "./api";
import { button, fill, h, say } from "./dom";
import { type DiffLine, diffLines, hunks } from "./diff";
import { span } from "./format";
import * as json from "./json";
import { toYaml } from "./yaml";

const SHOWN = 20;

export class RuleHistory {
  private readonly list = h("ol", { class: "history" });
  private readonly diff = h("div", { class: "diff-place" });
  private readonly message = h("p", { class: "message", role: "status" });
  private current = "";
  readonly element = h("section", { class: "card" }, h("h2", {}, "History"), this.message,
    this.list, this.diff);

  constructor(private readonly changed: () => Promise<void>) {}

  async load(current: string): Promise<void> {
    this.current = current;
    const reply = await ask("/admin/history");
    say(this.message, reply.ok ? "" : reply.problem);
    fill(this.diff);
    fill(this.list, ...json.objects(reply.body.history).slice(0, SHOWN)
      .map((entry) => this.item(entry)));
  }

  private item(entry: json.Fields): HTMLElement {
    const version = json.number(entry.version) ?? 0;
    const isNow = String(version) === this.current;
    const changes = json.list(entry.changes).map(String);
    const ago = span(json.number(entry.seconds_ago));
    const what = changes.length > 0 ? changes.join("; ") : "the rules as they were read";
    const about = (does: string) => ({ class: "quiet small", "aria-label": `${does} ${version}` });
    return h("li", { "data-version": version },
      h("span", { class: "version" }, `Version ${version}`),
      h("span", { class: "what" }, what,
        h("small", {}, ` by ${who(entry)}, ${ago} ago`)),
      isNow ? h("span", { class: "badge good" }, "in force") : h("span", { class: "buttons" },
        button("Compare", () => this.compare(version), about("Compare version")),
        button("Go back", () => this.goBack(version), about("Go back to version"), "arrow")));
  }

  private async compare(version: number): Promise<void> {
    const [then, now] = await Promise.all([ask(`/admin/history/${version}`), ask("/admin/rules")]);
    if (!then.ok || !now.ok) return say(this.message, then.problem || now.problem);
    const lines = hunks(diffLines(textOf(then.body), textOf(now.body)));
    fill(this.diff, h("h3", {}, `From version ${version} to now`), lines.length > 0
      ? h("pre", { class: "diff", tabindex: 0, role: "region", "aria-label": "Difference" },
        ...lines.map(diffLine))
      : h("p", { class: "empty" }, "These are the same rules."));
    this.diff.scrollIntoView({ block: "nearest" });
  }

  /** At once: what it replaces stays in the list, one click away. */
  private async goBack(version: number): Promise<void> {
    const reply = await ask("/admin/history",
      { body: { back_to: version }, headers: { "If-Match": `"${this.current}"` } });
    if (reply.ok) await this.changed();
    say(this.message, reply.ok ? `Version ${version} is in force again.` : reply.problem);
  }
}

function who({ origin, who: address, by, why }: json.Fields): string {
  if (origin === "file") return "a reload";
  const person = [json.text(by), json.text(address)].filter(Boolean).join(" at ");
  return `${person || "a request"}${why ? `, because "${String(why)}"` : ""}`;
}

/** All rules as one text. Each comes bare, or with its origin, as the list has them. */
function textOf(body: json.Fields): string {
  return json.objects(body.rules)
    .map((each) => toYaml([json.isObject(each.rule) ? each.rule : each]))
    .join("");
}

const SIGNS = { same: " ", added: "+", removed: "-" } as const;

function diffLine(line: DiffLine | null): HTMLElement {
  if (!line) return h("span", { class: "cut" }, "…\n");
  return h("span", { class: line.kind }, `${SIGNS[line.kind]} ${line.text}\n`);
}
