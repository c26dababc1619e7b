// Rules: the list with its figures, what changed them, and a page for each (rule_page.ts).

import { type Ask, UNASKED, ask, query } from "./api";
import { button, h, say } from "./dom";
import { nameOf } from "./fleet_tab";
import * as json from "./json";
import { feed, historyOf } from "./live";
import type { History } from "./message";
import { agreed, titled } from "./rule_change";
import { RuleEditor } from "./rule_editor";
import { RuleHistory } from "./rule_history";
import { RulePage } from "./rule_page";
import { RuleTable } from "./rule_table";
import { holdText } from "./rule_words";
import { lastOf, sumOf, timeOf } from "./series";
import { Tab } from "./tab";
import { reach } from "./words";
import { written } from "./written";

/** Busiest keys are counted by minutes, and a chart of an hour has steps of ten seconds. */
const PAGE_MS = 5000;

export class RulesTab extends Tab {
  /** The last one, of all rules. */
  private minute: History | undefined;
  /** The version that the figures have named last. */
  private heard = "";
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly apart = h("p", { class: "problem" });
  private readonly heading = h("span", {}, "Rules in force");
  private readonly period = h("small");
  private readonly table = new RuleTable("There is no rule yet. Add one.");
  private readonly editor = new RuleEditor(() => this.load());
  private readonly past = new RuleHistory("all", (entry) => this.goBack(entry));
  private readonly list = h("div", { class: "stack" });
  private readonly page = new RulePage(this.editor);

  protected build(): void {
    this.list.append(
      h("h1", {}, "Rules"),
      h("section", { class: "card" },
        h("div", { class: "head" },
          h("h2", {}, this.heading, this.period),
          button("New rule", () => {
            this.list.insertBefore(this.editor.element, this.past.element);
            this.editor.open(written.version);
          }, { id: "new-rule" }, "plus")),
        this.message, this.apart, this.table.element),
      this.past.element);
    this.append(this.list, this.page.element);
  }

  /** "#/rules?rule=login" is the page of a rule. */
  protected override opened(parameters: URLSearchParams): void {
    const rule = parameters.get("rule");
    this.list.hidden = rule !== null;
    this.page.element.hidden = rule === null;
    this.editor.closeUnless(rule ?? "");
    this.loadEach(PAGE_MS, () => this.list.hidden ? this.page.again() : this.loadMinute());
    if (rule === null) return void this.load();
    this.page.open(rule);
  }

  protected override refresh(): void {
    const version = String(feed.last?.rulesVersion ?? "");
    const isOther = version !== this.heard && this.heard !== "";
    this.heard = version;
    if (this.list.hidden) return this.page.refresh(isOther);
    if (isOther && version !== written.version) void this.load(UNASKED);
    const apart = (feed.last?.nodes ?? []).filter((node) => node.apart);
    say(this.apart, apart.length === 0 ? "" : "Changes by hand do not reach " +
      `${apart.map(nameOf).join(", ")}; the tab Fleet says why.`);
    this.showRows();
  }

  private async load(how: Ask = {}): Promise<void> {
    if (this.list.hidden) return this.page.load(how);
    const [problem, past] = await Promise.all([written.load(how), ask("/admin/history", how),
      this.loadMinute()]);
    say(this.message, problem);
    if (problem) return;
    say(this.heading, `Rules in force, version ${written.version}`);
    this.showRows();
    this.editor.heard(written.version, (id) => written.rules.get(id)?.rule);
    this.past.show(json.objects(past.body.history), past.problem);
  }

  private async loadMinute(): Promise<void> {
    this.minute = await historyOf("1m", UNASKED) ?? this.minute;
  }

  private showRows(): void {
    if (!this.minute) return;
    this.table.show(this.minute);
    say(this.period, ` and what they denied in ${
      timeOf(sumOf(this.minute.points), lastOf(60, "minute", feed.last?.uptime))}`);
  }

  private async goBack({ version }: json.Fields): Promise<void> {
    const { version: seen } = written;
    const back = `back to version ${String(version)}`;
    const said = await agreed(`Put all rules ${back}?`,
      () => `They are as they were then, until a reload${reach(feed.last?.redis)}.`, "Go back",
      back);
    if (!said) return;
    const reply = await ask(query("/admin/history", said),
      { body: { back_to: version }, headers: { "If-Match": `"${seen}"` } });
    if (reply.ok) await this.load();
    say(this.message, reply.ok ? `Version ${String(version)} is in force again. ${
      holdText(titled(reply).body.fleet)}` : reply.problem);
  }
}
