// What rules look at, worked out of a request as the server does: src/rules/request.
//
// Texts are compared as bytes, so they are strings of bytes here: a character above U+007F is
// as many as it has in UTF-8.

import { parseAddress, type Address } from "./address.js";
import { decodePercent, pathReadings } from "./request_path.js";

export interface Facts {
  method: string;
  host: string;
  /** In the first of its readings. */
  path: string;
  otherPaths: string[];
  /** All values of that name. */
  header(name: string): string[];
  parameters(name: string): string[];
  cookies(name: string): string[];
  client: Address | undefined;
  country: string;
}

const encoder = new TextEncoder();

export function bytesOf(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text;
  return Array.from(encoder.encode(text), (byte) => String.fromCharCode(byte)).join("");
}

function pairOf(text: string): [string, string] {
  const equals = text.indexOf("=");
  return equals < 0 ? [text, ""] : [text.slice(0, equals), text.slice(equals + 1)];
}

// As a whole, and in the parts that servers find in it which end parameters at ';' (Perl, Rack
// before 3), or cookies at blanks (Python) or commas (Perl).
const withParts = (text: string, parts: string[]): string[] =>
  parts.length > 1 ? [text, ...parts] : [text];
const parametersIn = (query: string): string[] =>
  query.split("&").flatMap((text) => withParts(text, text.split(";")));
const COOKIE = /[^ \t,=]+[ \t]*=[ \t]*(?:"(?:[^"\\]|\\[^])*"|[^ \t,]*)/g;
const cookiesIn = (line: string): string[] => line.split(";")
  .flatMap((text) => withParts(text, text.match(COOKIE) ?? []))
  .filter((text) => text.includes("="));

const VALUES_MAX = 16;  // of one name, the last among them

function valuesOf(list: [string, string][], name: string): string[] {
  const values = list.filter(([other]) => other === name).map(([, value]) => value);
  const isMany = values.length > VALUES_MAX;
  return isMany ? [...values.slice(0, VALUES_MAX - 1), values.at(-1)!] : values;
}

function plainHost(host: string): string {
  const name = host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.split(":")[0]!;
  return name.replace(/\.$/, "").toLowerCase();
}

// Lines of one header come joined, and a list in one line is as good as they:
// src/rules/request/header_values.h.
const SINGLE = new Set(["date", "from", "host", "if-modified-since", "if-range", "referer",
  "if-unmodified-since", "user-agent"]);
const CREDENTIALS = new Set(["authorization", "proxy-authorization"]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;  // what can be a header's name

// One line may have commas: "Digest name=value, name=value". Another line begins otherwise.
const PARAMETER = String.raw`[^\s,="]+=(?:"(?:[^"\\]|\\.)*"|[^\s,="][^\s,"]*)`;
const PARAMETERS = new RegExp(String.raw`^\S+ +${PARAMETER}(?: *, *${PARAMETER})*$`);

const linesOf = (text: string): string[] => text.split(", ");
const trimBlanks = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, "");

function headerValues(name: string, text: string): string[] {
  if (SINGLE.has(name)) return [text];
  if (name === "cookie") return linesOf(text);
  if (CREDENTIALS.has(name)) return PARAMETERS.test(text) ? [text] : linesOf(text);
  return text.split(",").map(trimBlanks);
}

// What origins differ in, at an end of a value or of an item: src/rules/request/plain_value.h.
// U+FFFD stands for any byte that is not UTF-8.
const SPACE = String.raw`[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\ufffd]`;
const ODD = new RegExp(
  String.raw`[\0-\x08\x0a-\x1f\x7f]|(?:^|[ \t,;=])${SPACE}|${SPACE}(?:$|[ \t,;=])`);

/** Whether all origins read its headers alike. */
export const isPlain = ({ headers }: Request): boolean =>
  [...headers].every(([, value]) => !ODD.test(value));

// All spellings that some origin takes for one: cookie_value() of src/rules/request.
function cookieValue(sent: string): string {
  const isQuoted = sent.length > 1 && sent.startsWith('"');
  const byteOf = (_: string, octal: string | undefined, plain: string): string =>
    octal === undefined ? plain : String.fromCharCode(parseInt(octal, 8));
  const text = isQuoted
    ? sent.slice(1, -1).replace(/\\(?:([0-3][0-7]{2})|([^]))/g, byteOf) : sent;
  return trimBlanks(decodePercent(text, () => false));
}

const plus = (text: string): string => decodePercent(text.replace(/\+/g, " "), () => false);

/** Undefined: servers may read its path in too many ways. */
export function factsOf(request: Request, country: string): Facts | undefined {
  // By hand: URL resolves paths in its own way.
  const [, host, path, query] =
    /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/?#]*@)?([^/?#]*)([^?#]*)\??([^#]*)/i.exec(request.url) ?? [];
  const paths = pathReadings(bytesOf(path ?? "/"));
  if (paths === undefined) return undefined;
  let parameters: [string, string][] | undefined;
  let cookies: [string, string][] | undefined;
  return {
    method: request.method,
    host: plainHost(host ?? ""),
    path: paths[0]!,
    otherPaths: paths.slice(1),
    header: (name) => {
      const text = TOKEN.test(name) ? request.headers.get(name) : null;
      return text === null ? [] : headerValues(name.toLowerCase(), bytesOf(text));
    },
    parameters: (name) => {
      const decoded = (): [string, string][] =>
        parametersIn(bytesOf(query ?? "")).map(pairOf)
          .map(([key, value]) => [plus(key), plus(value)]);
      parameters ??= decoded();
      return valuesOf(parameters, name);
    },
    cookies: (name) => {
      const lines = linesOf(bytesOf(request.headers.get("cookie") ?? ""));
      cookies ??= lines.flatMap(cookiesIn).map(pairOf)
        .map(([key, value]) => [trimBlanks(key), cookieValue(trimBlanks(value))]);
      return valuesOf(cookies, name);
    },
    client: parseAddress(request.headers.get("cf-connecting-ip") ?? ""),
    country,
  };
}
