// A mistake in options: which one, and what would be right, where the program makes it.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  binding, CountingStore, DurableStore, headers, KvStore, limitExpress, Limiter, limitFastify,
  limitFetch, limitHono, MemoryStore, Quota, RedisStore, RemoteStore,
} from "@weir/limiter";

const QUOTA = { limit: 5, window: "1m" };
const kv = { get() {}, put() {}, delete() {} };
const limiter = new Limiter(QUOTA);
const client = async () => {};
const url = "http://node:8080";
const namespace = { idFromName() {}, get() {} };

// A missing option is a TypeError.
const MISSING = [
  ["options must be an object with limit and window, not undefined", () => new Limiter()],
  ["options must be an object with limit and window, not null", () => new Limiter(null)],
  ["options must be an object with limit and window, not 5", () => new Limiter(5)],
  ["limit is missing; it must be a whole number", () => new Limiter({})],
  ["limit is missing", () => new Quota({ window: 60 })],
  ["window is missing; it must be from 1 ms to 366 days: seconds, or a text such as \"1m\"",
    () => new Limiter({ limit: 5 })],
  ["options must be an object with cost, limit or window, not 3",
    () => limiter.hit("b", "k", 3)],
  ["options must be an object with cost, limit or window, not null",
    () => limiter.hit("b", "k", null)],
  ["options must be an object with limit or window, not null",
    () => limiter.reset("b", "k", null)],
  ["key must be a string, not 7", () => limiter.hit("b", 7)],
  ["bucket must be a string, not null", () => limiter.reset(null, "k")],
  ["bucket must be a string, not 7", () => binding(limiter, 7)],
  ["options must be an object with windowMs, not undefined", () => new CountingStore().init()],
  ["windowMs is missing; it must be milliseconds", () => new CountingStore().init({})],
  ["decision is missing; it must be what hit() answers", () => headers()],
  ["quota is missing; it must be that of the limiter", () => headers(limiter.hit("b", "k"))],
  ["policy must be a string, not 7", () => headers(limiter.hit("b", "k"), limiter.quota, 7)],
  ["options must be an object with maxKeys, not 5000", () => new MemoryStore(5000)],
  ["options must be an object with client", () => new RedisStore()],
  ["client is missing; it must be one of ioredis or node-redis", () => new RedisStore({})],
  ["options must be an object with url, not \"http://node\"", () => new RemoteStore("http://node")],
  ["url is missing; it must be where a node is", () => new RemoteStore({})],
  ["options must be an object with namespace", () => new DurableStore()],
  ["namespace is missing; it must be the binding of the class WeirCounter",
    () => new DurableStore({ namespace: undefined })],
  ["options must be an object with kv", () => new KvStore()],
  ["kv is missing; it must be the binding of a KV namespace", () => new KvStore({})],
  ["options must be an object with store, prefix or maxKeys, not null",
    () => new CountingStore(null)],
  ["limiter is missing; it must be a Limiter, such as new Limiter({ limit: 5, window: \"1m\" })",
    () => binding()],
  ["options must be an object with a limiter, not undefined", () => limitExpress()],
  ["limiter is missing", () => limitExpress({})],
  ["limiter is missing", () => limitFastify({})],
  ["key is missing; it must be a function from a request to its key", () => limitHono({ limiter })],
  ["key is missing", () => limitFetch({ limiter }, () => new Response())],
  ["handler is missing; it must be a function from a request to its response",
    () => limitFetch({ limiter, key: () => "k" })],
];

