// Keys: the busiest of a rule, who is denied, who is blocked, and what to do about one.

import { type Ask, UNASKED, ask } from "./api";
import { block, held, unended } from "./blocking";
import { BusiestKeys } from "./busiest_keys";
import { DataTable } from "./data_table";
import { keyText } from "./denials";
import { badge, button, field, h, offer, say, tell, verbatim } from "./dom";
import { moment, span } from "./format";
import * as json from "./json";
import { feed } from "./live";
import { choice } from "./runs_bar";
import { confirmed } from "./sign_in";
import { Tab, address } from "./tab";
import { TenantCard } from "./tenant_card";
import { because, verdict } from "./words";
import { ruleNames } from "./written";

/** The busiest keys are counted by minutes, so that is often enough. */
const REFRESH_MS = 3000;

type Chosen = { readonly rule: string; readonly key: string };

export class KeysTab extends Tab {
  private readonly rule = h("select");
  private readonly key = h("input", { type: "text", spellcheck: "false", maxlength: 4096 });
  private readonly span = h("input", { type: "text", value: "5m", spellcheck: "false" });
  private readonly state = h("p", { class: "message", role: "status" });
  private readonly tenant = new TenantCard();
  private readonly asked = new BusiestKeys("asked", (key) => this.chooser(key));
  private readonly denied = new BusiestKeys("denied", (key) => this.chooser(key));
  private readonly blocks = new DataTable<json.Fields>({
    caption: "Blocked keys", id: blockName, text: (entry) => `${blockName(entry)} ${why(entry)}`,
    empty: "Nobody is blocked. Block a key above.",
    columns: [
      { title: "Rule", cell: (entry) => json.text(entry.rule) ?? "all rules",
        by: (entry) => json.text(entry.rule) ?? "" },
      { title: "Key", cell: (entry) => verbatim(keyText(entry)), by: keyText },
      { title: "Reason", cell: (entry) => h("span", {}, badge(why(entry),
        why(entry) === BY_HAND ? "" : "warn"), " ", json.text(entry.why)), by: why },
      { title: "By", cell: ({ by }) => json.text(by), by: ({ by }) => json.text(by) },
      { title: "Since", cell: ({ blocked_at: at }) => moment(Number(at)),
        by: ({ blocked_at: at }) => json.number(at), figures: true },
      { title: "Ends in", cell: (entry) => span(json.number(entry.ends_in_seconds)),
        by: (entry) => json.number(entry.ends_in_seconds), figures: true },
      { title: "Do", cell: (entry) => this.liftButton(entry) },
    ],
  });
  private blocked: readonly json.Fields[] | undefined;  // undefined: nobody knows
  private toldMs = 0;
  private readonly blocksProblem = h("p", { class: "problem" });

  protected build(): void {
    this.rule.addEventListener("change", () => void this.load());
    this.append(
      h("h1", {}, "Keys"),
      h("section", { class: "card" }, h("h2", {}, "One key"),
        h("div", { class: "fields three" }, field("Rule", this.rule),
          field("Key", this.key, "To block, also 203.0.113.0/24"),
          field("Block for", this.span, "Such as 30s, 5m, 2h")),
        h("div", { class: "actions" },
          button("Look", () => this.about((chosen) => this.look(chosen)),
            { class: "primary", id: "look" }),
          button("Explain", () => this.about((chosen) =>
            (location.hash = address("explain", chosen))), { id: "explain-key" }, "explain"),
          button("Reset", () => this.about((chosen) => this.reset(chosen)),
            { id: "reset" }, "arrow"),
          button("Block", () => this.about((chosen) => this.block(chosen)),
            { id: "block", class: "danger" }, "block"),
          button("Tenant", () => this.showTenant(), { id: "show-tenant" })),
        this.state),
      this.tenant.element,
      h("div", { class: "split even" }, this.asked.element, this.denied.element),
      h("section", { class: "card" }, h("h2", {}, "Blocked"), this.blocksProblem,
        this.blocks.element));
  }

