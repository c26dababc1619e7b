// Overview: who is being denied now, by which rule, since when. Then figures and charts of up to a
// day, the rules that deny most, and events.

import { UNASKED, ask, query } from "./api";
import { unended } from "./blocking";
import { keyText } from "./denials";
import { CAUSES } from "./denials_tab";
import { badge, button, fill, h, renew, say, verbatim } from "./dom";
import { shownNodes, whose } from "./fleet_tab";
import {
  about, clock, count, latency, moment, plural, ratio, share, span as lasting,
} from "./format";
import * as json from "./json";
import { HISTORY_S, feed, historyOf } from "./live";
import {
  type History, type Live, type RuleSum, type Second, type TrafficEvent, newEvents, readHistory,
} from "./message";
import { RunsBar } from "./runs_bar";
import { lastOf, sumOf, timeOf, withTold } from "./series";
import { NOW_S, RuleTable } from "./rule_table";
import { session } from "./session";
import { Tab, address } from "./tab";
import { ALLOWED_DENIED, type Mark, Tile, TimeChart } from "./time_chart";
import { type DeniedList, TopDenied, deniedBy, keyOf } from "./top_denied";
import { burstState, deniedState, keysState, latencyState, redisState } from "./words";

/** `everyMs`: how often the server is asked for it. */
type Span = typeof MINUTE;
const MINUTE = { name: "1m", words: "minute", seconds: 60, everyMs: 1000 };
const SPANS: readonly Span[] = [
  MINUTE,
  { name: "10m", words: "10 minutes", seconds: 600, everyMs: 5000 },
  { name: "1h", words: "hour", seconds: 3600, everyMs: 10_000 },
  { name: "24h", words: "day", seconds: 86_400, everyMs: 60_000 },
];
const LOAD_MS = 1000;
const DENIED_MS = 5000;
const YOUNG_S = 300;
/** The figures of a fleet come two to three seconds late; later than this they stand still. */
const LATE_S = 4;
/** Figures and table are drawn together, in the frame after that of the charts. */
const FRAME_MS = 20;
const EVENTS_SHOWN = 50;
const DENYING_SHOWN = 3;  // with all that is known of them
const ALSO_SHOWN = 10;
const BLOCKS_SHOWN = 3;
const CAUSES_SHOWN = 3;
const NOTHING = { ...readHistory({}), hasOthers: true };  // of no rule anything is known

export class OverviewTab extends Tab {
  private readonly tiles = {
    denied: new Tile("Denied"),
    requests: new Tile("Requests/s", "last second"),
    p99: new Tile("Latency p99", "last 10 s"),
    burst: new Tile("Burst ratio", "last 2 s of 10"),
    keys: new Tile("Keys", "of rules here, this minute and the last"),
    redis: new Tile("Redis"),
  };
  private readonly now = h("section", { class: "card now", "aria-label": "Denied now" });
  private readonly spans = h("div", { class: "buttons spans", role: "group",
    "aria-label": "Time" });
  private readonly back = button("Zoom out", () => this.zoom(), { class: "small", hidden: true });
  private readonly charts = this.makeCharts();
  private readonly rules = new RuleTable(
    "No rule has had a request yet. Press Burst above, or send one to POST /check.");
  private readonly period = h("small");
  private readonly denied = new TopDenied();
  private readonly events = h("ol",
    { class: "events", tabindex: 0, "aria-live": "polite", "aria-label": "Events" });
  /** Since when this node knows anything, if that is less than the span. */
  private readonly young = h("small");
  private readonly runs = new RunsBar();
  private readonly histories = new Map<string, History>();
  private readonly askedMs = new Map<string, number>();
  private keys: DeniedList = { groups: [], isPart: false };
  /** Why rules deny that deny now. */
  private readonly causes = new Map<string, DeniedList>();
  /** How many blocks there are, and the first that end. */
  private blocks: { total: number; first: readonly json.Fields[] } = { total: 0, first: [] };
  private asked: Span | undefined;
  private zoomed: { readonly from: number; readonly to: number } | undefined;
  private marks: Mark[] = [];
  private lastEvent = -1;
  private silentT = 0;
  private uptime = 0;

