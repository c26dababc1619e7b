import assert from "node:assert/strict";
import { test } from "node:test";

import {
  authorOf, elseOf, exactlyDenied, holdText, limitsNow, misjudgedText, overText, pastOf, patchOf,
  rolloutOf, rolloutText, runsText, stanceOf, switchSays, whereText,
} from "../src/rule_words";

const FLEET = { runs: 1, nodes: [{ node: "a", runs: true, why_not: null },
  { node: "b", runs: false, why_not: "its file has other rules" }] };
const PAST = "512 of 4,000 requests of the last 1 h";

test("a switch says what it does before it does it", () => {
  assert.equal(switchSays("shadow", "enforced", PAST, undefined),
    "512 of 4,000 requests of the last 1 h would have been denied. Such requests are denied from " +
    "now on, on this node, until the next reload.");
  assert.equal(switchSays("enforced", "off", PAST, FLEET),
    "512 of 4,000 requests of the last 1 h were denied. It counts nothing and denies nobody from " +
    "now on, on 1 of 2 nodes (a), until a reload of other rules. " +
    "Changes by hand do not reach b: its file has other rules.");
  const unheard = { version: 0, nodes: ["a", "b"].map((node) => ({ node, runs: true })) };
  assert.match(switchSays("off", "enforced", PAST, unheard),
    /from now on, on 2 nodes \(a, b\), on each whose file has the same rules, until a reload/);
  assert.match(switchSays("off", "shadow", PAST, FLEET, { state: "down" }),
    /from now on, and are still counted, on this node alone until Redis is back\.$/);
  assert.match(switchSays("off", "shadow", PAST, FLEET), /^It counts nothing now/);
  assert.match(switchSays("shadow", "off", undefined, FLEET), /not known yet/);
  assert.match(switchSays("part", "enforced", PAST, FLEET), /the last 1 h were over its limit\./);
});

test("what limits promise while Redis answers is not said while it is away", () => {
  const words = "5 per 1m, off by 4 above or 5 below at worst while Redis answers";
  assert.equal(limitsNow(words, {}, { state: "up" }), words);
  const away = (rule) => limitsNow(words, rule, { state: "down" }).replace(words, "");
  assert.equal(away({}), "; it is away, so each node admits its share alone");
  assert.equal(away({ on_store_failure: "deny" }), "; it is away, so all are denied");
  assert.equal(limitsNow("5 per 1m", {}, { state: "down" }), "5 per 1m");
});

test("a rule does one thing of three, or one of them in part", () => {
  assert.equal(stanceOf({}), "enforced");
  assert.equal(stanceOf({ shadow: true }), "shadow");
  assert.equal(stanceOf({ shadow: true, enabled: false }), "off");
  assert.deepEqual(["0%", "10%", "100%"].map((enforce) => stanceOf({ enforce })),
    ["shadow", "part", "enforced"]);
  assert.equal(stanceOf({ enforce: "proportional" }), "enforced");
  assert.equal(patchOf("shadow", { enforce: "10%" }).enforce, null);
  const given = { enforce: "proportional" };
  for (const to of ["shadow", "enforced"]) assert.equal(patchOf(to, given).enforce, given.enforce);
});

test("a rollout begins where the rule is, and says its steps", () => {
  const begun = rolloutOf({ shadow: true });
  assert.equal(rolloutText(begun), "1% of the keys, in steps 0%, 1%, 10%, 50%, 100%, each 10m; " +
    "stops if denied_keys>0.1%");
  assert.deepEqual(rolloutOf({ enforce: "10%" }).rollout.steps, ["10%", "50%", "100%"]);
  const stopped = { enforce: "0%", rollout: { ...begun.rollout, stopped: "it denied bob" } };
  assert.equal(stanceOf(stopped), "shadow");
  assert.match(rolloutText(stopped), /^0% of the keys, .*; has stopped: it denied bob$/);
});

