// What a user pays for before the first call: the size of weir.wasm and, in the Worker, that of
// rules.wasm as well.
//
//   node module_test.mjs WEIR_WASM RULES_WASM

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

// The module's bytes, if they are not more than that.
function within(path, bytesMax, compress, compressedMax) {
  const bytes = readFileSync(path);
  const compressed = compress(bytes).length;
  console.log(`${path}: ${bytes.length} bytes, ${compressed} compressed`);
  assert.ok(bytes.length <= bytesMax, `${path} is too large`);
  assert.ok(compressed <= compressedMax, `${path} is too large when compressed`);
  return bytes;
}

const [core, rules] = process.argv.slice(2);
const gzip = (bytes) => gzipSync(bytes, { level: 9 });
const bytes = within(core, 34 * 1024, gzip, 15 * 1024);  // 33.3 and 14.5 today
within(rules, 64 * 1024, brotliCompressSync, 26 * 1024);  // 63.0 and 24.9 today

const module = new WebAssembly.Module(bytes);
assert.deepEqual(WebAssembly.Module.imports(module), [], "it needs nothing from its host");

// More than a module can have is refused, and leaves it in order.
const exports = new WebAssembly.Instance(module).exports;
exports.weir_text(192);
assert.equal(exports.weir_open(2 ** 31, 0, 0), 0);
assert.equal(exports.weir_text(2 ** 31), 0);
assert.equal(exports.weir_open(1024, 2 ** 31, 0), 0);
assert.equal(exports.weir_open(1024, 0, 0), 1);
assert.equal(exports.weir_open(1024, 0, 0), 0, "a module is one store");
