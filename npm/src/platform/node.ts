// Node, Bun and Deno. An import compiles nothing and loads no crypto: both take longer than all
// the rest of it, and the first hit needs them soon enough.

import { createRequire } from "node:module";
import wasm from "weir.wasm";  // the bytes, in the bundle
import { cryptoBy } from "./web_crypto.js";

let compiled: WebAssembly.Module | undefined;

export function compiledModule(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(wasm));
}

function webCrypto(): Crypto {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  const { webcrypto } = createRequire(import.meta.url)("node:crypto") as { webcrypto: Crypto };
  return webcrypto;
}

export const { randomBytes, sha256 } = cryptoBy(webCrypto);
