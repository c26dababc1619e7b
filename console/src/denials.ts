// Denials as pages tell them: which are asked for, and what is known of one. Pure.
// Tested by test/denials.test.mjs.

import { exact, moment, visible } from "./format";
import * as json from "./json";

export const FILTERS = ["rule", "key", "path", "country", "door", "since", "until", "by"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

/** Those of an address; what is empty or unknown is none. */
export function filtersOf(parameters: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = parameters.get(name)?.trim();
    if (value) filters[name] = value;
  }
  return filters;
}

/** What a record of denials lacks. */
export function lostText(body: json.Fields, time = "this time"): string {
  const [lost = 0, since] = [json.number(body.forgotten), json.number(body.known_since)];
  const begin = since === undefined ? "" : `The record begins at ${moment(since)}. `;
  return begin + (lost === 0 ? "" : `${exact(lost)} more of ${time}, of whatever rules, ` +
    "denied or let pass in shadow, have no line: more came in a second than the record keeps. ");
}

/** One in its second. */
export function nameOf(denial: json.Fields): string {
  return ["at", "rule", "hash", "cause", "door", "status", "shadow"]
    .map((name) => String(denial[name])).join(" ");
}

/** Its key, or the key's hash, as people see it everywhere. */
export function keyText(entry: json.Fields): string {
  if (entry.hash !== undefined && entry.key === "") return "shared by all";
  const text = visible(partsOf(json.text(entry.key)) ?? json.text(entry.hash) ?? "");
  const spaced = /^ |  | $/.test(text) ? `"${text}"` : text;
  return withoutKey(entry) === CUT ? `${spaced}…` : spaced;
}

const CUT = "Only the beginning of this key is known.";

/** Why nobody can act on a key of a record, which is shown. */
export function withoutKey(entry: json.Fields): string {
  if (entry.hash === undefined || !json.text(entry.key) || wholeKey(entry)) return "";
  return entry.cause === NO_KEY ? "The request lacks a part of the key." : CUT;
}

/** A cause: what there is of the key is of no use. */
const NO_KEY = "missing_key";
/** Bytes of a key that is known as a whole for sure: the record cuts longer ones. */
const WHOLE_MAX = 60;

/** "192.0.2.44, /search" of "10:192.0.2.447:/search", whose parts stand behind their lengths. */
function partsOf(key: string | undefined): string | undefined {
  const parts: string[] = [];
  const bytes = new TextEncoder().encode(key);
  for (let at = 0; at < bytes.length;) {
    const colon = bytes.indexOf(":".charCodeAt(0), at);
    const begin = colon + 1;
    const length = new TextDecoder().decode(bytes.subarray(at, Math.max(at, colon)));
    at = begin + Number(length);
    if (!/^\d+$/.test(length) || at > bytes.length && bytes.length <= WHOLE_MAX) return key;
    parts.push(new TextDecoder().decode(bytes.subarray(begin, at)));
  }
  return parts.length > 1 ? parts.join(", ") : key;
}

/** A key that somebody may act on. */
export function wholeKey({ key, cause }: json.Fields): string | undefined {
  const known = cause === NO_KEY ? undefined : json.text(key);
  return known && new TextEncoder().encode(known).length <= WHOLE_MAX ? known : undefined;
}

/** The request as far as it is known; else a question about its key, which costs nothing. */
export function curlOf(denial: json.Fields, origin: string): string | undefined {
  const path = json.text(denial.path);
  const client = json.text(denial.client);
  const key = wholeKey(denial);
  if (path) {
    const url = path.split("/").map(encodeURIComponent).join("/");
    const from = client ? ` -H ${quoted(`X-Forwarded-For: ${client}`)}` : "";
    const { method = "METHOD" } = json.texts(denial, "method");
    const how = method === "HEAD" ? " -I" : method === "GET" ? "" : ` -X ${method}`;
    return `curl${how} ${quoted(`https://host.invalid${url}`)}${from}`;
  }
  const rule = json.text(denial.rule);
  if (!rule || !key) return undefined;
  const body = quoted(JSON.stringify({ rule, key }));
  return `curl ${quoted(`${origin}/v1/explain`)} -d ${body}`;
}

/** As a shell takes it for one word. */
export function quoted(word: string): string {
  return `'${word.replace(/'/g, "'\\''")}'`;
}
