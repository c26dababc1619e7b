// What tests start: nodes, a Redis, and the shortest client of it.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const DEADLINE_MS = 30_000;  // the machine may be busy

/** A child process, when it has written a line that `ready` finds something in. */
export function start(test, command, words, ready, options = {}) {
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], ...options });
  test.after(() => child.kill("SIGKILL"));
  const lines = [];
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${command} ${why}:\n${lines.join("\n")}`));
    const timer = setTimeout(() => fail("is not ready"), DEADLINE_MS);
    child.on("error", (error) => fail(String(error)));
    child.on("exit", (code) => fail(`ended with ${code}`));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const found = ready(line);
        if (!found) return;
        clearTimeout(timer);
        resolve({ child, found, lines });
      });
    }
  });
}

export function folderOf(test) {
  const folder = mkdtempSync(join(tmpdir(), "weir-npm-"));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The URL of a node's HTTP door. */
export async function startNode(test, ...words) {
  const { found } = await start(
    test, process.env.WEIR_BINARY, ["serve", "--http", "127.0.0.1:0", ...words],
    (line) => /listening on (http:\S+)/.exec(line));
  return found[1];
}

/** The path of its socket. */
export async function startRedis(test) {
  const folder = folderOf(test);
  const socket = join(folder, "redis.sock");
  await start(test, "redis-server",
              ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
              (line) => /ready to accept connections/i.test(line));
  return socket;
}

// One reply at the front of `bytes`: [value, where the next begins], or nothing yet.
function parse(bytes, at) {
  const end = bytes.indexOf("\r\n", at);
  if (end < 0) return undefined;
  const line = bytes.toString("latin1", at + 1, end);
  switch (String.fromCharCode(bytes[at])) {
    case ":": return [Number(line), end + 2];
    case "+": return [line, end + 2];
    case "-": return [new Error(line), end + 2];
    case "$": {
      const length = Number(line);
      if (length < 0) return [null, end + 2];
      if (bytes.length < end + 4 + length) return undefined;
      return [bytes.toString("latin1", end + 2, end + 2 + length), end + 4 + length];
    }
    default: {
      const list = [];
      let next = end + 2;
      for (let i = 0; i < Number(line); ++i) {
        const item = parse(bytes, next);
        if (item === undefined) return undefined;
        list.push(item[0]);
        next = item[1];
      }
      return [list, next];
    }
  }
}

/** Sends one command: an array of strings and bytes. `calls` counts them. */
export async function redisClient(test, path) {
  const socket = connect(path);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  test.after(() => socket.destroy());
  const waiting = [];
  let bytes = Buffer.alloc(0);
  socket.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let reply = parse(bytes, 0); reply !== undefined; reply = parse(bytes, 0)) {
      bytes = bytes.subarray(reply[1]);
      const { resolve, reject } = waiting.shift();
      reply[0] instanceof Error ? reject(reply[0]) : resolve(reply[0]);
    }
  });
  socket.on("close", () => waiting.splice(0).forEach(({ reject }) => reject(new Error("closed"))));
  const send = (words) => {
    send.calls.push(String(words[0]));
    const parts = words.flatMap((word) => {
      const part = Buffer.from(word);
      return [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")];
    });
    socket.write(Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]));
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  };
  send.calls = [];
  return send;
}

/** Until `condition` holds: a wait for something that comes by itself. */
export async function until(condition) {
  const end = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("it does not come");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
