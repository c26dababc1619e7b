// Writes a JSON value as YAML that people edit. Pure. The server reads it back.

import { isObject } from "./json";

/** Words that YAML 1.1 reads as something other than text. */
const WORDS = /^(y|n|yes|no|on|off|true|false|null)$/i;
/** A word or a path, a length or a share, an address or a network. */
const PLAIN = /^([A-Za-z_/]([ :]?[\w./*@-])*|\d+(us|ms|s|m|h|d|%)|\d+(\.\d+){3}(\/\d+)?)$/;
/** Lists of short values stay on one line up to here. */
const LINE_MAX = 72;

export function toYaml(value: unknown): string {
  if (isObject(value) && Object.keys(value).length > 0) return fields(value, "");
  if (Array.isArray(value) && value.some(isObject)) return items(value, "");
  return `${inline(value)}\n`;
}

function fields(value: Record<string, unknown>, indent: string): string {
  return Object.entries(value)
    .map(([name, each]) => `${indent}${scalar(name)}:${nested(each, indent)}`)
    .join("");
}

/** What follows a colon. */
function nested(value: unknown, indent: string): string {
  const short = inline(value);
  const isFlat = !isObject(value) && !(Array.isArray(value) && value.some(isObject));
  if ((isFlat && short.length <= LINE_MAX) || isEmpty(value)) return ` ${short}\n`;
  if (Array.isArray(value)) return `\n${items(value, `${indent}  `)}`;
  return isObject(value) ? `\n${fields(value, `${indent}  `)}` : ` ${short}\n`;
}

function items(value: readonly unknown[], indent: string): string {
  return value.map((each) => {
    if (!isObject(each) || isEmpty(each)) return `${indent}- ${inline(each)}\n`;
    return `${indent}- ${fields(each, `${indent}  `).slice(indent.length + 2)}`;
  }).join("");
}

function isEmpty(value: unknown): boolean {
  return isObject(value) ? Object.keys(value).length === 0
    : Array.isArray(value) && value.length === 0;
}

function inline(value: unknown): string {
  if (typeof value === "string") return scalar(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value).map(([name, each]) => `${scalar(name)}: ${inline(each)}`)
    .join(", ")}}`;
}

function scalar(text: string): string {
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text);
}
