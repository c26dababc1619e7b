// Denials: what this node has denied of late, one by one or in groups, and what to do about one.

import { type Ask, UNASKED, ask, query } from "./api";
import { block } from "./blocking";
import { type Column, DataTable } from "./data_table";
import {
  type Filters, curlOf, filtersOf, keyText, lostText, nameOf, wholeKey, withoutKey,
} from "./denials";
import {
  OFFERED_MAX, badge, button, copy, field, fill, h, option, say, tell, unique, verbatim,
} from "./dom";
import { about, clock, exact, moment, plural, wait } from "./format";
import * as json from "./json";
import { feed } from "./live";
import { Tab, address } from "./tab";
import { ruleNames } from "./written";

const PATH = "/admin/denials";
const REFRESH_MS = 2000;
const SHOWN = 500;
const SAVED = 10_000;
const BLOCK_FOR = "5m";
const TIMES = [["10m", "Last 10 minutes"], ["1h", "Last hour"], ["24h", "Last 24 hours"],
  ["", "All known"]] as const;
const GROUPS = [["", "One by one"], ["rule", "By rule"], ["key", "By key"],
  ["network", "By network"], ["path", "By path"], ["country", "By country"]] as const;
const DOORS = [["", "All"], ["http", "Checks (HTTP)"], ["auth", "Requests (/auth)"],
  ["grpc", "Envoy (gRPC)"], ["resp", "Redis clients (RESP)"], ["nginx", "nginx"]] as const;

/** What there is to say of a denial. */
export const DENIAL: readonly Column<json.Fields>[] = [
  { title: "Time", cell: ({ at }) => h("time", { title: String(at) },
    moment(Date.parse(String(at)) / 1000)) },
  { title: "Rule", cell: ruleCell, by: ({ rule }) => json.text(rule) },
  { title: "Key", cell: keyCell, by: keyText },
  { title: "Path", cell: ({ path }) => path ? verbatim(String(path)) : "–",
    by: ({ path }) => json.text(path) },
  { title: "From", cell: fromCell, by: ({ client }) => json.text(client) },
  { title: "Door", cell: ({ door }) => String(door), by: ({ door }) => json.text(door) },
  { title: "Cause", cell: causeCell, by: ({ cause }) => json.text(cause) },
  { title: "Times", cell: ({ times }) => exact(Number(times)),
    by: ({ times }) => json.number(times), figures: true },
  { title: "Wait", cell: (one) => json.number(one.retry_after) === undefined ? "no use"
    : wait(json.number(one.retry_after)), by: (one) => json.number(one.retry_after),
  figures: true },
];

export class DenialsTab extends Tab {
  private readonly ids = h("datalist", { id: unique("rules") });
  private readonly controls = {
    rule: text({ list: this.ids.id }), key: text({ maxlength: 4096 }), path: text({}),
    country: text({ maxlength: 2 }), door: choices(DOORS), since: choices(TIMES),
    by: choices(GROUPS),
  };
  private readonly live = h("input", { type: "checkbox", checked: true });
  private readonly state = h("p", { class: "message", role: "status" });
  private readonly notes = h("p", { class: "message" });
  private readonly message = h("p", { class: "message", role: "status" });
  private readonly whose = h("p", { class: "lead" });
  private readonly rows = new DataTable<json.Fields>({ caption: "Denials", id: nameOf,
    empty: nothing(), columns: [...DENIAL, { title: "Do", cell: (one) => this.actions(one) }] });
  private groups = this.groupTable();
  private lost = "";
  private isRefused = false;  // asking the same again is in vain
  private filters: Filters = {};

  protected build(): void {
    const { rule, key, path, country, door, since, by } = this.controls;
    for (const control of Object.values(this.controls)) {
      control.addEventListener("change", () => this.changed());
    }
    this.live.addEventListener("change", () => void this.load());
    this.append(h("h1", {}, "Denials"), this.whose,
      h("section", { class: "card" }, this.ids,
        h("details", { open: !window.matchMedia("(max-width: 640px)").matches },
          h("summary", {}, "Filters"), h("div", { class: "fields filters" },
            field("Rule", rule), field("Key", key, "With a rule"),
            field("Path", path, "/api/* is what begins so"), field("Country", country, "NL"),
            field("Came as", door), field("Time", since), field("Show", by))),
      h("div", { class: "actions" }, h("label", { class: "check" }, this.live, "Live"),
        button("Clear filters", () => (location.hash = address("denials")), { class: "small" }),
        button("CSV", () => this.save("csv"), { class: "small", "aria-label": "Download as CSV" }),
        button("JSON", () => this.save("json"),
          { class: "small", "aria-label": "Download as JSON" }))),
      h("section", { class: "card" }, this.state, this.message, this.rows.element,
        this.groups.element, this.notes));
  }

