// Explanations in words, and what figures mean.

import assert from "node:assert/strict";
import test from "node:test";

import {
  consolePage,
  algorithmOf, because, burstState, deniedState, keysState, latencyState, limitOf, reach,
  redisState, verdict, whyNot,
} from "../src/words.ts";

const DENIED = {
  rule: "demo", key: "visitor-1", cost: 1, decided_by: "counter", would: "deny", over: true,
  mode: "local", algorithm: "adaptive", limit: 100, window_seconds: 3600, remaining: 0,
  retry_after: 36, enabled: true, shadow: false,
  following: { algorithm: "token_bucket", number: 1, seconds_ago: 3, because: "burst ratio 5.0" },
};

test("the 101st is denied, and the words say why", () => {
  assert.deepEqual(verdict({ applies: [DENIED] }),
    { level: "bad", text: "It would be denied, by 'demo'." });
  assert.deepEqual(because(DENIED), [
    "The counter of key 'visitor-1' has 0 of 100 per 1 h left. This would be number 101; it fits " +
      "again in 36 s.",
    "The rule is adaptive; it switched to token_bucket 3 s ago, because of burst ratio 5.0.",
  ]);
});

test("slots are counted as such", () => {
  const rule = {
    ...DENIED, algorithm: "sliding_window", limit: 2, window_seconds: 0.001, remaining: 0,
    of: "concurrency", held: { units: 2, holds: 2, lapses_after: 36 }, following: undefined,
  };
  assert.deepEqual(because(rule), [
    "The counter of key 'visitor-1' has 0 of 2 slots left; it fits again in 36 s.",
    "2 slots are taken; the first ends in 36 s.",
  ]);
  const free = { ...rule, would: "allow", over: false, remaining: 2, held: { units: 0, holds: 0 } };
  assert.deepEqual(because(free), ["The counter of key 'visitor-1' has 2 of 2 slots left."]);
});

test("what would be allowed", () => {
  const rule = { ...DENIED, would: "allow", over: false, remaining: 5, algorithm: "token_bucket" };
  assert.equal(verdict({ applies: [rule] }).level, "good");
  assert.deepEqual(because(rule), [
    "The counter of key 'visitor-1' has 5 of 100 per 1 h left, so a cost of 1 fits.",
    "The algorithm is token_bucket."]);
  assert.match(verdict({ applies: [] }).text, /no rule applies/);
  assert.match(verdict({ applies: [{ ...rule, decided_by: "not_counted" }] }).text,
    /would pass: no rule counts it/);
});

test("a burst is not what comes each window", () => {
  const rule = { ...DENIED, would: "allow", over: false, limit: 30, per_window: 10,
    window_seconds: 1, remaining: 30, algorithm: "token_bucket" };
  assert.equal(because(rule)[0], "The counter of key 'visitor-1' has 30 of a burst of 30 left " +
    "and gets 10 per 1 s, so a cost of 1 fits.");
  assert.match(because({ ...rule, would: "deny", over: true, remaining: 0 })[0],
    /has 0 of a burst of 30 left and gets 10 per 1 s\. This would be number 31;/);
});

test("other reasons than the counter", () => {
  const said = (fields) => because({ ...DENIED, ...fields }).join(" ");
  assert.match(said({ decided_by: "blocked", retry_after: 60 }),
    /^The key is blocked for another 1 min\./);
  assert.match(said({ decided_by: "deny_list" }), /deny list/);
  assert.match(said({ decided_by: "not_counted", because: "it is outside its hours" }),
    /does not count this: it is outside its hours\./);
  assert.match(said({ decided_by: "missing_key" }), /lacks a part of the key/);
  const expired = "the token does not count: it has expired";
  assert.match(said({ missing: [{ part: "jwt:sub", because: expired }] }),
               /It lacks jwt:sub of the key: the token does not count: it has expired\./);
  const away = { on_store_failure: "deny", mode: "strict" };
  const up = { redis: { state: "up", mode: "strict" },
    nodes: [{ name: "a", title: "web-1", mode: "async" }, { name: "b", mode: "strict" }, {}] };
  const live = (fields, told) => because({ ...DENIED, ...away, ...fields }, told).join(" ");
  for (const [told, why] of [[up, "Redis has not answered this in time"],
    [{ ...up, redis: { state: "down" } }, "Redis is away"]]) {
    assert.match(live({ decided_by: "store_failure" }, told),
      new RegExp(`^${why}, so the rule denies this .*: deny\\)`));
    assert.match(live({ on_store_failure: "local", scope: "node" }, told),
      new RegExp(`${why}, so this node counts alone, by its share .*: local\\)\\.$`));
  }
  assert.doesNotMatch(live({ scope: "fleet", mode: "leased" }, up), /Unless/);
  assert.match(live({ scope: "fleet" }, up),
    /in mode strict\. Unless the rule names that mode, others count it in theirs: web-1 async\.$/);
  assert.match(said({ retry_after: null }), /waiting does not help/);
  assert.match(said({ shadow: true, would: "allow" }), /in shadow: it would deny/);
  assert.match(said({ shadow: true, over: false, would: "allow", enforce_percent: 10 }),
    /denies 10 % of its keys, and this is not one of them\./);
  assert.match(said({ mode: "strict", scope: "fleet" }), /fleet shares .* in mode strict/);
  assert.match(said({ mode: "local", scope: "node" }), /This node alone counts here/);
  assert.doesNotMatch(said({ mode: "local" }), /node/);
  const limits = [{ remaining: 0, limit: 10, window_seconds: 60 },
    { remaining: 990, limit: 1000, window_seconds: 3600 }];
  assert.match(said({ limits }),
    /All of its limits hold: 0 of 10 per 1 min and 990 of 1,000 per 1 h left\./);
  assert.match(said({ limits: [{ remaining: 1, limit: 3, calendar: "month", window_seconds: 9 }] }),
    /1 of 3 per month left/);
  assert.match(said({ calendar: "month" }), /per month left/);
  assert.match(said({ on_surge: { active: true, limit_percent: 50 } }), /50 % of itself/);
  assert.match(said({ following: { algorithm: "sliding_window" } }), /never switched/);
  assert.doesNotThrow(() => because({}));
});