test("a change says where it holds, and where not", () => {
  assert.equal(runsText(FLEET, "request"), "on 1 of 2 nodes (a)");
  assert.equal(runsText(FLEET, "file"),
    "on each node as its file says; changes by hand hold on 1 of 2 nodes (a)");
  assert.equal(runsText({ nodes: [FLEET.nodes[0]] }, "file"), "on 1 node (a)");
  assert.equal(whereText({ nodes: ["c", "a", "b"].map((node) => ({ node, runs: true })) }),
    "on 3 nodes (a, b, c)");
  assert.equal(whereText({ nodes: Array.from({ length: 5 }, () => ({ runs: true })) }),
    "on 5 nodes");
  assert.equal(holdText(FLEET), "It holds on 1 of 2 nodes (a), until a reload of other rules. " +
    "Changes by hand do not reach b: its file has other rules.");
  assert.match(holdText(FLEET, true), /\(a\), on all but this node until a reload of other/);
  assert.equal(holdText(undefined, true), "It holds on this node.");
});

test("the past is that of whole steps, and of no time before", () => {
  const points = [90, 100, 110].map((t) =>
    ({ t, seconds: 10, requests: 0.5, denied: 0.1, shadow: 0.2 }));
  assert.equal(pastOf(points, 22, 112, "enforced"), "2 of 10 requests of the last 22 s");
  assert.equal(pastOf(points, 22, 112, "shadow"), "4 of 10 requests of the last 22 s");
  assert.equal(pastOf(points, 22, 112, "part"), "6 of 10 requests of the last 22 s");
  assert.equal(pastOf(points, 5, 112, "shadow"), undefined);
  assert.equal(pastOf([], 20, 112, "shadow"), undefined);
});

test("a change has its author", () => {
  assert.equal(authorOf({ origin: "request", who: "192.0.2.1", by: "carol" }),
    "carol at 192.0.2.1");
  assert.equal(authorOf({ origin: "file" }), "the start");
  assert.equal(authorOf({ origin: "file", changes: ["added login"] }), "a reload");
});

test("what else decides is said, as far as it is not what is usual", () => {
  assert.deepEqual(elseOf({ mode: "local", on_store_failure: "deny", missing: "client",
    on_surge: { limit: "50%" }, deny: ["bad\u202eguy"], allow: "a",
    overrides: ["b", "c", "d", "e", "f"].map((key) => ({ key, limit: 1, window: "1m" })) }, FLEET),
  ["Each of the 2 nodes counts alone, so 2 times the limit may pass.",
    "While Redis is away, all are denied.",
    "While traffic is unusual, the limit is 50 % of itself.",
    "Denied uncounted: bad\\u{202e}guy.", "Passing uncounted: a.",
    "With limits of their own: b: 1 per 1m, c: 1 per 1m, d: 1 per 1m, e: 1 per 1m and 1 other."]);
  assert.deepEqual(elseOf({ mode: "strict", on_full: "deny", overdraft: true }, undefined),
    ["While memory is full, new keys are denied.", "Costs count whether or not they fit."]);
  assert.deepEqual(elseOf({ limit: 1 }, FLEET), []);
});

test("a sample says how far off what a rule denies may be", () => {
  const misjudged = { judged: 900, share: 0.002, share_min: 0.001, share_max: 0.01 };
  assert.deepEqual(exactlyDenied({ requests: 1000, denied: 50 }, misjudged), [40, 60]);
  assert.deepEqual(exactlyDenied({ requests: 1000, denied: 3 }, misjudged), [0, 13]);
  assert.deepEqual(exactlyDenied({ requests: 10, denied: 10 }, misjudged), [9.9, 10]);
  assert.equal(exactlyDenied({ requests: 10, denied: 10 }, {}), undefined);
  assert.equal(exactlyDenied({ requests: 10, shadow: 1 }, misjudged), undefined);
  assert.equal(exactlyDenied({ requests: 10, denied: 10 }, { judged: 1, share_max: 1 }), undefined);
  assert.equal(misjudgedText({}), "");
  assert.equal(misjudgedText({ judged: 99, share_min: 0, share_max: 1 }), "");
  assert.equal(misjudgedText(misjudged),
    "; 0.1 % to 1 % of requests misjudged, by 900 samples");
});

test("a rule that nodes share says how far over a key may be now", () => {
  assert.equal(overText(undefined, undefined), "");
  assert.equal(overText(3, 3.1), "; a key is at most 3.1 % over at this moment");
  assert.equal(overText(9, 540, "nodes counted alone until lately"),
    "; a key is at most 540 % over at this moment, as nodes counted alone until lately");
  assert.match(overText(null, null), /^; nobody knows/);
});
