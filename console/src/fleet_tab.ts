// Fleet: every node with its mode, its figures and its troubles.

import { badge, fill, h } from "./dom";
import { count, share, span } from "./format";
import { feed } from "./live";
import type { Live, NodeLine } from "./message";
import { Tab } from "./tab";
import { ratesLine, redisState } from "./words";

/** A node that was not heard of for so long is late: nodes tell each other each second. */
const LATE_S = 5;

export class FleetTab extends Tab {
  private readonly sum = h("p", { class: "lead" });
  private readonly redis = h("p", { class: "redis" });
  private readonly nodes = h("div", { class: "nodes" });

  protected build(): void {
    this.append(h("h1", {}, "Fleet"), this.sum, this.redis, this.nodes);
  }

  protected override refresh(): void {
    const { last } = feed;
    if (!last) return;
    const amount = last.nodeCount ?? Math.max(1, last.nodes.length);
    fill(this.sum, `${amount === 1 ? "One node" : `${amount} nodes`} in all: ` +
      `${ratesLine(last.fleet)}.`);
    const redis = redisState(last.redis, last.t);
    fill(this.redis, "Redis: ", badge(redis.value, redis.level), ` ${redis.text}`);
    const nodes = last.nodes.length > 0 ? last.nodes : [alone(last)];
    fill(this.nodes, ...nodes.map((node) => card(node, last.t)));
  }
}

/** What a node that knows of no fleet says of itself. */
function alone(live: Live): NodeLine {
  const { requests, denied } = live.here;
  return { name: live.node ?? "this node", here: true, requests, denied, mode: "local" };
}

function card(node: NodeLine, now: number): HTMLElement {
  const isLate = (node.age ?? 0) > LATE_S;
  const level = node.degraded ? "bad" : isLate ? "warn" : "good";
  const word = node.degraded ? "degraded" : isLate ? "late" : "healthy";
  const { requests, denied } = node;
  const rate = requests ? (denied ?? 0) / requests : requests === 0 ? 0 : undefined;
  const beat = node.age === undefined ? undefined : `${span(node.age)} ago`;
  const leases = node.leases === undefined ? undefined : count(node.leases);
  const facts: [string, string | undefined][] = [
    ["Mode", node.mode], ["Requests/s", count(requests)], ["Denied", share(rate)],
    ["Leases requested", leases], ["Last beat", beat],
  ];
  return h("article", { class: `card node ${level}` },
    h("h2", {}, h("span", {}, node.name), badge(word, level),
      node.here ? badge("this page's node", "adaptive") : null),
    h("dl", {}, ...facts.flatMap(([name, value]) =>
      value === undefined ? [] : [h("dt", {}, name), h("dd", {}, value)])),
    node.degraded ? h("p", { class: "problem" }, trouble(node, now)) : null);
}

function trouble({ degraded, since }: NodeLine, now: number): string {
  return since ? `${degraded}, for ${span(now - since)}` : degraded ?? "";
}
