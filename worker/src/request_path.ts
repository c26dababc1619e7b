// What servers take a path for: src/rules/request/request_path.h.

const READINGS_MAX = 4;

// Which steps in which order, and whose they are: src/rules/request/request_path.cc.
const ORDERS = ["DCR", "CDR", "DR", "dR", "dRDR", "DRCR", "DRQCDR", "DM", "DBR", "HBdrM", "HBdrDR",
  "CdrM"];

export const decodePercent = (text: string, keep: (byte: string) => boolean): string =>
  text.replace(/%([0-9a-f]{2})/gi, (encoded, digits: string) => {
    const byte = String.fromCharCode(parseInt(digits, 16));
    return keep(byte) ? encoded.toUpperCase() : byte;
  });

const mergeSlashes = (path: string): string => path.replace(/\/+/g, "/");

function resolve(path: string): string {
  const segments = path.slice(1).split("/");
  const isFolder = ["", ".", ".."].includes(segments.at(-1)!);
  if (segments.at(-1) === "") segments.pop();
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  return kept.map((segment) => `/${segment}`).join("") + (isFolder ? "/" : "");
}

const decode = (path: string): string => decodePercent(path, (byte) => byte === "\0");

const STEPS: Record<string, (path: string) => string> = {
  D: decode,
  d: (path) => decodePercent(path, (byte) => "\0/\\".includes(byte)),
  C: (path) => path.replace(/;[^/]*/g, ""),
  Q: (path) => path.replace(/(?:[?#]|%00).*/s, ""),
  R: (path) => resolve(mergeSlashes(path)),
  r: resolve,
  M: mergeSlashes,
  B: (path) => path.replaceAll("\\", "/"),
  H: (path) => path.replace(/^[/\\]{2,}[^/\\]*/, "") || "/",
};

const isNormal = (path: string): boolean =>
  /^(?:\/(?!\/|\.{1,2}(?:\/|$))[^%;\\?#/]*)+$/.test(path);

const slashesIn = (path: string): number => path.split("/").length;

/**
 * Each reading once, the one that rules are written for first. Texts are compared as bytes, so
 * `path` is a string of bytes, without its query. Undefined: there are too many.
 */
export function pathReadings(path: string): string[] | undefined {
  if (isNormal(path)) return [path];
  const begun = path.startsWith("/") ? path : `/${path}`;
  const decoded = decode(begun);
  if (isNormal(decoded) && slashesIn(decoded) === slashesIn(begun)) return [decoded];
  const readings = new Set(ORDERS.map((order) =>
    [...order].reduce((text, step) => STEPS[step]!(text), begun)));
  return readings.size > READINGS_MAX ? undefined : [...readings];
}
