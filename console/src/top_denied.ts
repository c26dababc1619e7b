// Whom and what this node denied most in some time: keys, networks, paths, countries. A list of
// which nothing is known is left out. For those who have signed in.

import { UNASKED, ask, query } from "./api";
import { DataTable } from "./data_table";
import { keyText, lostText, wholeKey } from "./denials";
import { type Child, h, say, verbatim } from "./dom";
import { count, moment } from "./format";
import * as json from "./json";
import { address } from "./tab";

const SHOWN = 10;
const TITLES = { key: ["Key", "Keys"], network: ["Network", "Networks"], path: ["Path", "Paths"],
  country: ["Country", "Countries"] } as const;
type By = keyof typeof TITLES;

export type DeniedList = ReturnType<typeof readDenied>;

/** Nothing, where the server does not tell. */
export async function deniedBy(
  by: By | "cause", since: string | number, of: { rule?: string } = {},
): Promise<DeniedList> {
  const { body } = await ask(query("/admin/denials", { by, since, limit: SHOWN, ...of }), UNASKED);
  return readDenied(by, body);
}

/** isPart: there were more, of which nothing is kept. */
export function readDenied(by: By | "cause", body: json.Fields) {
  return { isPart: lostText(body) !== "", groups: json.objects(body.groups)
    .filter((group) => group.shadow !== true && json.text(group[by === "key" ? "hash" : by])) };
}

export function keyOf(group: json.Fields): Child {
  const shown = group.key === "" ? keyText(group) : verbatim(keyText(group));
  const [rule, key] = [json.text(group.rule), wholeKey(group)];
  return rule && key ? h("a", { href: address("explain", { rule, key }) }, shown) : shown;
}

class DeniedCard {
  private isPart = false;
  private readonly period = h("small");
  private readonly table: DataTable<json.Fields>;
  readonly element: HTMLElement;

  constructor(readonly by: By) {
    const [title, titles] = TITLES[by];
    this.table = new DataTable<json.Fields>({
      caption: `${titles} denied most`,
      id: (group) => `${String(group.rule)} ${String(group.hash ?? group[by])}`,
      empty: "",
      columns: [
        { title, cell: (group) => by === "key" ? keyOf(group) : verbatim(String(group[by])) },
        ...by === "key" ? [{ title: "Rule", cell: ({ rule }: json.Fields) =>
          json.text(rule) ?? "none" }] : [],
        { title: "Denied", figures: true, cell: ({ times }) =>
          `${this.isPart ? "at least " : ""}${count(json.number(times))}` },
        { title: "Last", figures: true, cell: ({ last }) => moment(Number(last)) },
      ],
    });
    this.element = h("section", { class: "card", hidden: true },
      h("h2", {}, `${titles} denied most `, this.period), this.table.element);
  }

  show({ groups, isPart }: DeniedList, period: string): void {
    this.isPart = isPart;
    say(this.period, period);
    this.element.hidden = groups.length === 0;
    this.table.show(groups);
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
    const isOpen = found.groups.some(({ key }) => key !== undefined);
    await Promise.all(others.map(async (card) => {
      if (isOpen || card.by === "country") card.show(await deniedBy(card.by, since), period);
    }));
  }
}
