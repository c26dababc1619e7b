// The limiter on memory: what a user sees of it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ALGORITHMS, binding, headers, Limiter, MemoryStore, Quota } from "@weir/limiter";

const START = 1_763_836_000_000;  // 40 s into a minute

function limiterAt(options) {
  const time = { now: START };
  return [new Limiter({ limit: 3, window: "1m", ...options, clock: () => time.now }), time];
}

for (const algorithm of ALGORITHMS) {
  test(`${algorithm}: the limit, then a denial that says when`, () => {
    const [limiter, time] = limiterAt({ algorithm });
    const allowed = [1, 2, 3].map(() => limiter.hit("login", "alice"));
    assert.deepEqual(allowed.map((decision) => decision.remaining), [2, 1, 0]);
    assert.ok(allowed.every((decision) => decision.allowed && decision.retryAfter === 0));

    const denied = limiter.hit("login", "alice");
    assert.equal(denied.allowed, false);
    assert.equal(denied.remaining, 0);
    assert.ok(denied.retryAfter > 0 && denied.retryAfter <= 60);
    time.now += Math.ceil(1000 * denied.retryAfter);
    assert.equal(limiter.hit("login", "alice").allowed, true, "it fits when it was said to");
  });
}

test("buckets and keys have counters of their own", () => {
  const [limiter] = limiterAt({ limit: 1 });
  assert.equal(limiter.hit("a", "b").allowed, true);
  assert.equal(limiter.hit("b", "a").allowed, true);
  assert.equal(limiter.hit("ab", "").allowed, true);
  assert.equal(limiter.hit("", "ab").allowed, true);
  assert.equal(limiter.hit("a", "b").allowed, false);
});

test("cost: several units, a look, giving back, and more than ever fits", () => {
  const [limiter] = limiterAt({ limit: 10, algorithm: "sliding_log" });
  assert.equal(limiter.hit("", "k", { cost: 7 }).remaining, 3);
  assert.equal(limiter.hit("", "k", { cost: 0 }).remaining, 3);
  assert.equal(limiter.hit("", "k", { cost: 4 }).allowed, false);
  assert.equal(limiter.hit("", "k", { cost: -2 }).remaining, 5);
  const never = limiter.hit("", "k", { cost: 11 });
  assert.equal(never.allowed, false);
  assert.equal(never.retryAfter, Infinity);
});

for (const algorithm of ALGORITHMS) {
  test(`${algorithm}: what does not fit takes what is left, if it drains`, () => {
    const [limiter, time] = limiterAt({ algorithm, limit: 8 });
    assert.equal(limiter.drain("", "k", { cost: 5 }).remaining, 3, "it fits");
    const denied = limiter.drain("", "k", { cost: 5 });
    assert.deepEqual([denied.allowed, denied.remaining], [false, 0]);
    assert.ok(denied.retryAfter > 0);
    assert.equal(limiter.hit("", "k").allowed, false, "nothing is left for small ones");
    assert.equal(limiter.hit("", "k", { cost: 0 }).allowed, true, "nothing is owed");
    assert.equal(limiter.drain("", "k", { cost: -2 }).remaining, 2);
    assert.equal(limiter.drain("", "k", { cost: 0 }).remaining, 2);
    time.now += Math.ceil(1000 * denied.resetAfter);
    const never = limiter.drain("", "k", { cost: 9 });
    assert.deepEqual([never.remaining, never.retryAfter], [0, Infinity]);
    assert.equal(limiter.drain("", "other", { cost: 3, limit: 2 }).remaining, 0);
    assert.throws(() => limiter.drain("", 7), /^TypeError: key/);
    assert.throws(() => limiter.drain("", "k", { cost: 0.5 }), /^RangeError: cost/);
  });
}

test("limit and window of one call, and what they are of", () => {
  const [limiter] = limiterAt({ limit: 10 });
  limiter.hit("", "k", { cost: 10 });
  assert.equal(limiter.hit("", "k").allowed, false);
  assert.equal(limiter.hit("", "k", { limit: 12 }).remaining, 1, "what was counted stays");
  assert.equal(limiter.hit("", "k", { window: "1h" }).remaining, 9, "another window's count");
});

