// The row of one key in the table of tenants: finds it, changes it, removes it. The key is in the
// bodies of what it asks, and in no address.

import { type Reply, ask } from "./api";
import { keyText } from "./denials";
import { OFFERED_MAX, button, copy, field, fill, h, option, say, tell, verbatim } from "./dom";
import * as json from "./json";
import { feed } from "./live";
import { session } from "./session";
import { confirmed } from "./sign_in";
import {
  type Row, countsBy, curlOfChange, plansOf, rowOf, rowText, typedRow, typedWindow,
} from "./tenants";
import { reach } from "./words";
import { type Written, written } from "./written";

const PATH = "/admin/tenant";
const RULES_SHOWN = 10;
/** Others may change other rows all the time: then the change is sent again. */
const TRIES = 5;

export class TenantCard {
  readonly element = h("section", { class: "card", id: "tenant", hidden: true,
    "aria-label": "The key in the table of tenants" });
  private readonly title = h("h2");
  private readonly has = h("p", { class: "lead" });
  private readonly counts = h("dl");
  private readonly state = h("p", { class: "message", role: "status" });
  private readonly controls = {
    plan: h("select", { onchange: () => this.drawForm() }), limit: text({ inputmode: "numeric" }),
    window: text({}), anchor: text({ inputmode: "numeric" }),
  };
  private readonly form: HTMLElement;
  private readonly saving = h("button", { type: "submit", class: "primary", id: "save-tenant" },
    "Save");
  private readonly removal = button("Remove", () => this.remove(), { class: "danger",
    id: "remove-tenant" });
  private key = "";
  /** Of the table that `row` is in. */
  private etag = "";
  private row: Row | undefined;

  constructor() {
    const { plan, limit, window, anchor } = this.controls;
    this.form = h("form", { hidden: true, onsubmit: (event) => {
      event.preventDefault();
      void this.save();
    } },
      h("div", { class: "fields grid" }, field("Plan", plan, "A tier of rules with tenants: true"),
        field("Limit", limit, "In place of a plan"),
        field("Window", window, "Such as 1h; empty: the rule's"),
        field("Billing day", anchor, "1 to 31, of months; empty: the rule's")),
      h("div", { class: "actions" },
        this.saving, button("curl", () => this.copyCurl(), { "aria-label": "Copy Save as curl" }),
        this.removal));
    this.element.append(h("div", { class: "head" }, this.title,
      button("Close", () => (this.element.hidden = true), { class: "quiet" }, "cross")),
    this.has, this.counts, this.form, this.state);
  }

  /** Of that very key, whatever people type elsewhere meanwhile. */
  async open(key: string): Promise<void> {
    this.key = key;
    fill(this.title, "Tenant ", verbatim(keyText({ key })));
    this.form.hidden = true;
    this.setBusy(false);
    fill(this.counts);
    say(this.has, "");
    tell(this.state, "", "");
    this.element.hidden = false;
    if (await this.look()) this.fillForm();
  }

  /** Whether it has come; else what is wrong is said. */
  private async look(): Promise<boolean> {
    const { key } = this;
    const [reply, problem] = await Promise.all([ask(PATH, { body: { key } }), written.load()]);
    if (key !== this.key) return false;
    const isThere = reply.ok || reply.status === 404 && reply.etag !== "";
    if (!isThere || problem) {
      tell(this.state, "bad", isThere ? problem : reply.problem);
      return false;
    }
    this.etag = reply.etag;
    this.row = reply.ok ? rowOf(reply.body) : undefined;
    const version = reply.etag.split("-")[0] ?? "";
    say(this.has, `It has ${rowText(this.row)} (version ${version} of the table).`);
    this.removal.hidden = this.row === undefined;
    void this.showRules();
    return true;
  }

  private rules(): [string, Written][] {
    return [...written.rules].filter(([, { rule }]) => rule.tenants === true);
  }