  protected build(): void {
    this.events.append(h("li", { class: "empty" }, "Not known yet."));
    fill(this.spans, this.back, ...SPANS.map((span) =>
      button(span.words, () => (location.hash = address("overview", { span: span.name })),
        { class: "small", "data-span": span.name, "aria-label": `Last ${span.words}` })));
    const { requests, denied, latency: slow } = this.charts;
    this.append(
      h("div", { class: "head" }, h("h1", {}, "Overview"), this.young, this.spans),
      this.now,
      h("section", { class: "tiles", "aria-label": "Figures" },
        ...Object.values(this.tiles).map((tile) => tile.element)),
      h("div", { class: "charts" },
        h("section", { class: "card wide" }, requests.element),
        h("section", { class: "card" }, denied.element),
        h("section", { class: "card" }, slow.element)),
      this.runs,
      h("div", { class: "split rules" }, h("section", { class: "card" },
        h("h2", {}, "Rules, most denied first ", this.period), this.rules.element),
        h("div", { class: "stack" },
          h("section", { class: "card" }, h("h2", {}, "Events"), this.events),
          ...this.denied.elements)));
    feed.addEventListener("history", () => this.shown && this.drawCharts());
    feed.addEventListener("message", () => feed.last && this.keepLines(feed.last));
    if (feed.last) this.keepLines(feed.last);
  }

  protected override opened(parameters: URLSearchParams): void {
    this.asked = SPANS.find(({ name }) => name === parameters.get("span")) ?? this.asked;
    this.runs.open();
    this.zoom();
    this.loadEach(LOAD_MS, () => this.load());
  }

  protected override refresh(): void {
    const { last } = feed;
    if (!last || document.hidden) return;
    for (const each of this.spans.querySelectorAll<HTMLElement>("[data-span]")) {
      each.setAttribute("aria-pressed", String(each.dataset.span === this.chosen.name));
    }
    if (last.uptime! < this.uptime) {  // it began again, or another one answers
      for (const told of [this.histories, this.askedMs]) told.clear();
    }
    this.uptime = last.uptime ?? 0;
    const begin = this.startWithin(this.chosen);
    say(this.young, begin ? `known since ${moment(begin)}` : "");
    if (this.charted().seconds <= HISTORY_S) this.drawCharts();
    const { points } = this.history(this.chosen);  // as old as its rows
    const newest = this.chosen === MINUTE ? undefined : points[points.length - 1];
    say(this.period, `in ${this.timeOf(this.chosen, points)}${
      newest ? `, as of ${clock(newest.t)}` : ""}`);
    window.setTimeout(() => {
      this.showNow(last);
      this.showTiles(last);
      this.rules.show(this.history(this.chosen), this.history(MINUTE).rules);
    }, FRAME_MS);
  }

  /** What somebody asked for; else as much as a young server knows. */
  private get chosen(): Span {
    return this.asked ?? ((feed.last?.uptime ?? Infinity) < YOUNG_S ? MINUTE : SPANS[1]!);
  }

  // ---- what the server remembers -------------------------------------------------------

  private history({ name }: Span): History {
    return this.histories.get(name) ?? NOTHING;
  }

  /** The steps of a span, with each second that has come since. A minute's are as its rows. */
  private points(span: Span): readonly Second[] {
    const { points } = this.history(span);
    const first = (feed.last?.fleetT ?? 0) - span.seconds;
    return span === MINUTE ? points : withTold(points, feed.seconds).filter(({ t }) => t > first);
  }

  /** Since when a young node knows what it sums up: it hears some seconds from before its start. */
  private startWithin(span: Span): number | undefined {
    if ((feed.last?.uptime ?? Infinity) >= span.seconds) return undefined;
    const { points } = this.history(span);
    const isAlone = points[points.length - 1]?.alone;
    const first = points.find(({ alone }) => alone === isAlone);
    return first && first.t - first.seconds;
  }

  /** Those that have denied in it, the fleet's or this node's. */
  private deniedIn(span: Span): RuleSum[] {
    const { fleetT = 0 } = feed.last ?? {};
    return [...this.history(span).rules, ...this.history(MINUTE).rules]
      .filter(({ last = 0 }) => last > fleetT - span.seconds);
  }

  /** Which time the sums of its rules are of. */
  private timeOf(span: Span, points = this.points(span)): string {
    const begin = this.startWithin(span);
    return timeOf(sumOf(points),
      lastOf(span.seconds, span.words, begin && (feed.last?.fleetT ?? 0) - begin));
  }

  /** The shortest span that has all of what the charts show. */
  private charted(): Span {
    if (!this.zoomed) return this.chosen;
    const ago = feed.now() - this.zoomed.from;
    return SPANS.find(({ seconds }) => seconds >= ago) ?? SPANS[SPANS.length - 1]!;
  }