test("precise keys know when their units came", () => {
  for (const [preciseKeys, expected] of [[0, 50], [10, 0]]) {
    let now = START + 79_000;  // the last second of a window
    const limiter = new Limiter({ limit: 100, window: "1m", clock: () => now },
                                new MemoryStore({ preciseKeys }));
    assert.equal(limiter.hit("", "cron", { cost: 100 }).allowed, true);
    now += 31_000;  // the middle of the next: all of it came within a minute
    const hits = Array.from({ length: 100 }, () => limiter.hit("", "cron"));
    assert.equal(hits.filter(({ allowed }) => allowed).length, expected, String(preciseKeys));
  }
});

test("reset forgets a key", () => {
  const [limiter] = limiterAt({ limit: 1 });
  limiter.hit("", "k");
  limiter.reset("", "k");
  assert.equal(limiter.hit("", "k").allowed, true);
});

test("a burst is what a token bucket holds", () => {
  const [limiter, time] = limiterAt({ limit: 1, window: 1, burst: 5, algorithm: "token_bucket" });
  assert.equal(limiter.hit("", "k", { cost: 5 }).limit, 5);
  assert.equal(limiter.hit("", "k").retryAfter, 1);
  time.now += 1000;
  assert.equal(limiter.hit("", "k").allowed, true);
});

test("keys of any characters are different keys", () => {
  const [limiter] = limiterAt({ limit: 1 });
  const keys = ["", "\0", "\ud800", "\ud801", "\udc00", "\ufffd", "é", "e\u0301", "日本", "😀",
                "\ud83d", "😀\ude00", "x".repeat(5000), "日".repeat(5000), "x".repeat(100_000)];
  for (const key of keys) assert.equal(limiter.hit("", key).allowed, true, key.slice(0, 9));
  for (const key of keys) assert.equal(limiter.hit("", key).allowed, false, key.slice(0, 9));
  for (const key of keys) assert.equal(limiter.hit(key, "").allowed, key !== "", key.slice(0, 9));
});

test("keys and buckets that are no strings are refused, not taken for one key", () => {
  const [limiter] = limiterAt();
  const error = (name) => ({ name: "TypeError", message: new RegExp(`^${name} must be a string`) });
  for (const name of [7, NaN, 7n, true, Symbol("k"), {}, ["k"], new String("k"), () => "k"]) {
    assert.throws(() => limiter.hit("b", name), error("key"));
    assert.throws(() => limiter.hit(name, "k"), error("bucket"));
    assert.throws(() => limiter.reset("b", name), error("key"));
  }
  for (const bucket of [undefined, null]) {
    assert.throws(() => limiter.hit(bucket, "k"), error("bucket"));
  }
});

test("no key is one key, which all share who have none", async () => {
  const [limiter] = limiterAt();
  const allowed = [undefined, null, "", undefined].map((key) => limiter.hit("b", key).allowed);
  assert.deepEqual(allowed, [true, true, true, false]);
  assert.equal((await binding(limiter, "b").limit({ key: undefined })).success, false);
  for (const key of ["undefined", "null", " ", "__proto__", "constructor"]) {
    assert.equal(limiter.hit("b", key).remaining, 2, key);
  }
  limiter.reset("b", null);
  assert.equal(limiter.hit("b", undefined).remaining, 2);
});

test("a key that is too long is refused, and the limiter goes on", () => {
  const [limiter] = limiterAt();
  assert.throws(() => limiter.hit("", "x".repeat((1 << 24) + 1)), RangeError);
  assert.equal(limiter.hit("", "x".repeat(1 << 20)).allowed, true);
  assert.equal(limiter.hit("", "k").allowed, true);
});

