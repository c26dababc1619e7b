// The busiest keys of a rule, or those most denied, as a table.

import { type Ask, UNASKED, ask, query } from "./api";
import { DataTable } from "./data_table";
import { keyText, wholeKey, withoutKey } from "./denials";
import { type Child, fill, h, verbatim } from "./dom";
import { about, count, exact, share } from "./format";
import * as json from "./json";
import { feed } from "./live";
import { session } from "./session";

const SHOWN = 10;
/** What is known of other nodes, by the state of Redis. */
const OTHERS: Record<string, string> = {
  up: "What other nodes count comes up to 10 s late.",
  down: "Redis is away: what other nodes count is old, or missing.",
};

export class BusiestKeys {
  private readonly table: DataTable<json.Fields>;
  private readonly note = h("div");
  readonly element: HTMLElement;
  private rule = "";

  /** `does`: what people can do with a key, if all of its text is known. */
  constructor(private readonly by: "asked" | "denied", does: (key: string) => Child) {
    const caption = by === "asked" ? "Busiest keys" : "Most denied keys";
    this.table = new DataTable<json.Fields>({
      caption, id: (entry) => json.text(entry.hash) ?? "",
      empty: "No key in this minute or the one before.",
      columns: [
        { title: "Key", cell: (entry) => entry.key === "" ? keyText(entry)
          : verbatim(keyText(entry)), by: keyText },
        { title: by === "asked" ? "Requests" : "Denied, or would be", cell: estimate,
          by: (entry) => json.number(entry.count), figures: true },
        { title: "Share", cell: (entry) => share(json.number(entry.share)), figures: true },
        { title: "Do", cell: (entry) => wholeKey(entry) ? does(wholeKey(entry)!)
          : withoutKey(entry) },
      ],
    });
    this.element = h("section", { class: "card" },
      h("h2", {}, `${caption.replace(" keys", "")} `,
        h("small", {}, "in this minute and the one before")), this.table.element, this.note);
  }

  async load(rule: string, how: Ask): Promise<void> {
    this.rule = rule;
    if (!rule) {
      return fill(this.note, session.mayChange
        ? h("p", { class: "problem" }, "There is no rule yet.") : null);
    }
    const reply = await ask(query("/admin/busiest", { rule, by: this.by, limit: SHOWN }), how);
    const keys = await withShared(json.objects(reply.body.keys));
    if (rule !== this.rule) return;
    const trouble = reply.ok ? json.text(reply.body.trouble) : reply.problem;
    this.table.show(reply.ok ? keys : undefined);
    const heard = json.number(reply.body.nodes_heard) ?? Infinity;
    const all = feed.last?.nodeCount ?? 0;
    const part = heard < all ? `Of ${heard} of ${all} nodes; the others have not told theirs.` : "";
    fill(this.note, secret(keys), ...[part || OTHERS[feed.last?.redis?.state ?? ""], trouble]
      .map((text, at) => text ? h("p", { class: at === 1 ? "problem" : "message" }, text) : null));
  }
}

/** "about 100, 63 to 155", or "at least 12, at most 57"; a number alone was counted. */
function estimate(entry: json.Fields): HTMLElement {
  const [amount, least, most] = [entry.count, entry.at_least, entry.at_most]
    .map((each) => json.number(each) ?? 0) as [number, number, number];
  if (least >= most) return h("span", {}, count(amount));
  return least === amount
    ? h("span", {}, `at least ${count(amount)}`, h("small", {}, ` at most ${exact(most)}`))
    : h("span", {}, about(amount), h("small", {}, ` ${exact(least)} to ${exact(most)}`));
}

/** Where the node shows keys, the one without a text is the counter that requests share. */
async function withShared(keys: readonly json.Fields[]): Promise<readonly json.Fields[]> {
  const nameless = keys.filter(({ key }) => key === undefined);
  if (nameless.length !== 1) return keys;
  const known = keys.length > 1 ? keys : json.objects(
    (await ask(query("/admin/denials", { limit: 1 }), UNASKED)).body.denials);
  const isOpen = known.some(({ key }) => key !== undefined);
  return isOpen ? keys.map((entry) => ({ key: "", ...entry })) : keys;
}

/** Why a key cannot be chosen. */
function secret(keys: readonly json.Fields[]): HTMLElement | null {
  const hidden = keys.length > 0 && keys.every((entry) => json.text(entry.key) === undefined);
  return hidden ? h("p", { class: "empty" }, "A hash stands for a key, or for what all " +
    "requests share. With show_keys: true the server shows keys.") : null;
}
