// What the server sends each second, read with care: every field may be missing. Pure.

import * as json from "./json";

export interface Rates {
  readonly requests?: number;
  readonly denied?: number;
  readonly denyRate?: number;
  readonly burstRatio?: number;
}

export interface Here extends Rates {
  readonly keys?: number;
  readonly maxKeys?: number;
  readonly p50?: number;
  readonly p99?: number;
  readonly connections?: number;
  readonly buffered?: number;
  readonly evicted?: number;
}

export interface Redis {
  readonly state: "disabled" | "up" | "down";
  readonly since?: number;
  readonly mode?: string;
  /** The mistake, if there is one. */
  readonly reason?: string;
}

export interface RuleLine extends Rates {
  readonly rule: string;
  readonly algorithm?: string;
  readonly switched?: number;
  readonly adaptive: boolean;
}

export interface NodeLine {
  /** Like no other's. */
  readonly name: string;
  /** What people call it. */
  readonly title?: string;
  /** Of its console. */
  readonly address?: string;
  readonly version?: string;
  readonly here: boolean;
  /** Of one that is silent: whether it is gone. Else nobody knows, as Redis is away. */
  readonly gone?: boolean;
  readonly age?: number;
  readonly requests?: number;
  readonly denied?: number;
  readonly mode?: string;
  /** How many it has requested of Redis since its start. */
  readonly leases?: number;
  /** Of its process, in bytes. */
  readonly memory?: number;
  /** How long Redis takes to answer it. */
  readonly redisS?: number;
  readonly degraded?: string;
  readonly since?: number;
}

export interface TrafficEvent {
  readonly id: number;
  readonly t?: number;
  readonly kind: string;
  readonly rule?: string;
  readonly text: string;
}

export interface Live {
  readonly t: number;
  readonly version?: string;
  readonly node?: string;
  readonly uptime?: number;
  readonly rulesVersion?: number;
  readonly nodeCount?: number;
  readonly fleet: Rates;
  /** When the second had ended that the fleet's figures are of. */
  readonly fleetT: number;
  /** They are of this node alone. */
  readonly alone: boolean;
  readonly here: Here;
  readonly redis?: Redis;
  readonly rules: readonly RuleLine[];
  readonly nodes: readonly NodeLine[];
  readonly events: readonly TrafficEvent[];
}

/** A step of the history, with its rates: a second, or longer. */
export interface Second extends Rates {
  readonly t: number;
  readonly nodes?: number;
  /** How many seconds are known of it. */
  readonly seconds: number;
  readonly p50?: number;
  readonly p99?: number;
}

/** What a rule had in all of a span. */
export interface RuleSum extends Rates {
  readonly rule: string;
  readonly shadow: boolean;
  /** Without a pause of a minute. */
  readonly since?: number;
  readonly last?: number;
}

export interface History {
  readonly step: number;
  readonly points: readonly Second[];
  readonly rules: readonly RuleSum[];
  /** Whether rules that are not named had requests. */
  readonly hasOthers: boolean;
}

/** undefined if the text is no message at all; it has at least an instant. */
export function readLive(value: unknown): Live | undefined {
  const from = json.object(value);
  const t = json.number(from.t);
  if (t === undefined) return undefined;
  const here = readHere(json.object(from.here));
  const fleet = json.object(from.fleet);
  return {
    t,
    version: json.text(from.version),
    node: json.text(from.node),
    uptime: json.number(from.uptime),
    rulesVersion: json.number(from.rules_version),
    nodeCount: json.number(fleet.nodes),
    fleet: "fleet" in from ? readRates(fleet) : here,
    fleetT: json.number(fleet.t) ?? t,
    alone: fleet.alone !== false,
    here,
    redis: readRedis(json.object(from.redis)),
    rules: json.objects(from.rules).flatMap(readRule),
    nodes: json.objects(from.nodes).flatMap(readNode),
    events: json.objects(from.events).flatMap(readEvent),
  };
}

