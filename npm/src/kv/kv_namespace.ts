// The functions that a KV namespace must have, and the names of keys in it.

import { sha256 } from "#platform";
import type { Quota } from "../quota.js";

/** A Workers KV namespace, as far as it is used. */
export interface KvNamespace {
  get(name: string): Promise<string | null>;
  put(name: string, value: string, options: { expirationTtl: number }): Promise<void>;
  delete(name: string): Promise<void>;
}

const NAME_MAX = 512;  // bytes, of KV
const PLAIN = /^[\x21-\x7e]*$/;

// WTF-16 as bytes, so that lone surrogates differ as well.
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(2 * text.length);
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    bytes[2 * i] = unit & 0xff;
    bytes[2 * i + 1] = unit >> 8;
  }
  return bytes;
}

/** No two keys have one name: bucket and key go with the bucket's length, or as a hash. */
export async function keyName(prefix: string, quota: Quota, bucket: string,
                              key: string): Promise<string> {
  const plain = `${quota.name}:${quota.windowUs}:${bucket.length}:${bucket}:${key}`;
  const name = prefix + plain;
  if (name.length <= NAME_MAX && PLAIN.test(name)) return name;
  const hash = await sha256(bytesOf(plain));
  return prefix + Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
