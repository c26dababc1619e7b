// Whom and what this node denied most in some time: keys, networks, paths, countries. A list of
// which nothing is known is left out. For those who have signed in.

import { UNASKED, ask, query } from "./api";
import { DataTable } from "./data_table";
import { type Child, h, say, verbatim } from "./dom";
import { count, moment } from "./format";
import * as json from "./json";
import { address } from "./tab";

const SHOWN = 10;
const TITLES = { key: "Keys", network: "Networks", path: "Paths", country: "Countries" } as const;
type By = keyof typeof TITLES;

/** Denials that are alike. */
export interface Denied {
  readonly rule?: string;
  /** The key, the network, ... */
  readonly name?: string;
  readonly hash?: string;
  readonly times: number;
  readonly last: number;
}

export interface DeniedList {
  readonly groups: readonly Denied[];
  /** There were more, of which nothing is kept. */
  readonly isPart: boolean;
}

/** Nothing, where the server does not tell. */
export async function deniedBy(by: By, since: string): Promise<DeniedList> {
  const reply = await ask(query("/admin/denials", { by, since, limit: SHOWN }), UNASKED);
  if (!reply.ok) return { groups: [], isPart: false };
  return readDenied(by, reply.body);
}

export function readDenied(by: By, body: json.Fields): DeniedList {
  const groups = json.objects(body.groups).map((from) => ({
    rule: json.text(from.rule), name: json.text(from[by]), hash: json.text(from.hash),
    times: json.number(from.times) ?? 0, last: json.number(from.last) ?? 0,
    passed: from.shadow === true,
  })).filter(({ name, hash, passed }) => !passed && (name ?? hash) !== undefined);
  return { groups, isPart: (json.number(body.forgotten) ?? 0) > 0 };
}

export function keyOf({ rule, name, hash }: Denied): Child {
  const shown = name === undefined ? h("code", {}, hash) : verbatim(name);
  if (name === undefined || rule === undefined) return shown;
  return h("a", { href: address("explain", { rule, key: name }) }, shown);
}

class DeniedCard {
  private isPart = false;
  private readonly table: DataTable<Denied>;
  private readonly period = h("small");
  readonly element: HTMLElement;

  constructor(readonly by: By) {
    const title = TITLES[by];
    this.table = new DataTable<Denied>({
      caption: `${title} denied most`,
      id: ({ rule, name, hash }) => `${rule ?? ""} ${hash ?? name ?? ""}`,
      empty: "",
      columns: [
        { title: title.replace(/(ie)?s$/, (end) => end === "ies" ? "y" : ""),
          cell: (one) => by === "key" ? keyOf(one) : verbatim(one.name ?? "") },
        ...by === "key" ? [{ title: "Rule", cell: ({ rule }: Denied) => rule ?? "none" }] : [],
        { title: "Denied", figures: true, cell: ({ times }) => this.times(times) },
        { title: "Last", figures: true, cell: ({ last }) => moment(last) },
      ],
    });
    this.element = h("section", { class: "card", hidden: true },
      h("h2", {}, `${title} denied most `, this.period), this.table.element);
  }

  show({ groups, isPart }: DeniedList, period: string): void {
    this.isPart = isPart;
    say(this.period, period);
    this.element.hidden = groups.length === 0;
    this.table.show(groups);
  }

  private times(times: number): string {
    return this.isPart ? `at least ${count(times)}` : count(times);
  }
}

export class TopDenied {
  private readonly cards = (Object.keys(TITLES) as By[]).map((by) => new DeniedCard(by));
  readonly elements = this.cards.map(({ element }) => element);

  hide(): void {
    for (const element of this.elements) element.hidden = true;
  }

  /** `since`: how far back, such as 10m; `period` says it in words. */
  async load(since: string, period: string): Promise<void> {
    const [keys, ...others] = this.cards;
    const found = await deniedBy("key", since);
    keys!.show(found, period);
    // A node that shows no keys says no to networks and paths, too.
    const isOpen = found.groups.some(({ name }) => name !== undefined);
    await Promise.all(others.map(async (card) => {
      if (isOpen || card.by === "country") card.show(await deniedBy(card.by, since), period);
    }));
  }
}
