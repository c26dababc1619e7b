// Sends the simulator's requests from this browser, and keeps what came back. One run at a time;
// it goes on while other tabs are shown. Events: "change" (began, ended), "answer".

import { ask } from "./api";
import * as json from "./json";
import { IN_FLIGHT_MAX, type Run, dueBy, keyOf, requestsOf } from "./plan";

export interface Answer {
  readonly number: number;
  readonly rule: string;
  readonly key: string;
  readonly allowed: boolean;
  /** Only because the rule is in shadow. */
  readonly shadow: boolean;
  readonly remaining?: number;
  /** Seconds; undefined if waiting does not help. */
  readonly retryAfter?: number;
  /** What went wrong, if nothing was decided. */
  readonly problem: string;
  readonly seconds: number;
}

const TICK_MS = 20;
const TIMES_KEPT = 2000;
const NO_SUMS = { sent: 0, allowed: 0, shadow: 0, denied: 0, failed: 0 };

class Simulator extends EventTarget {
  run: Run | undefined;
  rule = "";
  sums = { ...NO_SUMS };
  /** Answers that nobody has drawn yet. */
  fresh: Answer[] = [];
  running = false;
  private times: number[] = [];
  private abort = new AbortController();
  private inFlight = 0;

  start(run: Run, rule: string, key: string): void {
    this.stop();
    this.run = run;
    this.rule = rule;
    this.sums = { ...NO_SUMS };
    this.fresh = [];
    this.times = [];
    this.inFlight = 0;
    this.running = true;
    this.abort = new AbortController();
    this.dispatchEvent(new Event("change"));
    this.pace(run, key, performance.now(), this.abort);
  }

  stop(): void {
    if (!this.running) return;
    this.abort.abort();
    this.end();
  }

  /** The median of what the answers took, in seconds. */
  median(): number | undefined {
    const sorted = [...this.times].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)];
  }

  takeFresh(): Answer[] {
    return this.fresh.splice(0);
  }

  private end(): void {
    this.running = false;
    this.dispatchEvent(new Event("change"));
  }

  /** Sends what is due, and comes back. */
  private pace(run: Run, key: string, began: number, abort: AbortController): void {
    if (abort.signal.aborted) return;
    const due = dueBy(run, performance.now() - began);
    while (this.sums.sent < due && this.inFlight < IN_FLIGHT_MAX) {
      void this.send(this.sums.sent++, keyOf(key, run, this.sums.sent - 1), abort);
    }
    if (this.sums.sent < requestsOf(run)) {
      window.setTimeout(() => this.pace(run, key, began, abort), TICK_MS);
    }
  }

  private async send(number: number, key: string, abort: AbortController): Promise<void> {
    this.inFlight++;
    const began = performance.now();
    const rule = this.rule;
    const reply = await ask("/check", { body: { key, rule }, signal: abort.signal });
    if (abort.signal.aborted) return;
    this.inFlight--;
    const seconds = (performance.now() - began) / 1000;
    this.count({
      number, rule, key, seconds,
      allowed: reply.body.allowed === true, shadow: reply.body.shadow === true,
      remaining: json.number(reply.body.remaining),
      retryAfter: json.number(reply.body.retry_after),
      problem: reply.problem,
    });
  }

  private count(answer: Answer): void {
    if (answer.problem) this.sums.failed++;
    else if (answer.allowed) this.sums.allowed++;
    else this.sums.denied++;
    if (answer.shadow) this.sums.shadow++;
    if (this.times.length < TIMES_KEPT) this.times.push(answer.seconds);
    this.fresh.push(answer);
    this.dispatchEvent(new Event("answer"));
    const { sent, allowed, denied, failed } = this.sums;
    const done = allowed + denied + failed === sent && this.run && sent === requestsOf(this.run);
    if (done) this.end();
  }
}

export const simulator = new Simulator();
