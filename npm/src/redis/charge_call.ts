// The words of a call of the server's script, and its reply: what src/store/redis/script
// packs, byte for byte, so that programs and nodes share counters.

import { StoreError } from "../batcher.js";
import type { Core } from "../core.js";
import { decisionOf, type Decision } from "../decision.js";
import type { Quota } from "../quota.js";

export interface Charge {
  quota: Quota;
  bucket: string;
  key: string;
  cost: number;
  operation: number;
}

export const OPERATIONS = { spendEach: 0, reset: 3 };
// With the header of a batch of one; the last four, a switch, are those of adaptive keys.
const CHARGE_BYTES = 49;
const FAILED = 3;         // in the place of a verdict
const HAS_MORE = 32;
const FAILURES = ["", "is no string", "is no state of this algorithm", "is not supported"];

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// 64 bits as 11 characters, the highest four bits first, as src/base/base64url.cc does.
function base64url(value: bigint): string {
  let text = "";
  for (let shift = 60n; shift >= 0n; shift -= 6n) text += BASE64URL[Number((value >> shift) & 63n)];
  return text;
}

/** What the fleet calls the key. */
export function nameOf(core: Core, { quota, bucket, key }: Charge): string {
  const quotaIndex = core.numberOfQuota(quota);
  const bucketIndex = core.numberOfBucket(bucket);
  core.exports.weir_hash(quotaIndex, bucketIndex, core.put(key));
  const hash = core.hash;
  return `{${base64url(hash.getBigUint64(0, true))}${base64url(hash.getBigUint64(8, true))}}`;
}

function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

// The time that earns a token, as a fraction of microseconds (weir/quota.h).
function ticksOf({ name, limit, windowUs }: Quota): [number, number] {
  if (name !== "token_bucket" || limit === 0) return [1, 1];
  const divisor = gcd(windowUs, limit);
  return [windowUs / divisor, limit / divisor];
}

// In microseconds, what the script leaves to the node where the rest of its reply says it.
function moreAfterOf(quota: Quota, remaining: number, resetUs: number): number {
  if (remaining >= quota.capacity) return 0;
  if (quota.name === "fixed_window") return resetUs;
  if (quota.name !== "token_bucket") return 0;
  const [perUnit, perUs] = ticksOf(quota);
  const ticks = BigInt(quota.capacity - remaining - 1) * BigInt(perUnit);
  return resetUs - Number(ticks / BigInt(perUs));
}

/** The keys of a call, each once, and its batches: one a charge, in order. */
export function pack(core: Core, charges: Charge[], prefix: string): [string[], Uint8Array] {
  const numbers = new Map<string, number>();
  const bytes = new Uint8Array(CHARGE_BYTES * charges.length);
  const view = new DataView(bytes.buffer);
  charges.forEach((charge, index) => {
    const name = prefix + nameOf(core, charge);
    if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
    const { quota } = charge;
    let at = CHARGE_BYTES * index;
    view.setUint8(at, charge.operation);
    view.setUint8(at + 1, 1);
    view.setUint8(at + 2, quota.algorithm);
    view.setUint16(at + 3, numbers.get(name)!, true);
    at += 5;
    for (const number of [charge.cost, quota.capacity, quota.windowUs, ...ticksOf(quota)]) {
      view.setBigInt64(at, BigInt(number), true);
      at += 8;
    }
  });
  return [[...numbers.keys()], bytes];
}

/** What the script answers: the time, then two or three numbers a charge. */
export function read(reply: unknown, charges: Charge[]): (Decision | StoreError)[] {
  if (!Array.isArray(reply)) throw new StoreError("the reply is not what the script answers");
  let at = 0;
  const next = (): number => {
    const number = Number(reply[at++]);
    if (!(number >= 0)) throw new StoreError("the reply is not what the script answers");
    return number;
  };
  const now = next();
  return charges.map(({ quota }) => {
    const code = next();
    const verdict = code % 4;
    if (verdict === FAILED) {
      return new StoreError(`what Redis has under the key ${FAILURES[code >> 2] ?? "is wrong"}`);
    }
    const level = Math.floor(code / 4) % 8;
    const reset = next();
    const retry = verdict === 1 ? next() : 0;
    const more = Math.floor(code / HAS_MORE) % 2 === 1 ? next() : undefined;
    const halved = Math.max(1, Math.floor(quota.limit / 2 ** level));
    const isHalved = quota.name === "exponential_backoff" && quota.limit > 0;
    const limit = isHalved ? halved : quota.capacity;
    const remaining = Math.floor(code / 64);
    return decisionOf(verdict, limit, remaining, retry, reset,
                      more ?? moreAfterOf(quota, remaining, reset), now);
  });
}
