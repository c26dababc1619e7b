// The buttons that start the simulator's runs, and what they are about. Live and Simulator each
// have one; they share what was chosen.

import { button, h, offer, say, unique } from "./dom";
import { latency } from "./format";
import { feed } from "./live";
import { RUNS, type Run, requestsOf } from "./plan";
import { session } from "./session";
import { simulator } from "./simulator";
import { ruleNames, written } from "./written";

/** What the next run is about. Event: "change". */
class Choice extends EventTarget {
  rule = "";
  key = newKey();
  newKeyEachRun = true;

  set(rule: string, key: string): void {
    this.rule = rule;
    this.key = key;
    this.dispatchEvent(new Event("change"));
  }
}

function newKey(): string {
  const [number] = crypto.getRandomValues(new Uint16Array(1));
  return `visitor-${(number ?? 0).toString(16).padStart(4, "0")}`;
}

export const choice = new Choice();

export function startRun(run: Run): void {
  if (!choice.rule) return;
  const goesOn = run.name === "one" || !choice.newKeyEachRun || simulator.sums.sent === 0;
  choice.set(choice.rule, goesOn ? choice.key : newKey());
  simulator.start(run, choice.rule, choice.key);
}

export class RunsBar extends HTMLElement {
  private readonly rule = h("select", { id: unique("runs-rule") });
  private readonly sums = h("output", { class: "sums" });
  private readonly stop = button("Stop", () => simulator.stop(), { class: "stop" }, "stop");
  private starts: HTMLButtonElement[] = [];
  private built = false;

  connectedCallback(): void {
    if (this.built) return;
    this.built = true;
    this.className = "card runs";
    this.rule.addEventListener("change", () => choice.set(this.rule.value, choice.key));
    choice.addEventListener("change", () => (this.rule.value = choice.rule));
    this.starts = RUNS.map((run) => button(run.label!, () => startRun(run),
      { title: run.hint, "data-run": run.name }, run.drawn));
    this.append(
      h("div", { class: "inline-field" }, h("label", { for: this.rule.id }, "Try rule"), this.rule),
      h("div", { class: "buttons" }, ...this.starts, this.stop), this.sums);
    simulator.addEventListener("change", () => this.show());
    simulator.addEventListener("answer", () => this.show());
    this.show();
  }

  /** The rules may be others by now. */
  open(): void {
    void ruleNames().then((all) => {
      const names = all.filter((name) => written.rules.get(name)?.rule.of !== "concurrency" &&
        feed.lineOf(name)?.of !== "concurrency");  // checks take no slots
      const first = names.includes("demo") ? "demo" : names[0] ?? "";  // the quick start's
      if (!names.includes(choice.rule)) choice.set(first, choice.key);
      offer(this.rule, names, choice.rule);
      this.show();
    });
  }

  private show(): void {
    this.stop.disabled = !simulator.running;
    const { run } = simulator;
    const { sent, allowed, shadow, denied, failed } = simulator.sums;
    for (const start of this.starts) start.disabled = choice.rule === "";
    if (!run) {
      return say(this.sums, choice.rule || !session.mayChange ? "" : "There is no rule to try.");
    }
    const failures = failed > 0 ? `, ${failed} failed` : "";
    const passed = shadow > 0 ? `, of which ${shadow} would be denied` : "";
    say(this.sums, `${sent} of ${requestsOf(run)} sent, ${allowed} allowed${passed}, ` +
      `${denied} denied${failures}, median ${latency(simulator.median())}`);
  }
}

customElements.define("weir-runs", RunsBar);
