// Live: figures, charts of the last ten minutes, rules, events.

import { badge, fill, h, say } from "./dom";
import { shownNodes, whose } from "./fleet_tab";
import { about, algorithm, clock, count, latency, plural, ratio, share } from "./format";
import { feed } from "./live";
import {
  type Live, type Rates, type RuleLine, type Second, type TrafficEvent, newEvents,
} from "./message";
import { RunsBar } from "./runs_bar";
import { Tab, address } from "./tab";
import { ChartRange, Sparkline, Tile, TimeChart } from "./time_chart";
import { BURST_BAD, burstState, deniedState, keysState, latencyState, redisState } from "./words";

const EVENTS_SHOWN = 50;
/** The server names rules that have requests; a line stays when they end, up to so many. */
const LINES_MAX = 100;
/** A badge that changed so recently pulses, also on a page that was just opened. */
const PULSE_S = 6;
/** Rows move so seldom that a reader can follow them. */
const SORT_EVERY_S = 5;
/** What is left after a second of what was denied before: half after 35 s. */
const KEPT = 0.98;
const COLUMNS = ["Rule", "Algorithm", "Requests/s", "", "Denied of them", "Burst ratio"];

interface Line {
  readonly row: HTMLTableRowElement;
  readonly algorithm: HTMLElement;
  readonly requests: HTMLElement;
  readonly denied: HTMLElement;
  readonly share: HTMLMeterElement;
  readonly burst: HTMLElement;
  readonly spark: Sparkline;
  said: string;
  /** Of late: the newer, the more it counts. */
  deniedLately: number;
}

export class LiveTab extends Tab {
  private readonly tiles = {
    requests: new Tile("Requests/s"),
    denied: new Tile("Denied", "last second"),
    burst: new Tile("Burst ratio", "2 of 10 s"),
    p50: new Tile("Latency p50", "10 s"),
    p99: new Tile("Latency p99", "10 s"),
    keys: new Tile("Keys", "2 minutes"),
    redis: new Tile("Redis"),
  };
  private readonly charts = makeCharts();
  private readonly range = new ChartRange();
  private readonly rows = h("tbody");
  private readonly lines = new Map<string, Line>();
  private readonly events = h("ol", { class: "events", role: "log", "aria-label": "Events" });
  private readonly noRules = h("p", { class: "empty" }, "No rule has had a request yet.");
  private readonly runs = new RunsBar("compact");
  private lastEvent = -1;
  private drawnT = 0;
  private sortedT = 0;

  protected build(): void {
    const none = h("li", { class: "empty" }, "Nothing unusual so far.");
    this.events.append(none);
    const { requests, denied, burst } = this.charts;
    requests.element.querySelector("figcaption")!.append(this.range.element);
    this.range.addEventListener("change", () => this.drawCharts());
    this.append(
      h("h1", { class: "hidden" }, "Live"),
      h("section", { class: "tiles", "aria-label": "Figures" },
        ...Object.values(this.tiles).map((tile) => tile.element)),
      this.runs,
      h("div", { class: "charts" },
        h("section", { class: "card wide" }, requests.element),
        h("section", { class: "card" }, denied.element),
        h("section", { class: "card" }, burst.element)),
      h("div", { class: "split" }, this.rulesCard(),
        h("section", { class: "card" }, h("h2", {}, "Events"), this.events)));
    feed.addEventListener("history", () => this.shown && this.drawCharts());
    feed.addEventListener("message", () => feed.last && this.keepLines(feed.last));
    if (feed.last) this.keepLines(feed.last);
  }

