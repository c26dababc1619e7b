// The table of rules: what they denied in some time, the most denied first. It has the rules of the
// history, those that have requests now and, for people who have signed in, all others.

import { DataTable } from "./data_table";
import { type Child, badge, h } from "./dom";
import { count, moment, share } from "./format";
import * as json from "./json";
import { feed } from "./live";
import type { History, RuleLine, RuleSum } from "./message";
import { stanceOf } from "./rule_words";
import { address } from "./tab";
import { sparkline } from "./time_chart";
import { algorithmOf, limitOf } from "./words";
import { type Written, written } from "./written";

/** A badge that changed so recently pulses, also on a page that was just opened. */
const PULSE_S = 6;
/** A rule whose last denial is older does not deny now: a fleet's figures are three seconds old. */
export const NOW_S = 10;
/** Rules that have a line of the last so many seconds. */
const SPARKS_MAX = 200;
const SPARK_S = 120;

interface Row {
  readonly rule: string;
  readonly written?: Written;
  readonly sum?: RuleSum;
  readonly live?: RuleLine;
  /** How many it denied and had; unknown if it may be among the others. */
  readonly denied?: number;
  readonly requests?: number;
}

/** Requests of each second. */
const sparks = new Map<string, number[]>();
/** What a rule followed when it last had a request. */
const followed = new Map<string, RuleLine>();
let heardT = 0;

/** Each second, also while nobody looks, so that lines have no holes. */
feed.addEventListener("message", () => {
  const { rules, fleetT } = feed.last!;
  if (fleetT === heardT) return;
  heardT = fleetT;
  const heard = new Map(rules.map((line) => [line.rule, line]));
  for (const [rule, line] of heard) {
    followed.set(rule, line);
    if (!sparks.has(rule) && sparks.size < SPARKS_MAX) sparks.set(rule, []);
  }
  for (const [rule, values] of sparks) {
    values.push(heard.get(rule)?.requests ?? 0);
    if (values.length > SPARK_S) values.shift();
  }
});

export class RuleTable {
  private readonly table: DataTable<Row>;
  readonly element: HTMLElement;

  constructor(empty: string) {
    this.table = new DataTable<Row>({
      caption: "Rules with what they denied", empty,
      id: ({ rule }) => rule,
      text: ({ rule, written: its }) => `${rule} ${its ? about(its) : ""}`,
      sort: { title: "Denied", falls: true },
      columns: [
        { title: "Rule", by: ({ rule }) => rule, cell: named },
        { title: "Denied", figures: true, cell: deniedOf,
          by: ({ denied, sum }) => denied === undefined ? denied : denied + (sum?.apart ?? 0) },
        { title: "Requests", by: ({ requests }) => requests, figures: true,
          cell: ({ requests }) => count(requests) },
        { title: "Denying", by: ({ sum }) => sum?.last, cell: denying },
        { title: "Per second", by: ({ live }) => live?.requests ?? 0, figures: true,
          cell: perSecond },
        { title: "Algorithm", cell: following },
      ],
    });
    this.element = this.table.element;
    this.element.classList.add("rule-table");
  }

  /** `minute`: the sums of the last one, which are told each second. */
  show({ rules, hasOthers }: History, minute = rules): void {
    written.follow();
    const sums = new Map(rules.map((sum) => [sum.rule, sum]));
    for (const { rule, since, isOlder, last } of minute) {
      if (since && sums.has(rule)) sums.set(rule, { ...sums.get(rule)!, since, isOlder, last });
    }
    const lines = new Map((feed.last?.rules ?? []).map((line) => [line.rule, line]));
    const names = new Set([...sums.keys(), ...lines.keys(), ...written.rules.keys()]);
    const unnamed = hasOthers ? undefined : 0;
    this.table.show([...names].map((rule) => {
      const sum = sums.get(rule);
      return { rule, written: written.rules.get(rule), sum, live: lines.get(rule),
        denied: sum ? sum.denied : unnamed, requests: sum ? sum.requests : unnamed };
    }));
  }
}

function named({ rule, written: its }: Row): Child {
  const name = rule === "" ? "checks without a rule"
    : h("a", { href: address("rules", { rule }) }, h("b", {}, rule));
  const isPlain = its && stanceOf(its.rule) === "enforced" && its.origin === "file" &&
    !its.rule.active && its.rule.enforce !== "proportional";
  return h("span", {}, name, its && !isPlain ? stateOf(its) : null,
    its ? h("small", {}, about(its)) : null);
}

/** What the rule does, and where it was written. */
export function stateOf({ rule, origin, inForce }: Written): HTMLElement {
  const stance = stanceOf(rule);
  const level = { enforced: "good", part: "adaptive", shadow: "adaptive", off: "warn" }[stance];
  const word = stance === "part" ? `denies ${String(rule.enforce).slice(0, -1)} % of keys` : stance;
  const isOut = !inForce && stance !== "off";
  return h("span", { class: "badges" }, isOut ? badge("not now", "warn") : badge(word, level),
    rule.active ? badge("at hours", "") : null,
    rule.enforce === "proportional" ? badge("proportional", "") : null,
    origin === "request" ? badge("by hand", "") : null,
    origin === "envoy" ? badge("envoy", "") : null);
}

/** Its name, its limit, its path and its key. */
function about({ rule }: Written): string {
  const { path } = json.object(rule.match);
  const key = listed(rule.key);
  return [json.text(rule.name), limitOf(rule), listed(path), key ? `by ${key}` : ""]
    .filter(Boolean).join(", ");
}

function listed(value: unknown): string {
  return typeof value === "string" ? value : json.list(value).map(String).join(", ");
}

function deniedOf({ denied, sum }: Row): Child {
  return h("span", { class: denied ? "bad" : "" }, count(denied),
    denied ? h("small", {}, share(sum?.denyRate)) : null,
    sum?.apart ? h("small", { class: "bad" }, `and ${count(sum.apart)} of ${
      feed.last?.alone ? "the fleet" : "this node alone"}`) : null,
    sum?.shadow ? h("small", {}, `${count(sum.shadow)} would be`) : null);
}

function denying({ sum }: Row): string {
  if (!sum?.since || !sum.last) return "";
  const isNow = sum.last > (feed.last?.fleetT ?? 0) - NOW_S;
  return isNow ? `since ${moment(sum.since)}${sum.isOlder ? " or before" : ""}`
    : `last at ${moment(sum.last)}`;
}

function perSecond({ rule, live }: Row): Child {
  const values = sparks.get(rule);
  return h("span", { class: "with-spark" }, values ? sparkline(values, SPARK_S, 1) : null,
    h("span", {}, count(live?.requests ?? 0)));
}

function following({ rule, written: its }: Row): Child {
  const line = followed.get(rule);
  if (!line?.algorithm || !line.adaptive) {
    return line?.algorithm ?? (its && algorithmOf(its.rule));
  }
  const { switched = 0 } = line;
  const pulses = (feed.last?.fleetT ?? 0) - switched < PULSE_S;
  return h("span", {}, h("small", {}, "adaptive, now "),
    badge(line.algorithm, `adaptive${pulses ? " pulse" : ""}`));
}
