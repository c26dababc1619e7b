// Says what a switch of a rule does before it does it, where a change holds, and what else decides.
// Pure.

import { exact, plural, share, span, visible } from "./format";
import * as json from "./json";
import type { Rates, Redis, Second } from "./message";
import { sumOf, timeOf } from "./series";
import { limitOf, reach } from "./words";

export type Stance = "enforced" | "shadow" | "off";
/** "part": enforced, for some of the keys. */
export type State = Stance | "part";

/** What each does, and the fields that make it so; null drops one. See patchOf(). */
export const STANCES: Record<Stance, Readonly<{
  label: string; question: string; then: string; patch: json.Fields;
}>> = {
  enforced: { label: "Enforce", question: "Enforce",
    then: "Such requests are denied from now on",
    patch: { enabled: null, shadow: null, enforce: null, rollout: null } },
  shadow: { label: "Shadow", question: "Put into shadow",
    then: "Such requests pass from now on, and are still counted",
    patch: { enabled: null, enforce: null, rollout: null, shadow: true } },
  off: { label: "Off", question: "Switch off",
    then: "It counts nothing and denies nobody from now on", patch: { enabled: false } },
};

/** The change that makes it so; a rule that is proportional stays that. */
export function patchOf(to: Stance, { enforce }: json.Fields): json.Fields {
  const { patch } = STANCES[to];
  return enforce === "proportional" ? { ...patch, enforce } : patch;
}

export function stanceOf(rule: json.Fields): State {
  const share = shareOf(rule);
  if (String(rule.enabled).toLowerCase() === "false") return "off";
  return share === "0%" ? "shadow" : share === "100%" ? "enforced" : "part";
}

/** Of its keys, how many it denies. One that is proportional denies a part of each. */
export function shareOf({ shadow, enforce }: json.Fields): string {
  if (String(shadow).toLowerCase() === "true") return "0%";
  return json.text(enforce)?.match(/^\d+%$/)?.[0] ?? "100%";
}

/** Which moves the rule by itself. */
export function isRollingOut({ rollout }: json.Fields): boolean {
  return json.isObject(rollout) && json.text(rollout.stopped) === undefined;
}

export function rolloutText(rule: json.Fields): string {
  const { steps, every, stop_if: stopIf, stopped } = json.object(rule.rollout);
  const where = `${shareOf(rule)} of the keys, in steps ${json.list(steps).join(", ")}`;
  return isRollingOut(rule) ? `${where}, each ${String(every)}; stops if ${String(stopIf)}`
    : `${where}; has stopped: ${String(stopped)}`;
}

/** The patch that starts a rollout of a rule that does not deny all of its keys. */
export function rolloutOf(rule: json.Fields): json.Fields {
  const from = shareOf(rule);
  const rest = [1, 10, 50, 100].filter((step) => step > parseInt(from, 10));
  const steps = [from, ...rest.map((step) => `${step}%`)];
  return { shadow: null, enforce: steps[1],
    rollout: { steps, every: "10m", stop_if: "denied_keys>0.1%", stopped: null } };
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
  const sum = sumOf(lately);
  const { requests, denied, shadow } = sum;
  const over = stance === "shadow" ? shadow : stance === "part" ? denied + shadow : denied;
  return `${exact(over)} of ${exact(requests)} requests of ` +
    timeOf(sum, `the last ${span(Math.ceil(now - begin(lately[0]!)))}`);
}

/** What counts of the past, if such requests pass from now on: of a part, what it denied. */
export function countedAs(from: State, to: Stance = "off"): State {
  return from === "part" && to !== "enforced" ? "enforced" : from;
}

export function switchSays(
  from: State, to: Stance, past: string | undefined, fleet: unknown, redis?: Redis,
): string {
  return [before(from, past), `${STANCES[to].then}, ${wouldHold(fleet, redis)}`].join(" ");
}

/**
 * Where a change would hold, until when, and where not. Before the first one nodes do not tell each
 * other of their files.
 */
export function wouldHold(fleet: unknown, redis: Redis | undefined): string {
  if (redis?.state === "down") return `${reach(redis).replace(", ", "")}.`;
  const isUnsaid = !json.isObject(fleet) && redis?.state === "up";
  if (isUnsaid) return "on the nodes that share its Redis and its file.";
  const { version, nodes } = json.object(fleet);
  const isKnown = version !== 0 || json.list(nodes).length < 2;
  const where = whereText(fleet) + (isKnown ? "" : ", on each whose file has the same rules");
  return [`${where}, ${lastsText(fleet)}.`, ...whereNot(fleet)].join(" ");
}

/** The server's words, and what holds in their place while Redis is away. */
export function limitsNow(words: string, rule: json.Fields, redis: Redis | undefined): string {
  if (redis?.state !== "down" || !words.includes("while Redis answers")) return words;
  const now = { allow: "all pass", deny: "all are denied" }[String(rule.on_store_failure)];
  return `${words}; it is away, so ${now ?? "each node admits its share alone"}`;
}

/** What the rule did to requests lately: what people should know before they change it. */
export function before(from: State, past: string | undefined): string {
  if (from === "off") return "It counts nothing now, so nobody knows what is over its limit.";
  if (!past) return "How many requests are over its limit is not known yet.";
  if (from === "part") return `${past} were over its limit.`;
  return `${past} ${from === "shadow" ? "would have been" : "were"} denied.`;
}

/** More have no names in a sentence. */
const NAMED_MAX = 4;

/** In the order of their names. */
function nodesOf(fleet: unknown): json.Fields[] {
  return json.objects(json.object(fleet).nodes)
    .sort((one, other) => String(one.node).localeCompare(String(other.node)));
}

