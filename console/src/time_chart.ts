// A chart of any span, by Chart.js. Its scale is fixed, so that nothing jumps. All charts of a page
// share one moment: the line under the pointer. Each says its figures of that moment.

import {
  Chart, Filler, LinearScale, LineController, LineElement, type Point, PointElement,
} from "chart.js";

import { fill, h, say } from "./dom";
import { clock, plural } from "./format";
import { feed } from "./live";
import type { Rates, Told } from "./message";
import { highest, nearest, timesAlone } from "./series";
import { colour, theme } from "./theme";
import type { State } from "./words";

Chart.register(LineController, LineElement, PointElement, LinearScale, Filler);

export interface Series<T> {
  readonly label: string;
  /** A variable of style.css. */
  readonly colour: string;
  readonly filled?: boolean;
  readonly value: (second: T) => number | undefined;
  /** Between which values the true one is. */
  readonly band?: (second: T) => readonly [number, number] | undefined;
}

/** What Chart.js draws of a series: its values, or an edge of its band. */
interface Line<T> extends Series<T> {
  readonly edge?: "low" | "high";
}

export interface ChartOptions<T> {
  readonly title: string;
  readonly series: readonly Series<T>[];
  readonly format: (value: number | undefined) => string;
  readonly stacked?: boolean;
  /** The scale goes at least so far. */
  readonly least: number;
  readonly most?: number;
  readonly step?: number;
  /** What a `t` is called, where it is no time. */
  readonly says?: (t: number) => string;
  /** The figures are of all nodes. Where they are of this one alone, the chart says so. */
  readonly fleet?: boolean;
  /** Somebody has chosen a time by dragging over it. */
  readonly zoom?: (from: number, to: number) => void;
}

/** All traffic, one on top of the other. */
export const ALLOWED_DENIED: readonly Series<Rates>[] = [
  { label: "allowed", colour: "good", filled: true,
    value: ({ requests = 0, denied = 0 }) => Math.max(0, requests - denied) },
  { label: "denied", colour: "bad", filled: true, value: ({ denied }) => denied },
];

/** Something that happened at a time, as a line of its level. */
export interface Mark {
  readonly t: number;
  readonly level: string;
  readonly text: string;
}

/** Seconds, or steps, without a figure that a line still crosses. */
const GAP = 5;
const ALONE = "this node alone";
/** Fewer pixels are a click. */
const DRAG_MIN = 8;
/** A span up to so many seconds is told as how long ago, a longer one by the clock. */
const AGO_MAX_S = 600;

/** What the pointer is at, in seconds since 1970. Event: "change". */
class Moment extends EventTarget {
  t: number | undefined;

  set(t: number | undefined): void {
    this.t = t;
    this.dispatchEvent(new Event("change"));
  }
}
const moment = new Moment();

export class TimeChart<T extends Told> {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img" });
  private readonly when = h("small");
  private readonly figures: HTMLElement[];
  private readonly lines: readonly Line<T>[];
  private readonly line = h("i", { class: "moment", hidden: true });
  private readonly picked = h("i", { class: "picked", hidden: true });
  private readonly marks = h("div");
  private readonly alone = h("div");
  private readonly over = h("div", { class: "over" },
    this.alone, this.marks, this.picked, this.line);
  private chart: Chart | undefined;
  private now = 0;
  private spanS = 1;
  private stepS = 0;
  private dragFrom: number | undefined;
  private shown: readonly T[] = [];
  private stand: number | undefined;

  constructor(private readonly options: ChartOptions<T>) {
    this.figures = options.series.map(() => h("b"));
    this.lines = [...options.series, ...options.series.flatMap(({ band, ...each }) => !band ? []
      : (["low", "high"] as const).map((edge, at) =>
        ({ ...each, edge, value: (second: T) => band(second)?.[at] })))];
    const legend = options.series.map((each, at) => h("span", { class: `legend ${each.colour}` },
      h("i"), `${each.label} `, this.figures[at]));
    this.element = h("figure", { class: "chart" },
      h("figcaption", {}, h("h2", {}, options.title), this.when,
        h("span", { class: "legends" }, ...legend)),
      h("div", { class: "canvas" }, this.canvas, this.over));
    theme.addEventListener("change", () => this.recolour());
    moment.addEventListener("change", () => this.showMoment());
    this.followPointer();
  }

