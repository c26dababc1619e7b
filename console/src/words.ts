// Says in words what /v1/explain and the checks answer. Pure.

import { keyText } from "./denials";
import { count, exact, latency, plural, ratio, share, span, visible, wait } from "./format";
import * as json from "./json";
import type { Here, Live, Rates, Redis } from "./message";

export type Level = "good" | "warn" | "bad" | "calm";

export interface State {
  readonly level: Level;
  readonly text: string;
}

/** Words for a figure that is bad, one that is not good, and one that is. */
function graded(isBad: boolean, isWarning: boolean, words: readonly string[] = []): State {
  const at = isBad ? 0 : isWarning ? 1 : 2;
  return { level: (["bad", "warn", "good"] as const)[at]!, text: words[at] ?? "" };
}

export function deniedState({ requests, denied, denyRate = 0 }: Rates): State {
  if (!requests) return { level: "calm", text: "no traffic" };
  const text = `${count(denied)} of ${count(requests)}`;
  return { ...graded(denyRate >= 0.3, denyRate >= 0.05), text };
}

/** Adaptive rules begin to follow token_bucket above 3, unless the configuration says otherwise. */
export function burstState({ burstRatio: burst }: Rates): State {
  if (!burst) return { level: "calm", text: "no traffic" };
  return graded(burst > 3, burst >= 2, ["burst", "rising", "steady"]);
}

export function latencyState({ p50, p99 }: Pick<Here, "p50" | "p99">): State {
  if (p99 === undefined) return { level: "calm", text: "nothing timed" };
  return graded(p99 >= 0.05, p99 >= 0.005, ["slow", "sluggish", "fast"]
    .map((word) => p50 === undefined ? word : `${word}, p50 ${latency(p50)}`));
}

export function keysState({ keys, maxKeys }: Here): State {
  if (keys === undefined || !maxKeys) return { level: "calm", text: "in memory" };
  const [text, full] = [`room for ${count(maxKeys)}`, keys / maxKeys];
  return full < 0.75 ? { level: "calm", text } : { ...graded(full >= 0.95, true), text };
}

export function redisState(redis: Redis | undefined, now: number): State & { value: string } {
  if (!redis) return { level: "calm", value: "–", text: "unknown" };
  const since = redis.since === undefined ? "" : `for ${span(now - redis.since)}`;
  if (redis.state === "disabled") return { level: "calm", value: "none", text: "this node alone" };
  const why = [redis.reason, since].filter(Boolean).join(", ");
  if (redis.state === "down") return { level: "bad", value: "down", text: why || "disconnected" };
  if (redis.reason) return { level: "warn", value: "up", text: why };
  const text = [redis.mode, since].filter(Boolean).join(", ");
  return { level: "good", value: "up", text };
}

/** Where a block holds; nothing to say where there is no fleet. `told`: Redis has taken it. */
export function reach(redis: Redis | undefined, told = false): string {
  return told ? ", on all nodes that share its Redis"
    : redis?.state === "up" ? ", on this node, and on the others as soon as Redis answers"
    : redis?.state === "down" ? ", on this node alone until Redis is back" : "";
}

/** One sentence on the whole request. */
export function verdict(explained: json.Fields): State {
  const applies = json.objects(explained.applies);
  const denying = applies.filter((rule) => rule.would === "deny");
  const names = denying.map((rule) => `'${json.text(rule.rule) ?? ""}'`).join(" and ");
  const needs = needed(explained).join(" and ");
  if (needs) return { level: "warn", text: `Nobody can say without ${needs}.` };
  if (applies.length === 0) {
    return { level: "warn", text: "It would pass: no rule applies, so nothing limits it." };
  }
  if (denying.length > 0) return { level: "bad", text: `It would be denied, by ${names}.` };
  const unseen = applies.find((rule) => rule.would === "unknown");
  if (unseen) {
    return { level: "warn", text: `Nobody can say: '${json.text(unseen.rule) ?? ""}' limits ` +
      "requests under way, which are counted as they pass." };
  }
  const counting = applies.filter((rule) => rule.decided_by !== "not_counted").length;
  if (counting === 0) return { level: "warn", text: "It would pass: no rule counts it." };
  const dropping = applies.filter((rule) => dropsOf(rule) > 0)
    .map((rule) => `'${json.text(rule.rule) ?? ""}' denies ${dropsOf(rule)} % of such requests`);
  if (dropping.length > 0) return { level: "warn", text: `It may pass: ${dropping.join(", ")}.` };
  const rules = plural(counting, "rule applies", "rules apply");
  return { level: "good", text: `It would be allowed: ${rules}, and none denies it.` };
}

const NEEDS: Record<string, string> = { client: "the client's address", key: "the key" };

/** What the description lacks. */
function needed(explained: json.Fields): string[] {
  const needs = json.objects(explained.unknown).map((one) => json.text(one.needs) ?? "more");
  return [...new Set(needs)].map((name) => NEEDS[name] ?? `the ${name}`);
}

/** The share of a key's requests, in per cent, that a proportional rule denies now. */
export function dropsOf(rule: json.Fields): number {
  return json.number(rule.drops_percent) ?? 0;
}

