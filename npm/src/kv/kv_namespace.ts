// The functions that a KV namespace must have, and the names of keys in it.

import { digestOf } from "../digest.js";
import type { Quota } from "../quota.js";

/** A Workers KV namespace, as far as it is used. */
export interface KvNamespace {
  get(name: string): Promise<string | null>;
  put(name: string, value: string, options: { expirationTtl: number }): Promise<void>;
  delete(name: string): Promise<void>;
}

const NAME_MAX = 512;  // bytes, of KV
const PLAIN = /^[\x21-\x7e]*$/;

/** No two keys have one name: bucket and key go with the bucket's length, or as a hash. */
export async function keyName(prefix: string, quota: Quota, bucket: string,
                              key: string): Promise<string> {
  const plain = `${quota.name}:${quota.windowUs}:${bucket.length}:${bucket}:${key}`;
  const name = prefix + plain;
  return name.length <= NAME_MAX && PLAIN.test(name) ? name : prefix + await digestOf(plain);
}
