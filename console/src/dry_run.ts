// The dry run of a limit: a curve of what each limit would have denied lately, and a slider.

import { type Reply, ask, query } from "./api";
import { field, h, say } from "./dom";
import { exact, plural, span } from "./format";
import * as json from "./json";
import { TimeChart } from "./time_chart";

const OVER = "5m";

/** `t`: its place among the limits, which are far apart. `over`: denied, or spared: in shadow or
 *  outside enforce. */
type Point = ReturnType<typeof readPoint>;

export class DryRun {
  private readonly said = h("p", { role: "status" });
  private readonly slider = h("input", {
    type: "range", min: 0, step: 1,
    oninput: () => this.show(), onchange: () => this.choose(this.chosen().limit),
  });
  private readonly chart = new TimeChart<Point>({
    title: "Denied by each limit", least: 1, format: (value = 0) => exact(value),
    says: (t) => `limit ${exact(this.points[Math.round(t)]?.limit ?? 0)}`,
    series: [
      { label: "requests", colour: "bad", filled: true, value: ({ over }) => over.requests },
      { label: "keys", colour: "accent", value: ({ over }) => over.keys },
    ],
  });
  private readonly curve = h("div", { class: "stack", hidden: true }, this.chart.element,
    field("The limit to try", this.slider));
  readonly element = h("div", { class: "dry-run stack" },
    h("h3", {}, "What it would have denied"), this.said, this.curve);
  private points: readonly Point[] = [];
  private run: json.Fields = {};
  private wanted: { readonly id: string; readonly text: string } | undefined;
  private isAsking = false;

  /** `choose` takes the limit into the text of the rule. */
  constructor(private readonly choose: (limit: number) => void) {}

  /** The server makes one at a time, so that only the last text waits. */
  async of(id: string, text: string): Promise<void> {
    this.wanted = { id, text };
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.wanted) {
      const trial: { id: string; text: string } = this.wanted;
      this.wanted = undefined;
      const reply = await ask(query("/admin/rules/validate", { id: trial.id, dry_run: OVER }),
        { method: "POST", body: trial.text, unasked: true });
      if (!this.wanted) this.take(reply);
    }
    this.isAsking = false;
  }

  none(): void {
    this.wanted = undefined;
    this.curve.hidden = true;
    say(this.said, "Nothing, as long as it has mistakes.");
  }

  private take({ body, problem }: Reply): void {
    this.run = json.object(json.list(body.dry_runs)[0]);
    this.points = json.objects(this.run.curve).map((point, t) => readPoint(point, t, this.kept()));
    this.curve.hidden = this.points.length === 0;
    if (this.curve.hidden) return say(this.said, json.text(this.run.unknown) ?? problem);
    const limit = json.number(json.object(this.run.wanted).limit);
    this.slider.max = String(this.points.length - 1);
    this.slider.value = String(this.points.findIndex((point) => point.limit === limit));
    this.chart.draw(this.points, this.points.length - 1, this.points.length - 1);
    this.show();
  }

  /** Of so many keys one is remembered, and stands for all. */
  private kept(): number {
    return json.number(this.run.one_key_of) ?? 1;
  }

  private chosen(): Point {
    return this.points[Number(this.slider.value)]!;
  }

  private show(): void {
    const { t, limit, denied, spared } = this.chosen();
    const { asked, in_force: inForce, wanted, seconds } = this.run;
    const judged = json.object(wanted);
    const kept = this.kept();
    const about = kept === 1 ? "" : "about ";
    const early = kept * (json.number(judged.too_early) ?? 0);
    const text = `Limit ${exact(limit)} would have denied ${about}${exact(denied.requests)} of ` +
      `${exact(readCount(asked, kept).requests)} requests, ${plural(denied.keys, "key")}, in the ` +
      `last ${span(json.number(seconds))} (` +
      `${kept === 1 ? "every key is remembered" : `estimated by one key of ${exact(kept)}`}). ` +
      `The rule as it is now: ${exact(readCount(json.object(inForce).denied, kept).requests)}.` +
      (spared.requests === 0 ? "" : ` Spared, in shadow or outside enforce: ` +
        `${exact(spared.requests)}, ${plural(spared.keys, "key")}.`);
    say(this.said, judged.limit === limit
      ? `${text} Of them an exact log would have allowed ${exact(early)}.` : text);
    this.slider.setAttribute("aria-valuetext", `limit ${exact(limit)}`);
    this.chart.mark([{ t: Math.max(t, 0.01), level: "accent", text: "" }]);
    this.chart.standAt(t);
  }
}

function readPoint(point: json.Fields, t: number, kept: number) {
  const [denied, spared] = [readCount(point.denied, kept), readCount(point.spared, kept)];
  const over = { requests: denied.requests + spared.requests, keys: denied.keys + spared.keys };
  return { t, limit: json.number(point.limit) ?? 0, denied, spared, over };
}

function readCount(from: unknown, kept: number) {
  const { requests = 0, keys = 0 } = json.numbers(json.object(from), "requests", "keys");
  return { requests: kept * requests, keys: kept * keys };
}