test("what cannot be a limit is refused by name", () => {
  const mistakes = [
    ["limit", { limit: -1 }], ["limit", { limit: 1.5 }], ["limit", { limit: 1e13 }],
    ["limit", { limit: NaN }], ["limit", { limit: "5" }],
    ["window", { window: 0 }], ["window", { window: "1x" }], ["window", { window: "" }],
    ["window", { window: "367d" }], ["window", { window: 0.0001 }], ["window", { window: "1.2.3" }],
    ["algorithm", { algorithm: "leaky" }],
    ["burst", { burst: 5 }], ["burst", { burst: -1, algorithm: "token_bucket" }],
    ["burst", { burst: 1e12, algorithm: "token_bucket" }],
  ];
  for (const [field, options] of mistakes) {
    const error = { name: "RangeError", message: new RegExp(`^${field}`) };
    assert.throws(() => limiterAt(options), error, JSON.stringify(options));
  }
  const [limiter] = limiterAt();
  for (const cost of [1.5, NaN, Infinity, 1e13]) {
    assert.throws(() => limiter.hit("", "k", { cost }), /^RangeError: cost/);
  }
  assert.throws(() => new MemoryStore({ maxKeys: 10 }), /^RangeError: maxKeys/);
});

test("limits and windows at their edges", () => {
  for (const algorithm of ALGORITHMS) {
    for (const limit of [0, 1, 1e12]) {
      for (const window of ["1ms", "366d"]) {
        const [limiter] = limiterAt({ algorithm, limit, window });
        assert.equal(limiter.hit("", "k").allowed, limit > 0, `${algorithm} ${limit} ${window}`);
      }
    }
  }
});

test("windows as texts", () => {
  const seconds = { "500ms": 0.5, "90": 90, "0.25": 0.25, "1m": 60, "1h30m": 5400, "2d": 172_800,
                    "1w1s1ms1us": 604_801.001001 };
  for (const [window, length] of Object.entries(seconds)) {
    assert.equal(new Quota({ limit: 1, window }).window, length);
  }
});

test("more buckets and quotas than the module numbers", () => {
  const [limiter] = limiterAt({ limit: 1 });
  for (let round = 0; round < 2; ++round) {
    for (let i = 0; i < 600; ++i) {
      assert.equal(limiter.hit(`bucket ${i}`, "k").allowed, round === 0);
      assert.equal(limiter.hit("", `key ${i}`, { window: 1 + i }).allowed, round === 0);
    }
  }
});

test("headers are the server's", () => {
  const [limiter] = limiterAt({ limit: 2 });
  const { quota } = limiter;
  assert.deepEqual(headers(limiter.hit("", "k"), quota), {
    "X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "80",
    "RateLimit": '"default";r=1;t=80', "RateLimit-Policy": '"default";q=2;w=60',
  });
  limiter.hit("", "k");
  assert.deepEqual(headers(limiter.hit("", "k"), quota, 'a"b\n'), {
    "X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "80",
    "RateLimit": '"a\\"b?";r=0;t=50', "RateLimit-Policy": '"a\\"b?";q=2;w=60', "Retry-After": "50",
  });
  assert.equal("Retry-After" in headers(limiter.hit("", "k", { cost: 3 }), quota), false);
  const short = new Quota({ limit: 1, window: "1500ms" });
  assert.equal(headers(limiter.hit("", "k"), short)["RateLimit-Policy"], '"default";q=1');
});

test("headers of a bucket whose burst is above its limit", () => {
  const policy = (quota) => {
    const [limiter] = limiterAt({ algorithm: "token_bucket", ...quota });
    const fields = headers(limiter.hit("", "k"), limiter.quota);
    return [fields["RateLimit"], fields["RateLimit-Policy"]].map((text) => text.slice(10));
  };
  assert.deepEqual(policy({ limit: 60, window: "1h", burst: 500 }),
                   ["r=499;t=60", "q=500;w=30000"]);
  assert.deepEqual(policy({ limit: 60, window: "1h", burst: 10 }), ["r=9;t=60", "q=60;w=3600"]);
  assert.deepEqual(policy({ limit: 3, window: "1s", burst: 4 }), ["r=3;t=1", "q=4"]);
  assert.deepEqual(policy({ limit: 0, window: "1s", burst: 4 }), ["r=0", "q=0;w=1"]);
});