/** Which nodes take changes: "on 1 of 2 nodes (web-1)", "on 31 nodes", "on this node". */
export function whereText(fleet: unknown): string {
  const nodes = nodesOf(fleet);
  if (nodes.length === 0) return "on this node";
  const runs = nodes.filter((node) => node.runs === true);
  const names = runs.length > NAMED_MAX ? "" : ` (${runs.map(({ node }) => node).join(", ")})`;
  const all = runs.length === nodes.length ? "" : `${runs.length} of `;
  return `on ${all}${plural(nodes.length, "node")}${names}`;
}

/** Where a rule runs: one of the file also where changes do not reach. */
export function runsText(fleet: unknown, origin: string): string {
  const where = whereText(fleet);
  if (origin === "request" || whereNot(fleet).length === 0) return where;
  return `on each node as its file says; changes by hand hold ${where}`;
}

/** How long a change holds there. */
export function lastsText(fleet: unknown): string {
  return json.isObject(fleet) ? "until a reload of other rules" : "until the next reload";
}

/** Those that do not, each with its reason. */
export function whereNot(fleet: unknown): string[] {
  return nodesOf(fleet).filter((node) => node.runs !== true)
    .map((node) => `Changes by hand do not reach ${json.text(node.node) ?? "a node"}: ` +
      `${json.text(node.why_not) ?? ""}.`);
}

/** Where a change holds that was made; `isInFile`: this node's file has it, too. */
export function holdText(fleet: unknown, isInFile = false): string {
  const lasts = !isInFile ? `, ${lastsText(fleet)}`
    : json.isObject(fleet) ? `, on all but this node ${lastsText(fleet)}` : "";
  return [`It holds ${whereText(fleet)}${lasts}.`, ...whereNot(fleet)].join(" ");
}

/** "carol at 192.0.2.1" */
export function authorOf({ origin, who, by, changes }: json.Fields): string {
  const person = [json.text(by), json.text(who)].filter(Boolean).join(" at ");
  if (person) return person;
  if (origin !== "file") return "a request";
  return json.list(changes).length > 0 ? "a reload" : "the start";
}

/** What fields decide that the server's words leave out, by their values. */
const DECIDING: Record<string, Record<string, string>> = {
  mode: { async: "Each node counts, and tells the others", strict: "Redis decides each request",
    leased: "Each node spends what Redis has charged ahead" },
  on_store_failure: { allow: "While Redis is away, all pass",
    deny: "While Redis is away, all are denied" },
  on_full: { deny: "While memory is full, new keys are denied" },
  overdraft: { true: "Costs count whether or not they fit" },
  missing: { shared: "Requests that lack a part of the key share one counter",
    deny: "Requests that lack a part of the key are denied",
    skip: "Requests that lack a part of the key are not its" },
};

/** What else decides, a sentence each. Without Redis, each rule is of this node alone. */
export function elseOf(written: json.Fields, fleet: unknown): string[] {
  const rule = json.isObject(fleet) ? written
    : { ...written, mode: undefined, on_store_failure: undefined };
  const nodes = json.list(json.object(fleet).nodes).length;
  const alone = nodes > 1 ? `Each of the ${nodes} nodes counts alone, so ${nodes} times the ` +
    "limit may pass" : "Each node counts alone";
  const surge = json.text(json.object(rule.on_surge).limit);
  const others = json.objects(rule.overrides)
    .map((each) => `${json.text(each.key) ?? ""}: ${limitOf(each)}`);
  return [
    rule.mode === "local" && alone,
    ...Object.entries(DECIDING).map(([field, words]) => words[String(rule[field])]),
    surge && `While traffic is unusual, the limit is ${surge.replace("%", " %")} of itself`,
    few("Denied uncounted", rule.deny), few("Passing uncounted", rule.allow),
    few("With limits of their own", others),
  ].flatMap((said) => said ? [`${said}.`] : []);
}

function few(what: string, keys: unknown): string {
  const all = typeof keys === "string" ? [keys] : json.list(keys).map(String);
  const more = all.length > NAMED_MAX ? ` and ${plural(all.length - NAMED_MAX, "other")}` : "";
  return all.length === 0 ? "" : `${what}: ${visible(all.slice(0, NAMED_MAX).join(", "))}${more}`;
}

/** Fewer samples say next to nothing, nor do any before each key has had its turn. */
const isKnown = ({ judged, share_max: most }: json.Fields): boolean =>
  (json.number(judged) ?? 0) >= 100 && (json.number(most) ?? 1) < 1;

/** Between which numbers exact logs would have denied, by a sample of requests. */
export function exactlyDenied({ requests = 0, denied = 0, shadow = 0 }: Rates,
                              misjudged: json.Fields): readonly [number, number] | undefined {
  const most = json.number(misjudged.share_max);
  if (most === undefined || !isKnown(misjudged) || shadow > 0) return undefined;
  return [Math.max(0, denied - requests * most), Math.min(requests, denied + requests * most)];
}

/** Of all requests, how many sliding windows misjudge; empty where nobody knows. */
export function misjudgedText(misjudged: json.Fields): string {
  if (!isKnown(misjudged)) return "";
  const { share_min: least, share_max: most, judged } = misjudged;
  const between = `${share(json.number(least))} to ${share(json.number(most))}`;
  return `; ${between} of requests misjudged, by ${plural(json.number(judged) ?? 0, "sample")}`;
}

/** How far over its limit a key may be now, as nodes share it; empty where none do. */
export function overText(most: unknown, percent: unknown, because: unknown): string {
  if (most === undefined) return "";
  const far = most === null ? "; nobody knows how far over a key is at this moment"
    : `; a key is at most ${percent} % over at this moment`;
  return typeof because === "string" ? `${far}, as ${because}` : far;
}
