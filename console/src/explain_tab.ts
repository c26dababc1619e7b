// Explain: what the rules make of a request, in words.

import { ask } from "./api";
import { parseCurl } from "./curl";
import { badge, field, fill, h, icon, offer, say } from "./dom";
import { plural } from "./format";
import * as json from "./json";
import { feed } from "./live";
import { Tab } from "./tab";
import { because, dropsOf, verdict, whyNot } from "./words";
import { ruleNames } from "./written";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const OTHERS_SHOWN = 50;
const NAMED = 5;

export class ExplainTab extends Tab {
  private readonly rule = h("select");
  private readonly key = h("input", { type: "text", spellcheck: "false", maxlength: 4096 });
  private readonly tier = h("input", { type: "text", spellcheck: "false" });
  private readonly method = h("select", {}, ...METHODS.map((name) => h("option", {}, name)));
  private readonly path = h("input", { type: "text", value: "/", spellcheck: "false" });
  private readonly host = h("input", { type: "text", spellcheck: "false" });
  private readonly client = h("input", { type: "text", spellcheck: "false" });
  private readonly headers = h("textarea", { rows: 4, spellcheck: "false" });
  private readonly curl = h("textarea", { rows: 4, spellcheck: "false" });
  private readonly curlProblem = h("p", { class: "problem", role: "alert" });
  private readonly answer = h("section", { class: "card answer", "aria-live": "polite",
    "aria-label": "Explanation" }, h("p", { class: "empty" },
    "Choose a rule and a key, or describe a request. Nothing is charged."));

  protected build(): void {
    this.append(
      h("h1", {}, "Explain"),
      h("p", { class: "lead" }, "What would the rules make of a request, and why? Asking costs " +
        "nobody anything."),
      h("div", { class: "split even" }, h("div", { class: "stack" }, this.ruleForm(),
        this.requestForm()), this.answer));
  }

  private ruleForm(): HTMLElement {
    return form("A rule and a key", "explain-rule", () => this.askRule(), field("Rule", this.rule),
      field("Key", this.key), field("Tier, if it has tiers", this.tier));
  }

  private requestForm(): HTMLElement {
    const made = form("A request", "explain-request", () => this.askRequest(),
      field("Method", this.method), field("Path and query", this.path), field("Host", this.host),
      field("Client address", this.client, "Such as 192.0.2.1. No curl command has it."),
      field("Headers, one a line", this.headers, "Such as X-Api-Key: abc"));
    const paste = field("Paste a curl command, or fill in what is below", this.curl,
      "Such as curl -X POST https://api.example/login -H 'X-App: web'");
    paste.append(this.curlProblem);
    made.querySelector("h2")!.after(paste);
    this.curl.addEventListener("input", () => this.readCurl());
    return made;
  }

  protected override opened(parameters: URLSearchParams): void {
    const rule = parameters.get("rule");
    const key = parameters.get("key");
    void ruleNames().then((names) => {
      offer(this.rule, names, rule ?? "");
      if (key !== null) this.key.value = key;
      if (rule && key) void this.askRule();
    });
  }

  private readCurl(): void {
    if (this.curl.value.trim() === "") return say(this.curlProblem, "");
    const read = parseCurl(this.curl.value);
    if ("problem" in read) return say(this.curlProblem, read.problem);
    say(this.curlProblem, "");
    const { method, path, host, headers } = read.request;
    if (!METHODS.includes(method)) this.method.append(h("option", {}, method));
    this.method.value = method;
    this.path.value = path;
    this.host.value = host;
    this.headers.value = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`).join("\n");
    void this.askRequest();
  }

  private async askRule(): Promise<void> {
    const tier = this.tier.value.trim();
    await this.explain({ rule: this.rule.value, key: this.key.value, ...(tier ? { tier } : {}) });
  }

  private async askRequest(): Promise<void> {
    const client = this.client.value.trim();
    const host = this.host.value.trim();
    await this.explain({
      method: this.method.value, path: this.path.value, headers: readHeaders(this.headers.value),
      ...(host ? { host } : {}), ...(client ? { client } : {}),
    });
  }

  private async explain(request: Record<string, unknown>): Promise<void> {
    const reply = await ask("/v1/explain", { body: request });
    if (!reply.ok) return fill(this.answer, h("p", { class: "problem" }, reply.problem));
    this.mark(json.objects(reply.body.unknown));
    const { level, text } = verdict(reply.body);
    const drawn = level === "bad" ? "cross" : level === "good" ? "check" : "alert";
    fill(this.answer,
      h("p", { class: `verdict ${level}` }, icon(drawn), h("span", {}, text)),
      unknown(reply.body), ...json.objects(reply.body.applies).map(applied), others(reply.body));
  }

  /** The fields that are to be filled first. */
  private mark(unknown: readonly json.Fields[]): void {
    for (const [name, input] of [["client", this.client], ["key", this.key]] as const) {
      input.setAttribute("aria-invalid", String(unknown.some(({ needs }) => needs === name)));
    }
  }
}

function form(
  title: string, id: string, send: () => Promise<void>, ...fields: HTMLElement[]
): HTMLFormElement {
  const made = h("form", { class: "card", id }, h("h2", {}, title),
    h("div", { class: "fields grid" }, ...fields),
    h("div", { class: "actions" }, h("button", { type: "submit", class: "primary" },
      icon("explain"), h("span", {}, "Explain"))));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    void send();
  });
  return made;
}

function readHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return headers;
}

function applied(rule: json.Fields): HTMLElement {
  const denies = rule.would === "deny";
  const [word, level] = denies ? ["would deny", "bad"]
    : rule.would === "unknown" ? ["unknown", "warn"]
    : dropsOf(rule) > 0 ? ["denies a share", "warn"] : ["would allow", "good"];
  return h("article", { class: `applied ${level}` },
    h("h3", {}, h("span", {}, json.text(rule.rule) ?? ""), badge(word, level)),
    h("ul", {}, ...because(rule, feed.last).map((sentence) => h("li", {}, sentence))));
}

function unknown(body: json.Fields): HTMLElement | null {
  const rules = json.objects(body.unknown).map((rule) => json.text(rule.rule) ?? "");
  if (rules.length === 0) return null;
  const names = rules.slice(0, NAMED).map((name) => `'${name}'`).join(", ");
  const more = rules.length > NAMED ? ` and ${rules.length - NAMED} more` : "";
  return h("p", { class: "message" }, `What ${names}${more} would do depends on it. Fill in the ` +
    "field that is marked, and ask again.");
}

/** Folded: the first reason stands for them. */
function others(body: json.Fields): HTMLElement | null {
  const rules = json.objects(body.others);
  const alone = json.text(body.because);
  if (rules.length === 0) return alone ? h("p", { class: "empty" }, `No rule: ${alone}.`) : null;
  const more = rules.length - OTHERS_SHOWN;
  const [first] = rules;
  const why = `'${json.text(first?.rule) ?? ""}': ${whyNot(json.text(first?.because))}`;
  return h("details", { class: "others" },
    h("summary", {}, `${plural(rules.length, "rule does", "rules do")} not apply. ${why}` +
      (rules.length > 1 ? ", ..." : ".")),
    h("dl", {}, ...rules.slice(0, OTHERS_SHOWN).flatMap((rule) => [
      h("dt", {}, json.text(rule.rule) ?? ""), h("dd", {}, whyNot(json.text(rule.because)))])),
    more > 0 ? h("p", { class: "empty" }, `and ${more} more`) : null);
}
