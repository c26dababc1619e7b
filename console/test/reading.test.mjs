// What the server sends, with fields missing; differences; when to reconnect; runs.

import assert from "node:assert/strict";
import test from "node:test";

import { diffLines, hunks } from "../src/diff.ts";
import { newEvents, readHistory, readLive, silenceOf } from "../src/message.ts";
import { highest, lastOf, nearest, sumOf, timeOf, timesAlone, withTold } from "../src/series.ts";
import { readDenied } from "../src/top_denied.ts";
import { IN_FLIGHT_MAX, RUNS, dueBy, keyOf, ownRun, requestsOf } from "../src/plan.ts";
import { LONGEST_WAIT_MS, planAfter, pollWaitMs } from "../src/reconnect.ts";

test("a message with an instant alone is a message", () => {
  const live = readLive({ t: 5 });
  assert.equal(live.t, 5);
  assert.deepEqual(live.rules, []);
  assert.equal(live.here.p99, undefined);
  assert.equal(live.redis, undefined);
});

test("what is no message is none", () => {
  for (const value of [undefined, null, 3, "x", [], {}, { t: "5" }, { t: NaN }]) {
    assert.equal(readLive(value), undefined);
  }
});

test("fields of a wrong type are left out, and their neighbours stay", () => {
  const live = readLive({
    t: 1, here: { requests: "many", p50: 0.5 }, redis: { state: "asleep" },
    rules: [{ rule: "a", requests: 4, denied: 1 }, { rule: 7 }, null, "x"],
    nodes: [{ name: "n1", age: null }], events: [{ id: 1, text: "x" }, { id: "2", text: "y" }],
  });
  assert.equal(live.here.requests, undefined);
  assert.equal(live.here.p50, 0.5);
  assert.equal(live.redis, undefined);
  assert.deepEqual(live.rules.map((rule) => [rule.rule, rule.denyRate]), [["a", 0.25]]);
  assert.equal(live.nodes[0].age, undefined);
  assert.equal(live.events.length, 1);
});

test("a node without a fleet is its own fleet", () => {
  assert.equal(readLive({ t: 1, here: { requests: 3, denied: 0 } }).fleet.requests, 3);
  assert.equal(readLive({ t: 1, fleet: { requests: 9 }, here: { requests: 3 } }).fleet.requests, 9);
});

test("a page says when it heard nothing", () => {
  const told = (t, node, uptime) =>
    ({ t, node, uptime, nodes: [{ name: "b", title: "web-2" }, { name: "a", here: true }] });
  assert.equal(silenceOf(told(1, "a", 9), told(3, "a", 11)), undefined);
  const said = (...now) =>
    silenceOf(told(1, "a", 9), told(...now)).text.replace(/ from.* to /, " ");
  assert.match(said(9, "a", 17), /^a was not heard [\d:]+$/);
  assert.match(said(9, "c", 5), /, and has begun again$/);
  assert.match(said(3, "c", 1), /, and has begun again$/);
  assert.match(said(9, "c", 50), /; now another node answers$/);
});

test("a second that the history tells again is one, whatever the clocks' drift", () => {
  const at = (...times) => times.map((t) => ({ t }));
  assert.deepEqual(withTold(at(3, 4), at(1, 2, 3.001, 4.001, 5)), at(1, 2, 3, 4, 5));
  assert.deepEqual(withTold(at(3, 4), at(2.999, 3.999, 5)), at(3, 4, 5));
  assert.deepEqual(withTold([], at(1)), at(1));
});

test("history has rates, whatever is known of a step", () => {
  const { step, points, rules, hasOthers } = readHistory({ step: 10,
    points: [{ t: 1, seconds: 4, nodes: 3, requests: 8, denied: 4, shadow: 2 }, { requests: 2 }],
    rules: [{ rule: "a", requests: 4, denied: 1, denying_since: 7, shadow: 2 }, {}],
    others: { requests: 1, denied: 0 } });
  assert.deepEqual([step, points.length, points[0].requests, points[0].denied], [10, 1, 2, 1]);
  assert.deepEqual(sumOf(points), { requests: 8, denied: 4, shadow: 2, denyRate: 0.5,
    isAlone: false, summedS: 4, apartS: 0 });
  assert.deepEqual([rules.length, rules[0].denyRate, rules[0].since, rules[0].shadow, hasOthers],
    [1, 0.25, 7, 2, true]);
  assert.deepEqual(readHistory({}).points, []);
});