// A name that no option has is a TypeError: its value would be ignored.
const UNKNOWN = [
  ["there is no option \"algoritm\"; did you mean algorithm?",
    () => new Limiter({ ...QUOTA, algoritm: "token_bucket" })],
  ["there is no option \"windowMs\"; did you mean window?",
    () => new Limiter({ limit: 5, windowMs: 60_000 })],
  ["there is no option \"Limit\"; did you mean limit?", () => new Quota({ ...QUOTA, Limit: 6 })],
  ["there is no option \"algo\"; did you mean algorithm?",
    () => new Quota({ ...QUOTA, algo: "token_bucket" })],
  ["there is no option \"maxKeys\"; there is limit, window, algorithm, burst",
    () => new Quota({ ...QUOTA, maxKeys: 5000 })],
  ["there is no option \"csot\"; did you mean cost?", () => limiter.hit("b", "k", { csot: 3 })],
  ["there is no option \"csot\"", () => limiter.hit("b", "k", { cost: 1, csot: undefined })],
  ["there is no option \"algorithm\"; there is cost, limit, window",
    () => limiter.hit("b", "k", { algorithm: "token_bucket" })],
  ["there is no option \"constructor\"", () => limiter.hit("b", "k", { constructor: 3 })],
  ["there is no option \"cost\"; there is limit, window",
    () => limiter.reset("b", "k", { cost: 3 })],
  ["there is no option \"csot\"; did you mean cost?", () => limiter.drain("b", "k", { csot: 3 })],
  ["there is no option \"widnow\"; did you mean window?",
    () => limiter.reset("b", "k", { widnow: 60 })],
  ["there is no option \"maxkeys\"; did you mean maxKeys?",
    () => new MemoryStore({ maxkeys: 5000 })],
  ["there is no option \"prefx\"; did you mean prefix?",
    () => new RedisStore({ client, prefx: "a:" })],
  ["there is no option \"onfailure\"; did you mean onFailure?",
    () => new RedisStore({ client, onfailure: "deny" })],
  ["there is no option \"dealine\"; did you mean deadline?",
    () => new RemoteStore({ url, dealine: 100 })],
  ["there is no option \"header\"; did you mean headers?",
    () => new RemoteStore({ url, header: {} })],
  ["there is no option \"onFailur\"; did you mean onFailure?",
    () => new DurableStore({ namespace, onFailur: "deny" })],
  ["there is no option \"palce\"; did you mean place?", () => new KvStore({ kv, palce: "a" })],
  ["there is no option \"storee\"; did you mean store?", () => new CountingStore({ storee: kv })],
  ["there is no option \"polcy\"; did you mean policy?",
    () => limitExpress({ limiter, polcy: "login" })],
  ["there is no option \"buckte\"; did you mean bucket?",
    () => limitFastify({ limiter, buckte: "login" })],
  ["there is no option \"costs\"; did you mean cost?",
    () => limitHono({ limiter, key: () => "k", costs: () => 2 })],
  ["there is no option \"xheaders\"; did you mean xHeaders?",
    () => limitFetch({ limiter, key: () => "k", xheaders: [] }, () => new Response())],
  ["there is no option \"form\"; there is headers, xHeaders, xReset",
    () => headers(limiter.hit("b", "k"), limiter.quota, "p", { form: "draft-6" })],
];

