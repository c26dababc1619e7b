// Changes a rule, and asks who wants that and why.

import { type Ask, type Reply, ask, query } from "./api";
import { field, h } from "./dom";
import * as json from "./json";
import { keep, kept } from "./kept";
import { feed } from "./live";
import { confirmed } from "./sign_in";

const KEPT = "weir-name";

/** Two fields, which may stay empty. The browser keeps the name. */
export class Author {
  private readonly why = h("input", { type: "text", maxlength: 256 });
  private readonly by = h("input", { type: "text", maxlength: 64, autocomplete: "name",
    value: kept(KEPT) });
  readonly element = h("div", { class: "fields grid" },
    field("Your name", this.by));

  /** `hint`: who reads it. */
  constructor(why = "", hint = "The history and the event say it.") {
    this.why.value = why;
    this.element.prepend(field("Why", this.why, hint));
  }

  said(): Record<string, string> {
    const said = { by: this.by.value.trim(), why: this.why.value.trim() };
    keep(KEPT, said.by);
    return Object.fromEntries(Object.entries(said).filter(([, text]) => text !== ""));
  }

  clear(): void {
    this.why.value = "";
    this.by.value = kept(KEPT);
  }
}

/** Who says yes to a change, and why; `why` is what the field begins with. */
export async function agreed(
  question: string, says: () => string, label: string, why = "",
): Promise<Record<string, string> | undefined> {
  const author = new Author(why);
  return await confirmed(question, says, label, author.element) ? author.said() : undefined;
}

/** `version`: of the rules that it is meant for; `said`: by, why, persist. */
export async function changeRule(
  id: string, version: string, how: Ask, said: Record<string, string>,
): Promise<Reply> {
  return titled(await ask(query(`/admin/rules/${encodeURIComponent(id)}`, said),
    { ...how, headers: { "If-Match": `"${version}"` } }));
}

/** With what people call the nodes. */
export function titled(reply: Reply): Reply {
  const { fleet } = reply.body;
  if (!json.isObject(fleet)) return reply;
  const nodes = json.objects(fleet.nodes)
    .map((each) => ({ ...each, node: feed.titleOf(String(each.node)) }));
  return { ...reply, body: { ...reply.body, fleet: { ...fleet, nodes } } };
}