  private async load(): Promise<void> {
    if (document.hidden || feed.isOld() || feed.status === "refused") return;
    const wanted = new Set([MINUTE, this.chosen, this.charted()]);
    await Promise.all([...wanted].map((span) => this.loadHistory(span)));
    if (session.mayChange) await this.loadDenied();
    this.refresh();
  }

  /** Of denials in a time without any the server is not asked. */
  private async loadDenied(): Promise<void> {
    if (this.isDue("blocks", DENIED_MS)) {
      const { body } = await ask(query("/admin/blocks", { limit: BLOCKS_SHOWN }), UNASKED);
      this.blocks = { total: json.number(body.total) ?? 0, first: json.objects(body.blocks) };
    }
    const { name, words } = this.chosen;
    if (this.deniedIn(MINUTE).length > 0 && this.isDue("keys", DENIED_MS)) {
      this.keys = await deniedBy("key", MINUTE.name);
      await Promise.all(this.denyingNow().slice(0, DENYING_SHOWN).map(async ({ rule, since = 0 }) =>
        rule && this.causes.set(rule, await deniedBy("cause", Math.floor(since) - 1, { rule }))));
    }
    if (this.deniedIn(this.chosen).length === 0) this.denied.hide();
    else if (this.isDue(`denied ${name}`, DENIED_MS)) {
      await this.denied.load(name, `this node's record of the last ${words}`);
    }
  }

  private isDue(what: string, everyMs: number): boolean {
    const now = Date.now();
    if (now - (this.askedMs.get(what) ?? 0) < everyMs) return false;
    this.askedMs.set(what, now);
    return true;
  }

  private async loadHistory({ name, seconds, everyMs }: Span): Promise<void> {
    if (!this.isDue(name, everyMs)) return;
    const history = await historyOf(name, UNASKED);
    if (history) this.histories.set(name, history);
    else if (feed.status === "live") this.histories.delete(name);
    if (this.shown && seconds > HISTORY_S) this.drawCharts();
  }

  // ---- who is denied -------------------------------------------------------------------

  private blocksNow(): { total: number; first: readonly json.Fields[] } {
    const { total, first } = this.blocks;
    const left = unended(first, this.askedMs.get("blocks") ?? 0);
    return { total: total - first.length + left.length, first: left };
  }

  private denyingNow(): readonly RuleSum[] {
    const { fleetT = 0 } = feed.last ?? {};
    return this.history(MINUTE).rules.filter(({ last = 0 }) => last > fleetT - NOW_S);
  }

  private showNow(last: Live): void {
    const denying = this.denyingNow();
    const when = feed.isOld() ? `Denied at ${clock(last.t)}` : "Denied now";
    const level = denying.length > 0 ? "bad" : "";
    renew(this.now, h("section", { class: `card now ${level}` }, h("h2", {}, when), h("ul", {},
      ...denying.slice(0, DENYING_SHOWN).map((rule) => this.denying(rule, last)),
      denying.length > DENYING_SHOWN ? this.also(denying.slice(DENYING_SHOWN), last) : null,
      this.blocksNow().total > 0 ? this.blocked() : null,
      denying.length === 0 ? h("li", {}, this.nobody()) : null)));
  }

  /** "Blocked: alice by login, 192.0.2.0/24 by all rules, and 2 more" */
  private blocked(): HTMLElement {
    const { total, first } = this.blocksNow();
    const more = total - first.length;
    return h("li", {}, "Blocked: ", ...first.flatMap((entry, at) => [at > 0 ? ", " : "",
      verbatim(keyText(entry)), ` by ${json.text(entry.rule) ?? "all rules"}`]),
    more > 0 ? `, and ${count(more)} more` : "", ". ",
    h("a", { href: address("keys") }, "Show them"));
  }

  /** "Also export 82 of 88, since 14:03:07 (23 s); and 2 more rules, in the table below" */
  private also(sums: readonly RuleSum[], { t }: Live): HTMLElement {
    const more = sums.length - ALSO_SHOWN;
    return h("li", {}, "Also ", ...sums.slice(0, ALSO_SHOWN).flatMap((sum, at) => [
      at > 0 ? "; " : "", linked(sum),
      ` ${count(sum.denied)} of ${count(sum.requests)}${this.sinceWhen(sum, t)}`]),
    more > 0 ? `; and ${plural(more, "more rule")}, in the table below` : "");
  }