  /** The last `spanS` seconds before `now`, of which the server knows one figure each `stepS`. */
  draw(seconds: readonly T[], now: number, spanS: number, stepS = 1): void {
    const isOther = spanS !== this.spanS || stepS !== this.stepS;
    [this.now, this.spanS, this.stepS] = [now, spanS, stepS];
    this.chart ??= this.made();
    const { chart } = this;
    if (isOther) chart.options = this.chartOptions();
    const shown = this.shown = seconds.filter(({ t }) =>
      t >= now - spanS - stepS && t <= now + stepS);
    this.lines.forEach((each, at) => {
      chart.data.datasets[at]!.spanGaps = stepS * GAP;
      chart.data.datasets[at]!.data = shown.map((second): Point => (
        { x: second.t - now, y: each.value(second) ?? null }));
    });
    chart.update("none");
    this.over.style.left = `${chart.chartArea.left}px`;
    this.over.style.right = `${this.canvas.clientWidth - chart.chartArea.right}px`;
    if (this.options.fleet) this.showAlone();
    this.describe(shown);
    this.showMoment();
  }

  private showAlone(): void {
    fill(this.alone, ...timesAlone(this.shown).map(([from, to]) => {
      const band = h("i", { class: "alone", title: "Redis was away" }, h("span", {}, ALONE));
      band.style.left = this.place(from);
      band.style.width = `${(to - from) / this.spanS * 100}%`;
      return band;
    }));
  }

  /** Lines for what happened; those that are not in the chart's time are left out. */
  mark(marks: readonly Mark[]): void {
    const seen = marks.filter(({ t }) => t > this.now - this.spanS && t <= this.now);
    fill(this.marks, ...seen.map(({ t, level, text }) => {
      const title = `${(this.options.says ?? clock)(t)} ${text}`;
      const line = h("i", { class: `mark ${level}`, title });
      line.style.left = this.place(t);
      return line;
    }));
  }

  /** The figures are of this `t` while the pointer is elsewhere, not of the newest. */
  standAt(t: number): void {
    this.stand = t;
    this.showMoment();
  }

  private place(t: number): string {
    return `${(1 - (this.now - t) / this.spanS) * 100}%`;
  }

  private timeAt(x: number): number {
    const { left, width } = this.over.getBoundingClientRect();
    return this.now - (1 - Math.min(1, Math.max(0, (x - left) / width))) * this.spanS;
  }

  private followPointer(): void {
    const { over, picked } = this;
    const { zoom } = this.options;
    const drag = (x: number): number => this.dragFrom === undefined ? 0 : x - this.dragFrom;
    over.addEventListener("pointerdown", ({ clientX, pointerId }) => {
      if (!zoom) return;
      this.dragFrom = clientX;
      over.setPointerCapture(pointerId);
    });
    over.addEventListener("pointermove", ({ clientX }) => {
      moment.set(this.timeAt(clientX));
      const moved = drag(clientX);
      picked.hidden = Math.abs(moved) < DRAG_MIN;
      picked.style.left = this.place(this.timeAt(clientX - Math.max(0, moved)));
      picked.style.width = `${Math.abs(moved)}px`;
    });
    over.addEventListener("pointerup", ({ clientX }) => {
      const moved = drag(clientX);
      if (zoom && Math.abs(moved) >= DRAG_MIN) {
        const ends = [this.timeAt(clientX - moved), this.timeAt(clientX)];
        zoom(Math.min(...ends), Math.max(...ends));
      }
      this.endDrag();
    });
    over.addEventListener("pointercancel", () => this.endDrag());
    over.addEventListener("pointerleave", () => moment.set(undefined));
  }

  private endDrag(): void {
    this.dragFrom = undefined;
    this.picked.hidden = true;
  }

  /** The line and the figures: of the moment, or the newest. */
  private showMoment(): void {
    const { t } = moment;
    const isHere = t !== undefined && t >= this.now - this.spanS && t <= this.now;
    this.line.hidden = !isHere;
    if (isHere) this.line.style.left = this.place(t);
    const at = isHere ? t : this.stand;
    const second = at === undefined ? this.shown[this.shown.length - 1]
      : nearest(this.shown, at, this.stepS);
    const { series, format, fleet, says = clock } = this.options;
    series.forEach((each, at) => say(this.figures[at]!, format(second && each.value(second))));
    const whose = fleet && second ? ofWhom(second) : "";
    say(this.when, isHere ? `${says(second?.t ?? t)} ${whose}` : "");
  }

  private describe(shown: readonly T[]): void {
    const { series, title, format } = this.options;
    const newest = shown[shown.length - 1];
    const said = series.map((each) => {
      const values = shown.map((second) => each.value(second) ?? 0);
      const most = Math.max(0, ...values);
      const last = newest ? each.value(newest) ?? 0 : 0;
      return `${each.label} ${format(last)} now, at most ${format(most)}`;
    });
    this.canvas.setAttribute("aria-label", `${title}: ${said.join("; ")}`);
  }

  private made(): Chart {
    return new Chart(this.canvas, {
      type: "line",
      data: { datasets: this.lines.map((each, at) => this.dataset(each, at)) },
      options: this.chartOptions(),
    });
  }

