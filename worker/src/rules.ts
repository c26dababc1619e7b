// The rules that `weir export` has written: which apply to a request, and under which key each
// counts it. They match as the server's do; test/matching.test.mjs asks both.

import { Quota, type Algorithm } from "@weir/limiter";
import { networkHolds, parseAddress, type Address } from "./address.js";
import { denialAnswerOf, type DenialAnswer, type Denied, type OnDeny } from "./denial_answer.js";
import { keyMakerOf, partOf, tiersOf, type Choices, type KeyMaker, type KeySpec, type PartText }
  from "./key_parts.js";
import { bytesOf, type Facts } from "./request_facts.js";
import { scheduleOf, type Hours } from "./schedule.js";

interface NamedMatch {
  name: string;
  value: string;
}

interface MatchText {
  method?: string[];
  host?: string[];
  path?: string[];
  case?: "insensitive";
  trailing_slash?: "same";
  country?: string[];
  client?: string[];
  header?: NamedMatch[];
  query?: NamedMatch[];
  cookie?: NamedMatch[];
  all?: MatchText[];
  any?: MatchText[];
  not?: MatchText[];
}

interface ExportedLimit {
  algorithm: Algorithm;
  limit: number;
  window_us: number;
  burst?: number;
}

interface NamedLimits {
  name: string;
  limits: ExportedLimit[];
}

interface KeyList {
  keys: string[];
  networks: string[];
}

interface ExportedRule extends KeySpec {
  id: string;
  group: string;
  shadow: boolean;
  cost: number;
  limits: ExportedLimit[];
  match: MatchText;
  tier?: string;
  tiers?: NamedLimits[];
  overrides?: NamedLimits[];
  allow?: KeyList;
  deny?: KeyList;
  active?: Hours;
  on_deny?: OnDeny;
}

export interface ExportedRules {
  store: "kv" | "durable";
  rules: ExportedRule[];
}

type Condition = (facts: Facts) => boolean;
type Listed = (key: string, client: Address | undefined) => boolean;

export interface Rule extends KeyMaker {
  id: string;
  group: string;
  shadow: boolean;
  cost: number;
  holds: Condition;
  isInForce: (now: number) => boolean;
  tierOf: PartText;
  tiersOf: Choices;
  quotasFor: (keys: string[], tiers: string[]) => Quota[];
  allows: Listed;
  denies: Listed;
  answerTo: (denied: Denied) => DenialAnswer;
}

/** A rule that applies to a request. */
export interface Applied {
  rule: Rule;
  key: string;
  tier: string;
  quotas: Quota[];
  /** A client that is in a list is not counted, nor one that lacks a key and is denied for it. */
  list: "allow" | "deny" | "missing" | undefined;
}

// ---- texts ----

