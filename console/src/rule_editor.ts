// The editor of one rule: a text with numbered lines, judged by the server as people type.

import { ask, query } from "./api";
import { button, fill, h, icon, say, tell, unique } from "./dom";
import { DryRun } from "./dry_run";
import { plural } from "./format";
import * as json from "./json";
import { Author, changeRule } from "./rule_change";
import { holdText, whereNot } from "./rule_words";
import { toYaml } from "./yaml";

/** A pause in typing that is long enough to ask the server. */
const PAUSE_MS = 250;
const NEW_RULE = "id: new\nlimit: 10\nwindow: 1m\n";

type Problem = ReturnType<typeof readProblem>;

export class RuleEditor {
  readonly element = h("section", { class: "card editor", "aria-label": "Editor", hidden: true });
  private readonly title = h("h2");
  private readonly area = h("textarea", {
    id: unique("rule"), spellcheck: "false", autocomplete: "off", autocapitalize: "off", rows: 12,
    wrap: "off", "aria-label": "The rule as YAML or JSON",
  });
  private readonly gutter = h("div", { class: "gutter", "aria-hidden": "true" });
  private readonly problems = h("ul", { class: "problems", "aria-live": "polite" });
  private readonly changes = h("ul", { class: "changes" });
  private readonly dryRun = new DryRun((limit) => this.setLimit(limit));
  private readonly author = new Author();
  private readonly toFile = h("input", { type: "checkbox", id: "to-file" });
  private readonly save = button("Save", () => this.put(), { class: "primary", id: "save-rule" });
  /** That the rules have changed meanwhile. */
  private readonly stale = h("p", { class: "message warn", role: "status" });
  private readonly verdict = h("p", { class: "message", role: "status" });
  private id = "";
  private version = "";
  private heardVersion = "";
  /** The rule in force, as they see it; none: "". */
  private seen = "";
  private isSaving = false;
  private valid: json.Fields | undefined;
  private timer = 0;
  private round = 0;
  private sayWhere = (_fleet: unknown): void => {};

  constructor(private readonly saved: () => Promise<void>) {
    this.area.setAttribute("aria-describedby", this.problems.id = unique("problems"));
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("scroll", () => (this.gutter.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => this.pressed(event));
    this.element.append(
      h("div", { class: "head" }, this.title,
        button("Close", () => this.close(), { class: "quiet" }, "cross")),
      h("div", { class: "code" }, this.gutter, this.area), this.stale, this.verdict, this.problems,
      h("h3", {}, "What would change"), this.changes,
      this.dryRun.element, this.author.element,
      h("div", { class: "actions" },
        h("div", { class: "check" }, this.toFile,
          h("label", { for: "to-file" }, "Write it to the configuration file, too")), this.save));
  }

  /** `version`: of the rules that people see. Without a rule they write a new one. What is open
      stays as it is. */
  open(version: string, id = "", rule?: json.Fields): void {
    if (!this.element.hidden && this.id === id) return this.area.focus();
    this.id = id;
    this.sayWhere = () => {};
    this.goOn(version, rule);
    say(this.title, id ? `Edit ${id}` : "New rule");
    this.area.value = rule ? toYaml(rule) : NEW_RULE;
    this.toFile.checked = false;
    this.author.clear();
    this.element.hidden = false;
    this.area.rows = Math.min(28, Math.max(8, this.area.value.split("\n").length + 1));
    this.element.scrollIntoView({ block: "nearest" });
    this.area.focus();
    this.area.setSelectionRange(0, 0);
    this.typed();
  }

  close(): void {
    this.element.hidden = true;
    this.round++;
  }

  /** Unless it edits this rule, or "": a new one. */
  closeUnless(id: string): void {
    if (this.id !== id) this.close();
  }

  /** A node that did not take what was saved may have done so since. */
  holds(fleet: unknown): void {
    if (this.verdict.classList.contains("warn")) this.sayWhere(fleet);
  }

  /** The rules are at this version by now, in which `of` has the rule that is edited. */
  heard(version: string, of: (id: string) => json.Fields | undefined): void {
    if (this.element.hidden || this.isSaving || version === this.heardVersion) return;
    this.heardVersion = version;
    const rule = of(this.target());
    if (version === this.version || JSON.stringify(rule ?? "") === this.seen) {
      return this.goOn(version, rule);
    }
    fill(this.stale, `The rules are at version ${version} by now. Your text is kept. `,
      button(`Go on from version ${version}`, () => this.goOn(version, rule), { class: "small" }));
    void this.validate();
  }

  private goOn(version: string, rule?: json.Fields): void {
    this.version = this.heardVersion = version;
    this.seen = JSON.stringify(rule ?? "");
    fill(this.stale);
  }

  private pressed(event: KeyboardEvent): void {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void this.put();
  }

  private typed(): void {
    this.valid = undefined;
    this.save.disabled = true;
    this.number([]);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.validate(), PAUSE_MS);
  }

