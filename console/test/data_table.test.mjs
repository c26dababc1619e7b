// What a table shows of its rows, and in which order.

import assert from "node:assert/strict";
import test from "node:test";

import { asBefore, inOrder, searched } from "../src/data_table.ts";

const ROWS = [
  { id: "login", denied: 3 }, { id: "api-10", denied: undefined }, { id: "api-9", denied: 40 },
  { id: "Search", denied: 3 },
];
const id = (row) => row.id;
const denied = (row) => row.denied;
const ids = (rows) => rows.map(id).join(" ");

test("a search finds rows that have every word", () => {
  const text = (row) => `${row.id} ${row.denied}`;
  assert.equal(ids(searched(ROWS, text, " 3  LOG ")), "login");
  assert.equal(ids(searched(ROWS, text, "")), ids(ROWS));
  assert.equal(ids(searched(ROWS, text, "(")), "");
  assert.equal(ids(searched(ROWS, undefined, "login")), ids(ROWS));
});

test("figures sort by size, texts as people do, and unknown ones come last", () => {
  assert.equal(ids(inOrder(ROWS, denied, true)), "api-9 login Search api-10");
  assert.equal(ids(inOrder(ROWS, denied, false)), "login Search api-9 api-10");
  assert.equal(ids(inOrder(ROWS, id, false)), "api-9 api-10 login Search");
  assert.equal(ids(inOrder(ROWS, undefined, true)), ids(ROWS));
});

test("rows that had a place keep it, and new ones wait", () => {
  const rows = [{ id: "new" }, { id: "b" }, { id: "a" }];
  assert.equal(ids(asBefore(rows, id, ["a", "gone", "b"])), "a b");
});
