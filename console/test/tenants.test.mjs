// A row of the table of tenants in words, as people type it, and as a command.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

import {
  countsBy, curlOfChange, plansOf, rowOf, rowText, typedRow, typedWindow,
} from "../src/tenants.ts";
import { because } from "../src/words.ts";

const EMPTY = { plan: "", limit: "", window: "", anchor: "" };
const HOSTILE = ["'; touch /tmp/evil #", "$(id)`id`", "a/b?c#d%2F%", "é🙂שלום\u202e", "two  words",
  "<img src=x onerror=alert(1)>", "\\\"'\\\\", "line\nbreak\ttab", "-d@/etc/passwd",
  "k".repeat(512)];

test("a row says what the key has", () => {
  assert.equal(rowText(undefined), "no row: its rules' own limits");
  assert.equal(rowText({ plan: "gold" }), "the plan 'gold'");
  assert.equal(rowText({ plan: "a\u202eb", anchor: 31 }),
    "the plan 'a\\u{202e}b', months from day 31");
  assert.equal(rowText({ limit: 5000, window: 3600 }), "a limit of 5,000 per 1h");
  assert.equal(rowText({ limit: 0 }), "a limit of 0 per window of the rule");
  assert.equal(rowText({ limit: "5 000" }), "the limit '5 000'");
  assert.equal(rowText({}), "neither a plan nor a limit");
  const answer = { key: "ann", limit: 5, window: 60, anchor: 7, version: 3, more: 1 };
  assert.deepEqual(rowOf(answer), { limit: 5, window: 60, anchor: 7 });
  assert.equal(JSON.stringify(rowOf({ anchor: 7, plan: "p" })),
    JSON.stringify(rowOf({ plan: "p", anchor: 7 })), "rows that say the same look the same");
});

test("what people type is what the server reads, and it says what is wrong", () => {
  const typed = (fields) => typedRow({ ...EMPTY, ...fields });
  assert.deepEqual(typed({}), {});
  assert.deepEqual(typed({ plan: " gold ", limit: "5", window: "1h", anchor: "7" }),
    { plan: " gold ", anchor: 7 }, "the fields of a limit are shut");
  assert.deepEqual(typed({ limit: " 5 ", window: " 90m " }), { limit: 5, window: "90m" });
  assert.deepEqual(typed({ limit: "0", window: "0.25" }), { limit: 0, window: 0.25 });
  for (const limit of ["5,000", "-1", "1e3", "0x10", "ten"]) {
    assert.deepEqual(typed({ limit }), { limit }, "nobody guesses");
  }
  assert.deepEqual(typed({ plan: "5" }), { plan: "5" }, "a plan is a text");
});

test("a window is shown as people type it", () => {
  for (const [seconds, text] of [[86_400, "1d"], [5400, "90m"], [3600, "1h"], [90, "90s"],
    [0.25, "250ms"], [0.001, "1ms"], [31_622_400, "366d"], [1.5, "1500ms"], [60.001, "60001ms"]]) {
    assert.equal(typedWindow(seconds), text);
  }
  assert.equal(typedWindow("1h"), "1h");
  assert.equal(typedWindow(undefined), "");
});

test("the plans are the tiers of the rules, and what the row has", () => {
  const rules = [{ tiers: [{ name: "iron" }, { name: "gold" }] }, { tiers: [{ name: "gold" }] },
    {}];
  assert.deepEqual(plansOf(rules), ["gold", "iron"]);
  assert.deepEqual(plansOf(rules, "old"), ["old", "gold", "iron"]);
  assert.deepEqual(plansOf(rules, "iron"), ["iron", "gold"]);
  assert.deepEqual(plansOf([{ tiers: [{ name: "" }, { name: 5 }, 7] }]), []);
});

test("a rule says what it makes of the row", () => {
  const rule = { tiers: [{ name: "gold" }] };
  const applied = { decided_by: "counter", limit: 1000, window_seconds: 60 };
  const gold = { ...applied, tenant: { plan: "gold" } };
  assert.equal(countsBy(rule, { plan: "gold" }, gold), "1,000 per 1 min.");
  assert.equal(countsBy({}, { plan: "gold" }, gold),
    "1,000 per 1 min, its own: it has no tier of that name.");
  assert.equal(countsBy(rule, undefined, applied), "1,000 per 1 min.");
  assert.equal(countsBy({}, { plan: "gold" }, { ...applied, override: true }),
    "1,000 per 1 min, by an override of the rule, which comes first.");
  assert.equal(countsBy(rule, { limit: 10 }, { ...gold, limit: 30, per_window: 10 }),
    "10 per 1 min.", "a burst is not what comes each window");
  assert.equal(countsBy(rule, { limit: 3 }, { ...gold, of: "concurrency" }), "1,000 at once.");
  const limits = [{ limit: 5, window_seconds: 1 }, { limit: 90, calendar: "month" }];
  assert.equal(countsBy(rule, { plan: "gold" }, { ...gold, limits }),
    "5 per 1 s and 90 per month.");
  assert.match(countsBy(rule, { limit: 3 }, { ...gold, decided_by: "deny_list" }), /deny list/);
  assert.doesNotThrow(() => countsBy({}, {}, {}));
});

test("an explanation says what the table has", () => {
  const said = (tenant) => because({ tenant, limit: 5, remaining: 5 }).join(" ");
  assert.match(said({ plan: "a\u202eb", anchor: 7 }),
    /the key has the plan 'a\\u\{202e\}b', and months that begin on day 7\./);
  assert.match(said({ limit: 5 }), /By the table of tenants the key has a limit of its own\./);
  assert.match(said({ anchor: 7 }), /tenants the key has months that begin on day 7\./);
  assert.doesNotMatch(said(undefined), /tenants|override/);
  assert.match(because({ override: true }).join(" "), /An override of the rule gives the key its/);
});

test("a copied change is one command for a shell, and says what the page would send", () => {
  // A shell that shows its words, a line each, in place of curl.
  const words = (command) => JSON.parse(execFileSync("sh", ["-c", `curl() {
    node -e 'console.log(JSON.stringify(process.argv.slice(1)))' -- "$@"; }\n${command}`],
  { env: { ...process.env, WEIR_ADMIN_TOKEN: "the token" } }).toString());
  for (const text of HOSTILE) {
    const body = { key: text, plan: text };
    const command = curlOfChange("PUT", "http://127.0.0.1:8080", "3-99", body, true);
    assert.deepEqual(words(command), ["-X", "PUT", "http://127.0.0.1:8080/admin/tenant", "-H",
      "Authorization: Bearer the token", "-H", "If-Match: \"3-99\"", "-d", JSON.stringify(body)]);
  }
  assert.deepEqual(words(curlOfChange("DELETE", "http://h", "", { key: "ann" }, false)),
    ["-X", "DELETE", "http://h/admin/tenant", "-d", "{\"key\":\"ann\"}"]);
});
