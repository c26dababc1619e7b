// A row of the table of tenants, as pages tell it and as people fill it in. Pure.
// Tested by test/tenants.test.mjs.

import { quoted } from "./denials";
import { visible } from "./format";
import * as json from "./json";
import type { Live } from "./message";
import { because, limitOf } from "./words";

/** A plan, or a limit with perhaps a window; perhaps the day on which months begin. */
export const ROW = ["plan", "limit", "window", "anchor"] as const;
export type Row = { readonly [name in (typeof ROW)[number]]?: unknown };

/** Of an answer. */
export function rowOf(body: json.Fields): Row {
  return Object.fromEntries(ROW.flatMap((name) =>
    body[name] === undefined ? [] : [[name, body[name]]]));
}

/** What people have typed, as the server reads it. It says what is wrong with any of it. */
export function typedRow(typed: Readonly<Record<(typeof ROW)[number], string>>): Row {
  return Object.fromEntries(ROW.flatMap((name) => {
    const text = name === "plan" ? typed.plan : typed[name].trim();
    if (text === "" || typed.plan && name !== "plan" && name !== "anchor") return [];
    return [[name, name !== "plan" && /^\d+(\.\d+)?$/.test(text) ? Number(text) : text]];
  }));
}

const UNITS = [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1], ["ms", 0.001]] as const;

/** As people type it: 90m of 5400 seconds. */
export function typedWindow(window: unknown): string {
  const seconds = json.number(window);
  if (seconds === undefined) return json.text(window) ?? "";
  const isWhole = (size: number): boolean => Math.abs(seconds / size % 1) < 1e-9;
  const [unit, size] = UNITS.find(([, length]) => seconds >= length && isWhole(length)) ?? ["s", 1];
  return `${Math.round(seconds / size * 1e6) / 1e6}${unit}`;
}

/** undefined: the key is not in the table. */
export function rowText(row: Row | undefined): string {
  if (row === undefined) return "no row: its rules' own limits";
  const { plan, limit, window, anchor } = row;
  const what = plan !== undefined ? `the plan '${visible(String(plan))}'`
    : limit === undefined ? "neither a plan nor a limit"
    : json.number(limit) === undefined ? `the limit '${visible(String(limit))}'`
    : `a limit of ${limitOf({ limit, window: typedWindow(window) || "window of the rule" })}`;
  return what + (anchor === undefined ? "" : `, months from day ${visible(String(anchor))}`);
}

/** `own`, if any, and those that rules know. */
export function plansOf(rules: readonly json.Fields[], own = ""): string[] {
  const tiers = rules.flatMap(({ tiers: each }) => json.objects(each))
    .flatMap(({ name }) => json.text(name) ?? []);
  return [...new Set([own, ...tiers.sort()])].filter(Boolean);
}

/** What a rule makes of the row, by what explain says of the key there. */
export function countsBy(
  rule: json.Fields, row: Row | undefined, applied: json.Fields, live?: Live,
): string {
  if (applied.decided_by !== "counter") return because(applied, live)[0] ?? "";
  const { of, limits } = applied;
  const all = json.objects(limits);
  const text = (all.length > 0 ? all : [applied]).map((one) => limitOf({ of,
    limit: one.per_window ?? one.limit, window: one.calendar ?? one.window_seconds }));
  const plan = json.text(row?.plan);
  const knows = plansOf([rule]).includes(plan ?? "");
  const why = applied.override === true ? ", by an override of the rule, which comes first"
    : plan === undefined || knows ? "" : ", its own: it has no tier of that name";
  return `${text.join(" and ")}${why}.`;
}

/** The change as a command. */
export function curlOfChange(
  method: string, origin: string, etag: string, body: json.Fields, isGuarded: boolean,
): string {
  const token = isGuarded ? " -H \"Authorization: Bearer $WEIR_ADMIN_TOKEN\"" : "";
  const match = etag ? ` -H ${quoted(`If-Match: "${etag}"`)}` : "";
  return `curl -X ${method} ${quoted(`${origin}/admin/tenant`)}${token}${match} -d ${
    quoted(JSON.stringify(body))}`;
}