test("fields that say two times are told apart", () => {
  assert.match(because({ ...DENIED, reset_after: 3600 }).join(" "),
    /fits again, 36 s; X-RateLimit-Reset is when all of the limit is back, 1 h\./);
  assert.equal(because({ ...DENIED, reset_after: 36 }).length, 2);
});

test("what nobody can say", () => {
  const unknown = [{ rule: "a", needs: "client" }, { rule: "b", needs: "client" }];
  assert.deepEqual(verdict({ applies: [], would: "unknown", unknown }),
    { level: "warn", text: "Nobody can say without the client's address." });
  assert.match(verdict({ applies: [DENIED], unknown: [{ needs: "key" }] }).text, /without the key/);
  assert.match(because({ ...DENIED, key: "" })[0], /^The one counter of the rule has 0 of 100/);
});

test("why a rule does not apply", () => {
  assert.equal(whyNot("path"), "its path is another");
  assert.equal(whyNot("it is disabled"), "it is disabled");
  assert.equal(whyNot("shape"), "its shape does not fit");
  assert.equal(whyNot(undefined), "it does not apply");
});

test("a rule that denies a share says so, whatever is left", () => {
  const rule = { rule: "r", would: "allow", decided_by: "counter", remaining: 9, limit: 20,
    window_seconds: 1, offered: 200, drops_percent: 90 };
  assert.deepEqual(verdict({ applies: [rule] }),
    { level: "warn", text: "It may pass: 'r' denies 90 % of such requests." });
  assert.match(because(rule).join(" "), /offered 200 in a window, so 90 % of that is denied\./);
  assert.equal(verdict({ applies: [{ ...rule, drops_percent: 0 }] }).level, "good");
});

test("figures have a level and a word", () => {
  assert.deepEqual(deniedState({ requests: 10, denied: 4, denyRate: 0.4 }),
    { level: "bad", text: "4 of 10" });
  assert.equal(deniedState({ requests: 10, denyRate: 0.1 }).level, "warn");
  assert.equal(deniedState({ requests: 0, denyRate: 0 }).text, "no traffic");
  assert.equal(burstState({ burstRatio: 5 }).level, "bad");
  assert.equal(latencyState({ p99: 0.00002 }).text, "fast");
  assert.equal(keysState({ keys: 99, maxKeys: 100 }).level, "bad");
  assert.deepEqual(redisState({ state: "down", since: 40 }, 100),
    { level: "bad", value: "down", text: "for 1 min" });
  assert.equal(redisState({ state: "up", mode: "strict", since: 1 }, 4).text, "strict, for 3 s");
});

test("limits as a cell", () => {
  assert.equal(limitOf({ limit: 5, window: "1m" }), "5 per 1m");
  assert.equal(limitOf({ limit: 5, window: 60, more_limits: [{}, {}] }), "5 per 1 min and 2 more");
  assert.equal(limitOf({ limit: 1500, window: "1m" }), "1,500 per 1m");
  assert.equal(limitOf({ tiers: [{}] }), "by tier");
  const slots = { id: "slots", of: "concurrency", limit: 3 };
  assert.equal(limitOf(slots), "3 at once");
  assert.equal(algorithmOf(slots), undefined);
  assert.equal(algorithmOf({ limit: 3, window: "1m" }), "sliding_window");
  assert.equal(algorithmOf({ limit: 3, window: "day" }), "fixed_window");
});

test("what a node says of its console becomes a link only where that leads there", () => {
  assert.equal(consolePage("http://10.0.0.7:8080", "10.0.0.8"), "http://10.0.0.7:8080/");
  assert.equal(consolePage("http://127.0.0.1:8081", "127.0.0.1"), "http://127.0.0.1:8081/");
  assert.equal(consolePage("http://127.0.0.1:8081", "localhost"), "http://127.0.0.1:8081/");
  assert.equal(consolePage("http://127.0.0.1:8081", "10.0.0.8"), undefined);
  assert.equal(consolePage("http://[::1]:8081", "weir.example"), undefined);
  assert.equal(consolePage("https://weir.example", "10.0.0.8"), "https://weir.example/");
  for (const forged of ["javascript:alert(1)", "data:text/html,x", "", undefined, "//evil", "x"]) {
    assert.equal(consolePage(forged, "127.0.0.1"), undefined);
  }
});

test("a block says where it holds", () => {
  assert.equal(reach({ state: "up" }),
    ", on this node, and on the others as soon as Redis answers");
  assert.equal(reach({ state: "up" }, true), ", on all nodes that share its Redis");
  assert.match(reach({ state: "down" }), /on this node alone until Redis is back/);
  assert.deepEqual([reach({ state: "disabled" }), reach(undefined)], ["", ""]);
});
