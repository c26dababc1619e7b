// A chart of the last minutes, by Chart.js. Its scale is fixed, so that nothing jumps.

import {
  Chart, Filler, LinearScale, LineController, LineElement, type Point, PointElement, Tooltip,
} from "chart.js";

import { h, option, say } from "./dom";
import { clock } from "./format";
import { HISTORY_S, feed } from "./live";
import { colour, theme } from "./theme";

Chart.register(LineController, LineElement, PointElement, LinearScale, Filler, Tooltip);

export interface Series<T> {
  readonly label: string;
  /** A variable of style.css. */
  readonly colour: string;
  readonly filled?: boolean;
  readonly dashed?: boolean;
  readonly value: (second: T) => number | undefined;
}

export interface ChartOptions<T> {
  readonly title: string;
  readonly series: readonly Series<T>[];
  readonly format: (value: number) => string;
  readonly stacked?: boolean;
  /** The scale goes at least so far. */
  readonly least: number;
  readonly most?: number;
  readonly step?: number;
  /** What else there is to say of a second. */
  readonly note?: (second: T) => string;
}

/** Seconds without a figure that a line still crosses. */
const GAP_S = 5;

export class TimeChart<T extends { readonly t: number }> {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img" });
  private chart: Chart | undefined;
  private now = 0;
  private spanS = 0;
  private shown: readonly T[] = [];

  constructor(private readonly options: ChartOptions<T>) {
    const legend = options.series.map((each) => h("span", { class: `legend ${each.colour}` },
      h("i", { class: each.dashed ? "dashed" : "" }), each.label));
    this.element = h("figure", { class: "chart" },
      h("figcaption", {}, h("h2", {}, options.title), h("span", { class: "legends" }, ...legend)),
      h("div", { class: "canvas" }, this.canvas));
    theme.addEventListener("change", () => this.recolour());
  }

  /** The last `spanS` seconds before `now`. */
  draw(seconds: readonly T[], now: number, spanS: number): void {
    this.now = now;
    const isOther = spanS !== this.spanS;
    this.spanS = spanS;
    this.chart ??= this.made();
    if (isOther) this.chart.options = this.chartOptions();
    const { series } = this.options;
    const shown = this.shown = seconds.filter((second) => second.t >= now - spanS);
    series.forEach((each, at) => {
      this.chart!.data.datasets[at]!.data = shown.map((second): Point => (
        { x: second.t - now, y: each.value(second) ?? null }));
    });
    this.chart.update("none");
    this.describe(shown);
  }

  private describe(shown: readonly T[]): void {
    const { series, title, format } = this.options;
    const newest = shown[shown.length - 1];
    const said = series.filter((each) => !each.dashed).map((each) => {
      const values = shown.map((second) => each.value(second) ?? 0);
      const highest = values.length > 0 ? Math.max(...values) : 0;
      const last = newest ? each.value(newest) ?? 0 : 0;
      return `${each.label} ${format(last)} now, at most ${format(highest)}`;
    });
    this.canvas.setAttribute("aria-label", `${title}: ${said.join("; ")}`);
  }

  private made(): Chart {
    return new Chart(this.canvas, {
      type: "line",
      data: { datasets: this.options.series.map((each, at) => this.dataset(each, at)) },
      options: this.chartOptions(),
    });
  }

