// Fleet: every node with its mode, its figures and its troubles, the worst first: cards, or a table
// where there are many. Those that have died stay until somebody dismisses them.

import { type Column, DataTable, inOrder } from "./data_table";
import { badge, button, fill, h, renew } from "./dom";
import { clock, count, latency, share, span } from "./format";
import * as json from "./json";
import { keep, kept } from "./kept";
import { feed } from "./live";
import type { Live, NodeLine } from "./message";
import { Tab } from "./tab";
import { type Level, consolePage, ratesLine, redisState } from "./words";

/** A node that was not heard of for so long is silent: nodes tell each other each second. */
const SILENT_S = 3;
const KEPT = "weir-dismissed";
/** More cards than this nobody compares. */
const CARDS_MAX = 12;
const ALONE = "This node is alone. Nodes with the same --redis share their limits.";

/** Of each node, as far as it is known. */
const FACTS: Column<NodeLine>[] = [
  { title: "Mode", by: ({ mode }) => mode, cell: ({ mode }) => mode },
  figure("Requests/s", ({ requests }) => requests, count),
  figure("Denied of them", deniedOf, share),
  figure("Leases since start", ({ leases }) => leases, count),
  figure("Memory", ({ memory }) => memory, (size) => `${count(size)}B`),
  figure("Redis answers in", ({ redisS }) => feed.last?.redis?.state === "up" ? redisS : undefined,
    latency),
  { title: "Version", by: ({ version }) => version, cell: ({ version }) => version },
  figure("Last heard", heardAgo, (ago) =>
    `${ago > SILENT_S ? `${clock(feed.now() - ago)}, ` : ""}${span(ago)} ago`),
];

function figure(
  title: string, by: (node: NodeLine) => number | undefined, text: (value: number) => string,
): Column<NodeLine> {
  return { title, by, figures: true, cell: (node) => {
    const value = by(node);
    return value === undefined ? undefined : text(value);
  } };
}

export class FleetTab extends Tab {
  private readonly sum = h("p", { class: "lead" });
  private readonly redis = h("p", { class: "redis" });
  private readonly nodes = h("div", { class: "nodes" });
  private readonly table = new DataTable<NodeLine>({
    caption: "Nodes", id: ({ name }) => name, empty: ALONE,
    sort: { title: "State", falls: true },
    text: (node) => [node.title, node.name, node.address, node.version, node.mode].join(" "),
    columns: [
      { title: "State", by: (node) => stateOf(node).rank,
        cell: (node) => h("div", { class: "state" },
          badge(stateOf(node).word, stateOf(node).level), this.trouble(node)) },
      { title: "Node", by: nameOf, cell: named },
      ...FACTS,
    ],
  });
  private readonly many = h("section", { class: "card", hidden: true }, this.table.element);

  protected build(): void {
    this.append(h("h1", {}, "Fleet"), this.sum, this.redis, this.nodes, this.many);
  }

  protected override refresh(): void {
    const { last } = feed;
    if (!last) return;
    const redis = redisState(last.redis, last.t);
    fill(this.redis, "Redis: ", badge(redis.value, redis.level), ` ${redis.text}`);
    const nodes = shownNodes(last.nodes);
    const sum = `${whose(last, nodes)}: ${ratesLine(last.fleet)}, in the last second.`;
    fill(this.sum, last.redis?.state === "disabled" ? `${sum} ${ALONE}` : sum);
    const isMany = nodes.length > CARDS_MAX;
    this.many.hidden = !isMany;
    this.nodes.hidden = isMany;
    const sorted = inOrder(inOrder(nodes, nameOf, false), (node) => stateOf(node).rank, true);
    if (isMany) this.table.show(sorted);
    else this.showCards(sorted);
  }

  /** Those that were there stay, so that nobody loses a click or the focus. */
  private showCards(nodes: readonly NodeLine[]): void {
    const made = nodes.map((node) => this.card(node));
    const old = [...this.nodes.children];
    const isSame = made.length === old.length && made.every(({ id }, at) => old[at]!.id === id);
    if (isSame) made.forEach((card, at) => renew(old[at]!, card));
    else fill(this.nodes, ...made);
  }

  private card(node: NodeLine): HTMLElement {
    const facts = [...FACTS.slice(0, -1),
      { title: "Console", cell: ({ address }: NodeLine) => address?.replace("http://", "") },
      ...FACTS.slice(-1)];
    const { word, level } = stateOf(node);
    return h("article", { class: `card node ${level}`, id: `node-${node.name}` },
      h("h2", {}, named(node), badge(word, level)),
      h("dl", {}, ...facts.flatMap(({ title, cell }) => {
        const value = cell(node);
        return value === undefined ? [] : [h("div", {}, h("dt", {}, title), h("dd", {}, value))];
      })),
      this.trouble(node));
  }

