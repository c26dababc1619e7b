// Node, Bun and Deno. Node 18 has no global `crypto`.

import { createHash, randomFillSync } from "node:crypto";
import wasm from "weir.wasm";  // the bytes, in the bundle

export const module = new WebAssembly.Module(wasm);

export function randomBytes(count: number): Uint8Array {
  return randomFillSync(new Uint8Array(count));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return createHash("sha256").update(bytes).digest();
}