  protected override opened(parameters: URLSearchParams): void {
    void ruleNames().then((names) => {
      const kept = this.rule.value && this.key.value ? this.rule.value : choice.rule;
      offer(this.rule, names, parameters.get("rule") ?? (names.includes(kept) ? kept : ""));
      if (parameters.get("key")) this.key.value = parameters.get("key")!;
      return this.load();
    });
    this.loadEach(REFRESH_MS, () => this.load(UNASKED));
  }

  private async load(how: Ask = {}): Promise<void> {
    if (document.hidden) return;
    await Promise.all([this.asked.load(this.rule.value, how),
      this.denied.load(this.rule.value, how), this.loadBlocks(how)]);
  }

  private async loadBlocks(how: Ask = {}): Promise<void> {
    const reply = await ask("/admin/blocks?limit=1000", how);
    say(this.blocksProblem, reply.problem);
    this.blocked = reply.ok ? json.objects(reply.body.blocks) : undefined;
    this.toldMs = Date.now();
    this.refresh();
  }

  protected override refresh(): void {
    this.blocks.show(this.blocked && unended(this.blocked, this.toldMs));
  }

  private liftButton(entry: json.Fields): HTMLElement {
    const key = json.text(entry.key) ?? "";
    return button("Lift", () => this.lift(json.text(entry.rule), key),
      { class: "quiet small", "aria-label": `Lift ${keyText(entry)}` });
  }

  private chooser(key: string): HTMLElement {
    return button("Choose", () => this.choose(key),
      { class: "quiet small", "aria-label": `Choose ${keyText({ key })}` });
  }

  private choose(key: string): void {
    this.key.value = key;
    void this.about((chosen) => this.look(chosen));
  }

  /** Does something about the rule and the key that are chosen. */
  private async about(does: (chosen: Chosen) => unknown): Promise<void> {
    const chosen = { rule: this.rule.value, key: this.key.value };
    if (chosen.rule && chosen.key) await does(chosen);
    else tell(this.state, "bad", "Choose a rule and a key first.");
  }

  /** Of whatever rules the key is. */
  private async showTenant(): Promise<void> {
    if (!this.key.value) return tell(this.state, "bad", "Type a key first.");
    tell(this.state, "", "");
    await this.tenant.open(this.key.value);
  }

  private async look(chosen: Chosen): Promise<void> {
    const { ok, problem, body } = await ask("/v1/explain", { body: chosen });
    if (!ok) return tell(this.state, "bad", problem);
    const { level, text } = verdict(body);
    tell(this.state, level, [text, ...json.objects(body.applies)
      .flatMap((rule) => because(rule, feed.last))].join(" "));
  }

  private async reset(chosen: Chosen): Promise<void> {
    const yes = await confirmed(`Reset ${keyText(chosen)}?`,
      () => `The rule ${chosen.rule} forgets what it has spent${(feed.last?.nodeCount ?? 1) > 1
        ? ", on this node alone if its mode is local" : ""}. A reset cannot be undone.`, "Reset");
    if (!yes) return;
    const { ok, problem } = await ask("/v1/reset", { body: chosen });
    tell(this.state, ok ? "good" : "bad", ok ? `${keyText(chosen)} starts at 0.` : problem);
  }

  private async block({ rule, key }: Chosen): Promise<void> {
    await block(key, rule, this.span.value.trim(), this.state);
    await this.loadBlocks();
  }

  private async lift(rule: string | undefined, key: string): Promise<void> {
    const body = rule === undefined ? { key } : { rule, key };
    const { ok, problem } = await ask("/admin/blocks", { method: "DELETE", body });
    tell(this.state, ok ? "good" : "bad",
      ok ? `The block of ${keyText({ key })} is lifted${await held()}.` : problem);
    await this.loadBlocks();
  }
}

const BY_HAND = "by hand";

function why({ reason }: json.Fields): string {
  return reason === "manual" ? BY_HAND : json.text(reason) ?? "";
}

function blockName({ rule, key }: json.Fields): string {
  return `${json.text(rule) ?? "all rules"} ${json.text(key) ?? ""}`;
}
