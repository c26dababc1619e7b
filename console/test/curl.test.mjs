// Curl commands as people paste them.

import assert from "node:assert/strict";
import test from "node:test";

import { parseCurl, shellWords } from "../src/curl.ts";

function request(command) {
  const read = parseCurl(command);
  assert.ok("request" in read, `${command}: ${read.problem}`);
  return read.request;
}

test("a URL alone is a GET", () => {
  assert.deepEqual(request("curl https://api.example:8443/login?x=1"),
    { method: "GET", path: "/login?x=1", host: "api.example", headers: {} });
  assert.equal(request("$ curl localhost:8080/a").path, "/a");
});

test("data makes it a POST of a form", () => {
  const read = request("curl -d a=1 --data-raw 'b=2' http://h/x");
  assert.equal(read.method, "POST");
  assert.deepEqual(read.headers, { "Content-Type": "application/x-www-form-urlencoded" });
  assert.equal(request("curl -G -d a=1 -d b=2 http://h/x").path, "/x?a=1&b=2");
  assert.equal(request("curl -X PUT -d a http://h/x").method, "PUT");
  assert.equal(request("curl -I http://h/x").method, "HEAD");
});

test("a browser's copy, with line ends and quotation marks", () => {
  const read = request(`curl 'https://shop.example/api/cart?id=7' \\
  -X 'POST' \\
  -H 'accept: application/json' \\
  -H $'x-note: it\\'s \\u00e9' \\
  -H "X-Quote: say \\"hi\\"" \\
  -b 'session=abc; theme=dark' \\
  --data-raw '{"a":1}' \\
  --compressed`);
  assert.equal(read.method, "POST");
  assert.equal(read.path, "/api/cart?id=7");
  assert.equal(read.headers["x-note"], "it's é");
  assert.equal(read.headers["X-Quote"], 'say "hi"');
  assert.equal(read.headers.Cookie, "session=abc; theme=dark");
});

test("short options in one word, and options that say nothing of the request", () => {
  const read = request("curl -sSXDELETE -HX-App:web -m5 -o out.txt --max-time=3 http://h/x");
  assert.equal(read.method, "DELETE");
  assert.deepEqual(read.headers, { "X-App": "web" });
  assert.equal(read.path, "/x");
});

test("a Host header is the host, a user is an Authorization", () => {
  assert.equal(request("curl -H 'Host: api.example' http://127.0.0.1/").host, "api.example");
  assert.equal(request("curl -u me:päss http://h/").headers.Authorization,
    "Basic bWU6cMOkc3M=");
  assert.equal(request("curl --oauth2-bearer t http://h/").headers.Authorization, "Bearer t");
});

test("what is no command says why", () => {
  const commands = ["wget http://x", "", "curl", "curl 'http://x", "curl -X",
    "curl 'http://a b:c'"];
  for (const command of commands) {
    assert.match(parseCurl(command).problem ?? "", /\.$/, command);
  }
  assert.match(parseCurl(`curl ${"x".repeat(40_000)}`).problem, /too long/);
});

test("words as a shell has them", () => {
  assert.deepEqual(shellWords("a 'b c'\"d\"  e\\ f"), ["a", "b cd", "e f"]);
  assert.deepEqual(shellWords("a \\\n b \\\r\n c"), ["a", "b", "c"]);
  assert.deepEqual(shellWords(""), []);
});