  private rulesCard(): HTMLElement {
    const head = h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" },
      name || h("span", { class: "hidden" }, "Last two minutes"))));
    return h("section", { class: "card" }, h("h2", {}, "Rules"), this.noRules,
      h("table", { class: "stacks" }, h("caption", { class: "hidden" }, "Rules with their figures"),
        h("thead", {}, head), this.rows));
  }

  protected override opened(): void {
    this.runs.open();
    this.drawCharts();
  }

  protected override refresh(): void {
    const { last } = feed;
    if (!last || document.hidden) return;
    this.showTiles(last);
    this.drawCharts();
  }

  private drawCharts(): void {
    const now = feed.last?.t ?? feed.seconds[feed.seconds.length - 1]?.t ?? 0;
    const spanS = this.range.seconds(now - (feed.seconds[0]?.t ?? now));
    for (const chart of Object.values(this.charts)) chart.draw(feed.seconds, now, spanS);
  }

  private showTiles(last: Live): void {
    const { tiles } = this;
    const { fleet, here, redis, t } = last;
    const nodes = shownNodes(last.nodes);
    const isPart = nodes.some((node) => node.gone !== undefined);
    tiles.requests.set(count(fleet.requests), whose(last, nodes), isPart ? "warn" : "calm");
    const denied = deniedState(fleet);
    tiles.denied.set(share(fleet.denyRate), denied.text, denied.level);
    const burst = burstState(fleet);
    tiles.burst.set(ratio(fleet.burstRatio), burst.text, burst.level);
    const p50 = latencyState(here.p50);
    tiles.p50.set(latency(here.p50), p50.text, p50.level);
    const p99 = latencyState(here.p99);
    tiles.p99.set(latency(here.p99), p99.text, p99.level);
    const keys = keysState(here);
    tiles.keys.set(about(here.keys), keys.text, keys.level);
    const state = redisState(redis, t);
    tiles.redis.set(state.value, state.text, state.level);
  }

  /** Also while another tab is shown, so that lines and events have no holes. */
  private keepLines(live: Live): void {
    if (live.fleetT !== this.drawnT) this.keepRules(live);
    this.drawnT = live.fleetT;
    this.noRules.hidden = this.lines.size > 0;
    this.addEvents(newEvents(this.lastEvent, live.events));
  }

  private keepRules(live: Live): void {
    const present = new Set(live.rules.map((rule) => rule.rule));
    for (const rule of live.rules) this.showRule(rule, live.t);
    for (const [name, line] of this.lines) {
      if (present.has(name)) continue;
      if (this.lines.size > LINES_MAX) this.dropLine(name, line);
      else this.showRates({ requests: 0, denied: 0, denyRate: 0, burstRatio: 0 }, line);
    }
    if (Math.abs(live.t - this.sortedT) >= SORT_EVERY_S) this.sortRows(live.t);
  }

  /** Those that deny most come first. Nobody who is on one loses it. */
  private sortRows(now: number): void {
    this.sortedT = now;
    const rows = [...this.lines].sort(([a, one], [b, other]) =>
      other.deniedLately - one.deniedLately || (a < b ? -1 : 1)).map(([, line]) => line.row);
    const isSame = rows.every((row, at) => this.rows.children[at] === row);
    if (!isSame && !this.rows.contains(document.activeElement)) this.rows.append(...rows);
  }

  private showRule(rule: RuleLine, now: number): void {
    const line = this.lines.get(rule.rule) ?? this.addLine(rule.rule);
    this.showRates(rule, line);
    const name = algorithm(rule.algorithm);
    if (line.said === name) return;
    const switched = rule.switched !== undefined && now - rule.switched < PULSE_S;
    const pulses = line.said !== "" || switched;
    line.said = name;
    const level = rule.adaptive ? "adaptive" : "";
    fill(line.algorithm, badge(name, pulses ? `${level} pulse` : level));
  }

  private showRates(rates: Rates, line: Line): void {
    line.spark.add(rates.requests ?? 0);
    line.deniedLately = line.deniedLately * KEPT + (rates.denied ?? 0);
    say(line.requests, count(rates.requests));
    say(line.denied, share(rates.denyRate));
    line.share.value = rates.denyRate ?? 0;
    say(line.burst, ratio(rates.burstRatio));
  }

  private dropLine(name: string, line: Line): void {
    line.row.remove();
    this.lines.delete(name);
  }

  private addLine(name: string): Line {
    const share = h("meter", { min: 0, max: 1, high: 0.3, optimum: 0, low: 0.05,
      "aria-label": `Denied share of ${name || "checks without a rule"}` });
    const line: Line = {
      row: h("tr"), algorithm: h("span"), requests: h("span"), denied: h("span"), share,
      burst: h("span"), spark: new Sparkline(), said: "",
      deniedLately: 0,
    };
    const link = name === "" ? h("span", {}, "checks without a rule")
      : h("a", { href: address("rules", { rule: name }) }, name);
    const cells = [link, line.algorithm, line.requests, line.spark.element,
      h("span", { class: "with-meter" }, line.denied, share), line.burst];
    line.row.append(...cells.map((cell, at) => h("td", { "data-column": COLUMNS[at]! }, cell)));
    this.rows.append(line.row);
    this.lines.set(name, line);
    return line;
  }

  private addEvents(fresh: readonly TrafficEvent[]): void {
    if (fresh.length === 0) return;
    this.lastEvent = fresh[0]!.id;
    this.events.querySelector(".empty")?.remove();
    this.events.prepend(...fresh.map(eventItem));
    while (this.events.children.length > EVENTS_SHOWN) this.events.lastElementChild!.remove();
  }
}

const KINDS: Record<string, [string, string]> = {
  surge: ["surge", "bad"], surge_end: ["surge over", "good"], switch: ["switch", "adaptive"],
  block: ["block", "warn"], rules: ["rules", ""], reload: ["reload", ""],
  reload_failed: ["reload refused", "bad"], redis_lost: ["Redis lost", "bad"],
  redis_back: ["Redis back", "good"], node: ["node", ""], node_gone: ["node gone", "bad"],
};

function eventItem(event: TrafficEvent): HTMLElement {
  const [name, level] = KINDS[event.kind] ?? [event.kind, ""];
  return h("li", {}, h("time", {}, clock(event.t)), badge(name, level),
    h("span", { class: "what" }, event.rule ? h("b", {}, `${event.rule}: `) : null, event.text));
}

function makeCharts(): Record<"requests" | "denied" | "burst", TimeChart<Second>> {
  return {
    requests: new TimeChart<Second>({
      title: "Requests per second", format: count, least: 10, stacked: true,
      note: ({ nodes }) => nodes === undefined ? "" : `of ${plural(nodes, "node")}`,
      series: [
        { label: "allowed", colour: "good", filled: true,
          value: ({ requests = 0, denied = 0 }) => Math.max(0, requests - denied) },
        { label: "denied", colour: "bad", filled: true, value: ({ denied }) => denied },
      ],
    }),
    denied: new TimeChart<Second>({
      title: "Denied share per second", format: share, least: 1, most: 1, step: 0.25,
      series: [{ label: "denied", colour: "bad", filled: true, value: ({ denyRate }) => denyRate }],
    }),
    burst: new TimeChart<Second>({
      title: "Burst ratio, 2 s of 10 s", format: count, least: 5, most: 5, step: 1,
      series: [
        { label: "ratio", colour: "accent", filled: true, value: ({ burstRatio }) => burstRatio },
        { label: "burst", colour: "warn", dashed: true, value: () => BURST_BAD },
      ],
    }),
  };
}
