// Rules: the list with its figures, what changed them, and a page for each (rule_page.ts).

import { type Ask, UNASKED, ask } from "./api";
import { DataTable } from "./data_table";
import { button, h, say } from "./dom";
import { algorithm, count } from "./format";
import * as json from "./json";
import { feed } from "./live";
import type { RuleLine } from "./message";
import { RuleEditor } from "./rule_editor";
import { RuleHistory } from "./rule_history";
import { RulePage, stateOf } from "./rule_page";
import { Tab, address } from "./tab";
import { limitOf } from "./words";

/** Busiest keys are counted by minutes, and a chart of an hour has steps of ten seconds. */
const PAGE_MS = 5000;

interface Row {
  readonly id: string;
  readonly origin: string;
  readonly rule: json.Fields;
  /** Nothing of one that is not among the busiest. */
  readonly line: RuleLine | undefined;
}

export class RulesTab extends Tab {
  private rows: readonly Row[] | undefined;
  private version = "";
  /** The version that the figures have named last. */
  private heard = "";
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly heading = h("h2", {}, "Rules in force");
  private readonly table = new DataTable<Row>({
    caption: "Rules in force", id: ({ id }) => id,
    text: ({ id, rule }) => `${id} ${json.text(rule.name) ?? ""}`,
    empty: "There is no rule yet. Add one.", sort: { title: "Denied/s", falls: true },
    columns: [
      { title: "Rule", cell: nameOf, by: ({ id }) => id },
      { title: "Limit", cell: ({ rule }) => limitOf(rule) },
      { title: "Algorithm", cell: algorithmOf },
      { title: "Requests/s", cell: ({ line }) => count(line?.requests),
        by: ({ line }) => line?.requests, figures: true },
      { title: "Denied/s", cell: ({ rule, line }) =>
        count(line?.denied) + (rule.shadow === true && line?.denied ? " would be" : ""),
        by: ({ line }) => line?.denied, figures: true },
      { title: "State", cell: ({ rule, origin }) => stateOf(rule, origin) },
    ],
  });
  private readonly editor = new RuleEditor(() => this.load());
  private readonly past = new RuleHistory("all", (entry) => this.goBack(entry));
  private readonly list = h("div", { class: "stack" });
  private readonly page = new RulePage(this.editor);

  protected build(): void {
    this.list.append(
      h("h1", {}, "Rules"),
      h("section", { class: "card" },
        h("div", { class: "head" }, this.heading,
          button("New rule", () => this.addRule(), { id: "new-rule" }, "plus")),
        this.message, this.table.element),
      this.past.element);
    this.append(this.list, this.page.element);
  }

  /** "#/rules?rule=login" is the page of a rule. */
  protected override opened(parameters: URLSearchParams): void {
    const rule = parameters.get("rule");
    this.list.hidden = rule !== null;
    this.page.element.hidden = rule === null;
    this.editor.close();
    if (rule === null) return void this.load();
    this.page.open(rule);
    this.loadEach(PAGE_MS, () => this.list.hidden && this.page.again());
  }

  protected override refresh(): void {
    const version = String(feed.last?.rulesVersion ?? "");
    const isOther = version !== this.heard && this.heard !== "";
    this.heard = version;
    if (this.list.hidden) return this.page.refresh(isOther);
    if (isOther && version !== this.version) void this.load(UNASKED);
    this.showRows();
  }

  private async load(how: Ask = {}): Promise<void> {
    if (this.list.hidden) return this.page.load(how);
    const [rules, past] = await Promise.all([ask("/admin/rules", how), ask("/admin/history", how)]);
    say(this.message, rules.problem);
    if (!rules.ok) return;
    this.version = String(rules.body.version ?? "");
    this.rows = json.objects(rules.body.rules).map((each) => ({
      id: json.text(each.id) ?? "", origin: json.text(each.origin) ?? "",
      rule: json.object(each.rule), line: undefined,
    }));
    say(this.heading, `Rules in force, version ${this.version}`);
    this.showRows();
    this.past.show(json.objects(past.body.history), past.problem);
  }

  private showRows(): void {
    this.table.show(this.rows?.map((row) => ({ ...row, line: feed.lineOf(row.id) })));
  }

  private addRule(): void {
    this.list.insertBefore(this.editor.element, this.past.element);
    this.editor.open(this.version);
  }

  /** At once: what it replaces stays in the list, one click away. */
  private async goBack({ version }: json.Fields): Promise<void> {
    const reply = await ask("/admin/history",
      { body: { back_to: version }, headers: { "If-Match": `"${this.version}"` } });
    if (reply.ok) await this.load();
    say(this.message, reply.ok ? `Version ${String(version)} is in force again.` : reply.problem);
  }
}

function nameOf({ id, rule }: Row): HTMLElement {
  const name = json.text(rule.name);
  return h("span", {}, h("a", { href: address("rules", { rule: id }) }, h("b", {}, id)),
    name ? h("small", {}, ` ${name}`) : null);
}

function algorithmOf({ rule, line }: Row): string {
  if (line?.adaptive) return `adaptive, now ${algorithm(line.algorithm)}`;
  return algorithm(json.text(rule.algorithm) ?? "sliding_window");
}