/** Why one rule answers as it does, a sentence each. */
export function because(rule: json.Fields, live?: Live): string[] {
  const drops = dropsOf(rule) === 0 ? [] : [`The key was offered ${
    exact(json.number(rule.offered) ?? 0)} in a window, so ${dropsOf(rule)} % of that is denied.`];
  const said = [decision(rule, live), ...drops, ...limits(rule), ...ownTerms(rule),
    ...fields(rule), ...missing(rule), ...following(rule)];
  if (rule.shadow === true) {
    const percent = json.number(rule.enforce_percent);
    const why = percent ? `The rule denies ${percent} % of its keys, and this is not one of them`
      : "The rule is in shadow";
    said.push(rule.over === true ? `${why}: it would deny this, and lets it pass.` : `${why}.`);
  }
  const surge = json.object(rule.on_surge);
  if (surge.active === true) {
    const percent = String(surge.limit_percent);
    said.push(`Traffic is unusual now, so the limit is ${percent} % of itself.`);
  }
  return [...said, ...held(rule), ...scope(rule, live)];
}

/** What the key has in place of the rule's own limits. */
function ownTerms(rule: json.Fields): string[] {
  if (rule.override === true) return ["An override of the rule gives the key its limit."];
  if (rule.tenant === undefined) return [];
  const { plan, limit, anchor } = json.object(rule.tenant);
  const has = [
    limit === undefined ? [] : "a limit of its own",
    plan === undefined ? [] : `the plan '${visible(String(plan))}'`,
    anchor === undefined ? [] : `months that begin on day ${String(anchor)}`,
  ].flat();
  return [`By the table of tenants the key has ${has.join(", and ")}.`];
}

/** What reservations hold of the key. */
function held(rule: json.Fields): string[] {
  const { units, holds, lapses_after: lapses } = json.object(rule.held);
  const count = json.number(holds) ?? 0;
  if (count === 0) return [];
  const by = plural(count, "reservation", "reservations");
  const first = wait(json.number(lapses) ?? 0);
  if (isOfSlots(rule)) {
    return [`${plural(count, "slot is", "slots are")} taken; the first ends in ${first}.`];
  }
  return [`Of the limit ${exact(json.number(units) ?? 0)} are held for work under way, by ${by}; ` +
    `the first lapses in ${first}.`];
}

/** One answer may have come too late. */
function noAnswer(live: Live | undefined): string {
  return live?.redis?.state === "down" ? "Redis is away" : "Redis has not answered this in time";
}

/** Of which nodes the counter is. */
function scope(rule: json.Fields, live: Live | undefined): string[] {
  if (rule.scope === undefined) return [];
  const mode = String(rule.mode);
  if (rule.scope === "fleet") {
    const ahead = mode === "leased" ? " What nodes hold ahead of need counts as spent." : "";
    const others = mode !== live?.redis?.mode ? [] : live.nodes
      .filter((node) => node.mode && node.mode !== mode)
      .map((node) => `${node.title ?? node.name} ${node.mode}`);
    const mixed = others.length > 0
      ? ` Unless the rule names that mode, others count it in theirs: ${others.join(", ")}.` : "";
    return [`The fleet shares the counter, in mode ${mode}.${ahead}${mixed}`];
  }
  return [rule.on_store_failure === undefined
    ? "This node alone counts here: each node of the fleet has a counter of its own."
    : `${noAnswer(live)}, so this node counts alone, by its share of the limit ` +
      `(on_store_failure: ${String(rule.on_store_failure)}).`];
}

function decision(rule: json.Fields, live: Live | undefined): string {
  switch (rule.decided_by) {
    case "blocked": return `The key is blocked for another ${wait(json.number(rule.retry_after))}.`;
    case "deny_list": return "The key is on the rule's deny list.";
    case "missing_key": return "The request lacks a part of the key, and the rule denies such.";
    case "not_counted": return rule.would === "unknown"
      ? `At most ${exact(json.number(rule.limit) ?? 0)} may be under way at once. Nothing here ` +
        "sees how many are."
      : `The rule does not count this: ${whyNot(json.text(rule.because))}.`;
    case "store_failure": return `${noAnswer(live)}, so the rule ${
      rule.on_store_failure === "deny" ? "denies" : "allows"} this ` +
      `(on_store_failure: ${String(rule.on_store_failure)}).`;
    default: return counter(rule);
  }
}

function missing(rule: json.Fields): string[] {
  return json.objects(rule.missing).map((lacking) => {
    const part = json.text(lacking.part) ?? "a part";
    return `It lacks ${part} of the key: ${json.text(lacking.because) ?? "unknown why"}.`;
  });
}

