// The figures as they come: by WebSocket, or by polling where one does not get through.
// Events: "message" (state.last is new), "status" (state.status is new), "history", "age" (the
// figures are old, and a second older), "ended" (the server says that the session is over).

import { type Ask, UNASKED, ask, query } from "./api";
import {
  type History, type Live, type RuleLine, type Second, type TrafficEvent, readHistory, readLive,
  silenceOf,
} from "./message";
import * as json from "./json";
import { POLL_EVERY_MS, planAfter, pollWaitMs } from "./reconnect";
import { withTold } from "./series";

export type Status = "connecting" | "live" | "polling" | "lost" | "refused";

export const HISTORY_S = 600;
/** A socket that is silent for so long is dead: the server sends each second. */
const SILENCE_MS = 5000;
/** Figures that are older are not shown as if they were new. */
const OLD_MS = 3000;
/** The seconds come one by one; after a wider gap the page asks for those between. */
const STEP_MAX_S = 1.6;
/** The server's wall clock was set; its history moves with it. */
const SET_BACK_S = 60;

/** The busiest of which a message tells. */
const RULES_MAX = 100;
const SILENCES_MAX = 50;

/** The server closes with it when the session of the page has ended. */
const SESSION_ENDED = 1008;

/** What the server remembers of a time, such as 10m, or of one rule in it. */
export async function historyOf(
  span: string, how: Ask, of: { rule?: string } = {},
): Promise<History | undefined> {
  const { ok, body } = await ask(query("/console/history", { span, ...of }), how);
  return ok ? readHistory(body) : undefined;
}

class LiveFeed extends EventTarget {
  status: Status = "connecting";
  last: Live | undefined;
  /** When the last second was told, by this browser's clock. */
  toldMs = 0;
  /** The last ten minutes, oldest first. */
  readonly seconds: Second[] = [];
  /** When this page heard nothing; oldest first. */
  silences: readonly TrafficEvent[] = [];
  private socket: WebSocket | undefined;
  private failures = 0;
  private pollFailures = 0;
  private timer = 0;
  private watchdog = 0;
  private polling = 0;
  private aging = 0;
  private running = false;

  start(): void {
    this.stop();
    this.running = true;
    this.failures = 0;
    void this.loadHistory();
    this.connect();
    this.aging = window.setInterval(() => {
      if (this.isOld()) this.dispatchEvent(new Event("age"));
    }, 1000);
  }

  /** How long ago the last second was told, in seconds. */
  age(): number {
    return (Date.now() - this.toldMs) / 1000;
  }

  /** The node's clock, as all times are that the page shows. */
  now(): number {
    return this.last ? this.last.t + this.age() : Date.now() / 1000;
  }

  /** What people call the node with this id. */
  titleOf(id: string): string {
    return this.last?.nodes.find(({ name }) => name === id)?.title ?? id;
  }

  isOld(): boolean {
    return this.last !== undefined && Date.now() - this.toldMs > OLD_MS;
  }

  /** Of one that is not among the busiest nobody knows; zeros if all have room there. */
  lineOf(rule: string): RuleLine | undefined {
    const idle = this.last && this.last.rules.length < RULES_MAX
      ? { rule, adaptive: false, requests: 0, denied: 0, denyRate: 0 } : undefined;
    return this.last?.rules.find((line) => line.rule === rule) ?? idle;
  }

  stop(): void {
    this.running = false;
    window.clearTimeout(this.timer);
    window.clearTimeout(this.watchdog);
    window.clearTimeout(this.polling);
    window.clearInterval(this.aging);
    this.socket?.close();
    this.socket = undefined;
  }

  /** For a page that may see nothing yet. */
  refuse(): void {
    this.stop();
    this.become("refused");
  }

  private connect(): void {
    if (!this.running) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/console/live`);
    this.socket = socket;
    socket.onmessage = (event) => {
      if (this.socket === socket) this.received(String(event.data));
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      if (event?.code === SESSION_ENDED) this.dispatchEvent(new Event("ended"));
      this.lost();
    };
    this.watch();
  }

  private watch(): void {
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => {
      const socket = this.socket;
      this.lost();
      socket?.close();
    }, SILENCE_MS);
  }

  private received(text: string): void {
    const message = readLive(json.parse(text));
    if (!message) return;
    if (this.failures > 0) void this.loadHistory();  // what was missed meanwhile
    this.failures = 0;
    this.watch();
    window.clearTimeout(this.polling);
    this.take(message);
    this.become("live");
  }

  private lost(): void {
    window.clearTimeout(this.watchdog);
    this.socket = undefined;
    if (!this.running) return;
    const plan = planAfter(++this.failures, Math.random());
    if (plan.way === "poll") void this.poll();
    else this.become(this.last ? "lost" : "connecting");
    this.connectIn(plan.waitMs);
  }

  private async poll(): Promise<void> {
    window.clearTimeout(this.polling);
    const reply = await ask("/console/live.json", UNASKED);
    if (!this.running || this.status === "live" && this.failures === 0) return;
    const message = reply.ok ? readLive(reply.body) : undefined;
    this.pollFailures = message ? 0 : this.pollFailures + 1;
    if (message) this.take(message);
    // A server that is gone altogether is no proxy that breaks upgrades: try sockets again.
    else if (reply.status === 0) this.connectIn(pollWaitMs(this.pollFailures) / 2);
    this.become(message ? "polling" : reply.status === 0 ? "lost" : "refused");
    const wait = message ? POLL_EVERY_MS : pollWaitMs(this.pollFailures);
    this.polling = window.setTimeout(() => void this.poll(), wait);
  }

  private connectIn(waitMs: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.connect(), waitMs);
  }

  private take(message: Live): void {
    if (message.t === 0) return;  // a node younger than a second has no figures yet
    if (message.t !== this.last?.t) this.toldMs = Date.now();
    const silence = this.last && silenceOf(this.last, message);
    if (silence) this.silences = [...this.silences, silence].slice(-SILENCES_MAX);
    this.last = message;
    const { fleet, fleetT, nodeCount, alone, here: { p50, p99 } } = message;
    this.add({ t: fleetT, seconds: 1, nodes: nodeCount, alone, p50, p99, ...fleet });
    this.dispatchEvent(new Event("message"));
  }

  private add(second: Second): void {
    const newest = this.seconds[this.seconds.length - 1];
    const step = newest ? second.t - newest.t : 1;
    if (step < -SET_BACK_S) this.seconds.length = 0;
    else if (step < 0.5) return;
    if (step < 0 || step > STEP_MAX_S) void this.loadHistory();
    this.seconds.push(second);
    while (this.seconds.length > 0 && this.seconds[0]!.t < second.t - HISTORY_S) {
      this.seconds.shift();
    }
  }

  private async loadHistory(): Promise<void> {
    const told = (await historyOf("10m", UNASKED))?.points;
    if (!told) return;
    this.seconds.splice(0, this.seconds.length, ...withTold(told, this.seconds));
    this.dispatchEvent(new Event("history"));
  }

  private become(status: Status): void {
    if (status === this.status) return;
    this.status = status;
    this.dispatchEvent(new Event("status"));
  }
}

export const feed = new LiveFeed();
