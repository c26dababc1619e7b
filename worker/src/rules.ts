// The rules that `weir export` has written: which apply to a request, and under which key each
// counts it. They match as the server's do; test/matching.test.mjs asks both.

import { Quota, type Algorithm } from "@weir/limiter";
import { addressText, isV4, networkHolds, networkOf } from "./address.js";
import { bytesOf, type Facts } from "./request_facts.js";

type TextOrTexts = string | string[];

interface NamedMatch {
  name: string;
  value?: string;
}

interface MatchText {
  method?: TextOrTexts;
  host?: TextOrTexts;
  path?: TextOrTexts;
  country?: TextOrTexts;
  client?: TextOrTexts;
  header?: NamedMatch | NamedMatch[];
  query?: NamedMatch | NamedMatch[];
  cookie?: NamedMatch | NamedMatch[];
  all?: MatchText[];
  any?: MatchText[];
  not?: MatchText;
}

export interface ExportedRules {
  store: "kv" | "durable";
  rules: {
    id: string;
    group: string;
    shadow: boolean;
    cost: number;
    limits: { algorithm: Algorithm; limit: number; window_us: number; burst?: number }[];
    match: MatchText;
    key?: TextOrTexts;
  }[];
}

type Condition = (facts: Facts) => boolean;

export interface Rule {
  id: string;
  group: string;
  shadow: boolean;
  cost: number;
  quotas: Quota[];
  holds: Condition;
  keyOf: (facts: Facts) => string;
}

const listOf = <T>(value: T | T[] | undefined): T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

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
function oneOf(patterns: TextOrTexts | undefined, textOf: (facts: Facts) => string): Condition[] {
  const matches = listOf(patterns).map(patternMatches);
  if (matches.length === 0) return [];
  return [(facts) => {
    const text = textOf(facts);
    return matches.some((matchesIt) => matchesIt(text));
  }];
}

// All of the properties.
function allOf(wanted: NamedMatch | NamedMatch[] | undefined,
               valuesOf: (facts: Facts, name: string) => string[]): Condition[] {
  return listOf(wanted).map(({ name, value }) => {
    const matches = patternMatches(value ?? "*");
    return (facts) => valuesOf(facts, name).some(matches);
  });
}

function clientIn(networks: TextOrTexts | undefined): Condition[] {
  const holds = listOf(networks).map(networkHolds);
  if (holds.length === 0) return [];
  return [({ client }) => client !== undefined && holds.some((holdsIt) => holdsIt(client))];
}

function conditionOf(match: MatchText): Condition {
  const conditions = [
    ...oneOf(match.method, ({ method }) => method),
    ...oneOf(match.path, ({ path }) => path),
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
    ...listOf(match.all).map(conditionOf),
  ];
  const any = listOf(match.any).map(conditionOf);
  if (any.length > 0) conditions.push((facts) => any.some((holds) => holds(facts)));
  if (match.not !== undefined) {
    const not = conditionOf(match.not);
    conditions.push((facts) => !not(facts));
  }
  return (facts) => conditions.every((holds) => holds(facts));
}

// ---- keys ----

const V4_BITS = 32;
const V6_BITS = 64;

function clientPart(bits: string[]): (facts: Facts) => string {
  const [v4 = V4_BITS, v6 = V6_BITS] = bits.map(Number);
  return ({ client }) => {
    if (client === undefined) return "";
    const length = isV4(client) ? v4 : v6;
    const text = addressText(networkOf(client, length));
    return length === (isV4(client) ? 32 : 128) ? text : `${text}/${length}`;
  };
}

// A client that repeats a name with several values chooses none of them.
const oneValue = (values: string[]): string =>
  values.every((value) => value === values[0]) ? values[0] ?? "" : "";

const NAMED: Record<string, (name: string) => (facts: Facts) => string> = {
  header: (name) => (facts) => oneValue(facts.header(name)),
  query: (name) => (facts) => oneValue(facts.parameters(name)),
  cookie: (name) => (facts) => oneValue(facts.cookies(name)),
};

const PLAIN: Record<string, (facts: Facts) => string> = {
  method: ({ method }) => method,
  host: ({ host }) => host,
  path: ({ path }) => path,
  country: ({ country }) => country,
};

function partOf(text: string): (facts: Facts) => string {
  const colon = text.indexOf(":");
  if (colon > 0) return NAMED[text.slice(0, colon)]!(text.slice(colon + 1));
  const [name, ...bits] = text.split("/");
  return name === "client" ? clientPart(bits) : PLAIN[name!]!;
}

function keyOfParts(key: TextOrTexts | undefined): (facts: Facts) => string {
  const parts = listOf(key).map(partOf);
  if (parts.length === 1) return parts[0]!;
  // Each with its length, so that no two lists of texts are one key.
  const withLength = (text: string): string => `${text.length}:${text}`;
  return (facts) => parts.map((part) => withLength(part(facts))).join("");
}

// ---- rules ----

export function compileRules({ rules }: ExportedRules): Rule[] {
  return rules.map(({ id, group, shadow, cost, limits, match, key }) => ({
    id, group, shadow, cost,
    quotas: limits.map(({ window_us, ...quota }) =>
      new Quota({ ...quota, window: window_us / 1e6 })),
    holds: conditionOf(match),
    keyOf: keyOfParts(key),
  }));
}

/** Of each group the first that matches, in the order of the file. */
export function matchingRules(rules: Rule[], facts: Facts): Rule[] {
  const groups = new Set<string>();
  return rules.filter((rule) => {
    if (groups.has(rule.group) || !rule.holds(facts)) return false;
    groups.add(rule.group);
    return true;
  });
}
