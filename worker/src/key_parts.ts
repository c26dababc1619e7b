// Properties of a request as texts, of which keys and tiers are made: src/rules/rule_key.cc.

import { addressText, isV4, networkOf } from "./address.js";
import type { Facts } from "./request_facts.js";

export type TextOrTexts = string | string[];
export type PartText = (facts: Facts) => string;

/** How a rule makes its keys, as `weir export` says it. */
export interface KeySpec {
  key?: TextOrTexts;
  /** The first part that is there makes the key, and not all of them. */
  key_takes?: "first";
  missing?: "client" | "shared" | "deny" | "skip";
}

const listOf = <T>(value: T | T[] | undefined): T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

const V4_BITS = 32;
const V6_BITS = 64;

// All values of a part; none where the request lacks it.
type PartValues = (facts: Facts) => string[];

function clientPart(bits: string[]): PartValues {
  const [v4 = V4_BITS, v6 = V6_BITS] = bits.map(Number);
  return ({ client }) => {
    if (client === undefined) return [];
    const length = isV4(client) ? v4 : v6;
    const text = addressText(networkOf(client, length));
    return [length === (isV4(client) ? 32 : 128) ? text : `${text}/${length}`];
  };
}

const NAMED: Record<string, (name: string) => PartValues> = {
  header: (name) => (facts) => facts.header(name),
  query: (name) => (facts) => facts.parameters(name),
  cookie: (name) => (facts) => facts.cookies(name),
};

const PLAIN: Record<string, PartValues> = {
  method: ({ method }) => [method],
  host: ({ host }) => [host],
  path: ({ path }) => [path],
  country: ({ country }) => [country],
};

interface Part {
  /** As a key of the first part that is there says it: "header:X-App", "client". */
  name: string;
  values: PartValues;
  /** The client leaves it out if it likes. */
  mayBeMissing: boolean;
}

// Reads "client/24/48", "header:X-App" and so on; `weir export` has checked it.
function partNamed(text: string): Part {
  const colon = text.indexOf(":");
  const mayBeMissing = colon > 0;
  if (mayBeMissing) {
    const values = NAMED[text.slice(0, colon)]!(text.slice(colon + 1));
    return { name: text, values, mayBeMissing };
  }
  const [plain, ...bits] = text.split("/");
  const name = plain!;
  return { name, values: name === "client" ? clientPart(bits) : PLAIN[name]!, mayBeMissing };
}

const areSame = (values: string[]): boolean => values.every((value) => value === values[0]);

// A client that repeats a name with several values chooses none of them.
const oneValue = (values: string[]): string => areSame(values) ? values[0] ?? "" : "";

export function partOf(text: string): PartText {
  const { values } = partNamed(text);
  return (facts) => oneValue(values(facts));
}

// ---- keys: src/rules/rule_key.h ----

const BY_CLIENT = "client ";
const MARK = "client =";
const clientValues = clientPart([]);

// What a key says of a part that may be missing: its value, or the client in its place.
function standIn(value: string, facts: Facts, missing: KeySpec["missing"]): string {
  if (value !== "") return value.startsWith(BY_CLIENT) ? MARK + value : value;
  const client = missing === "shared" ? "" : clientValues(facts)[0] ?? "";
  return client === "" ? "" : BY_CLIENT + client;
}

type Append = (key: string, part: Part, value: string, facts: Facts) => string;

// A key of several parts has each with its length, so that no two lists of texts are one key.
function appendBy({ key_takes, missing }: KeySpec, { length }: Part[]): Append {
  if (key_takes === "first") {
    return (key, { name }, value) => value === "" ? key : `${key}${name} ${value}`;
  }
  return (key, { mayBeMissing }, value, facts) => {
    const text = mayBeMissing ? standIn(value, facts, missing) : value;
    return key + (length === 1 ? text : `${text.length}:${text}`);
  };
}

function keyTextOf(spec: KeySpec, parts: Part[], append: Append): PartText {
  const isWhole = (key: string): boolean => spec.key_takes === "first" && key !== "";
  return (facts) => parts.reduce((key, part) =>
    isWhole(key) ? key : append(key, part, oneValue(part.values(facts)), facts), "");
}

// What key or tier may be for the origin, where the client repeats what they are made of; none if
// that is too many: src/rules/key_choices.h.
export type Choices = (facts: Facts) => string[];

const CHOICES_MAX = 256;
const CHOICES_BYTES_MAX = 64 << 10;

function bounded(texts: string[]): string[] {
  const bytes = texts.reduce((sum, { length }) => sum + length, 0);
  const areMany = texts.length > CHOICES_MAX || (texts.length > 1 && bytes > CHOICES_BYTES_MAX);
  return areMany ? [] : texts;
}

const valuesOnce = (part: Part, facts: Facts): string[] => {
  const values = part.values(facts);
  return values.length === 0 ? [""] : [...new Set(values)];
};

function joinedKeys(parts: Part[], append: Append): Choices {
  return (facts) => parts.reduce((keys, part) => {
    const values = valuesOnce(part, facts);
    if (keys.length * values.length > CHOICES_MAX) return [];
    return bounded(keys.flatMap((key) =>
      values.map((value) => append(key, part, value, facts))));
  }, [""]);
}

// Those of the parts up to the first that has one value.
function firstKeys(parts: Part[], append: Append): Choices {
  return (facts) => {
    const keys: string[] = [];
    for (const part of parts) {
      const values = valuesOnce(part, facts);
      keys.push(...values.map((value) => append("", part, value, facts)));
      if (values.length === 1 && values[0] !== "") break;
    }
    return bounded(keys);
  };
}

/** The key that counts, what it may be for the origin, and whether it lacks what it should have. */
export interface KeyMaker {
  keyOf: PartText;
  keysOf: Choices;
  skips: (facts: Facts) => boolean;
  refuses: (facts: Facts) => boolean;
}

export function keyMakerOf(spec: KeySpec): KeyMaker {
  const parts = listOf(spec.key).map(partNamed);
  const append = appendBy(spec, parts);
  const keyOf = keyTextOf(spec, parts, append);
  const choices = spec.key_takes === "first" ? firstKeys(parts, append) : joinedKeys(parts, append);
  const mayLack = parts.filter(({ mayBeMissing }) => mayBeMissing);
  const lacks = (facts: Facts, isIt: (values: string[]) => boolean): boolean =>
    mayLack.some(({ values }) => isIt(values(facts)));
  return {
    keyOf,
    keysOf: (facts) => {
      const keys = choices(facts);
      const counted = keyOf(facts);
      return keys.length === 0 || keys.includes(counted) ? keys : [...keys, counted];
    },
    // The origin may take any value of a repeated name, and one may be denied.
    skips: (facts) => spec.missing === "skip" &&
      lacks(facts, (values) => areSame(values) && oneValue(values) === ""),
    refuses: (facts) => spec.missing === "deny" &&
      lacks(facts, (values) => oneValue(values) === ""),
  };
}

/** The tiers that a request may be of. */
export function tiersOf(tier: string | undefined): Choices {
  if (tier === undefined) return () => [""];
  const part = partNamed(tier);
  return (facts) => {
    const tiers = bounded(valuesOnce(part, facts));
    return tiers.length > 1 ? [...tiers, ""] : tiers;
  };
}
