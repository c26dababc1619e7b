// What a user pays for before the first call: the module's size, and how long it takes to make.
//
//   node module_test.mjs WEIR_WASM

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BYTES_MAX = 28 * 1024;  // 27.6 today
const COMPRESSED_MAX = 12.5 * 1024;  // 11.9 today

const bytes = readFileSync(process.argv[2]);
const compressed = gzipSync(bytes, { level: 9 }).length;
console.log(`weir.wasm: ${bytes.length} bytes, ${compressed} compressed`);
assert.ok(bytes.length <= BYTES_MAX, "weir.wasm is too large");
assert.ok(compressed <= COMPRESSED_MAX, "weir.wasm is too large when compressed");

const module = new WebAssembly.Module(bytes);
assert.deepEqual(WebAssembly.Module.imports(module), [], "it needs nothing from its host");

// More than a module can have is refused, and leaves it in order.
const core = new WebAssembly.Instance(module).exports;
core.weir_text(192);
assert.equal(core.weir_open(2 ** 31, 0), 0);
assert.equal(core.weir_text(2 ** 31), 0);
assert.equal(core.weir_open(1024, 0), 1);
assert.equal(core.weir_open(1024, 0), 0, "a module is one store");