test("headers in the form that somebody chooses", () => {
  const [limiter] = limiterAt({ limit: 2 });
  const decision = limiter.hit("", "k");
  const fields = (style) => headers(decision, limiter.quota, "api", style);
  assert.deepEqual(fields({ headers: "draft-7", xHeaders: [] }), {
    "RateLimit": "limit=2, remaining=1, reset=80", "RateLimit-Policy": "2;w=60",
  });
  assert.deepEqual(fields({ headers: "draft-6", xHeaders: [] }), {
    "RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "80",
    "RateLimit-Policy": "2;w=60",
  });
  assert.deepEqual(fields({ headers: "none", xHeaders: ["reset"], xReset: "epoch" }),
                   { "X-RateLimit-Reset": String(START / 1000 + 80) });
});

// Never early, never as much as a second late, and the same second for all calls of a window.
const EPOCHS = [
  // window, moments after START in ms at which somebody asks, seconds from START to the reset
  ["1m", [0, 1, 123, 19_999], 20],
  ["1m", [0.1, 123.4567, 10_000.0005, 19_999.999], 20],
  ["1m", [20_000, 20_000.001, 79_999.5], 80],
  ["1s", [0, 0.001, 1 / 3, 999.999], 1],
  ["1500ms", [0, 499, 499.999], 1],            // at 0.5 s
  ["1500ms", [500, 1000.25, 1999.999], 2],     // at 2 s, to the microsecond
  ["1ms", [0, 0.5, 0.999, 998], 1],
  ["700ms", [100, 333.3, 399.999], 1],         // at 0.5 s
  ["366d", [0, 7.77, 19_999], 7_018_400],
];

for (const [window, moments, expected] of EPOCHS) {
  test(`X-RateLimit-Reset as a time: ${window} at ${moments}`, async () => {
    const [limiter, time] = limiterAt({ window, algorithm: "fixed_window", limit: 9 });
    const resets = moments.map((after) => {
      time.now = START + after;
      const fields = headers(limiter.hit("", "k"), limiter.quota, "p", { xReset: "epoch" });
      return Number(fields["X-RateLimit-Reset"]) - START / 1000;
    });
    assert.deepEqual(resets, moments.map(() => expected));
  });
}

// The table that C++ reads, too.
test("X-RateLimit-Reset as a time is the second that every host says", () => {
  const table = new URL("reset_epoch.json", import.meta.url);
  const quota = new Quota({ limit: 2, window: "1m" });
  const decision = new Limiter({ limit: 2, window: "1m" }).hit("", "k");
  for (const { now_us: now, reset_after_us: after, reset } of JSON.parse(readFileSync(table))) {
    const fields = headers({ ...decision, resetAt: (now + after) / 1000 }, quota, "p",
                           { xReset: "epoch" });
    assert.equal(fields["X-RateLimit-Reset"], String(reset), `${now} + ${after}`);
  }
});

test("a decision of a store that tells no time has its reset from now on", () => {
  const { resetAt, ...decision } = new Limiter({ limit: 2, window: "1m" }).hit("", "k");
  assert.ok(resetAt > Date.now());
  const before = Math.ceil(Date.now() / 1000 + decision.resetAfter);
  const fields = headers(decision, new Quota({ limit: 2, window: "1m" }), "p", { xReset: "epoch" });
  const after = Math.ceil(Date.now() / 1000 + decision.resetAfter);
  const reset = Number(fields["X-RateLimit-Reset"]);
  assert.ok(before <= reset && reset <= after);
});

test("an object of the shape of Workers' own binding", async () => {
  const [limiter] = limiterAt({ limit: 1 });
  const { limit } = binding(limiter, "login");
  assert.equal((await limit({ key: "k" })).success, true);
  assert.equal((await limit({ key: "k" })).success, false);
});
