// What an address asks of the record of denials, and what is known of one of them.

import assert from "node:assert/strict";
import test from "node:test";

import { parseCurl } from "../src/curl.ts";
import {
  curlOf, filtersOf, keyText, lostText, nameOf, wholeKey, withoutKey,
} from "../src/denials.ts";

const HOSTILE = ["'; rm -rf ~'", "=1+1", "\u202egnp.exe", "<img src=x onerror=alert(1)>", "a\0b",
  "line\r\nbreak", "$(id)`id`", "%2e%2e?q#f", "é🙂שלום", "\\\\'\"", "-rf"];

test("an address says filters, and nothing else", () => {
  const filters = (text) => filtersOf(new URLSearchParams(text));
  assert.deepEqual(filters("rule=login&key=a%26b&since=1h"),
    { rule: "login", key: "a&b", since: "1h" });
  assert.deepEqual(filters("rule=&path= &limit=5&__proto__=x&constructor=y"), {});
  assert.deepEqual(filters("since=1763846401&until=1763846461&by=path"),
    { since: "1763846401", until: "1763846461", by: "path" });
});

test("a key that may have been cut is nobody's to act on", () => {
  assert.equal(wholeKey({ key: "alice" }), "alice");
  assert.equal(wholeKey({ key: "x".repeat(64) }), undefined);
  assert.equal(wholeKey({ key: "é".repeat(31) }), undefined);
  assert.equal(wholeKey({ hash: "9f" }), undefined);
  assert.equal(keyText({ key: "\u202egnp.exe" }), "\\u{202e}gnp.exe");
  const long = "x".repeat(64);
  assert.equal(keyText({ key: long, hash: "9f" }), `${long}…`);
  assert.equal(keyText({ key: long }), long, "somebody has written it");
  assert.match(withoutKey({ key: long, hash: "9f" }), /Only the beginning/);
  for (const entry of [{ key: "alice", hash: "9f" }, { hash: "9f" }, { key: long }]) {
    assert.equal(withoutKey(entry), "");
  }
  const lacking = { key: "client 192.0.2.8", hash: "9f", cause: "missing_key" };
  assert.equal(wholeKey(lacking), undefined);
  assert.equal(keyText(lacking), "client 192.0.2.8");
  assert.match(withoutKey(lacking), /lacks a part/);
  assert.equal(keyText({ key: "", hash: "9f" }), "shared by all");
});

test("what a record lacks is said where it lacks any", () => {
  assert.equal(lostText({ forgotten: 0 }), "");
  assert.match(lostText({ known_since: 1e9 }), /^The record begins at .*\d\. $/);
  assert.match(lostText({ forgotten: 1200 }), /^1,200 more of this time, .* have no line/);
});

test("a key whose spaces a page would swallow stands between quotes", () => {
  for (const key of ["  lead", "end ", "a  b", " "]) assert.equal(keyText({ key }), `"${key}"`);
  assert.equal(keyText({ key: "a b" }), "a b");
});

test("a key of parts shows them without their lengths, and all else is as it is", () => {
  const texts = { "10:192.0.2.447:/search": "192.0.2.44, /search", "2:é0:1:x": "é, , x",
    [`3:abc90:${"y".repeat(58)}`]: `abc, ${"y".repeat(58)}` };
  const plain = ["alice", "5:alice", "2001:db8::1", "3:abc9:/sear", "3:abcd", "a:b:c", ":", "1:a:b",
    "3:abc-1:x", "9".repeat(64), "192.0.2.7"];
  for (const key of plain) texts[key] = key;
  for (const [key, text] of Object.entries(texts)) assert.equal(keyText({ key }), text);
  assert.equal(keyText({ hash: "9f" }), "9f");
  assert.equal(keyText({}), "");
});

test("a copied command is one request, whatever the path and the key say", () => {
  for (const text of HOSTILE) {
    const { request } = parseCurl(curlOf(
      { method: "PATCH", path: `/${text}`, client: "2001:db8::1" }, ""));
    assert.equal(request.path, `/${encodeURIComponent(text)}`, text);
    assert.deepEqual(request.headers, { "X-Forwarded-For": "2001:db8::1" });
    assert.equal(request.method, "PATCH");
    const asked = parseCurl(curlOf({ rule: "login", key: text }, "http://localhost:8080"));
    assert.equal(asked.request.path, "/v1/explain", text);
    assert.equal(asked.request.method, "POST");
  }
  assert.equal(curlOf({ rule: "login", hash: "9f" }, ""), undefined);
  const begins = (method) => curlOf({ method, path: "/" }, "").split(" 'https")[0];
  assert.deepEqual([undefined, "GET", "HEAD"].map(begins), ["curl -X METHOD", "curl", "curl -I"]);
});

test("denials of a second that differ in anything are rows of their own", () => {
  const one = { at: "2026-11-22T21:10:03Z", rule: "login", hash: "9f", cause: "limit",
    door: "http", status: null, shadow: false, times: 1 };
  assert.equal(nameOf(one), nameOf({ ...one, times: 2 }));
  for (const other of [{ rule: null }, { status: 429 }, { door: "auth" }, { shadow: true }]) {
    assert.notEqual(nameOf(one), nameOf({ ...one, ...other }));
  }
});