  /** "login denied 63 of 120 requests, 52 %, since 14:03:07 (2 min 5 s), most of all alice" */
  private denying(sum: RuleSum, { t }: Live): HTMLElement {
    const { rule, requests, denied, denyRate } = sum;
    const whom = this.keys.groups.find((group) => (group.rule ?? "") === rule && group.key !== "");
    const when = this.sinceWhen(sum, t);
    const where = when.includes(": ") ? "" : onThisNode();
    return h("li", {},
      linked(sum), ` denied ${count(denied)} of ${plural(requests ?? 0, "counted request")} in ${
        this.timeOf(MINUTE)}, `, h("b", { class: "bad" }, share(denyRate)), when,
      ...whom ? [`; ${where}most of all `, keyOf(whom), where && `, ${
        this.keys.isPart ? "at least " : ""}${plural(Number(whom.times), "time")}`] : [], ". ",
      h("a", { href: address("denials", { rule }) },
        onThisNode() ? "Show this node's" : "Show them"));
  }

  /** By each cause, if another than the limit has denied; as far as this node has recorded it. */
  private sinceWhen({ rule, since, isOlder }: RuleSum, now: number): string {
    if (since === undefined) return "";
    const all = `, since ${moment(since)}${isOlder ? " or before" : ""} (${
      lasting(Math.max(0, now - since))})`;
    const causes = (this.causes.get(rule)?.groups ?? []).map(({ cause, first, last }) =>
      ({ cause: String(cause), first: Number(first), last: Number(last) }));
    if (causes.every(({ cause }) => cause === "limit")) return all;
    const said = causes.slice(0, CAUSES_SHOWN).map(({ cause, first, last }) =>
      `${CAUSES[cause] ?? cause} ${first === last ? "at" : "since"} ${moment(first)}${
        first === last || last > now - NOW_S ? "" : `, last at ${moment(last)}`}`);
    return `${all}: ${onThisNode()}${said.join(", ")}`;
  }

  private nobody(): string {
    if (!this.histories.has(this.chosen.name)) return "Not known yet.";
    const { t, fleetT, alone, redis } = feed.last!;
    if (!alone && (redis?.state === "down" || t - fleetT > LATE_S)) {
      return `Not known since ${clock(fleetT)}: the fleet is not heard.`;
    }
    const [newest] = this.deniedIn(this.chosen).sort((one, other) => other.last! - one.last!);
    const nobody = `Nobody${this.blocksNow().total > 0 ? " else" : ""}${
      alone ? " on this node" : ""}`;
    if (newest) return `${nobody}. The last denial was at ${moment(newest.last!)}, by ${
      newest.rule || "a check without a rule"}.`;
    const begin = this.startWithin(this.chosen);
    return `${nobody}, and nobody ${begin ? `since ${moment(begin)}, when the node began to count`
      : `in the last ${this.chosen.words}`}.`;
  }

  // ---- figures and charts --------------------------------------------------------------

  private showTiles(last: Live): void {
    const { tiles } = this;
    const { fleet, here, redis, t } = last;
    const nodes = shownNodes(last.nodes);
    const begin = this.startWithin(this.chosen);
    const points = this.points(this.chosen).filter(({ t: ended }) => ended > (begin ?? 0));
    const sums = sumOf(points);
    tiles.denied.set(share(sums.denyRate), deniedState(sums),
      timeOf(sums, begin ? `since ${moment(begin)}` : `last ${this.chosen.words}`));
    tiles.requests.set(count(last.nodeCount === 0 ? undefined : fleet.requests), {
      text: `${whose(last, nodes)}, counted by rules`,
      level: nodes.some((node) => node.gone !== undefined) ? "warn" : "calm" });
    tiles.p99.set(latency(here.p99), latencyState(here));
    tiles.burst.set(ratio(fleet.burstRatio), burstState(fleet));
    tiles.keys.set(about(here.keys), keysState(here));
    const shared = redisState(redis, t);
    tiles.redis.set(shared.value, shared);
    tiles.denied.draw(points.map(({ denyRate = 0 }) => denyRate), 0.1);
    tiles.requests.draw(points.map(({ requests = 0 }) => requests), 1);
    tiles.p99.draw(points.map(({ p99: slow = 0 }) => slow), 0);
  }