  private async showRules(): Promise<void> {
    const { key, row, etag } = this;
    const rules = this.rules();
    const lines = await Promise.all(rules.slice(0, RULES_SHOWN).map(async ([id, { rule }]) => {
      const { ok, body, problem } = await ask("/v1/explain", { body: { rule: id, key, cost: 0 } });
      const [applied] = json.objects(body.applies);
      return [id, ok && applied ? countsBy(rule, row, applied, feed.last) : problem];
    }));
    if (key !== this.key || etag !== this.etag) return;
    const more = rules.length - RULES_SHOWN;
    if (more > 0) lines.push(["...", `and ${more} more rules`]);
    if (rules.length === 0) lines.push(["No rule", "looks at the table; tenants: true does."]);
    fill(this.counts, ...lines.flatMap(([id, line]) =>
      [h("dt", {}, verbatim(id!)), h("dd", {}, line)]));
  }

  private fillForm(): void {
    const { plan, limit, window, anchor } = this.controls;
    const own = json.text(this.row?.plan) ?? "";
    const plans = plansOf(this.rules().map(([, { rule }]) => rule), own).slice(0, OFFERED_MAX);
    fill(plan, option("", "None: a limit"), ...plans.map((name) => option(name)));
    plan.value = own;
    limit.value = String(this.row?.limit ?? "");
    window.value = typedWindow(this.row?.window);
    anchor.value = String(this.row?.anchor ?? "");
    this.form.hidden = false;
    this.drawForm();
  }

  private drawForm(): void {
    const { plan, limit, window } = this.controls;
    limit.disabled = window.disabled = plan.value !== "";
  }

  private wanted(): Row {
    const { plan, limit, window, anchor } = this.controls;
    return typedRow({ plan: plan.value, limit: limit.value, window: window.value,
      anchor: anchor.value });
  }

  private copyCurl(): void {
    const command = curlOfChange("PUT", location.origin, this.etag,
      { key: this.key, ...this.wanted() }, session.needed);
    void copy(command, this.state, "Copied. It holds as long as nobody changes the table.");
  }

  private async save(): Promise<void> {
    const { key } = this;
    const row = this.wanted();
    if (await this.agreed("Save", `Give ${keyText({ key })} ${rowText(row)}?`)) {
      await this.change("PUT", { key, ...row }, `has ${rowText(row)}`);
    }
  }

  private async remove(): Promise<void> {
    const { key } = this;
    if (await this.agreed("Remove", `Remove ${keyText({ key })} from the table?`)) {
      await this.change("DELETE", { key }, `has ${rowText(undefined)}`);
    }
  }

  private agreed(label: string, question: string): Promise<boolean> {
    tell(this.state, "", "");
    return confirmed(question, () => `It has ${rowText(this.row)}. The change holds${
      reach(feed.last?.redis) || " at once"}. No history keeps what it was.`, label);
  }

  private async change(method: string, body: json.Fields, done: string): Promise<void> {
    const pressed = method === "PUT" ? this.saving : this.removal;
    this.setBusy(true);
    tell(this.state, "", method === "PUT" ? "Saving ..." : "Removing ...");
    await this.send(method, body, done);
    if (body.key !== this.key) return;
    this.setBusy(false);
    // A button that is disabled or hidden loses it.
    if (document.activeElement === document.body) (pressed.hidden ? this.saving : pressed).focus();
  }

  private setBusy(is: boolean): void {
    this.saving.disabled = this.removal.disabled = is;
  }

  /** What is meant for the row that people see, not for one that somebody else has made of it. */
  private async send(method: string, body: json.Fields, done: string): Promise<void> {
    const seen = JSON.stringify(this.row);
    let reply: Reply;
    for (let tries = 1;; ++tries) {
      reply = await ask(PATH, { method, body, headers: { "If-Match": `"${this.etag}"` } });
      if (body.key !== this.key) return;
      if (reply.status !== 412 || tries === TRIES) break;
      if (!await this.look()) return;
      if (JSON.stringify(this.row) !== seen) {
        return tell(this.state, "warn", `Somebody else has changed it meanwhile: it has ${
          rowText(this.row)}. Nothing of yours is in force; what you typed is kept.`);
      }
    }
    if (reply.status === 401) {
      return tell(this.state, "bad", `Nothing is changed: the session had ended. Sign in, then ${
        method === "PUT" ? "save" : "remove"} it again.`);
    }
    if (!reply.ok) return tell(this.state, "bad", reply.problem);
    if (await this.look()) this.fillForm();
    tell(this.state, "good", `${keyText({ key: body.key })} ${done}${
      reach(feed.last?.redis, reply.body.told === true)}.`);
  }
}

function text(attributes: Record<string, string>): HTMLInputElement {
  return h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...attributes });
}
