// Says what a switch of a rule does before it does it, and where a change holds. Pure.

import { exact, plural, span } from "./format";
import * as json from "./json";
import type { Second } from "./message";
import { sumOf } from "./series";

export type Stance = "enforced" | "shadow" | "off";
/** "part": enforced, for some of the keys. */
export type State = Stance | "part";

/** What each does, and the fields that make it so; null drops one. */
export const STANCES: Record<Stance, Readonly<{
  label: string; question: string; then: string; patch: json.Fields;
}>> = {
  enforced: { label: "Enforce", question: "Enforce",
    then: "Such requests are denied from now on",
    patch: { enabled: null, shadow: null, enforce: null } },
  shadow: { label: "Shadow", question: "Put into shadow",
    then: "Such requests pass from now on, and are still counted",
    patch: { enabled: null, enforce: null, shadow: true } },
  off: { label: "Off", question: "Switch off",
    then: "It counts nothing and denies nobody from now on", patch: { enabled: false } },
};

export function stanceOf({ enabled, shadow, enforce = "100%" }: json.Fields): State {
  if (enabled === false) return "off";
  if (shadow === true || enforce === "0%") return "shadow";
  return enforce === "100%" ? "enforced" : "part";
}

/** Clocks of nodes agree so well. */
const SLACK_S = 2;

/** "512 of 4,000 requests of the last 58 min": of the steps that began in that time. */
export function pastOf(
  points: readonly Second[], limit: number, now: number, stance: State,
): string | undefined {
  const begin = ({ t, seconds }: Second): number => t - seconds;
  const lately = points.filter((point) => begin(point) > now - limit - SLACK_S);
  if (lately.length === 0) return undefined;
  const { requests, denied = 0, shadow = 0 } = sumOf(lately);
  const over = stance === "shadow" ? shadow : stance === "part" ? denied + shadow : denied;
  return `${exact(over)} of ${exact(requests ?? 0)} requests of the last ` +
    span(Math.ceil(now - begin(lately[0]!)));
}

export function switchSays(
  from: State, to: Stance, past: string | undefined, fleet: unknown,
): string {
  const then = `${STANCES[to].then}, ${whereText(fleet)}, ${lastsText(fleet)}.`;
  return [before(from, past), then, ...whereNot(fleet)].join(" ");
}

function before(from: State, past: string | undefined): string {
  if (from === "off") return "It counts nothing now, so nobody knows what is over its limit.";
  if (!past) return "How many requests are over its limit is not known yet.";
  if (from === "part") return `${past} were over its limit.`;
  return `${past} ${from === "shadow" ? "would have been" : "were"} denied.`;
}

/** More have no names in a sentence. */
const NAMED_MAX = 4;

/** Which nodes take changes: "on 1 of 2 nodes (web-1)", "on 31 nodes", "on this node". */
export function whereText(fleet: unknown): string {
  const nodes = json.objects(json.object(fleet).nodes);
  if (nodes.length === 0) return "on this node";
  const runs = nodes.filter((node) => node.runs === true);
  const names = runs.length > NAMED_MAX ? "" : ` (${runs.map(({ node }) => node).join(", ")})`;
  const all = runs.length === nodes.length ? "" : `${runs.length} of `;
  return `on ${all}${plural(nodes.length, "node")}${names}`;
}

/** How long a change holds there. */
export function lastsText(fleet: unknown): string {
  return json.isObject(fleet) ? "until a reload of other rules" : "until the next reload";
}

/** Those that do not, each with its reason. */
export function whereNot(fleet: unknown): string[] {
  return json.objects(json.object(fleet).nodes).filter((node) => node.runs !== true)
    .map((node) => `Not on ${json.text(node.node) ?? "a node"}: ${json.text(node.why_not) ?? ""}.`);
}

/** Where a change holds that was made. */
export function holdText(fleet: unknown): string {
  return [`It holds ${whereText(fleet)}, ${lastsText(fleet)}.`, ...whereNot(fleet)].join(" ");
}

/** "carol at 192.0.2.1" */
export function authorOf({ origin, who, by, changes }: json.Fields): string {
  const person = [json.text(by), json.text(who)].filter(Boolean).join(" at ");
  if (person) return person;
  if (origin !== "file") return "a request";
  return json.list(changes).length > 0 ? "a reload" : "the start";
}