// A wrong option is a RangeError.
const WRONG = [
  ["headers must be one of draft-10, draft-7, draft-6, none, not \"draft-8\"",
    () => limitExpress({ limiter, headers: "draft-8" })],
  ["xHeaders must be a list of limit, remaining, reset, not an array",
    () => limitExpress({ limiter, xHeaders: ["Limit"] })],
  ["xReset must be one of seconds, epoch, not \"date\"",
    () => limitExpress({ limiter, xReset: "date" })],
  ["limit must be a whole number from 0 to 1,000,000,000,000, not \"5\"",
    () => new Limiter({ limit: "5", window: 60 })],
  ["limit must be a whole number from 0 to 1,000,000,000,000, not 5n",
    () => new Limiter({ limit: 5n, window: 60 })],
  ["window must be from 1 ms to 366 days: seconds, or a text such as \"1m\", not \"1 minute\"",
    () => new Limiter({ limit: 5, window: "1 minute" })],
  ["window must be from 1 ms", () => new Limiter({ limit: 5, window: Symbol("1m") })],
  ["window must be from 1 ms", () => new Limiter({ limit: 5, window: [60] })],
  ["algorithm must be one of fixed_window, sliding_log, sliding_window, token_bucket, " +
   "exponential_backoff, not \"leaky\"", () => new Limiter({ ...QUOTA, algorithm: "leaky" })],
  ["algorithm must be one of", () => new Limiter({ ...QUOTA, algorithm: 3 })],
  ["burst must be a whole number", () =>
    new Limiter({ ...QUOTA, algorithm: "token_bucket", burst: "9" })],
  ["clock must be a function, as Date.now is, not 17", () => new Limiter({ ...QUOTA, clock: 17 })],
  ["clock must be a function", () => new Limiter({ ...QUOTA, clock: null })],
  ["algorithm must be one of", () => new Limiter({ ...QUOTA, algorithm: null })],
  ["burst must be a whole number", () => new Limiter({ ...QUOTA, burst: null })],
  ["clock must be a function", () => new CountingStore({ clock: 17 })],
  ["store must be a Store", () => new CountingStore({ store: null })],
  ["windowMs must be milliseconds, from 1 to 366 days, not \"60000\"",
    () => new CountingStore().init({ windowMs: "60000" })],
  ["decision must be what hit() answers, awaited unless it comes from memory, not an object",
    () => headers(Promise.resolve(limiter.hit("b", "k")), limiter.quota)],
  ["headers must be an object of texts that HTTP allows: { Authorization: \"Bearer ...\" }, " +
   "not \"Bearer x\"",
    () => new RemoteStore({ url, headers: "Bearer x" })],
  ["headers must be an object of texts",
    () => new RemoteStore({ url, headers: new Headers({ a: "b" }) })],
  ["headers must be an object of texts", () => new RemoteStore({ url, headers: { a: null } })],
  ["headers must be", () => new RemoteStore({ url, headers: { Authorization: "Bearer a\nb" } })],
  ["headers must be", () => new RemoteStore({ url, headers: { Authorization: "Bearer \u20AC" } })],
  ["headers must be", () => new RemoteStore({ url, headers: { "a name": "x" } })],
  ["cluster must be true or false, not \"yes\"", () => new RedisStore({ client, cluster: "yes" })],
  ["store must be a Store, such as new RedisStore({ client }), not a function",
    () => new Limiter(QUOTA, RedisStore)],
  ["store must be a Store", () => new Limiter(QUOTA, {})],
  ["store must be a Store", () => new Limiter(QUOTA, null)],
  ["maxKeys must be a number from 1,024 to 16,777,216, not 10",
    () => new Limiter({ ...QUOTA, maxKeys: 10 })],
  ["maxKeys must be a number", () => new MemoryStore({ maxKeys: "5000" })],
  ["preciseKeys must be a number from 0 to 1,048,576, not -1",
    () => new MemoryStore({ preciseKeys: -1 })],
  ["client must be one of ioredis or node-redis, or a function that sends one command, not " +
   "\"redis://localhost\"", () => new RedisStore({ client: "redis://localhost" })],
  ["client must be", () => new RedisStore({ client: { get() {} } })],
  ["prefix must be a text without {, not \"a{\"", () => new RedisStore({ client, prefix: "a{" })],
  ["onFailure must be one of local, allow, deny, throw, not \"open\"",
    () => new RedisStore({ client, onFailure: "open" })],
  ["deadline must be a number of milliseconds, 1 at least, not \"250ms\"",
    () => new RemoteStore({ url, deadline: "250ms" })],
  ["deadline must be", () => new RemoteStore({ url, deadline: NaN })],
  ["url must be where a node is: \"http://10.0.0.7:8080\", without credentials, ? and #, not " +
   "\"node:8080\"",
    () => new RemoteStore({ url: "node:8080" })],
  ...["http://", "http:// ", "ftp://node", `${url}?a=1`, `${url}/?`, `${url}#a`, `${url}/#`,
      "http://:8080", 7]
    .map((wrong) => ["url must be where", () => new RemoteStore({ url: wrong })]),
  ["url must be where a node is: \"http://10.0.0.7:8080\", without credentials, ? and #, not " +
   "\"http://...@node\"", () => new RemoteStore({ url: "http://user:secret@node" })],
  ["fetch must be a function", () => new RemoteStore({ url, fetch: "fetch" })],
  ["namespace must be the binding", () => new DurableStore({ namespace: "COUNTER" })],
  ["deadline must be", () => new DurableStore({ namespace, deadline: 0 })],
  ["kv must be the binding of a KV namespace: env.KV, say, not \"KV\"",
    () => new KvStore({ kv: "KV" })],
  ["format must be one of merged, log, count", () => new KvStore({ kv, format: "json" })],
  ["places must be a number, 1 at least, not \"2\"", () => new KvStore({ kv, places: "2" })],
  ["places must be", () => new KvStore({ kv, places: NaN })],
  ["staleness must be a number of milliseconds", () => new KvStore({ kv, staleness: "60s" })],
  ["waitUntil must be a function", () => new KvStore({ kv, waitUntil: Promise.resolve() })],
  ["place must be a text", () => new KvStore({ kv, place: 7 })],
  ["prefix must be a text", () => new CountingStore({ prefix: 7 })],
  ["limiter must be a Limiter", () => binding({})],
  ["limiter must be a Limiter", () => limitExpress({ limiter: QUOTA })],
  ["key must be a function from a request to its key, a string, not \"ip\"",
    () => limitFastify({ limiter, key: "ip" })],
  ["cost must be a function from a request to its cost, a number, not 2",
    () => limitExpress({ limiter, cost: 2 })],
  ["bucket must be a text, not 7", () => limitExpress({ limiter, bucket: 7 })],
  ["policy must be a text, not 7", () => limitExpress({ limiter, policy: 7 })],
];