  private dataset(each: Series<T>, at: number): { label: string; data: Point[] } {
    const line = colour(each.colour);
    const below = this.options.stacked && at > 0 ? "-1" : "origin";
    return {
      label: each.label,
      data: [],
      ...{
        borderColor: line,
        // A series on top of another has no line: where it is 0, the line would hide the other.
        backgroundColor: each.filled ? `${line}${below === "-1" ? "b0" : "38"}` : "transparent",
        borderWidth: each.dashed ? 1 : below === "-1" ? 0 : 1.75,
        borderJoinStyle: "round",
        borderDash: each.dashed ? [4, 4] : [],
        fill: each.filled ? below : false,
        pointRadius: 0,
        pointHitRadius: 8,
        pointHoverRadius: 3,
        spanGaps: GAP_S,
      },
    };
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
      interaction: { mode: "index", intersect: false },
      scales: {
        x: {
          type: "linear", min: -spanS, max: 0,
          grid: { display: false, borderColor: colour("line") },
          ticks: { ...ticks, stepSize: spanS / 4, callback: (value: number) =>
            value === 0 && feed.isOld() ? clock(this.now) : ago(value) },
        },
        y: {
          min: 0, max: most, suggestedMax: least, stacked: stacked === true,
          grid: { color: colour("line"), drawBorder: false },
          ticks: { ...ticks, maxTicksLimit: 6, stepSize: step,
            callback: (value: number) => format(value) },
          afterFit: (scale: { width: number }) => (scale.width = 52),
        },
      },
      plugins: { tooltip: this.tooltip() },
    };
  }

  private tooltip(): Record<string, unknown> {
    const { format, note } = this.options;
    type Item = { dataIndex: number; parsed: { x: number; y: number }; dataset: { label: string } };
    const said = ([item]: Item[]): string => {
      const second = this.shown[item?.dataIndex ?? 0];
      return second && note ? ` ${note(second)}` : "";
    };
    return {
      animation: false,
      callbacks: {
        title: (items: Item[]) => clock(this.now + (items[0]?.parsed.x ?? 0)) + said(items),
        label: (item: Item) => `${item.dataset.label} ${format(item.parsed.y)}`,
      },
    };
  }

  private recolour(): void {
    if (!this.chart) return;
    const { chart } = this;
    this.options.series.forEach((each, at) => {
      const { data } = chart.data.datasets[at]!;
      chart.data.datasets[at] = { ...this.dataset(each, at), data };
    });
    chart.options = this.chartOptions();
    chart.update("none");
  }
}

function ago(value: number): string {
  if (value === 0) return "now";
  return value % 30 === 0 && value <= -60 ? `${-value / 60} min` : `${-value} s`;
}

const SHORT_S = 120;

/** How much the charts show: chosen, or all that there is. Event: "change". */
export class ChartRange extends EventTarget {
  private readonly select = h("select", { "aria-label": "What the charts show" },
    option("", "fitting"), option(String(SHORT_S), "2 minutes"),
    option(String(HISTORY_S), "10 minutes"));
  readonly element = h("span", { class: "range" }, this.select);

  constructor() {
    super();
    this.select.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  /** `knownS`: how long the oldest figure is ago. */
  seconds(knownS: number): number {
    return Number(this.select.value) || (knownS > SHORT_S ? HISTORY_S : SHORT_S);
  }
}

const SVG = "http://www.w3.org/2000/svg";
const SPARK_WIDTH = 96;
const SPARK_HEIGHT = 24;

/** A line as small as a word: the last two minutes of one figure. */
export class Sparkline {
  readonly element: SVGSVGElement;
  private readonly line = document.createElementNS(SVG, "polyline");
  private values: number[] = [];

  constructor(private readonly length = 120) {
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("viewBox", `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`);
    this.element.setAttribute("class", "spark");
    this.element.setAttribute("aria-hidden", "true");
    this.element.append(this.line);
  }

  add(value: number): void {
    this.values = [...this.values, value].slice(-this.length);
    const highest = Math.max(1, ...this.values);
    const step = SPARK_WIDTH / (this.length - 1);
    const first = SPARK_WIDTH - step * (this.values.length - 1);
    const y = (each: number) => SPARK_HEIGHT - 2 - (each / highest) * (SPARK_HEIGHT - 4);
    const points = this.values
      .map((each, at) => `${(first + at * step).toFixed(1)},${y(each).toFixed(1)}`);
    this.line.setAttribute("points", points.join(" "));
  }
}

/** A figure with its name, the period that it is of, and what it means. */
export class Tile {
  readonly element: HTMLElement;
  private readonly value = h("strong", {}, "–");
  private readonly note = h("span", { class: "note" }, " ");

  constructor(label: string, period = "") {
    this.element = h("div", { class: "tile calm" },
      h("span", { class: "name" }, label, h("small", {}, period)), this.value, this.note);
  }

  set(value: string, note: string, level: string): void {
    say(this.value, value);
    say(this.note, note);
    this.note.title = note;  // one line may be too short for it
    this.element.className = `tile ${level}`;
  }
}
