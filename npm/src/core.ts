// One instance of weir.wasm: a table of keys, and the functions that decide on it.
//
// An instance, and the secret under which it hashes keys, are made when they are first needed:
// Workers allow neither clocks nor random numbers before.

import { compiledModule, randomBytes } from "#platform";
import type { Quota } from "./quota.js";

interface Exports {
  memory: WebAssembly.Memory;
  weir_text(bytes: number): number;
  weir_answer(): number;
  weir_open(maxKeys: number, preciseKeys: number, now: number): number;
  weir_quota(index: number, algorithm: number, limit: number, window: number,
             burst: number): number;
  weir_bucket(index: number, length: number): void;
  weir_spend(quota: number, bucket: number, length: number, cost: number, now: number): number;
  weir_reset(quota: number, bucket: number, length: number): void;
  weir_hash(quota: number, bucket: number, length: number): void;
  weir_evictions(): number;
  weir_state(): number;
  weir_step(quota: number, words: number, cost: number, now: number): number;
}

const TEXT_BYTES = 1024;
const TEXT_MAX = 1 << 24;  // UTF-16 units of a key
const NUMBERED_MAX = 256;  // quotas and buckets that the module knows at a time
const SECRET_BYTES = 192;

export class Core {
  readonly exports: Exports;
  /** What every call runs. */
  readonly spend: Exports["weir_spend"];
  private bytes = new Uint8Array(0);
  private textAt = 0;
  private textBytes = 0;
  private answers = new Float64Array(0);

  private readonly quotas = new Map<Quota, number>();
  private readonly buckets = new Map<string, number>();
  private lastQuota: Quota | undefined;
  private lastQuotaIndex = 0;
  private lastBucket: string | undefined;
  private lastBucketIndex = 0;

  constructor(maxKeys: number, now: number, secret?: Uint8Array, preciseKeys = 0) {
    this.exports = new WebAssembly.Instance(compiledModule(), {}).exports as unknown as Exports;
    this.spend = this.exports.weir_spend;
    this.reserve(TEXT_BYTES);
    this.bytes.set(secret ?? randomBytes(SECRET_BYTES), this.textAt);
    if (this.exports.weir_open(maxKeys, preciseKeys, now) === 0) {
      throw new RangeError("maxKeys must be from 1,024 to 16,777,216");
    }
  }

  /** limit, remaining, retry and reset in microseconds, backoff level: of the last decision. */
  get answer(): Float64Array {
    if (this.answers.length === 0) this.look();
    return this.answers;
  }

  /** The words that step() works on. */
  get state(): BigInt64Array {
    return new BigInt64Array(this.exports.memory.buffer, this.exports.weir_state(), 2048);
  }

  get hash(): DataView {
    return new DataView(this.exports.memory.buffer, this.textAt, 16);
  }

  numberOfQuota(quota: Quota): number {
    if (quota === this.lastQuota) return this.lastQuotaIndex;
    let index = this.quotas.get(quota);
    if (index === undefined) {
      if (this.quotas.size === NUMBERED_MAX) this.quotas.clear();
      index = this.quotas.size;
      const { algorithm, limit, windowUs, burst } = quota;
      if (this.exports.weir_quota(index, algorithm, limit, windowUs, burst) !== 0) {
        throw new RangeError("the quota is out of range");
      }
      this.quotas.set(quota, index);
    }
    this.lastQuota = quota;
    this.lastQuotaIndex = index;
    return index;
  }

  numberOfBucket(bucket: string): number {
    if (bucket === this.lastBucket) return this.lastBucketIndex;
    let index = this.buckets.get(bucket);
    if (index === undefined) {
      if (this.buckets.size === NUMBERED_MAX) this.buckets.clear();
      index = this.buckets.size;
      this.exports.weir_bucket(index, this.put(bucket));
      this.buckets.set(bucket, index);
    }
    this.lastBucket = bucket;
    this.lastBucketIndex = index;
    return index;
  }

  /** Puts a text where the module reads it; returns its length in bytes. */
  put(text: string): number {
    const length = text.length;
    if (length > this.textBytes) this.reserve(3 * length);
    if (this.bytes.length === 0) this.look();
    const { bytes, textAt } = this;
    let all = 0;
    for (let i = 0; i < length; ++i) {
      const unit = text.charCodeAt(i);
      all |= unit;
      bytes[textAt + i] = unit;
    }
    return all < 0x80 ? length : this.putEncoded(text);
  }

  // UTF-8, in which a surrogate without its other half is three bytes as well: so no two
  // different strings are one key.
  private putEncoded(text: string): number {
    if (3 * text.length > this.textBytes) this.reserve(3 * text.length);
    const bytes = this.bytes;
    let at = this.textAt;
    for (let i = 0; i < text.length; ++i) {
      const code = text.codePointAt(i)!;
      if (code < 0x80) {
        bytes[at++] = code;
        continue;
      }
      if (code < 0x800) {
        bytes[at++] = 0xc0 | (code >> 6);
      } else {
        if (code < 0x10000) {
          bytes[at++] = 0xe0 | (code >> 12);
        } else {
          ++i;  // two UTF-16 units
          bytes[at++] = 0xf0 | (code >> 18);
          bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
        }
        bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      }
      bytes[at++] = 0x80 | (code & 0x3f);
    }
    return at - this.textAt;
  }

  private reserve(bytes: number): void {
    if (bytes > 3 * TEXT_MAX) throw new RangeError("a key has at most 16,777,216 characters");
    const at = this.exports.weir_text(bytes);
    if (at === 0) throw new RangeError("there is no memory for a key of that length");
    this.textAt = at;
    this.textBytes = Math.max(bytes, this.textBytes);
    this.look();
  }

  // Views of the memory end when it grows.
  private look(): void {
    const { buffer } = this.exports.memory;
    this.bytes = new Uint8Array(buffer);
    this.answers = new Float64Array(buffer, this.exports.weir_answer(), 6);
  }
}