const MISTAKES = [["TypeError", MISSING], ["TypeError", UNKNOWN], ["RangeError", WRONG]];
for (const [name, list] of MISTAKES) {
  for (const [begins, make] of list) {
    test(`${name}: ${make.toString().slice(6)}`, () => {
      assert.throws(make, (error) => {
        assert.equal(error.name, name, error.message);
        assert.ok(error.message.startsWith(begins), error.message);
        return true;
      });
    });
  }
}

test("a name that no option has spends nothing", () => {
  const own = new Limiter(QUOTA);
  for (const wrong of [{ csot: 3 }, { cost: 3, limitt: 9 }]) {
    assert.throws(() => own.hit("b", "k", wrong), /^TypeError: there is no option/);
  }
  assert.equal(own.hit("b", "k").remaining, 4);
});

test("options that a program did not write itself are no mistake", () => {
  const defaults = { csot: 3 };
  const options = Object.assign(Object.create(defaults), { cost: 2 });
  assert.equal(new Limiter(QUOTA).hit("b", "k", options).remaining, 3);
});

test("express-rate-limit and its like pass more than windowMs", () => {
  new CountingStore({ maxKeys: 5000, clock: Date.now }).init({ windowMs: 1000, limit: 5 });
});

// The text of a right one, once it has been seen, made these pass.
test("options of a call are refused whatever came before", () => {
  const mistakes = [
    ["limit", "7"], ["limit", null], ["limit", 7.5], ["limit", [7]], ["limit", { valueOf() {} }],
    ["window", null], ["window", [60]], ["window", Symbol("1m")], ["window", "1 minute"],
    ["cost", "1"], ["cost", null],
  ];
  const own = new Limiter({ limit: 5, window: 60 });
  for (const right of [{ limit: 7 }, { window: 60 }, { limit: 5, window: 60 }]) {
    own.hit("b", "k", right);
    for (const [name, value] of mistakes) {
      const error = { name: "RangeError", message: new RegExp(`^${name} must be .*, not `) };
      assert.throws(() => own.hit("b", "k", { ...right, [name]: value }), error);
      if (name !== "cost") assert.throws(() => own.reset("b", "k", { [name]: value }), error);
    }
  }
  assert.equal(own.hit("b", "other", { window: "60" }).remaining, 4, "60 s, as a text");
});