  private setLimit(limit: number): void {
    this.area.value = this.area.value.replace(/^(limit\s*:\s*)\d+/m, `$1${limit}`);
    this.typed();
  }

  /** The id that the text says; validated is what would be put there. */
  private target(): string {
    if (this.id) return this.id;
    return /^\s*"?id"?\s*:\s*["']?([A-Za-z0-9_.:-]+)/m.exec(this.area.value)?.[1] ?? "new";
  }

  private async validate(): Promise<void> {
    const round = ++this.round;
    const reply = await ask(query("/admin/rules/validate", { id: this.target() }),
      { method: "POST", body: this.area.value });
    if (round !== this.round) return;
    if (!reply.ok) {
      this.show([]);
      this.preview(false, []);
      this.dryRun.none();
      return tell(this.verdict, "bad", reply.problem);
    }
    const problems = json.objects(reply.body.problems).map(readProblem);
    const ok = reply.body.ok === true;
    this.valid = ok ? json.object(reply.body.json) : undefined;
    this.save.disabled = !ok;
    this.show(problems);
    const mistakes = problems.filter((problem) => !problem.warning).length;
    tell(this.verdict, ok ? "good" : "bad",
      ok ? "The rule is valid." : plural(mistakes, "mistake"));
    this.preview(ok, json.list(reply.body.changes).map(String));
    if (ok) void this.dryRun.of(this.target(), this.area.value);
    else this.dryRun.none();
  }

  private preview(ok: boolean, changes: readonly string[]): void {
    const none = ok ? "Nothing: this is the rule as it is now."
      : "Nothing, as long as it has mistakes.";
    fill(this.changes, ...(changes.length > 0 && ok ? changes : [none])
      .map((text) => h("li", {}, text)));
  }

  private show(problems: readonly Problem[]): void {
    this.number(problems);
    fill(this.problems, ...problems.map((problem) =>
      h("li", { class: levelOf(problem) }, icon("alert"),
        button(`Line ${problem.line}`, () => this.goTo(problem), { class: "link" }),
        h("span", {}, `${problem.warning ? "warning: " : ""}${problem.text}`))));
  }

  private number(problems: readonly Problem[]): void {
    const marks = new Map(problems.map((problem) => [problem.line, levelOf(problem)]));
    const lines = this.area.value.split("\n").length;
    fill(this.gutter, ...Array.from({ length: lines }, (_, at) =>
      h("span", { class: marks.get(at + 1) ?? "", "data-line": at + 1 }, at + 1)));
    this.gutter.scrollTop = this.area.scrollTop;
    this.area.setAttribute("aria-invalid", String([...marks.values()].includes("bad")));
  }

  private goTo(problem: Problem): void {
    const before = this.area.value.split("\n").slice(0, problem.line - 1);
    const at = before.reduce((sum, line) => sum + line.length + 1, 0) + problem.column - 1;
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  private async put(): Promise<void> {
    if (!this.valid || this.isSaving) return;
    const id = this.target();
    const keeps: Record<string, string> = this.toFile.checked ? { persist: "true" } : {};
    this.isSaving = true;
    const reply = await changeRule(id, this.version, { method: "PUT", body: this.valid },
      { ...this.author.said(), ...keeps });
    this.isSaving = false;
    if (reply.ok) {
      this.version = String(reply.body.version ?? this.version);
      this.id = id;
      say(this.title, `Edit ${id}`);
    }
    await this.saved();
    if (!reply.ok) return tell(this.verdict, "bad", reply.problem);
    this.preview(true, []);
    void this.dryRun.of(id, this.area.value);
    const isInFile = reply.body.persisted === true;
    const done = `Saved as version ${this.version}${isInFile ? ", also in the file" : ""}. `;
    this.sayWhere = (fleet) => tell(this.verdict, whereNot(fleet).length > 0 ? "warn" : "good",
      done + holdText(fleet, isInFile));
    this.sayWhere(reply.body.fleet);
  }
}

function levelOf(problem: Problem): "warn" | "bad" {
  return problem.warning ? "warn" : "bad";
}

function readProblem(from: json.Fields) {
  return {
    line: json.number(from.line) ?? 1,
    column: json.number(from.column) ?? 1,
    text: json.text(from.text) ?? "",
    warning: from.warning === true,
  };
}