function counter(rule: json.Fields): string {
  const remaining = json.number(rule.remaining) ?? 0;
  const limit = json.number(rule.limit) ?? 0;
  const window = json.text(rule.calendar) ?? span(json.number(rule.window_seconds));
  const cost = json.number(rule.cost) ?? 1;
  const refill = json.number(rule.per_window);
  const left = refill === undefined
    ? `${exact(remaining)} of ${exact(limit)} per ${window} left`
    : `${exact(remaining)} of a burst of ${exact(limit)} left and gets ${exact(refill)} per ` +
      window;
  const key = keyText({ key: rule.key });
  const name = key ? `The counter of key '${key}'` : "The one counter of the rule";
  if (isOfSlots(rule)) {
    const fits = rule.would !== "deny" && rule.over !== true;
    return `${name} has ${exact(remaining)} of ${exact(limit)} slots left${
      fits ? "" : `; ${again(rule)}`}.`;
  }
  if (rule.would !== "deny" && rule.over !== true) {
    return `${name} has ${left}, so a cost of ${exact(cost)} fits.`;
  }
  const next = limit - remaining + 1;
  const which = cost === 1 && remaining === 0 && limit > 0
    ? ` This would be number ${exact(next)}` : ` A cost of ${exact(cost)} would be too much`;
  return `${name} has ${left}.${which}; ${again(rule)}.`;
}

/** Where there are several, all of them. */
function limits(rule: json.Fields): string[] {
  const all = json.objects(rule.limits).map(({ remaining, limit, calendar, window_seconds }) =>
    `${exact(json.number(remaining) ?? 0)} of ${
      limitOf({ limit, window: calendar ?? window_seconds })}`);
  return all.length > 0 ? [`All of its limits hold: ${all.join(" and ")} left.`] : [];
}

export function again(rule: json.Fields): string {
  const after = json.number(rule.retry_after);
  return after === undefined ? "waiting does not help" : `it fits again in ${wait(after)}`;
}

/** What clients read in the answer, where two fields say two times. */
function fields(rule: json.Fields): string[] {
  const after = json.number(rule.retry_after);
  const reset = json.number(rule.reset_after);
  if (rule.would !== "deny" || !after || !reset || wait(after) === wait(reset)) return [];
  return [`Retry-After and t of RateLimit are when something fits again, ${wait(after)}; ` +
    `X-RateLimit-Reset is when all of the limit is back, ${wait(reset)}.`];
}

/** Whether callers take slots of it, and give them back. */
function isOfSlots(rule: json.Fields): boolean {
  return rule.of === "concurrency" && rule.held !== undefined;
}

function following(rule: json.Fields): string[] {
  if (isOfSlots(rule)) return [];
  if (rule.algorithm !== "adaptive") {
    return rule.algorithm ? [`The algorithm is ${String(rule.algorithm)}.`] : [];
  }
  const now = json.object(rule.following);
  const active = json.text(now.algorithm);
  const ago = json.number(now.seconds_ago);
  const cause = json.text(now.because);
  if (ago === undefined) return [`The rule is adaptive; it follows ${active} and never switched.`];
  return [`The rule is adaptive; it switched to ${active} ${span(ago)} ago` +
    (cause ? `, because of ${cause}.` : ".")];
}

/** Conditions of a rule's match, as explain names them. */
const CONDITIONS: Record<string, string> = {
  method: "its method is another", path: "its path is another", host: "its host is another",
  path_regex: "its path does not fit the expression", headers: "its headers do not fit",
  header: "its headers do not fit", query: "its query does not fit",
  cookies: "its cookies do not fit", client: "the client is of another network",
  country: "the client is of another country", claims: "its token does not fit",
  active: "it is not in force at this hour",
};

export function whyNot(reason: string | undefined): string {
  if (!reason) return "it does not apply";
  return CONDITIONS[reason] ?? (/\s/.test(reason) ? reason : `its ${reason} does not fit`);
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/**
 * The page of a node, as a link for readers of the page at this host; undefined: they cannot get
 * there, or the node does not say where it is. Others may have written the address.
 */
export function consolePage(address: string | undefined, host: string): string | undefined {
  try {
    const { protocol, hostname, href } = new URL(address ?? "");
    const isWeb = protocol === "http:" || protocol === "https:";
    return isWeb && (LOOPBACK.test(host) || !LOOPBACK.test(hostname)) ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Where a rule names none, its windows say which. What is under way at once has none. */
export function algorithmOf(rule: json.Fields): string | undefined {
  if (rule.of === "concurrency") return undefined;
  const byCalendar = ["day", "week", "month", "year"].includes(json.text(rule.window) ?? "");
  return json.text(rule.algorithm) ?? (byCalendar ? "fixed_window" : "sliding_window");
}

/** A rule's limits, as a cell of a table. */
export function limitOf(rule: json.Fields): string {
  const limit = json.number(rule.limit);
  if (limit === undefined) return json.list(rule.tiers).length > 0 ? "by tier" : "–";
  if (rule.of === "concurrency") return `${exact(limit)} at once`;
  const seconds = Number(rule.window ?? NaN);
  const window = Number.isFinite(seconds) ? span(seconds) : json.text(rule.window) ?? "–";
  const more = json.list(rule.more_limits).length;
  return `${exact(limit)} per ${window}${more > 0 ? ` and ${more} more` : ""}`;
}

export function ratesLine(rates: Rates): string {
  return `${count(rates.requests)} requests/s, ${share(rates.denyRate)} denied, ` +
    `burst ratio ${ratio(rates.burstRatio)}`;
}
