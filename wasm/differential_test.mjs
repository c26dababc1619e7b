// A million random operations on weir.wasm and on the same functions compiled for this
// machine: not one answer differs. differential.cc is this file's other half.
//
//   node differential_test.mjs WEIR_WASM WASM_DIFFERENTIAL [OPS [SEED]]

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [wasm, native, ops = "1000000", seed = "1"] = process.argv.slice(2);
const OPS_PER_LINE = 20_000;
const LIMITS = [0, 1, 7, 100, 3_000_000, 1e12];
const WINDOWS = [1e3, 1e6, 6e7, 31_622_400e6];

class Random {
  constructor(seed) {
    [this.a, this.b, this.c, this.counter] = [seed, 0x9e3779b9, 0x243f6a88, 1];
    for (let i = 0; i < 15; ++i) this.next();
  }
  next() {
    const sum = (this.a + this.b + this.counter++) >>> 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum;
  }
  below(bound) {
    return this.next() % bound;
  }
}

const core = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasm))).exports;
const random = new Random(Number(seed));
let hash = 2_166_136_261;
const mixed = new Float64Array(7);
const words = new Uint32Array(mixed.buffer);

function mix(answer, verdict) {
  mixed.set(answer);
  words[12] = verdict;
  for (let i = 0; i < 13; ++i) hash = Math.imul(hash ^ words[i], 16_777_619);
}
const answer = () => new Float64Array(core.memory.buffer, core.weir_answer(), 6);

function putKey(number) {
  const length = number % 401;
  const text = core.weir_text(1024);
  const bytes = new Uint8Array(core.memory.buffer);
  for (let i = 0; i < length; ++i) bytes[text + i] = number >> (8 * (i % 3));
  return length;
}

function costOf(spec) {
  switch (random.below(16)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return -spec.limit / 2 < -1e12 ? -1e12 : -random.below(9);
    case 3: return spec.limit;
    case 4: return spec.limit + 1 > 1e12 ? 1e12 : spec.limit + 1;
    case 5: return random.below(1000);
    default: return 1;
  }
}

function timeStep(window) {
  switch (random.below(32)) {
    case 0: return -random.below(3_000_000);
    case 1: return window < 1e9 ? window * random.below(4) : 1e9;
    default: return random.below(2_000);
  }
}

function redefine(quota, specs) {
  const spec = { limit: LIMITS[random.below(6)], window: WINDOWS[random.below(4)], burst: 0 };
  if (quota % 5 === 3) spec.burst = random.below(50);
  const wrong = core.weir_quota(quota, quota % 5, spec.limit, spec.window, spec.burst);
  mix(answer(), wrong);
  specs[quota] = wrong === 0 ? spec : undefined;
}

function run(count) {
  let now = 1_700_000_000e6;
  const secret = core.weir_text(192);
  for (let i = 0; i < 192; ++i) {
    new Uint8Array(core.memory.buffer)[secret + i] = random.next() >>> 8;
  }
  core.weir_open(1024, 64, now);
  core.weir_bucket(0, putKey(5));
  core.weir_bucket(1, 0);

  const lines = [];
  const specs = [];
  let stepped = -1;
  let stateWords = 0;
  for (let op = 1; op <= count; ++op) {
    const quota = random.below(60);
    if (random.below(64) === 0 || specs[quota] === undefined) redefine(quota, specs);
    const spec = specs[quota];
    if (spec === undefined) continue;
    const cost = costOf(spec);
    now += timeStep(spec.window);
    const bucket = random.below(2);
    const length = putKey(random.below(3000));
    const operation = random.below(16);
    if (operation === 0) {
      core.weir_reset(quota, bucket, length);
    } else if (operation === 1) {
      core.weir_hash(quota, bucket, length);
      mixed.fill(0);
      mix(new Float64Array(core.memory.buffer, core.weir_text(16), 2), 0);
    } else if (operation <= 4) {
      if (stepped !== quota) stateWords = 0;
      stepped = quota;
      const step = core.weir_step(quota, stateWords, cost, now);
      stateWords = step >> 2;
      mix(answer(), step);
    } else {
      mix(answer(), core.weir_spend(quota, bucket, length, cost, now));
    }
    if (op % OPS_PER_LINE === 0) {
      const hex = (hash >>> 0).toString(16).padStart(8, "0");
      lines.push(`${op} ${hex} ${core.weir_evictions()}`);
    }
  }
  return lines;
}

const natives = execFileSync(native, [ops, seed], { encoding: "utf8" }).trim().split("\n");
const modules = run(Number(ops));
assert.ok(natives.length > 1);
assert.deepEqual(modules, natives);
console.log(`${ops} operations, no difference; the last: ${modules.at(-1)}`);