/** '*' stands for any bytes: src/rules/text/text_pattern.h. */
function patternMatches(pattern: string): (text: string) => boolean {
  const parts = bytesOf(pattern).split("*");
  if (parts.length === 1) return (text) => text === parts[0];
  const first = parts[0]!;
  const last = parts.at(-1)!;
  const middle = parts.slice(1, -1);
  return (text) => {
    if (text.length < first.length + last.length) return false;
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

// One of the texts, if there are any.
function oneOf(patterns: string[] = [], textOf: (facts: Facts) => string): Condition[] {
  const matches = patterns.map(patternMatches);
  if (matches.length === 0) return [];
  return [(facts) => {
    const text = textOf(facts);
    return matches.some((matchesIt) => matchesIt(text));
  }];
}

const inSmall = (text: string): string => text.replace(/[A-Z]+/g, (c) => c.toLowerCase());

// The path in the forms in which it counts.
function pathIs({ path: patterns = [], case: pathCase, trailing_slash: slash }: MatchText,
): Condition[] {
  const matches = patterns.map(patternMatches);
  if (matches.length === 0) return [];
  return [({ path }) => {
    const written = pathCase === "insensitive" ? inSmall(path) : path;
    const file = written.replace(/(.)\/$/s, "$1");
    const forms = slash === "same" ? [file, file === "/" ? file : `${file}/`] : [written];
    return matches.some((matchesIt) => forms.some(matchesIt));
  }];
}

// All of the properties.
function allOf(wanted: NamedMatch[] = [],
               valuesOf: (facts: Facts, name: string) => string[]): Condition[] {
  return wanted.map(({ name, value }) => {
    const matches = patternMatches(value);
    return (facts) => valuesOf(facts, name).some(matches);
  });
}

function clientIn(networks: string[] = []): Condition[] {
  const holds = networks.map(networkHolds);
  if (holds.length === 0) return [];
  return [({ client }) => client !== undefined && holds.some((holdsIt) => holdsIt(client))];
}

function conditionOf(match: MatchText): Condition {
  const conditions = [
    ...oneOf(match.method, ({ method }) => method),
    ...pathIs(match),
    ...oneOf(match.host, ({ host }) => host),
    ...oneOf(match.country, ({ country }) => country.toUpperCase()),
    ...clientIn(match.client),
    // The list as a whole counts, too.
    ...allOf(match.header, (facts, name) => {
      const values = facts.header(name);
      return values.length > 1 ? [...values, values.join(", ")] : values;
    }),
    ...allOf(match.query, (facts, name) => facts.parameters(name)),
    ...allOf(match.cookie, (facts, name) => facts.cookies(name)),
    ...(match.all ?? []).map(conditionOf),
  ];
  const any = (match.any ?? []).map(conditionOf);
  if (any.length > 0) conditions.push((facts) => any.some((holds) => holds(facts)));
  const none = (match.not ?? []).map(conditionOf);
  conditions.push((facts) => !none.some((holds) => holds(facts)));
  return (facts) => conditions.every((holds) => holds(facts));
}

// ---- whom it is for ----

const quotasOf = (limits: ExportedLimit[]): Quota[] =>
  limits.map(({ window_us, ...quota }) => new Quota({ ...quota, window: window_us / 1e6 }));

const quotasByName = (named: NamedLimits[] | undefined): Map<string, Quota[]> =>
  new Map((named ?? []).map(({ name, limits }) => [bytesOf(name), quotasOf(limits)]));

// The key is made of the request, so a client may choose it: it is an address only where that
// denies.
type AddressOf = (key: string, client: Address | undefined) => Address | undefined;
const clientAlone: AddressOf = (_, client) => client;
const clientOrKey: AddressOf = (key, client) => client ?? parseAddress(key);

function listedIn(addressOf: AddressOf,
                  { keys, networks }: KeyList = { keys: [], networks: [] }): Listed {
  const named = new Set(keys.map(bytesOf));
  const holds = networks.map(networkHolds);
  return (key, client) => {
    if (named.has(key)) return true;
    if (holds.length === 0) return false;
    const address = addressOf(key, client);
    return address !== undefined && holds.some((holdsIt) => holdsIt(address));
  };
}

// Units a second, and at once: src/rules/key_choices.cc.
const leastOf = (quotas: Quota[]): [number, number] =>
  [Math.min(...quotas.map(({ limit, windowUs }) => limit / windowUs)),
   Math.min(...quotas.map(({ capacity }) => capacity))];

function stricter(one: Quota[], other: Quota[]): Quota[] {
  const [rate, atOnce] = leastOf(one);
  const [otherRate, otherAtOnce] = leastOf(other);
  return otherRate < rate || (otherRate === rate && otherAtOnce < atOnce) ? other : one;
}

// The strictest limits of those that these keys and tiers have.
function quotasBy(overrides: Map<string, Quota[]>, tiers: Map<string, Quota[]>, own: Quota[],
): Rule["quotasFor"] {
  return (keys, names) => {
    const found = keys.flatMap((key) => overrides.has(key) ? [overrides.get(key)!] : []);
    const others = found.length < keys.length ? names.map((name) => tiers.get(name) ?? own) : [];
    return [...found, ...others].reduce(stricter);
  };
}

// ---- rules ----

function compileRule(exported: ExportedRule): Rule {
  const { id, group, shadow, cost, active, tier } = exported;
  const own = quotasOf(exported.limits);
  const tiers = quotasByName(exported.tiers);
  const overrides = quotasByName(exported.overrides);
  return {
    id, group, shadow, cost,
    holds: conditionOf(exported.match),
    isInForce: active === undefined ? () => true : scheduleOf(active),
    ...keyMakerOf(exported),
    tierOf: tier === undefined ? () => "" : partOf(tier),
    tiersOf: tiersOf(tier),
    quotasFor: quotasBy(overrides, tiers, own),
    allows: listedIn(clientAlone, exported.allow),
    denies: listedIn(clientOrKey, exported.deny),
    answerTo: denialAnswerOf(exported.on_deny),
  };
}

export function compileRules({ rules }: ExportedRules): Rule[] {
  return rules.map(compileRule);
}

function applied(rule: Rule, facts: Facts): Applied {
  const key = rule.keyOf(facts);
  const tier = rule.tierOf(facts);
  const keys = rule.keysOf(facts);
  const tiers = rule.tiersOf(facts);
  const areTooMany = keys.length === 0 || tiers.length === 0;
  const isDenied = areTooMany || keys.some((one) => rule.denies(one, facts.client));
  const list = isDenied ? "deny"
    : rule.allows(key, facts.client) ? "allow" : rule.refuses(facts) ? "missing" : undefined;
  const quotas = areTooMany ? rule.quotasFor([key], [tier]) : rule.quotasFor(keys, tiers);
  return { rule, key, tier, list, quotas };
}

// The first of each group that matches and is in force, in the order of the file.
function appliedTo(facts: Facts, rules: Rule[], now: number): Applied[] {
  const groups = new Set<string>();
  const first = rules.filter((rule) => {
    if (groups.has(rule.group) || !rule.isInForce(now) || !rule.holds(facts)) return false;
    if (rule.skips(facts)) return false;
    groups.add(rule.group);
    return true;
  });
  return first.map((rule) => applied(rule, facts));
}

/** What applies to each reading of the path, and what two of them lead to once. */
export function appliedRules(rules: Rule[], facts: Facts, now: number): Applied[] {
  const all = [facts, ...facts.otherPaths.map((path) => ({ ...facts, path }))]
    .flatMap((reading) => appliedTo(reading, rules, now));
  const isFirst = ({ rule, key, tier }: Applied, place: number): boolean => place ===
    all.findIndex((other) => other.rule === rule && other.key === key && other.tier === tier);
  return facts.otherPaths.length === 0 ? all : all.filter(isFirst);
}
