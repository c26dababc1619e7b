// Numbers as people read them, and texts as YAML.

import assert from "node:assert/strict";
import test from "node:test";

import {
  about, briefSpan, clock, count, latency, plural, ratio, share, span, visible, wait,
} from "../src/format.ts";
import { toYaml } from "../src/yaml.ts";

function table(read, rows) {
  for (const [value, said] of rows) assert.equal(read(value), said, String(value));
}

test("counts have at most four digits", () => {
  table(count, [[0, "0"], [7, "7"], [0.25, "0.25"], [0.5, "0.5"], [12.34, "12.3"], [999, "999"],
    [1234, "1.23 k"], [1048576, "1.05 M"], [1e12, "1000 G"], [undefined, "–"], [NaN, "–"]]);
});

test("shares are per cent", () => {
  table(share, [[0, "0 %"], [0.012, "1.2 %"], [0.5, "50 %"], [1, "100 %"], [undefined, "–"]]);
});

test("latencies and spans have units", () => {
  table(latency, [[0.00002, "20 µs"], [0.0004, "400 µs"], [0.0123, "12.3 ms"], [0.15, "150 ms"],
                  [0.1, "100 ms"], [2, "2 s"]]);
  table(span, [[0, "0 s"], [0.25, "0.3 s"], [45, "45 s"], [185, "3 min 5 s"], [3600, "1 h"],
    [97200, "1 d 3 h"], [undefined, "–"]]);
  table(briefSpan,
    [[0.25, "0.3 s"], [45, "45 s"], [2641, "45 min"], [3600, "1 h"], [90000, "2 d"]]);
  table(about, [[0, "0"], [100, "about 100"], [undefined, "–"]]);
  table(wait, [[0.35, "350 ms"], [0.0001, "1 ms"], [1.001, "2 s"], [36, "36 s"], [36.4, "37 s"],
    [3724.2, "1 h 2 min 5 s"], [86401, "1 d 1 s"], [undefined, "–"]]);
  table(ratio, [[5, "5.0"], [undefined, "–"]]);
});

test("nothing in a text of somebody else is hidden", () => {
  table(visible, [["al\u202eice", "al\\u{202e}ice"], ["a\0\nb", "a\\u{0}\\u{a}b"],
    ["\u2069<b>", "\\u{2069}<b>"], ["שלום é 🙂", "שלום é 🙂"], ["\u{e0041}", "\\u{e0041}"]]);
});

test("instants and amounts", () => {
  assert.match(clock(1763857000), /^\d\d:\d\d:40$/);
  assert.equal(clock(undefined), "–");
  assert.equal(plural(1, "rule"), "1 rule");
  assert.equal(plural(2, "key"), "2 keys");
});

test("a rule becomes the YAML that people write", () => {
  assert.equal(toYaml({
    id: "login", limit: 5, window: "1m", match: { method: "POST", path: ["/login", "/api/*"] },
    key: ["header:X-Key", "path"], tiers: [{ name: "gold", limit: 10 }], enabled: false,
  }), `id: login
limit: 5
window: 1m
match:
  method: POST
  path: [/login, /api/*]
key: [header:X-Key, path]
tiers:
  - name: gold
    limit: 10
enabled: false
`);
});

test("a text that YAML would take for something else is quoted", () => {
  const texts = { a: "yes", b: "12", c: "", d: "a: b", e: "#x", f: "*.example", g: "null", h: " x",
    i: "1h", j: "10.0.0.0/8", k: "x:", l: "1.5" };
  const read = Object.fromEntries(toYaml(texts).trim().split("\n")
    .map((line) => [line[0], line.slice(3)]));
  assert.deepEqual(read, { a: '"yes"', b: '"12"', c: '""', d: '"a: b"', e: '"#x"',
    f: '"*.example"', g: '"null"', h: '" x"', i: "1h", j: "10.0.0.0/8",
    k: '"x:"', l: '"1.5"' });
});

test("empty and nested values", () => {
  assert.equal(toYaml({ match: {}, deny: [] }), "match: {}\ndeny: []\n");
  assert.equal(toYaml({ match: { header: [{ name: "X-Key" }] } }),
    "match:\n  header:\n    - name: X-Key\n");
  assert.equal(toYaml([{ id: "a", limit: 1 }]), "- id: a\n  limit: 1\n");
});
