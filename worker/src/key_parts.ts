// Properties of a request as texts, of which keys and tiers are made: src/rules/rule_key.cc.

import { addressText, isV4, networkOf } from "./address.js";
import type { Facts } from "./request_facts.js";

export type TextOrTexts = string | string[];
export type PartText = (facts: Facts) => string;

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

// Reads "client/24/48", "header:X-App" and so on; `weir export` has checked it.
function valuesOf(text: string): PartValues {
  const colon = text.indexOf(":");
  if (colon > 0) return NAMED[text.slice(0, colon)]!(text.slice(colon + 1));
  const [name, ...bits] = text.split("/");
  return name === "client" ? clientPart(bits) : PLAIN[name!]!;
}

// A client that repeats a name with several values chooses none of them.
const oneValue = (values: string[]): string =>
  values.every((value) => value === values[0]) ? values[0] ?? "" : "";

export function partOf(text: string): PartText {
  const values = valuesOf(text);
  return (facts) => oneValue(values(facts));
}

// A key of several parts has each with its length, so that no two lists of texts are one key.
const appended = (key: string, text: string, parts: unknown[]): string =>
  key + (parts.length === 1 ? text : `${text.length}:${text}`);

export function keyOfParts(key: TextOrTexts | undefined): PartText {
  const parts = listOf(key).map(partOf);
  return (facts) => parts.reduce((joined, part) => appended(joined, part(facts), parts), "");
}

// What key or tier may be for the origin, where the client repeats what they are made of; none if
// that is too many: src/rules/key_choices.h.
export type Choices = (facts: Facts) => string[];

const CHOICES_MAX = 256;
const CHOICES_BYTES_MAX = 64 << 10;

function continued(keys: string[], values: string[], parts: unknown[]): string[] {
  const count = keys.length * values.length;
  if (count > CHOICES_MAX) return [];
  const longer = keys.flatMap((key) => values.map((value) => appended(key, value, parts)));
  const bytes = longer.reduce((sum, { length }) => sum + length, 0);
  return count > 1 && bytes > CHOICES_BYTES_MAX ? [] : longer;
}

export function choicesOf(key: TextOrTexts | undefined): Choices {
  const parts = listOf(key).map(valuesOf);
  const counted = keyOfParts(key);
  return (facts) => {
    const keys = parts.reduce((shorter, part) => {
      const values = part(facts);
      return continued(shorter, values.length === 0 ? [""] : [...new Set(values)], parts);
    }, [""]);
    return keys.length > 1 ? [...keys, counted(facts)] : keys;
  };
}
