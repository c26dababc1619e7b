// The page of one rule: what it says, what it does now, whom it denies, what changed it.

import { type Ask, type Reply, UNASKED, ask, query } from "./api";
import { BusiestKeys } from "./busiest_keys";
import { DataTable } from "./data_table";
import { lostText, nameOf, wholeKey, withoutKey } from "./denials";
import { DENIAL } from "./denials_tab";
import { type Child, badge, button, fill, h, say, tell, verbatim } from "./dom";
import { count, moment, share } from "./format";
import * as json from "./json";
import { feed, historyOf } from "./live";
import type { Second } from "./message";
import { agreed, changeRule, titled } from "./rule_change";
import type { RuleEditor } from "./rule_editor";
import { RuleHistory } from "./rule_history";
import { stateOf } from "./rule_table";
import {
  STANCES, type Stance, type State, before, countedAs, elseOf, exactlyDenied, holdText,
  isRollingOut, limitsNow, misjudgedText, overText, pastOf, patchOf, rolloutOf, rolloutText,
  runsText, shareOf, stanceOf, switchSays, whereNot, wouldHold,
} from "./rule_words";
import { address } from "./tab";
import { type Mark, TimeChart } from "./time_chart";
import { algorithmOf } from "./words";

const HOUR_S = 3600;
const SPANS_S = [120, 600, HOUR_S];
const DENIALS_SHOWN = 20;

const AS_TOLD_LAST = "Redis is away: of other nodes it says what they said last.";
const isRedisAway = (): boolean => feed.last?.redis?.state === "down";

const STANCE_NAMES = Object.keys(STANCES) as Stance[];

