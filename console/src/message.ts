// What the server sends each second, read with care: every field may be missing. Pure.

import { clock } from "./format";
import * as json from "./json";

/** Seconds come one by one, or in twos. */
const SILENT_S = 3;

export interface Rates {
  readonly requests?: number;
  readonly denied?: number;
  /** What a rule would have denied, and let pass. */
  readonly shadow?: number;
  readonly denyRate?: number;
  readonly burstRatio?: number;
}

export type Live = NonNullable<ReturnType<typeof readLive>>;
export type Here = ReturnType<typeof readHere>;
export type Redis = NonNullable<ReturnType<typeof readRedis>>;
export type RuleLine = ReturnType<typeof readRule>[number];
export type NodeLine = ReturnType<typeof readNode>[number];
export type TrafficEvent = ReturnType<typeof readEvent>[number];
export type History = ReturnType<typeof readHistory>;
/** A step of the history, with its rates: a second, or longer. */
export type Second = ReturnType<typeof readPoint>[number];
/** What a chart may know of any of its points: when it is, and of whom. */
export type Told = Pick<Second, "t"> & Partial<Pick<Second, "seconds" | "nodes" | "alone">>;
/** What a rule had in all of a span. */
export type RuleSum = ReturnType<typeof readSum>[number];

/** undefined if the text is no message at all; it has at least an instant. */
export function readLive(value: unknown) {
  const from = json.object(value);
  const t = json.number(from.t);
  if (t === undefined) return undefined;
  const here = readHere(json.object(from.here));
  const fleet = json.object(from.fleet);
  const redis = readRedis(json.object(from.redis));
  return {
    t,
    ...json.texts(from, "version", "node"),
    ...json.numbers(from, "uptime"),
    rulesVersion: json.number(from.rules_version),
    nodeCount: json.number(fleet.nodes),
    fleet: "fleet" in from ? readRates(fleet) : here,
    /** When the second had ended that the fleet's figures are of. */
    fleetT: json.number(fleet.t) ?? t,
    /** They are of this node alone, as Redis is away. */
    alone: fleet.alone === true && redis?.state !== "disabled",
    here,
    redis,
    rules: json.objects(from.rules).flatMap(readRule),
    nodes: json.objects(from.nodes).flatMap(readNode),
    events: json.objects(from.events).flatMap(readEvent),
  };
}

export function readHistory(value: unknown) {
  const { span, step, points, rules, others } = json.object(value);
  return {
    span: json.number(span),
    step: json.number(step) ?? 1,
    points: json.objects(points).flatMap(readPoint),
    rules: json.objects(rules).flatMap(readSum),
    /** Whether rules that are not named had requests. */
    hasOthers: (json.number(json.object(others).requests) ?? 0) > 0,
  };
}

function readPoint(from: json.Fields) {
  const t = json.number(from.t);
  /** How many are known of the step. */
  const seconds = json.number(from.seconds) || 1;
  if (t === undefined) return [];
  const { requests = NaN, denied = NaN, shadow = 0 } = readRates(from);
  const rates = readRates({ requests: requests / seconds, denied: denied / seconds,
    shadow: shadow / seconds });
  return [{ t, seconds, ...rates, ...json.numbers(from, "nodes", "p50", "p99"),
    /** The figures are of this node alone, as Redis was away. */
    alone: from.alone === true }];
}

function readSum(from: json.Fields) {
  const rule = json.text(from.rule);
  if (rule === undefined) return [];
  return [{ rule, ...readRates(from), apart: json.number(from.denied_apart) ?? 0,
    /** When the seconds of the first and last denial began, without a pause of a minute. */
    since: json.number(from.denying_since),
    /** How many the node knows of before is not enough to say that there was none. */
    isOlder: from.denying_before === true, last: json.number(from.last_denied)! - 1 }];
}

function readRates(from: json.Fields): Rates {
  const { requests, denied, shadow } = json.numbers(from, "requests", "denied", "shadow");
  const known = requests !== undefined && denied !== undefined;
  const computed = known ? (requests > 0 ? denied / requests : 0) : undefined;
  const denyRate = json.number(from.deny_rate) ?? computed;
  return { requests, denied, shadow, denyRate, burstRatio: json.number(from.burst_ratio) };
}

function readHere(from: json.Fields) {
  return { ...readRates(from), maxKeys: json.number(from.max_keys),
    ...json.numbers(from, "keys", "p50", "p99") };
}

function readRedis(from: json.Fields) {
  const { state } = from;
  if (state !== "disabled" && state !== "up" && state !== "down") return undefined;
  /** The reason is the mistake, if there is one. */
  return { state, ...json.numbers(from, "since"), ...json.texts(from, "mode", "reason") } as const;
}

function readRule(from: json.Fields) {
  const rule = json.text(from.rule);
  if (rule === undefined) return [];
  return [{ rule, ...readRates(from), adaptive: from.adaptive === true,
    ...json.texts(from, "algorithm", "of"), ...json.numbers(from, "switched") }];
}

/** Its name is like no other's, its title is what people call it, its address its console's. */
function readNode(from: json.Fields) {
  const name = json.text(from.name);
  if (name === undefined) return [];
  const redisMs = json.number(from.redis_ms);
  return [{
    name,
    /** apart: why changes of rules by hand do not reach it. */
    ...json.texts(from, "title", "address", "version", "mode", "degraded", "apart"),
    /** Leases: how many it has requested of Redis since its start. Memory: in bytes. */
    ...json.numbers(from, "age", "requests", "denied", "leases", "memory", "since"),
    here: from.here === true,
    /** Of one that is silent: whether it is gone. Else nobody knows yet, or Redis is away. */
    gone: typeof from.gone === "boolean" ? from.gone : undefined,
    /** How long Redis takes to answer it. */
    redisS: redisMs === undefined ? undefined : redisMs / 1000,
    /** Of Redis's clock, in seconds, as the node itself finds; undefined: about none. */
    clockAhead: json.number(from.clock_ahead),
  }];
}

function readEvent(from: json.Fields) {
  const id = json.number(from.id);
  const text = json.text(from.text);
  if (id === undefined || text === undefined) return [];
  return [{ id, text, kind: json.text(from.kind) ?? "", ...json.texts(from, "rule"),
    ...json.numbers(from, "t") }];
}

/** Events that were not in the list before, newest first. Ids that begin again are new. */
export function newEvents(last: number, events: readonly TrafficEvent[]): TrafficEvent[] {
  const highest = Math.max(-1, ...events.map((event) => event.id));
  const restarted = highest < last;
  const fresh = events.filter((event) => restarted || event.id > last);
  return fresh.sort((a, b) => b.id - a.id);
}

/** What a page has to say that heard nothing for some time. */
export function silenceOf(before: Live, now: Live): TrafficEvent | undefined {
  const silent = now.t - before.t;
  const isOther = now.node !== before.node;
  if (silent <= SILENT_S && !isOther) return undefined;
  const title = before.nodes.find(({ here }) => here)?.title ?? before.node ?? "";
  const then = !isOther ? ""
    : (now.uptime ?? Infinity) <= silent ? ", and has begun again" : "; now another node answers";
  return { id: 0, t: now.t, kind: "away",
    text: `${title} was not heard from ${clock(before.t)} to ${clock(now.t)}${then}` };
}