  protected override opened(parameters: URLSearchParams): void {
    this.filters = filtersOf(parameters);
    if (parameters.toString() === "") this.filters.since = "10m";
    this.showFilters();
    tell(this.message, "good", "");
    void ruleNames().then((names) => fill(this.ids,
      ...names.slice(0, OFFERED_MAX).map((name) => option(name))));
    void this.load();
    this.loadEach(REFRESH_MS, () =>
      this.live.checked && !this.isRefused && this.load(UNASKED));
  }

  protected override refresh(): void {
    say(this.whose, `What this page's node, ${feed.titleOf(feed.last?.node ?? "")}, has denied. ` +
      "Other nodes have records of their own.");
  }

  private showFilters(): void {
    const { controls, filters: { since = "", until } } = this;
    const isOwn = until !== undefined || !TIMES.some(([value]) => value === since);
    fill(controls.since, ...TIMES.map(([value, name]) => option(value, name)), isOwn &&
      option("own", `${when(since)} to ${until ? when(until) : "now"}`));
    for (const [name, control] of Object.entries(controls)) {
      control.value = this.filters[name as keyof typeof controls] ?? "";
    }
    if (isOwn) controls.since.value = "own";
  }

  /** The filters live in the address, which somebody may send to somebody else. */
  private changed(): void {
    const { since = "", until = "" } = this.filters;
    const said = new Map(Object.entries(this.controls).map(([name, { value }]) => [name, value]));
    if (said.get("since") === "own") said.set("since", since).set("until", until);
    location.hash = address("denials", Object.fromEntries(
      [...said].filter(([name, value]) => value || name === "since")));
  }

  /** A key is in the body: logs of proxies keep addresses. */
  private question(limit: number): [path: string, how: Ask] {
    const { rule, key, ...others } = this.filters;
    return key ? [query(PATH, { ...others, limit }), { body: { rule, key } }]
      : [query(PATH, { ...this.filters, limit }), {}];
  }

  private async load(how: Ask = {}): Promise<void> {
    if (document.hidden) return;
    const [path, whose] = this.question(SHOWN);
    const asked = this.filters;
    const reply = await ask(path, { ...whose, ...how });
    if (asked !== this.filters || !this.shown) return;
    if (reply.status === 0) return;  // the page says so, and greys what is here
    const isGrouped = Boolean(this.filters.by);
    this.rows.element.hidden = isGrouped;
    this.groups.element.hidden = !isGrouped;
    this.lost = lostText(reply.body);
    const found = json.objects(isGrouped ? reply.body.groups : reply.body.denials);
    (isGrouped ? this.groups : this.rows).show(reply.ok ? found : undefined);
    if (this.isRefused || !reply.ok) tell(this.message, "bad", reply.problem);
    this.isRefused = !reply.ok;
    if (reply.ok) this.showState(reply.body, found);
    else say(this.state, "");
  }

  private showState(body: json.Fields, found: readonly json.Fields[]): void {
    const total = json.number(body.total) ?? 0;
    const what = this.filters.by ? plural(total, "group") : plural(total, "entry", "entries");
    const part = total > found.length ? `, the first ${found.length} of them here` : "";
    const asOf = feed.last ? `, as of ${clock(feed.now())}` : "";
    say(this.state, `${what}${part}${asOf}` +
      (this.live.checked ? "." : ". Not live."));
    const isHidden = found.some(({ hash, key }) => hash && key === undefined);
    say(this.notes, this.lost + (isHidden
      ? "With show_keys: true the node keeps keys, paths and clients, too." : ""));
  }

  private actions(denial: json.Fields): HTMLElement {
    const rule = json.text(denial.rule);
    const key = wholeKey(denial);
    const curl = curlOf(denial, location.origin);
    const about = (what: string) => ({ class: "quiet small",
      "aria-label": `${what} ${keyText({ key: key ?? denial.path })}` });
    return h("span", { class: "buttons" },
      key && rule ? h("a", { class: "button small", href: address("explain", { rule, key }) },
        "Explain") : null,
      key ? button("Block", () => block(key, rule, BLOCK_FOR, this.message), about("Block")) : null,
      curl ? button("curl", () => copy(curl, this.message,
        "Copied. The record knows no query and no header."), about("Copy as curl")) : null,
      withoutKey(denial));
  }

