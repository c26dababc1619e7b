// Fleet: every node with its mode, its figures and its troubles; those that have died stay until
// somebody dismisses them.

import { badge, button, fill, h, keepFocus } from "./dom";
import { clock, count, share, span } from "./format";
import * as json from "./json";
import { feed } from "./live";
import type { Live, NodeLine } from "./message";
import { Tab } from "./tab";
import { type Level, ratesLine, redisState } from "./words";

/** A node that was not heard of for so long is silent: nodes tell each other each second. */
const SILENT_S = 3;
const KEPT = "weir-dismissed";

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
    const redis = redisState(last.redis, last.t);
    fill(this.redis, "Redis: ", badge(redis.value, redis.level), ` ${redis.text}`);
    const nodes = last.nodes.length > 0 ? shownNodes(last.nodes) : [alone(last)];
    fill(this.sum, `${whose(last, nodes)}: ${ratesLine(last.fleet)}, in the last second.`);
    keepFocus(this.nodes, () => fill(this.nodes, ...nodes.map((node) => this.card(node, last))));
  }

  private card(node: NodeLine, { t }: Live): HTMLElement {
    const { name, gone, here, requests, denied, degraded } = node;
    const age = node.age === undefined ? undefined : node.age + feed.age();
    const [level, word] = stateOf(node, age);
    const rate = requests ? (denied ?? 0) / requests : requests === 0 ? 0 : undefined;
    const seen = clock(Date.now() / 1000 - (age ?? NaN));
    const known: [string, string | undefined][] = [
      ["Mode", node.mode], ["Requests/s", count(requests)], ["Denied of them", share(rate)],
      ["Leases since start", node.leases === undefined ? undefined : count(node.leases)],
      ["Last beat", age === undefined ? undefined : `${span(age)} ago`],
    ];
    const facts: typeof known = gone === undefined ? known
      : [["Last seen", age === undefined ? undefined : `${seen}, ${span(age)} ago`]];
    return h("article", { class: `card node ${level}` },
      h("h2", {}, h("span", {}, name), badge(word, level),
        here ? badge("this page's node", "adaptive") : null),
      h("dl", {}, ...facts.flatMap(([fact, value]) =>
        value === undefined ? [] : [h("dt", {}, fact), h("dd", {}, value)])),
      degraded ? h("p", { class: "problem" }, trouble(node, t)) : null,
      gone === false ? h("p", { class: "note" }, "Redis was away: nobody knows how it is.") : null,
      gone === true ? h("p", { class: "problem" }, "It died, or does not reach Redis.") : null,
      gone === true ? button("Dismiss", () => this.dismiss(name),
        { class: "small", "aria-label": `Dismiss ${name}`, "data-focus": name }) : null);
  }

  private dismiss(name: string): void {
    keep([...dismissed(), name]);
    this.refresh();
  }
}

/** Those that are gone and that somebody has dismissed in this browser are left out. */
export function shownNodes(nodes: readonly NodeLine[]): NodeLine[] {
  const names = dismissed();
  const back = nodes.filter((node) => !node.gone && names.includes(node.name));
  if (back.length > 0) keep(names.filter((name) => !back.some((node) => node.name === name)));
  return nodes.filter((node) => !node.gone || !names.includes(node.name));
}

function dismissed(): string[] {
  try {
    return json.list(json.parse(localStorage.getItem(KEPT) ?? "")).map(String);
  } catch {
    return [];
  }
}

function keep(names: readonly string[]): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify(names));
  } catch {
    // A browser that keeps nothing shows them again.
  }
}

/** What a node that knows of no fleet says of itself. */
function alone(live: Live): NodeLine {
  const { requests, denied } = live.here;
  return { name: live.node ?? "this node", here: true, requests, denied, mode: "local" };
}

function stateOf(node: NodeLine, age: number | undefined): [Level, string] {
  if (node.gone === true) return ["bad", "gone"];
  if (node.gone === false) return ["warn", "not heard"];
  if (node.degraded) return ["bad", "degraded"];
  return (age ?? 0) > SILENT_S ? ["warn", "silent"] : ["good", "healthy"];
}

/** Whose sums the page shows. */
export function whose({ alone, nodeCount }: Live, nodes: readonly NodeLine[]): string {
  const gone = nodes.filter((node) => node.gone === true).length;
  const unheard = nodes.filter((node) => node.gone === false).length;
  if (alone && unheard > 0) return `This node alone of ${unheard + 1}`;
  const amount = nodeCount ?? Math.max(1, nodes.length - gone);
  return (amount === 1 ? "One node" : `${amount} nodes`) + (gone > 0 ? `, and ${gone} gone` : "");
}

function trouble({ degraded, since }: NodeLine, now: number): string {
  return since ? `${degraded}, for ${span(now - since)}` : degraded ?? "";
}