  /** What is wrong, and what to do. */
  private trouble(node: NodeLine): HTMLElement | null {
    const { name, gone, degraded, apart, since, clockAhead: ahead } = node;
    if (gone === false) {
      return h("p", { class: "note" }, feed.last?.redis?.state === "down"
        ? "Redis is away: nobody knows how it is."
        : "It was not heard. In some seconds it is known whether it is gone.");
    }
    if (gone !== true) {
      const ago = since ? `, for ${span((feed.last?.t ?? since) - since)}` : "";
      const how = ahead && `${span(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} Redis's`;
      const whys = [degraded && degraded + ago,
        apart && `Changes by hand do not reach it: ${apart}.`,
        how && `It finds its clock ${how}. Its page and the hours of its rules go by its clock.`,
      ].filter(Boolean);
      return h("div", {}, ...whys.map((why) => h("p", { class: "problem" }, why)));
    }
    return h("div", {}, h("p", { class: "problem" }, "It died, or does not reach Redis."),
      button("Dismiss", () => this.dismiss(name),
        { class: "small", "aria-label": `Dismiss ${nameOf(node)}` }));
  }

  private dismiss(name: string): void {
    keep(KEPT, JSON.stringify([...dismissed(), name]));
    this.refresh();
  }
}

/** What people call it, perhaps as a link to its page, and its id, like no other's. */
function named(node: NodeLine): HTMLElement {
  const page = node.here || node.gone ? undefined : consolePage(node.address, location.hostname);
  const title = nameOf(node);
  return h("span", { class: "name" },
    page ? h("a", { href: `${page}#/fleet`, rel: "noreferrer" }, title) : title,
    node.title ? h("code", { class: "id" }, node.name) : null,
    node.here ? badge("this page's node", "adaptive") : null);
}

export function nameOf({ title, name }: NodeLine): string {
  return title ?? name;
}

function deniedOf({ requests, denied }: NodeLine): number | undefined {
  return requests ? (denied ?? 0) / requests : requests === 0 ? 0 : undefined;
}

function ageOf({ age }: NodeLine): number | undefined {
  return age === undefined ? undefined : age + feed.age();
}

/** The age of one that is silent is of the fleet's second, which is some seconds old. */
function heardAgo(node: NodeLine): number | undefined {
  const { t, fleetT } = feed.last!;
  return node.age && node.gone === undefined ? ageOf(node)! + t - fleetT : ageOf(node);
}

/** Those that are gone and that somebody has dismissed in this browser are left out. */
export function shownNodes(nodes: readonly NodeLine[]): NodeLine[] {
  const names = dismissed();
  const back = nodes.filter((node) => !node.gone && names.includes(node.name));
  const left = names.filter((name) => !back.some((node) => node.name === name));
  if (back.length > 0) keep(KEPT, JSON.stringify(left));
  return nodes.filter((node) => !node.gone || !names.includes(node.name));
}

function dismissed(): string[] {
  return json.list(json.parse(kept(KEPT))).map(String);
}

/** The worse, the higher its rank. */
function stateOf(node: NodeLine): { rank: number; level: Level; word: string } {
  if (node.gone === true) return { rank: 5, level: "bad", word: "gone" };
  if (node.degraded) return { rank: 4, level: "bad", word: "degraded" };
  if (node.gone === false) return { rank: 3, level: "warn", word: "not heard" };
  if (node.apart) return { rank: 2, level: "warn", word: "other rules" };
  if (node.clockAhead) return { rank: 2, level: "warn", word: "other clock" };
  if (feed.isOld()) return { rank: 1, level: "warn", word: "not known" };  // the page is silent
  return (ageOf(node) ?? 0) > SILENT_S ? { rank: 1, level: "warn", word: "silent" }
    : { rank: 0, level: "good", word: "healthy" };
}

/** Whose sums the page shows. */
export function whose({ alone, nodeCount }: Live, nodes: readonly NodeLine[]): string {
  const gone = nodes.filter((node) => node.gone === true).length;
  const unheard = nodes.filter((node) => node.gone === false).length;
  if (alone && unheard > 0) return `This node alone of ${unheard + 1}`;
  if (nodeCount === 0) return "No node was heard";
  const amount = nodeCount ?? Math.max(1, nodes.length - gone);
  return (amount === 1 ? "One node" : `${amount} nodes`) + (gone > 0 ? `, and ${gone} gone` : "");
}
