// Properties of a request as texts, of which keys and tiers are made: src/rules/rule_key.cc.

import { addressText, isV4, networkOf } from "./address.js";
import type { Facts } from "./request_facts.js";

export type TextOrTexts = string | string[];
export type PartText = (facts: Facts) => string;

export const listOf = <T>(value: T | T[] | undefined): T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

const V4_BITS = 32;
const V6_BITS = 64;

function clientPart(bits: string[]): PartText {
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

const NAMED: Record<string, (name: string) => PartText> = {
  header: (name) => (facts) => oneValue(facts.header(name)),
  query: (name) => (facts) => oneValue(facts.parameters(name)),
  cookie: (name) => (facts) => oneValue(facts.cookies(name)),
};

const PLAIN: Record<string, PartText> = {
  method: ({ method }) => method,
  host: ({ host }) => host,
  path: ({ path }) => path,
  country: ({ country }) => country,
};

/** Of "client/24/48", "header:X-App" and so on; `weir export` has checked it. */
export function partOf(text: string): PartText {
  const colon = text.indexOf(":");
  if (colon > 0) return NAMED[text.slice(0, colon)]!(text.slice(colon + 1));
  const [name, ...bits] = text.split("/");
  return name === "client" ? clientPart(bits) : PLAIN[name!]!;
}

export function keyOfParts(key: TextOrTexts | undefined): PartText {
  const parts = listOf(key).map(partOf);
  if (parts.length === 1) return parts[0]!;
  // Each with its length, so that no two lists of texts are one key.
  const withLength = (text: string): string => `${text.length}:${text}`;
  return (facts) => parts.map((part) => withLength(part(facts))).join("");
}