  private async save(form: "csv" | "json"): Promise<void> {
    const type = form === "csv" ? "text/csv" : "application/json";
    const [path, whose] = this.question(SAVED);
    const reply = await ask(path, { ...whose, headers: { Accept: type } });
    if (!reply.ok) return tell(this.message, "bad", reply.problem);
    const href = URL.createObjectURL(new Blob([reply.text], { type }));
    h("a", { href, download: `weir-denials.${form}` }).click();
    URL.revokeObjectURL(href);
  }

  private groupTable(): DataTable<json.Fields> {
    const times: Column<json.Fields>[] = (["first", "last"] as const).map((name) => ({
      title: name === "first" ? "First" : "Last", cell: (group) => moment(Number(group[name])),
      by: (group) => json.number(group[name]), figures: true }));
    return new DataTable<json.Fields>({ caption: "Denials in groups", empty: nothing(),
      id: (group) => ["shadow", "rule", "hash", "network", "path", "country"]
        .map((name) => String(group[name])).join(" "),
      text: (group) => JSON.stringify(group),
      columns: [
        { title: "Group", cell: (group) => this.groupCell(group) },
        { title: "Denied", by: ({ times: amount }) => json.number(amount), figures: true,
          cell: ({ times: amount }) => this.lost ? about(Number(amount))
            : exact(Number(amount)) },
        ...times,
        { title: "Do", cell: (group) => this.showButton(group) },
      ] });
  }

  private groupCell(group: json.Fields): HTMLElement {
    const { by } = this.filters;
    const rule = by === "rule" || by === "key" ? ruleCell(group) : null;
    const name = by === "key" ? keyText(group) : json.text(group[by ?? ""]);
    return h("span", { class: "badges" }, rule, by === "rule" ? null
      : name ? verbatim(name) : "unknown", group.shadow === true ? passed() : null);
  }

  /** The denials of a group, one by one. */
  private showButton(group: json.Fields): HTMLElement | null {
    const { by, ...others } = this.filters;
    const { rule, key, path, country } = group;
    const own = { rule, key, path, country, ...(by === "key" ? { key: wholeKey(group) } : {}) };
    const said = Object.entries(own).filter(([, value]) => typeof value === "string");
    if (by === "network" || !said.some(([name]) => name === by)) return null;
    const href = address("denials", { ...others, ...Object.fromEntries(said) } as
      Record<string, string>);
    return h("a", { class: "button small", href }, "Show");
  }
}

function text(attributes: Record<string, string | number>): HTMLInputElement {
  return h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...attributes });
}

function choices(values: readonly (readonly [string, string])[]): HTMLSelectElement {
  return h("select", {}, ...values.map(([value, name]) => option(value, name)));
}

function nothing(): HTMLElement {
  return h("span", {}, "This node has denied nothing that fits. Choose a longer time or fewer " +
    "filters, or let the ", h("a", { href: address("simulator") }, "Simulator"), " send a burst.");
}

/** An end of a time: "10m ago", or a second of 1970. */
function when(text: string): string {
  if (!text) return "the beginning";
  return /^\d{10,}$/.test(text) ? moment(Number(text)) : `${text} ago`;
}

function ruleCell({ rule }: json.Fields): HTMLElement {
  const id = json.text(rule);
  return id ? h("a", { href: address("rules", { rule: id }) }, id) : h("span", {}, "no rule");
}

function keyCell(denial: json.Fields): HTMLElement {
  if (denial.key === "") return h("span", {}, keyText(denial));
  return json.text(denial.key) ? verbatim(keyText(denial))
    : h("small", { title: "The hash of the key" }, keyText(denial));
}

function fromCell({ client, country }: json.Fields): HTMLElement {
  const known = [client, country].filter((each) => typeof each === "string").join(" ");
  return known ? verbatim(known) : h("span", {}, "–");
}

export const CAUSES: Record<string, string> = { limit: "limit", block: "blocked",
  deny_list: "deny list", missing_key: "no key",
  store_failure: "no answer of Redis", memory_full: "memory full" };

function causeCell({ cause, shadow, remaining, limit }: json.Fields): HTMLElement {
  const name = CAUSES[String(cause)] ?? String(cause);
  const left = `${exact(Number(remaining))} of ${exact(Number(limit))} left`;
  return h("span", { class: "badges", title: left },
    badge(name, shadow === true ? "" : "bad"),
    shadow === true ? passed() : null);
}

function passed(): HTMLElement {
  return badge("shadow: let pass", "adaptive");
}