test("a clock that answers no time is refused, and the limiter goes on", () => {
  let now = 1_763_836_000_000;
  const own = new Limiter({ ...QUOTA, clock: () => now });
  const error = (says) => ({
    name: "RangeError",
    message: `clock() must be a number of milliseconds since 1970, as Date.now() is, not ${says}`,
  });
  assert.equal(own.hit("b", "k").remaining, 4);
  for (const [wrong, says] of [[NaN, "NaN"], [Infinity, "Infinity"], [-1, "-1"], [5n, "5n"],
                               [undefined, "undefined"], ["now", '"now"'],
                               [new Date(), "an object"], [8.7e15, "8700000000000000"]]) {
    const right = now;
    now = wrong;
    assert.throws(() => own.hit("b", "k"), error(says));
    assert.throws(() => own.reset("b", "k"), error(says));
    now = right;
  }
  assert.equal(own.hit("b", "k").remaining, 3, "nothing was charged");
});

test("a binding that is asked for what is none says so", async () => {
  await assert.rejects(binding(limiter).limit(), /^TypeError: options must be an object with key/);
  await assert.rejects(binding(limiter).limit({ key: 7 }), /^TypeError: key must be a string/);
  await assert.rejects(binding(limiter).limit({ key: "k", cost: 3 }),
                       /^TypeError: there is no option "cost"; there is key$/);
});

test("the longest fill time is compared in whole numbers", () => {
  const longest = { limit: 683_060_109, window: "1d", algorithm: "token_bucket" };
  const burst = 1464 * longest.limit;
  new Quota({ ...longest, burst });
  assert.throws(() => new Quota({ ...longest, burst: burst + 1 }), /^RangeError: burst/);
});

// A client writes these through a hole in a library: each of them set a limit.
const POLLUTION = {
  limit: 1000, window: "1s", algorithm: "token_bucket", burst: 1000, cost: 0, maxKeys: 7,
  clock: () => 0, key: () => "k", bucket: "b", policy: "p", headers: "none", xHeaders: [],
  xReset: "epoch", prefix: "p", onFailure: "allow", deadline: 1, store: limiter.store,
  fetch: async () => new Response("{}"), places: 9,
};

function polluted(t, isEnumerable) {
  for (const [name, value] of Object.entries(POLLUTION)) {
    const property = { value, configurable: true, writable: true, enumerable: isEnumerable };
    Object.defineProperty(Object.prototype, name, property);
  }
  t.after(() => Object.keys(POLLUTION).forEach((name) => delete Object.prototype[name]));
}

for (const isEnumerable of [true, false]) {
  test(`a polluted Object.prototype sets no option, ${isEnumerable}`, async (t) => {
    const now = Date.now();
    const fresh = () => new Limiter({ limit: 5, window: "1m", clock: () => now });
    const wanted = headers(fresh().hit("", "k"), limiter.quota);
    polluted(t, isEnumerable);
    const own = fresh();
    assert.deepEqual([own.quota.name, own.quota.capacity], ["sliding_window", 5]);
    assert.equal(new Limiter({ ...QUOTA }).hit("", "k").limit, 5);
    for (const options of [undefined, {}, { cost: 1 }]) own.hit("", "k", options);
    assert.equal(own.hit("", "k", { window: "1m" }).remaining, 1);
    own.reset("", "k", {});
    assert.equal(own.hit("", "k").remaining, 4);
    assert.deepEqual(headers(own.hit("", "other"), own.quota), wanted);
    assert.deepEqual(headers(own.hit("", "one more"), own.quota, "default", {}), wanted);
    new MemoryStore({});
    const pass = limitExpress({ limiter: own });
    const fields = {};
    const reply = { setHeader: (name, value) => (fields[name] = value), end() {} };
    for (let i = 0; i < 2; ++i) await pass({ ip: "192.0.2.1" }, reply, () => {});
    assert.equal(fields["RateLimit"].replace(/;t=.*/, ""), '"default";r=3');
    assert.throws(() => limitHono({ limiter: own }), /^TypeError: key is missing/);
    const counting = new CountingStore({});
    assert.deepEqual([counting.prefix, counting.localKeys], ["", true]);
    assert.equal(new KvStore({ kv }).bound(own.quota).hard, 10);
    const fetch = () => Promise.reject(new Error("no"));
    const away = { idFromName() {}, get: () => ({ fetch }) };
    const exact = new Limiter(QUOTA, new DurableStore({ namespace: away }));
    const local = await exact.hit("", "k", { cost: 6 });
    assert.equal(local.allowed, false, "memory decides meanwhile");
  });
}