  private drawCharts(): void {
    const { zoomed, chosen } = this;
    const span = this.charted();
    const points = this.points(span);
    const now = zoomed?.to ?? points[points.length - 1]?.t ?? 0;
    const { step } = this.history(span);
    for (const chart of Object.values(this.charts)) {
      chart.draw(points, now, zoomed ? zoomed.to - zoomed.from : chosen.seconds,
        span.seconds <= HISTORY_S ? 1 : step);
      chart.mark(this.marks);
    }
  }

  /** Without a time all of the span. */
  private zoom(from?: number, to?: number): void {
    this.zoomed = from !== undefined && to !== undefined ? { from, to } : undefined;
    this.back.hidden = !this.zoomed;
    this.drawCharts();
    void this.load();
  }

  private makeCharts(): Record<"requests" | "denied" | "latency", TimeChart<Second>> {
    const zoom = (from: number, to: number): void => this.zoom(from, to);
    return {
      requests: new TimeChart<Second>({
        title: "Requests per second", format: count, least: 10, stacked: true, zoom,
        fleet: true, series: ALLOWED_DENIED,
      }),
      denied: new TimeChart<Second>({
        title: "Denied share", format: share, least: 1, most: 1, step: 0.25, zoom, fleet: true,
        series: [{ label: "denied", colour: "bad", filled: true,
          value: ({ denyRate }) => denyRate }],
      }),
      latency: new TimeChart<Second>({
        title: "Latency, this node", format: latency, least: 1e-4, zoom,
        series: [
          { label: "p99", colour: "accent", filled: true, value: ({ p99 }) => p99 },
          { label: "p50", colour: "adaptive", value: ({ p50 }) => p50 },
        ],
      }),
    };
  }

  // ---- events --------------------------------------------------------------------------

  /** Also while another tab is shown, so that events have no holes. */
  private keepLines(live: Live): void {
    const { silences } = feed;
    this.marks = [...live.events, ...silences].map((event) => ({
      t: event.t ?? 0, level: kindOf(event)[1],
      text: `${kindOf(event)[0]}: ${event.rule ? `${event.rule}: ` : ""}${event.text}` }));
    const fresh = newEvents(this.lastEvent, live.events);
    this.lastEvent = fresh[0]?.id ?? this.lastEvent;
    this.addEvents([...fresh, ...silences.filter(({ t = 0 }) => t > this.silentT)]);
    this.silentT = silences[silences.length - 1]?.t ?? 0;
  }

  /** Each at its time: some are told late. */
  private addEvents(fresh: readonly TrafficEvent[]): void {
    if (fresh.length === 0) return;
    this.events.querySelector(".empty")?.remove();
    for (const event of [...fresh].reverse()) {
      const older = [...this.events.children as HTMLCollectionOf<HTMLElement>]
        .find(({ dataset }) => Number(dataset.t) <= (event.t ?? 0));
      this.events.insertBefore(eventItem(event), older ?? null);
    }
    while (this.events.children.length > EVENTS_SHOWN) this.events.lastElementChild!.remove();
  }
}

function linked({ rule }: RuleSum): HTMLElement {
  return rule === "" ? h("b", {}, "Checks without a rule")
    : h("a", { href: address("rules", { rule }) }, h("b", {}, rule));
}

/** Where figures of a fleet stand next to those of this node. */
function onThisNode(): string {
  return (feed.last?.nodeCount ?? 1) > 1 ? "on this node " : "";
}

const KINDS: Record<string, [string, string]> = {
  surge: ["surge", "bad"], surge_end: ["surge over", "good"], switch: ["switch", "adaptive"],
  limit: ["limit", "warn"], block: ["block", "warn"], rules: ["rules", ""],
  reload: ["reload", ""], start: ["start", ""],
  rules_apart: ["other rules", "warn"],
  reload_failed: ["reload refused", "bad"], redis_lost: ["Redis lost", "bad"],
  redis_back: ["Redis back", "good"],
  redis_emptied: ["counters lost", "bad"], node: ["node", ""], node_gone: ["node gone", "bad"],
  away: ["not heard", "bad"],
};

function kindOf({ kind }: TrafficEvent): [string, string] {
  return KINDS[kind] ?? [kind, ""];
}

function eventItem(event: TrafficEvent): HTMLElement {
  const [name, level] = kindOf(event);
  return h("li", { "data-t": event.t }, h("time", {}, clock(event.t)), badge(name, level),
    h("span", { class: "what" }, event.rule ? h("b", {}, `${event.rule}: `) : null, event.text));
}
