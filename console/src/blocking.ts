// Blocks a key by hand: asks of which rules, why, and who wants it.

import { UNASKED, ask } from "./api";
import { keyText } from "./denials";
import { field, h, option, tell } from "./dom";
import * as json from "./json";
import { feed } from "./live";
import { Author } from "./rule_change";
import { confirmed } from "./sign_in";
import { reach } from "./words";

/** As the server has it, which refuses what merely looks so. */
const NETWORK = /^[\da-f]*[.:].*\/\d+$/i;

/** Those that have not ended since the server told of them. */
export function unended(blocks: readonly json.Fields[], toldMs: number): json.Fields[] {
  const ago = (Date.now() - toldMs) / 1000;
  return blocks.filter(({ ends_in_seconds: left }) => (json.number(left) ?? Infinity) > ago);
}

/** `length`: such as 5m. What came of it is told at the place. */
export async function block(
  key: string, rule: string | undefined, length: string, place: HTMLElement,
): Promise<void> {
  const shown = keyText({ key });
  const rules = h("select", {}, rule ? option(rule, `The rule ${rule}`) : null,
    option("", "All rules"));
  const author = new Author("", "The list of blocks says it.");
  author.element.prepend(field("Denied by", rules));
  const says = (): string => `${rules.value ? `The rule ${rules.value} denies` : "All rules deny"
  } every request of this ${NETWORK.test(key) ? "network" : "key"} for ${length}${
    reach(feed.last?.redis)}. ` +
    "Allow lists and shadow still let it pass. The tab Keys lifts the block.";
  const yes = await confirmed(`Block ${shown}?`, says, "Block", author.element);
  if (!yes) return;
  const { ok, problem, body } = await ask("/admin/blocks", { body: { key, for: length,
    ...rules.value ? { rule: rules.value } : {}, ...author.said() } });
  if (!ok) return tell(place, "bad", problem);
  const passes = json.text(body.passes_because);
  tell(place, passes ? "warn" : "good", `${shown} is blocked for ${length}${await held()}${
    passes ? `. It passes all the same: ${passes}` : ""}.`);
}

/** Where what was just done to a block holds, once Redis has taken it or does not soon. */
export async function held(tries = 4): Promise<string> {
  const { told } = (await ask("/admin/blocks?limit=0", UNASKED)).body;
  if (told !== false || tries === 0) return reach(feed.last?.redis, told === true);
  await new Promise((resolve) => setTimeout(resolve, 300));
  return held(tries - 1);
}
