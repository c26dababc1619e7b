// Where WebAssembly can be made of bytes at once: browsers, and whatever is not named elsewhere.

import wasm from "weir.wasm";  // the bytes, in the bundle

export const module = new WebAssembly.Module(wasm);

export function randomBytes(count: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
}
