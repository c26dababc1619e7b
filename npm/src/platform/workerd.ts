// Cloudflare's Workers: a module is imported, compiled. Nothing compiles while it runs.

import wasm from "./weir.wasm";

export const module = wasm as unknown as WebAssembly.Module;

export function randomBytes(count: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
}
