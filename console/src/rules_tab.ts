// Rules: the list with its figures, the editor, the history.

import { type Ask, UNASKED, ask, query } from "./api";
import { badge, button, fill, h, say } from "./dom";
import { algorithm, count, share } from "./format";
import * as json from "./json";
import { feed } from "./live";
import type { RuleLine } from "./message";
import { RuleEditor } from "./rule_editor";
import { RuleHistory } from "./rule_history";
import { confirmed } from "./sign_in";
import { Tab } from "./tab";
import { limitOf } from "./words";

interface Entry {
  readonly id: string;
  readonly origin: string;
  readonly rule: json.Fields;
}

interface Figures {
  readonly requests: HTMLElement;
  readonly denied: HTMLElement;
  readonly algorithm: HTMLElement;
}

/** More rows hold a browser up; who has more rules filters them. */
const ROWS_MAX = 200;
const COLUMNS = ["Rule", "Limit", "Algorithm", "Requests/s", "Denied", "State", "Change"];

export class RulesTab extends Tab {
  private entries: Entry[] = [];
  private version = "";
  /** The version that the figures have named last. */
  private heard = "";
  private readonly body = h("tbody");
  private readonly live = new Map<string, Figures>();
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly filter = h("input", { type: "search", "aria-label": "Filter the rules",
    placeholder: "Filter", spellcheck: "false" });
  private readonly more = h("p", { class: "message" });
  private readonly heading = h("h2", {}, "Rules in force");
  private readonly editor = new RuleEditor(() => this.changed());
  private readonly past = new RuleHistory(() => this.changed());

  protected build(): void {
    this.filter.addEventListener("input", () => this.list());
    const head = h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" }, name)));
    this.append(
      h("h1", {}, "Rules"),
      h("section", { class: "card" },
        h("div", { class: "head" }, this.heading, this.filter,
          button("New rule", () => this.editor.openNew(this.version), { id: "new-rule" }, "plus")),
        this.message,
        h("table", { class: "stacks" }, h("caption", { class: "hidden" }, "Rules in force"),
          h("thead", {}, head), this.body), this.more),
      this.editor.element,
      this.past.element);
  }

  protected override opened(parameters: URLSearchParams): void {
    const wanted = parameters.get("rule");
    void this.load().then(() => {
      const entry = this.entries.find((each) => each.id === wanted);
      if (entry) this.edit(entry);
    });
  }

  protected override refresh(): void {
    const { last } = feed;
    if (!last) return;
    for (const line of last.rules) this.showFigures(line);
    const version = String(last.rulesVersion ?? "");
    if (version !== this.heard && this.heard !== "" && version !== this.version) {
      void this.load(UNASKED);
    }
    this.heard = version;
  }

  private showFigures(line: RuleLine): void {
    const shown = this.live.get(line.rule);
    if (!shown) return;
    say(shown.requests, count(line.requests));
    say(shown.denied, share(line.denyRate));
    if (line.adaptive) say(shown.algorithm, `adaptive, now ${algorithm(line.algorithm)}`);
  }

  private async load(how: Ask = {}): Promise<void> {
    const reply = await ask("/admin/rules", how);
    if (!reply.ok) {
      say(this.message, reply.problem);
      return fill(this.body);
    }
    this.version = String(reply.body.version ?? "");
    this.entries = json.objects(reply.body.rules).map((each) => ({
      id: json.text(each.id) ?? "", origin: json.text(each.origin) ?? "",
      rule: json.object(each.rule),
    }));
    say(this.heading, `Rules in force, version ${this.version}`);
    this.list();
    await this.past.load(this.version);
  }

  private list(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    const found = this.entries.filter(({ id, rule }) =>
      `${id} ${json.text(rule.name) ?? ""}`.toLowerCase().includes(wanted));
    const more = found.length - ROWS_MAX;
    this.live.clear();
    fill(this.body, ...found.slice(0, ROWS_MAX).map((entry) => this.row(entry)));
    say(this.more, more > 0 ? `and ${more} more: filter them` : "");
    for (const line of feed.last?.rules ?? []) this.showFigures(line);
  }

  private row(entry: Entry): HTMLTableRowElement {
    const { id, rule } = entry;
    const requests = h("span", {}, "0");
    const denied = h("span", {}, "0 %");
    const kind = h("span", {}, algorithm(json.text(rule.algorithm) ?? "sliding_window"));
    this.live.set(id, { requests, denied, algorithm: kind });
    const name = json.text(rule.name);
    const cells: (Node | string)[] = [
      h("span", {}, h("b", {}, id), name ? h("small", {}, ` ${name}`) : null), limitOf(rule),
      kind, requests, denied, this.state(entry), this.actions(entry),
    ];
    return h("tr", { "data-rule": id },
      ...cells.map((cell, at) => h("td", { "data-column": COLUMNS[at]! }, cell)));
  }

  private state({ rule, origin }: Entry): HTMLElement {
    return h("span", { class: "badges" },
      rule.enabled === false ? badge("disabled", "warn") : badge("enabled", "good"),
      rule.shadow === true ? badge("shadow", "adaptive") : null,
      origin === "request" ? badge("until reload", "") : null,
      origin === "envoy" ? badge("envoy", "") : null);
  }

  private actions(entry: Entry): HTMLElement {
    const { id, rule, origin } = entry;
    if (origin === "envoy") return h("small", {}, "changed in Envoy's file");
    const enabled = rule.enabled !== false;
    const shadow = rule.shadow === true;
    const about = (what: string) => ({ class: "quiet small", "aria-label": `${what} ${id}` });
    return h("span", { class: "buttons" },
      button("Edit", () => this.edit(entry), about("Edit"), "edit"),
      button(enabled ? "Disable" : "Enable", () => this.patch(id, { enabled: !enabled }),
        about(enabled ? "Disable" : "Enable")),
      button(shadow ? "Unshadow" : "Shadow", () => this.patch(id, { shadow: !shadow }),
        about(shadow ? "Unshadow" : "Shadow")),
      button("Remove", () => this.drop(id), about("Remove")));
  }

  private edit(entry: Entry): void {
    this.editor.open(entry.id, entry.rule, this.version);
  }

  private async patch(id: string, body: Record<string, boolean>): Promise<void> {
    await this.change(id, "PATCH", body, `${id} is changed, until the next reload.`);
  }

  private async drop(id: string): Promise<void> {
    const yes = await confirmed(`Remove the rule ${id}?`,
      "Checks by its name get an error then. The history below brings it back.", "Remove");
    if (yes) await this.change(id, "DELETE", undefined, `${id} is removed, until the next reload.`);
  }

  private async change(id: string, method: string, body: unknown, done: string): Promise<void> {
    const reply = await ask(query(`/admin/rules/${encodeURIComponent(id)}`, {}),
      { method, body, headers: { "If-Match": `"${this.version}"` } });
    if (reply.ok) await this.changed();
    const warnings = json.list(reply.body.warnings).map((each) => `Warning: ${String(each)}.`);
    say(this.message, reply.ok ? [done, ...warnings].join(" ") : reply.problem);
  }

  private async changed(): Promise<void> {
    say(this.message, "");
    await this.load();
  }
}