export class RulePage {
  private id = "";
  private version = "";
  private rule: json.Fields | undefined;
  private fleet: unknown;
  private points: readonly Second[] = [];
  private marks: readonly Mark[] = [];
  private isKnown = false;
  private told = "";
  private overNow = "";
  private misjudged: json.Fields = {};
  private isGone = false;
  private sayWhere = (_fleet: unknown): void => {};
  private readonly title = h("h1");
  private readonly state = h("span");
  private readonly stances = STANCE_NAMES.map((stance) =>
    button(STANCES[stance].label, () => this.turn(stance)));
  private readonly rollButton = button("", () => this.roll());
  private readonly controls = h("div", { class: "head" },
    h("div", { class: "stances", role: "group", "aria-label": "What the rule does" },
      ...this.stances),
    h("div", { class: "buttons" }, this.rollButton, button("Edit", () => this.edit(), {}, "edit"),
      button("Remove", () => this.remove(), { class: "danger" })));
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly facts = h("dl", { class: "facts" });
  private readonly now = h("dd");
  private readonly chart = new TimeChart<Second>({
    title: "Traffic", least: 1, fleet: true, format: (value) => `${count(value)}/s`,
    series: [
      { label: "requests", colour: "accent", value: ({ requests }) => requests },
      { label: "would be denied", colour: "adaptive", filled: true,
        value: ({ shadow }) => shadow },
      { label: "denied", colour: "bad", filled: true, value: ({ denied }) => denied,
        band: (second) => exactlyDenied(second, this.misjudged) },
    ],
  });
  private readonly denials = new DataTable<json.Fields>({
    caption: "Denied of late", id: nameOf,
    empty: "Nobody, as far as this node remembers.",
    columns: [
      ...DENIAL.filter(({ title }) => ["Time", "Key", "Cause", "Times"].includes(title)),
      { title: "Do", cell: (entry) => wholeKey(entry) ? this.links(wholeKey(entry)!)
        : withoutKey(entry) },
    ],
  });
  private readonly keys = (["denied", "asked"] as const)
    .map((by) => new BusiestKeys(by, (key) => this.links(key)));
  private readonly past = new RuleHistory("one", (entry) => this.putBack(entry));
  private readonly lost = h("p", { class: "message" });
  private readonly all = h("a", {}, "All denials");
  private readonly shown = h("div", { class: "stack" },
    h("section", { class: "card" }, this.facts, this.chart.element),
    h("div", { class: "split even" },
      h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Denied of late ",
        h("small", {}, "by this node")), this.all), this.denials.element,
        this.lost),
      h("div", { class: "stack" }, ...this.keys.map(({ element }) => element))));
  readonly element = h("div", { class: "stack", id: "rule-page", hidden: true },
    h("div", {}, h("a", { href: address("rules") }, "All rules"),
      h("div", { class: "head" }, h("div", { class: "head" }, this.title, this.state),
        this.controls), this.message),
    this.shown, this.past.element);

  constructor(private readonly editor: RuleEditor) {}

  open(id: string): void {
    if (id !== this.id) {
      this.points = [];
      this.rule = undefined;
      this.shown.hidden = this.controls.hidden = true;
    }
    this.id = id;
    this.told = "";
    this.sayWhere = () => {};
    fill(this.title, id);
    this.all.href = address("denials", { rule: id });
    say(this.message, "");
    void this.load({});
  }

  /** Each second; `isOther`: rules have changed. */
  refresh(isOther: boolean): void {
    if (isOther) void this.load(UNASKED);
    this.showNow();
  }

  async load(how: Ask): Promise<void> {
    const { id } = this;
    const past = await ask(query("/admin/history", { rule: id }), how);
    if (id !== this.id) return;
    const changes = json.objects(past.body.history);
    this.isKnown = changes.length > 0;
    this.marks = changes.map(({ at, changes: lines }) => ({ level: "accent",
      t: Date.parse(String(at)) / 1000, text: json.list(lines).join("; ") }));
    this.past.show(changes, past.problem);
    await this.loadRule(how);
  }

  /** Each few seconds. */
  async again(): Promise<void> {
    if (!this.isGone && !document.hidden) await this.loadRule(UNASKED);
  }

  private async loadRule(how: Ask): Promise<void> {
    const { id } = this;
    const rule = await ask(`/admin/rules/${encodeURIComponent(id)}`, how);
    if (id !== this.id) return;
    this.take(titled(rule));
    if (this.rule) await this.loadFigures(how);
  }

  /** What is told again stays as it is, so that nobody loses the focus. */
  private take({ ok, status, body, etag, problem }: Reply): void {
    this.version = etag || this.version;
    if (ok) this.editor.holds(body.fleet);
    if (ok && this.message.classList.contains("warn")) this.sayWhere(body.fleet);
    this.editor.heard(this.version, () => ok ? json.object(body.rule) : undefined);
    const { following, over_now_max: most, over_now_percent: percent, over_now_because: because,
      misjudged, ...rest } = body;
    this.overNow = overText(most, percent, because);
    this.misjudged = json.object(misjudged);
    const told = JSON.stringify([status, rest, json.object(following).algorithm,
      isRedisAway()]);
    if (told === this.told) return this.showNow();
    this.told = told;
    this.isGone = status === 404;
    if (!ok && !this.isGone) return this.say("bad", problem);
    const was = JSON.stringify(this.rule);
    this.rule = ok ? json.object(body.rule) : undefined;
    this.fleet = body.fleet ?? this.fleet;  // a rule that is gone tells of none
    this.shown.hidden = !ok;
    this.controls.hidden = !ok || body.origin === "envoy";
    if (ok) {
      const isOver = was !== JSON.stringify(this.rule) || this.message.classList.contains("bad");
      if (isOver) this.say("", "");
      return this.show(body);
    }
    fill(this.state, this.isKnown ? badge("gone", "bad") : null);
    if (!was && this.message.textContent !== "") return;
    this.say("bad", this.isKnown ? "There is no such rule any more. The history brings it back."
      : "There is no rule with this id.", h("a", { href: address("rules") }, "See all rules"));
  }

  private show(body: json.Fields): void {
    const rule = this.rule!;
    const origin = json.text(body.origin) ?? "";
    const name = json.text(rule.name);
    fill(this.title, this.id, name ? h("small", {}, ` ${name}`) : null);
    fill(this.state, stateOf({ rule, origin, inForce: body.in_force !== false }));
    const words = json.object(body.words);
    const following = json.text(json.object(body.following).algorithm);
    const kind = algorithmOf(rule);
    fill(this.facts,
      ...fact("Matches", coded(words.requests)), ...fact("Counted by", coded(words.key)),
      ...fact("Limits", coded(limitsNow(json.text(words.limits) ?? "", rule, feed.last?.redis))),
      ...fact("On denial", coded(words.denial)),
      ...fact("Rollout", json.isObject(rule.rollout) ? [rolloutText(rule)] : []),
      ...fact("Also", elseOf(rule, this.fleet).map((each) => h("div", {}, each))),
      ...fact("Algorithm", kind ? [kind, following ? `, now ${following}` : null] : []),
      ...fact("Not in force", json.text(body.in_force_at)
        ? [`until ${moment(Date.parse(String(body.in_force_at)) / 1000)}`] : []),
      ...fact("Runs", this.runs(origin)),
      ...fact("Changes", origin === "envoy" ? ["in Envoy's file"] : []),
      h("dt", {}, "Now"), this.now);
    say(this.rollButton, isRollingOut(rule) ? "Stop rollout" : "Roll out");
    this.rollButton.hidden = shareOf(rule) === "100%" || rule.enforce === "proportional";
    this.stances.forEach((pressed, at) => {
      const isOn = STANCE_NAMES[at] === stanceOf(rule);
      pressed.setAttribute("aria-pressed", String(isOn));
      pressed.classList.toggle("primary", isOn);
    });
    this.showNow();
  }

  private runs(origin: string): Child[] {
    const { version } = json.object(this.fleet);
    return [runsText(this.fleet, origin), version === 0 ? ", each by its file" : null,
      isRedisAway() ? h("p", { class: "problem" }, AS_TOLD_LAST) : null,
      ...whereNot(this.fleet).map((text) => h("p", { class: "problem" }, text))];
  }

  private showNow(): void {
    const line = feed.lineOf(this.id);
    say(this.now, !line ? "not among the 100 busiest rules"
      : `${count(line.requests)} requests/s, ${share(line.denyRate)} denied` +
        (line.shadow ? `, ${count(line.shadow)}/s would be` : "") + this.overNow +
        misjudgedText(this.misjudged));
  }

  private async loadFigures(how: Ask): Promise<void> {
    const { id } = this;
    const [past, denials] = await Promise.all([
      historyOf("1h", how, { rule: id }),
      ask(query("/admin/denials", { rule: id, limit: DENIALS_SHOWN }), how),
      ...this.keys.map((keys) => keys.load(id, how))]);
    if (id !== this.id) return;
    const { points = [], step = 1 } = past ?? {};
    this.points = points;
    const known = feed.now() - (points[0]?.t ?? feed.now());
    this.chart.draw(points, feed.now(), SPANS_S.find((span) => span > known) ?? HOUR_S, step);
    this.chart.mark(this.marks);
    const [newest, before = newest] = points.slice(-2).reverse();
    this.chart.standAt((newest && newest.seconds < step ? before : newest)?.t ?? 0);
    this.denials.show(json.objects(denials?.body.denials));
    say(this.lost, lostText(denials?.body ?? {}, "what this node remembers"));
  }

  private links(key: string): HTMLElement {
    return h("span", { class: "links" }, ...["explain", "keys"].map((tab) =>
      h("a", { href: address(tab, { rule: this.id, key }) }, tab === "keys" ? "Key" : "Explain")));
  }

  /** Since it was last changed, an hour at most. */
  private lately(from: State): string | undefined {
    const now = feed.now();
    return pastOf(this.points, Math.min(now - (this.marks[0]?.t ?? 0), HOUR_S), now, from);
  }

  private edit(): void {
    this.element.insertBefore(this.editor.element, this.shown);
    this.editor.open(this.version, this.id, this.rule!);
  }

  private async turn(to: Stance): Promise<void> {
    const rule = this.rule!;
    const from = countedAs(stanceOf(rule), to);
    if (stanceOf(rule) === to) return;
    const { label, question } = STANCES[to];
    const says = (): string => switchSays(from, to, this.lately(from), this.fleet,
      feed.last?.redis) + (to === "shadow" && stanceOf(rule) === "part"
      ? ` Its ${shareOf(rule)} of the keys is not kept: Undo brings it back.` : "");
    await this.propose(`${question}: ${this.id}?`, says, label,
      { method: "PATCH", body: patchOf(to, rule) });
  }

  private async roll(): Promise<void> {
    const rule = this.rule!;
    const isOn = isRollingOut(rule);
    const body = isOn ? { rollout: null } : rolloutOf(rule);
    await this.propose(`${isOn ? "Stop the rollout of" : "Roll out"} ${this.id}?`,
      () => isOn ? `The rule stays at ${shareOf(rule)} of the keys.`
        : `The rule denies ${rolloutText(body)}.`,
      isOn ? "Stop" : "Roll out", { method: "PATCH", body });
  }

  private async remove(): Promise<void> {
    const from = countedAs(stanceOf(this.rule!));
    const says = (): string => [before(from, this.lately(from)), "It limits no request then, and " +
      `checks by its name get an error, ${wouldHold(this.fleet, feed.last?.redis)}`,
    "The history brings it back."].join(" ");
    await this.propose(`Remove the rule ${this.id}?`, says, "Remove", { method: "DELETE" });
  }

  /** What people agree to is a change of what they have seen, so of this version. */
  private async propose(
    question: string, says: () => string, label: string, how: Ask, why?: string,
  ): Promise<void> {
    const { version } = this;
    const said = await agreed(question, says, label, why);
    if (said) await this.change(version, how, said);
  }

  private async putBack({ rule, version }: json.Fields): Promise<void> {
    const isThere = json.isObject(rule);
    const back = `back to version ${String(version)}`;
    await this.propose(`Put ${this.id} ${back}?`,
      () => `The rule is ${isThere ? "as it was then" : "gone, as it was then"}, ` +
        wouldHold(this.fleet, feed.last?.redis),
      "Go back", isThere ? { method: "PUT", body: rule } : { method: "DELETE" }, back);
  }

  private async change(version: string, how: Ask, said: Record<string, string>): Promise<void> {
    const { id, rule: before } = this;
    this.say("", "");
    const reply = await changeRule(id, version, how, said);
    await this.load({});
    if (id !== this.id) return;  // people look at another rule by now
    if (!reply.ok) return this.say("bad", reply.problem);
    const warnings = json.list(reply.body.warnings).map((each) => `Warning: ${String(each)}.`);
    this.sayWhere = (fleet) => {
      const text = [`Done. ${holdText(fleet)}`, ...warnings].join(" ");
      if (this.message.textContent?.startsWith(text)) return;
      this.say(whereNot(fleet).length > 0 ? "warn" : "good", text,
        button("Undo", () => this.putBack({ rule: before ?? null, version }),
          { class: "quiet small" }, "arrow"));
    };
    this.sayWhere(reply.body.fleet);
  }

  private say(level: string, text: string, more?: HTMLElement): void {
    tell(this.message, level, text);
    if (more) this.message.append(" ", more);
  }
}

function fact(name: string, said: readonly Child[]): HTMLElement[] {
  return said.length === 0 ? [] : [h("dt", {}, name), h("dd", {}, ...said)];
}

/** The server's words, with code between backticks. */
function coded(words: unknown): Child[] {
  return (json.text(words) ?? "").split("`").flatMap((part, at) =>
    part === "" ? [] : [at % 2 === 1 ? verbatim(part) : part]);
}
