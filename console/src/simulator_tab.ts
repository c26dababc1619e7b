// Simulator: real requests of this browser, and each answer.

import { button, field, fill, h, icon, say } from "./dom";
import { briefSpan, count, latency, wait } from "./format";
import { feed } from "./live";
import type { Second } from "./message";
import { KEYS_MAX, RATE_MAX, SECONDS_MAX, ownRun, requestsOf } from "./plan";
import { RunsBar, choice, startRun } from "./runs_bar";
import { type Answer, simulator } from "./simulator";
import { Tab, address } from "./tab";
import { ALLOWED_DENIED, Tile, TimeChart } from "./time_chart";

const TICKS_SHOWN = 300;
const CHART_S = 120;

export class SimulatorTab extends Tab {
  private readonly runs = new RunsBar();
  private readonly key = h("input", { type: "text", maxlength: 200, spellcheck: "false" });
  private readonly fresh = h("input", { type: "checkbox", id: "new-key" });
  private readonly ticks = h("ol", { class: "ticks", "aria-label": "Answers" });
  private readonly ended = h("p", { class: "hidden", role: "status" });
  private readonly explain = h("a", { class: "button", href: "#/explain" }, icon("explain"),
    "Explain this key");
  private readonly bar = h("progress", { "aria-label": "Progress of the run", max: 1, value: 0 });
  private readonly tiles = {
    sent: new Tile("Sent"), allowed: new Tile("Allowed"), denied: new Tile("Denied"),
    failed: new Tile("Failed"), median: new Tile("Median"),
  };
  private readonly chart = new TimeChart<Second>({
    title: "What the server counts", format: count, least: 10, stacked: true,
    series: ALLOWED_DENIED,
  });
  private isDrawing = false;

  protected build(): void {
    this.append(
      h("h1", {}, "Simulator"),
      h("p", { class: "lead" }, "Your browser sends real requests to POST /check. Each spends " +
        "from the rule that you choose."),
      this.runs,
      h("section", { class: "card" },
        h("div", { class: "head" }, h("h2", {}, "Answers"), this.explain), this.bar,
        h("div", { class: "tiles small" },
          ...Object.values(this.tiles).map((tile) => tile.element)),
        this.ticks, this.ended),
      h("div", { class: "split even tall" },
        h("section", { class: "card" }, h("h2", {}, "What to send"), this.settings(), this.own()),
        h("section", { class: "card" }, this.chart.element)));
    choice.addEventListener("change", () => this.showChoice());
    simulator.addEventListener("change", () => this.changed());
    simulator.addEventListener("answer", () => this.drawSoon());
    this.showChoice();
    this.changed();
  }

  private settings(): HTMLElement {
    this.key.addEventListener("change", () => choice.set(choice.rule, this.key.value));
    this.fresh.checked = choice.newKeyEachRun;
    this.fresh.addEventListener("change", () => (choice.newKeyEachRun = this.fresh.checked));
    return h("div", { class: "fields" }, field("Key", this.key),
      h("div", { class: "check" }, this.fresh,
        h("label", { for: "new-key" }, "A new key for each run")));
  }

  private own(): HTMLElement {
    const rate = number(10, RATE_MAX);
    const keys = number(1, KEYS_MAX);
    const seconds = number(10, SECONDS_MAX);
    const problem = h("p", { class: "problem", role: "alert" });
    const start = (): void => {
      const run = ownRun(Number(rate.value), Number(keys.value), Number(seconds.value));
      say(problem, "problem" in run ? run.problem : "");
      if (!("problem" in run)) startRun(run);
    };
    return h("div", { class: "own" }, h("h3", {}, "A run of your own"),
      h("div", { class: "fields three" }, field("Requests/s", rate), field("Keys", keys),
        field("Seconds", seconds)), problem,
      button("Start", start, { class: "primary", id: "own-start" }, "play"));
  }

  protected override opened(): void {
    this.runs.open();
    this.draw();
  }

  protected override refresh(): void {
    if (feed.last) this.chart.draw(feed.seconds, feed.last.t, CHART_S);
  }

  private showChoice(): void {
    this.key.value = choice.key;
    const { rule, key } = choice;
    this.explain.setAttribute("href", address("explain", { rule, key }));
  }

  private changed(): void {
    if (simulator.running && simulator.sums.sent === 0) fill(this.ticks);
    const { allowed, denied, sent } = simulator.sums;
    say(this.ended, simulator.running || sent === 0 ? ""
      : `The run has ended: ${allowed} allowed, ${denied} denied.`);
    this.drawSoon();
  }

  /** Many answers come between two frames; they are drawn together. */
  private drawSoon(): void {
    if (this.isDrawing || !this.shown) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.draw();
    });
  }

  private draw(): void {
    const fresh = simulator.takeFresh();
    if (fresh.some((answer) => answer.number === 0)) fill(this.ticks);
    this.ticks.append(...fresh.slice(-TICKS_SHOWN).map(tick));
    while (this.ticks.children.length > TICKS_SHOWN) this.ticks.firstElementChild!.remove();
    const { sent, allowed, shadow, denied, failed } = simulator.sums;
    const all = simulator.run ? requestsOf(simulator.run) : 0;
    const { tiles } = this;
    tiles.sent.set(count(sent),
      { level: "calm", text: all > 0 ? `of ${count(all)}` : "nothing yet" });
    tiles.allowed.set(count(allowed), shadow > 0
      ? { level: "warn", text: `${count(shadow)} would be denied` }
      : { level: allowed > 0 ? "good" : "calm", text: "by the rule" });
    tiles.denied.set(count(denied), { level: denied > 0 ? "bad" : "calm", text: "by the rule" });
    tiles.failed.set(count(failed), { level: failed > 0 ? "warn" : "calm", text: "no decision" });
    tiles.median.set(latency(simulator.median()), { level: "calm", text: "in this browser" });
    this.bar.value = all > 0 ? (allowed + denied + failed) / all : 0;
  }
}

function number(value: number, most: number): HTMLInputElement {
  return h("input", { type: "number", min: 1, max: most, value, inputmode: "numeric" });
}

function tick(answer: Answer): HTMLElement {
  const [level, drawn, text, said] = words(answer);
  return h("li", {}, h("a", {
    class: `tick ${level}`, tabindex: -1, title: `${answer.key}, ${said}`,
    href: address("explain", { rule: answer.rule, key: answer.key }),
    "aria-label": `Request ${answer.number + 1}: ${said}`,
  }, icon(drawn), text));
}

function words(answer: Answer): [string, "check" | "cross" | "alert", string, string] {
  if (answer.problem) return ["warn", "alert", "error", answer.problem];
  if (answer.shadow) return ["warn", "alert", "pass", "would be denied: let pass in shadow"];
  if (answer.allowed) {
    const left = count(answer.remaining);
    return ["good", "check", left, `allowed, ${left} remaining`];
  }
  const again = answer.retryAfter === undefined ? "never" : wait(answer.retryAfter);
  const left = count(answer.remaining);
  const brief = answer.retryAfter === undefined ? again : briefSpan(answer.retryAfter);
  return ["bad", "cross", brief, `denied, ${left} remaining, retry after ${again}`];
}