export function readHistory(value: unknown): History {
  const { step, points, rules, others } = json.object(value);
  return {
    step: json.number(step) ?? 1,
    points: json.objects(points).flatMap(readPoint),
    rules: json.objects(rules).flatMap(readSum),
    hasOthers: (json.number(json.object(others).requests) ?? 0) > 0,
  };
}

function readPoint(from: json.Fields): Second[] {
  const t = json.number(from.t);
  const seconds = json.number(from.seconds) || 1;
  if (t === undefined) return [];
  const each = (value: unknown) => {
    const sum = json.number(value);
    return sum === undefined ? undefined : sum / seconds;
  };
  const rates = { requests: each(from.requests), denied: each(from.denied) };
  return [{ t, seconds, nodes: json.number(from.nodes), ...readRates(rates),
    p50: json.number(from.p50), p99: json.number(from.p99) }];
}

function readSum(from: json.Fields): RuleSum[] {
  const rule = json.text(from.rule);
  if (rule === undefined) return [];
  return [{ rule, ...readRates(from), shadow: from.shadow === true,
    since: json.number(from.denying_since), last: json.number(from.last_denied) }];
}

function readRates(from: json.Fields): Rates {
  const requests = json.number(from.requests);
  const denied = json.number(from.denied);
  const known = requests !== undefined && denied !== undefined;
  const computed = known ? (requests > 0 ? denied / requests : 0) : undefined;
  const denyRate = json.number(from.deny_rate) ?? computed;
  return { requests, denied, denyRate, burstRatio: json.number(from.burst_ratio) };
}

function readHere(from: json.Fields): Here {
  return {
    ...readRates(from),
    keys: json.number(from.keys),
    maxKeys: json.number(from.max_keys),
    p50: json.number(from.p50),
    p99: json.number(from.p99),
    connections: json.number(from.connections),
    buffered: json.number(from.buffered),
    evicted: json.number(from.evicted),
  };
}

function readRedis(from: json.Fields): Redis | undefined {
  const state = json.text(from.state);
  if (state !== "disabled" && state !== "up" && state !== "down") return undefined;
  return {
    state,
    since: json.number(from.since),
    mode: json.text(from.mode),
    reason: json.text(from.reason),
  };
}

function readRule(from: json.Fields): RuleLine[] {
  const rule = json.text(from.rule);
  if (rule === undefined) return [];
  return [{
    rule,
    ...readRates(from),
    algorithm: json.text(from.algorithm),
    switched: json.number(from.switched),
    adaptive: from.adaptive === true,
  }];
}

function readNode(from: json.Fields): NodeLine[] {
  const name = json.text(from.name);
  if (name === undefined) return [];
  return [{
    name,
    title: json.text(from.title),
    address: json.text(from.address),
    version: json.text(from.version),
    here: from.here === true,
    gone: typeof from.gone === "boolean" ? from.gone : undefined,
    age: json.number(from.age),
    requests: json.number(from.requests),
    denied: json.number(from.denied),
    mode: json.text(from.mode),
    leases: json.number(from.leases),
    memory: json.number(from.memory),
    redisS: milliseconds(json.number(from.redis_ms)),
    degraded: json.text(from.degraded),
    since: json.number(from.since),
  }];
}

function milliseconds(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value / 1000;
}

function readEvent(from: json.Fields): TrafficEvent[] {
  const id = json.number(from.id);
  const text = json.text(from.text);
  if (id === undefined || text === undefined) return [];
  const kind = json.text(from.kind) ?? "";
  return [{ id, t: json.number(from.t), kind, rule: json.text(from.rule), text }];
}

/** Events that were not in the list before, newest first. Ids that begin again are new. */
export function newEvents(last: number, events: readonly TrafficEvent[]): TrafficEvent[] {
  const highest = Math.max(-1, ...events.map((event) => event.id));
  const restarted = highest < last;
  const fresh = events.filter((event) => restarted || event.id > last);
  return fresh.sort((a, b) => b.id - a.id);
}