test("no sum mixes the fleet's seconds with those of a node that was alone", () => {
  const { points } = readHistory({ points: [
    { t: 60, seconds: 60, requests: 600, denied: 0 },
    { t: 65, seconds: 5, requests: 5, denied: 0, alone: true },
    { t: 70, seconds: 5, requests: 5, denied: 5, alone: true },
    { t: 75, seconds: 5, requests: 50, denied: 0 }] });
  const alone = sumOf(points.slice(0, 3));
  assert.deepEqual([alone.requests, alone.denyRate], [10, 0.5]);
  assert.equal(lastOf(60, "minute", 9.2), "the last 10 s");
  assert.equal(lastOf(60, "minute", 60), "the last minute");
  assert.equal(timeOf(alone, "the last hour"), "10 s of this node alone");
  const all = sumOf(points);
  assert.deepEqual([all.requests, all.denied], [650, 0]);
  assert.equal(timeOf(all, "the last hour"), "the last hour, without 10 s of this node alone");
  assert.equal(timeOf(sumOf(points.slice(0, 1)), "the last hour"), "the last hour");
  assert.deepEqual(timesAlone(points), [[60, 70]]);
});

test("a line through a chart is of the nearest step, or of none", () => {
  const points = [10, 20, 50].map((t) => ({ t }));
  const at = (t) => nearest(points, t, 10)?.t;
  assert.deepEqual([0, 14, 16, 35, 44, 99].map(at), [10, 10, 20, undefined, 50, undefined]);
  assert.equal(nearest([], 1, 10), undefined);
});

test("a short line keeps the peaks of a long one", () => {
  assert.deepEqual(highest([1, 9, 2, 3, 4], 3), [9, 3, 4]);
  assert.deepEqual(highest([], 3), []);
});

test("what is not known of denials is left out, and what passed", () => {
  const { groups, isPart } = readDenied("network", { forgotten: 2, groups: [
    { network: "192.0.2.0/24", times: 3, last: 9 }, { network: null, times: 1 },
    { network: "192.0.2.0/24", shadow: true, times: 7 }] });
  assert.deepEqual([groups.length, groups[0].network, groups[0].times, isPart],
    [1, "192.0.2.0/24", 3, true]);
  const shared = { rule: "api", hash: "9f", key: "" };
  assert.deepEqual(readDenied("key", { groups: [shared] }).groups, [shared]);
});

test("new events are those with higher ids, or all of a server that began again", () => {
  const events = [{ id: 3, text: "c" }, { id: 5, text: "e" }, { id: 4, text: "d" }];
  const ids = (last, list = events) => newEvents(last, list).map((event) => event.id);
  assert.deepEqual(ids(3), [5, 4]);
  assert.deepEqual(ids(5), []);
  assert.deepEqual(ids(90), [5, 4, 3]);
  assert.deepEqual(ids(-1, []), []);
});

test("a difference has the lines that changed, and their neighbours", () => {
  const before = "a\nb\nc\nd\ne\nf\n";
  const lines = diffLines(before, "a\nb\nc\nD\ne\nf\n");
  const signs = { same: " ", added: "+", removed: "-" };
  const said = (list) => list.map((line) => (line ? signs[line.kind] + line.text : "…")).join("|");
  assert.equal(said(lines), " a| b| c|-d|+D| e| f");
  assert.equal(said(hunks(lines, 1)), "…| c|-d|+D| e|…");
  assert.deepEqual(hunks(diffLines(before, before)), []);
  assert.equal(said(diffLines("", "x\n")), "+x");
  assert.equal(said(diffLines("x\n", "")), "-x");
});

test("a difference of texts that are too long is all of both", () => {
  const long = "x\n".repeat(3000);
  assert.equal(diffLines(long, `${long}y\n`).length, 6001);
  assert.ok(diffLines(long, long).every((line) => line.kind === "same"));
});

test("waits grow, stay below their bound, and end in polling", () => {
  assert.deepEqual(planAfter(1, 1), { way: "wait", waitMs: 250 });
  assert.deepEqual(planAfter(1, 0), { way: "wait", waitMs: 125 });
  assert.equal(planAfter(2, 1).waitMs, 500);
  assert.equal(planAfter(3, 1).way, "poll");
  assert.equal(planAfter(1000, 1).way, "poll");
  assert.equal(pollWaitMs(0), 1000);
  assert.equal(pollWaitMs(1000), LONGEST_WAIT_MS);
});

test("a run sends its first request at once and its last in time", () => {
  const [normal, burst, spam] = RUNS;
  assert.deepEqual([normal, burst, spam].map(requestsOf), [25, 100, 450]);
  assert.equal(dueBy(normal, 0), 1);
  assert.equal(dueBy(normal, 1000), 6);
  assert.equal(dueBy(normal, 60_000), 25);
  assert.equal(dueBy(burst, 0), 100);
  assert.ok(IN_FLIGHT_MAX < 100);
});

test("a run of one's own is bounded", () => {
  assert.equal(requestsOf(ownRun(10, 3, 4)), 40);
  assert.equal(keyOf("k", ownRun(10, 3, 4), 4), "k-2");
  assert.equal(keyOf("k", RUNS[0], 4), "k");
  for (const wrong of [[0, 1, 1], [1000, 1, 1], [1, 0, 1], [1, 1, 61], [1.5, 1, 1], [NaN, 1, 1]]) {
    assert.match(ownRun(...wrong).problem, /from 1 to/);
  }
});
