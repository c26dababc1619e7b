// The rules with what they denied in some time, the most denied first: those of the history and
// those that have requests now. People who have signed in see all others, too.

import { UNASKED, ask } from "./api";
import { DataTable } from "./data_table";
import { type Child, badge, h, say } from "./dom";
import { algorithm, count, moment, share } from "./format";
import * as json from "./json";
import type { History, Live, RuleLine, RuleSum } from "./message";
import { session } from "./session";
import { address } from "./tab";
import { Sparkline } from "./time_chart";
import { limitOf } from "./words";

/** A badge that changed so recently pulses, also on a page that was just opened. */
const PULSE_S = 6;
/** A rule whose last denial is older does not deny now: a fleet's figures are three seconds old. */
export const NOW_S = 10;
/** Rules that have a line of the last two minutes. */
const SPARKS_MAX = 200;

interface Row {
  readonly rule: string;
  /** As it is written. */
  readonly written?: json.Fields;
  readonly sum?: RuleSum;
  readonly live?: RuleLine;
  /** How many it denied and had; unknown if it may be among the others. */
  readonly denied?: number;
  readonly requests?: number;
}

export class TopRules {
  private written = new Map<string, json.Fields>();
  private version: number | undefined;
  private readonly sparks = new Map<string, Sparkline>();
  /** What a rule followed when it last had a request. */
  private readonly followed = new Map<string, RuleLine>();
  private now = 0;
  private readonly period = h("small");
  private readonly table = new DataTable<Row>({
    caption: "Rules with what they denied",
    id: ({ rule }) => rule,
    text: ({ rule, written }) => `${rule} ${written ? about(written) : ""}`,
    empty: "No rule has had a request yet. Press Burst above, or send one to POST /check.",
    sort: { title: "Denied", falls: true },
    columns: [
      { title: "Rule", by: ({ rule }) => rule, cell: (row) => named(row) },
      { title: "Denied", by: ({ denied }) => denied, figures: true, cell: deniedOf },
      { title: "Requests", by: ({ requests }) => requests, figures: true,
        cell: ({ requests }) => count(requests) },
      { title: "Denying", by: ({ sum }) => sum?.last, cell: ({ sum }) => this.since(sum) },
      { title: "Per second", by: ({ live }) => live?.requests ?? 0, figures: true,
        cell: (row) => this.rate(row) },
      { title: "Algorithm", cell: ({ rule }) => this.following(this.followed.get(rule)) },
    ],
  });
  readonly element = h("section", { class: "card" },
    h("h2", {}, "Rules, most denied first ", this.period), this.table.element);

  /** Each second, also while nobody looks, so that lines have no holes. */
  hear({ rules }: Live): void {
    const heard = new Map(rules.map((line) => [line.rule, line]));
    for (const line of rules) {
      const { rule } = line;
      this.followed.set(rule, line);
      if (!this.sparks.has(rule) && this.sparks.size < SPARKS_MAX) {
        this.sparks.set(rule, new Sparkline());
      }
    }
    for (const [rule, spark] of this.sparks) spark.add(heard.get(rule)?.requests ?? 0);
  }

  show(live: Live, { rules, hasOthers }: History, period: string): void {
    this.now = live.fleetT;
    say(this.period, period);
    void this.read(live.rulesVersion);
    const sums = new Map(rules.map((sum) => [sum.rule, sum]));
    const lines = new Map(live.rules.map((line) => [line.rule, line]));
    const names = new Set([...sums.keys(), ...lines.keys(), ...this.written.keys()]);
    const unnamed = hasOthers ? undefined : 0;
    this.table.show([...names].map((rule) => {
      const sum = sums.get(rule);
      return { rule, written: this.written.get(rule), sum, live: lines.get(rule),
        denied: sum ? sum.denied : unnamed, requests: sum ? sum.requests : unnamed };
    }));
  }

  /** The limits, if they are others than those that are shown. */
  private async read(version: number | undefined): Promise<void> {
    if (version === this.version || !session.mayChange) return;
    this.version = version;
    const { ok, body } = await ask("/admin/rules", UNASKED);
    if (!ok) return;
    this.written = new Map(json.objects(body.rules).map(({ id, rule }) =>
      [json.text(id) ?? "", json.object(rule)]));
  }

  private since(sum: RuleSum | undefined): Child {
    if (!sum?.denied || !sum.since || !sum.last) return "";
    const isNow = sum.last > this.now - NOW_S;
    return h("span", { class: "time" },
      isNow ? `since ${moment(sum.since)}` : `last at ${moment(sum.last)}`);
  }

  private rate({ rule, live }: Row): Child {
    return h("span", { class: "with-spark" }, this.sparks.get(rule)?.element,
      h("span", {}, count(live?.requests ?? 0)));
  }

  private following(live: RuleLine | undefined): Child {
    if (!live?.algorithm) return "";
    const pulses = live.switched !== undefined && this.now - live.switched < PULSE_S;
    return badge(algorithm(live.algorithm),
      `${live.adaptive ? "adaptive" : ""}${pulses ? " pulse" : ""}`);
  }
}

function named({ rule, written, sum }: Row): Child {
  const name = rule === "" ? "checks without a rule"
    : h("a", { href: address("rules", { rule }) }, rule);
  return h("span", {}, name, sum?.shadow ? badge("shadow", "warn") : null,
    written ? h("small", {}, about(written)) : null);
}

function deniedOf({ denied, sum }: Row): Child {
  return h("span", { class: denied ? "bad" : "" }, count(denied),
    denied ? h("small", {}, `${share(sum?.denyRate)}${sum?.shadow ? " would be" : ""}`) : null);
}

/** Its limit, its path and its key. */
function about(written: json.Fields): string {
  const { path } = json.object(written.match);
  const key = listed(written.key);
  return [limitOf(written), listed(path), key ? `by ${key}` : ""].filter(Boolean).join(", ");
}

function listed(value: unknown): string {
  return typeof value === "string" ? value : json.list(value).map(String).join(", ");
}
