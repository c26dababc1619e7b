// Vercel's edge: as in Workers, by another name.

import wasm from "./weir.wasm?module";

export const module = wasm as unknown as WebAssembly.Module;

export function randomBytes(count: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
}
