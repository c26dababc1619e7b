// What a rule answers to those that it denies, in place of the Worker's own answer, and what it
// fills in there: src/rules/text/text_template.h. Texts are strings of bytes, as facts are.

import type { Decision } from "@weir/limiter";
import { partOf } from "./key_parts.js";
import { bytesOf, type Facts } from "./request_facts.js";

export interface OnDeny {
  status?: number;
  content_type?: string;
  body?: string;
  header?: { name: string; value: string }[];
}

/** What an answer is about. */
export interface Denied {
  rule: string;
  key: string;
  decision: Decision;
  facts: Facts;
}

export interface DenialAnswer {
  status: number | undefined;
  fields: [string, string][];
  body: Uint8Array | undefined;
}

interface Escape {
  escaped(value: string): string;
  /** The longest value, and the longest text behind which no value is filled in. */
  valueMax: number;
  textMax: number;
}

// A Response has no status text unless it is given one. A rule may answer any status from 400 to
// 499; the runtime chooses the text of a status that is not here.
const STATUS_TEXTS: Record<number, string> = {
  400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
  404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
  407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
  411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
  414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
  417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request",
  422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
  426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
};

/** What a Response is made of for that status. */
export const statusOf = (status: number): { status: number; statusText: string } =>
  ({ status, statusText: STATUS_TEXTS[status] ?? "" });

// ---- escaping ----

const BODY = { valueMax: 1024, textMax: 64 << 10 };
const MARKUP: Record<string, string> = {
  "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;",
};
const hex = (byte: string): string => byte.charCodeAt(0).toString(16).padStart(2, "0");

const HEADER: Escape = {
  escaped: (value) => value.replace(/[^ -~]/g, "?"), valueMax: 256, textMax: 4 << 10,
};
const JSON_TEXT: Escape = {
  ...BODY,
  escaped: (value) =>
    value.replace(/["\\]/g, "\\$&").replace(/[^ -~]/g, (byte) => `\\u00${hex(byte)}`),
};
const HTML: Escape = { ...BODY, escaped: (value) => value.replace(/[&<>"']/g, (c) => MARKUP[c]!) };
const PLAIN: Escape = { ...BODY, escaped: (value) => value };

function escapeFor(contentType: string): Escape {
  if (/json/i.test(contentType)) return JSON_TEXT;
  return /html|xml/i.test(contentType) ? HTML : PLAIN;
}

// ---- filling in ----

// No wait helps whoever asks for more than there ever is.
const wholeSeconds = (seconds: number): string =>
  String(Number.isFinite(seconds) ? Math.ceil(seconds) : 0);

const NUMBERS: Record<string, (decision: Decision) => string> = {
  limit: ({ limit }) => String(limit),
  remaining: ({ remaining }) => String(remaining),
  count: ({ limit, remaining }) => String(limit - remaining),
  retry_after: ({ retryAfter }) => wholeSeconds(retryAfter),
  reset_after: ({ resetAfter }) => wholeSeconds(resetAfter),
};

function placeNamed(name: string, { escaped, valueMax }: Escape): (denied: Denied) => string {
  const number = NUMBERS[name];
  if (number !== undefined) return ({ decision }) => number(decision);
  const value = (text: string): string => escaped(text.slice(0, valueMax));
  if (name === "rule") return ({ rule }) => value(rule);
  if (name === "key") return ({ key }) => value(key);
  const part = partOf(name);
  return ({ facts }) => value(part(facts));
}

function templateOf(text: string, escape: Escape): (denied: Denied) => string {
  // Texts and the names of places, in turn.
  const pieces = bytesOf(text).split(/\{\{(.*?)\}\}/s);
  const places = pieces.map((piece, index) => (index % 2 ? placeNamed(piece, escape) : undefined));
  return (denied) => {
    let filled = "";
    for (const [index, piece] of pieces.entries()) {
      const place = places[index];
      if (place === undefined) filled += piece;
      else if (filled.length < escape.textMax) filled += place(denied);
    }
    return filled;
  };
}

const rawBytes = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

export function denialAnswerOf(onDeny: OnDeny = {}): (denied: Denied) => DenialAnswer {
  const fields = (onDeny.header ?? []).map(({ name, value }) =>
    ({ name, value: templateOf(value, HEADER) }));
  const contentType = onDeny.content_type ?? "";
  const body = onDeny.body === undefined ? undefined
                                         : templateOf(onDeny.body, escapeFor(contentType));
  return (denied) => {
    const filled: [string, string][] = fields.map(({ name, value }) => [name, value(denied)]);
    if (body === undefined) return { status: onDeny.status, fields: filled, body };
    filled.push(["Content-Type", contentType]);
    return { status: onDeny.status, fields: filled, body: rawBytes(body(denied)) };
  };
}