  private dataset(each: Line<T>, at: number): { label: string; data: Point[] } {
    const line = colour(each.colour);
    const below = each.edge === "high" || (this.options.stacked && at > 0) ? "-1" : "origin";
    const style = {
      borderColor: line,
      // A series on top of another has no line: where it is 0, the line would hide the other.
      backgroundColor: each.filled ? `${line}${below === "-1" ? "b0" : "38"}` : "transparent",
      borderWidth: each.edge || below === "-1" ? 0 : 1.75,
      borderJoinStyle: "round",
      fill: each.filled && each.edge !== "low" ? below : false,
      pointRadius: 0,
      spanGaps: this.stepS * GAP,
    };
    return { label: each.label, data: [], ...style };
  }

  private chartOptions(): Record<string, unknown> {
    const { spanS } = this;
    const { least, most, step, stacked, format } = this.options;
    const ink = colour("muted");
    const ticks = { color: ink, font: { size: 11 }, maxRotation: 0 };
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      normalized: true,
      events: [],
      scales: {
        x: {
          type: "linear", min: -spanS, max: 0,
          grid: { display: false, borderColor: colour("line") },
          ticks: { ...ticks, stepSize: spanS / 4, callback: (value: number) => this.tick(value) },
        },
        y: {
          min: 0, max: most, suggestedMax: least, stacked: stacked === true,
          grid: { color: colour("line"), drawBorder: false },
          ticks: { ...ticks, maxTicksLimit: 6, stepSize: step,
            callback: (value: number) => format(value) },
          afterFit: (scale: { width: number }) => (scale.width = 52),
        },
      },
    };
  }

  /** How long ago, if the chart ends now; else by the clock. */
  private tick(value: number): string {
    const { says } = this.options;
    if (says) return says(this.now + value);
    const isNow = !feed.isOld() && this.now >= (feed.last?.fleetT ?? this.now) - 1;
    if (isNow && (this.spanS <= AGO_MAX_S || value === 0)) return ago(value);
    const time = clock(this.now + value);
    return this.spanS > AGO_MAX_S ? time.slice(0, 5) : time;
  }

  private recolour(): void {
    if (!this.chart) return;
    const { chart } = this;
    this.lines.forEach((each, at) => {
      const { data } = chart.data.datasets[at]!;
      chart.data.datasets[at] = { ...this.dataset(each, at), data };
    });
    chart.options = this.chartOptions();
    chart.update("none");
  }
}

function ofWhom({ alone, nodes }: Told): string {
  return alone ? ALONE : nodes === undefined ? "" : `of ${plural(nodes, "node")}`;
}

function ago(value: number): string {
  if (value === 0) return "now";
  return value % 30 === 0 && value <= -60 ? `${-value / 60} min` : `${-value} s`;
}

const SVG = "http://www.w3.org/2000/svg";
const [SPARK_WIDTH, SPARK_HEIGHT] = [96, 24];
const SPARK_POINTS = 60;

/** A line as small as a word: of `length` values those that are known, from 0 up to `least`. */
export function sparkline(values: readonly number[], length: number, least: number): SVGElement {
  const top = Math.max(least, ...values) || 1;
  const step = SPARK_WIDTH / Math.max(1, length - 1);
  const first = SPARK_WIDTH - step * (values.length - 1);
  const y = (each: number) => SPARK_HEIGHT - 2 - (each / top) * (SPARK_HEIGHT - 4);
  const points = values
    .map((each, at) => `${Math.round(first + at * step)},${Math.round(y(each))}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`);
  drawn.setAttribute("class", "spark");
  drawn.setAttribute("aria-hidden", "true");
  drawn.append(line);
  return drawn;
}

/** A figure with its name, the period that it is of, and what it means. */
export class Tile {
  readonly element: HTMLElement;
  private readonly value = h("strong", {}, "–");
  private readonly note = h("span", { class: "note" }, " ");
  private readonly period = h("small");
  private spark: Element = h("span");

  constructor(label: string, period = "") {
    say(this.period, period);
    this.element = h("div", { class: "tile calm" },
      h("span", { class: "name" }, label, this.period),
      h("span", { class: "with-spark" }, this.value, this.spark), this.note);
  }

  /** What it was before, with a scale up to `least` at least. */
  draw(values: readonly number[], least: number): void {
    const drawn = sparkline(highest(values, SPARK_POINTS), SPARK_POINTS, least);
    this.spark.replaceWith(drawn);
    this.spark = drawn;
  }

  set(value: string, { text, level }: State, period?: string): void {
    if (period) say(this.period, period);
    say(this.value, value);
    say(this.note, text);
    this.note.title = text;  // one line may be too short for it
    this.element.className = `tile ${level}`;
  }
}
