// Cloudflare's Workers: a module is imported, compiled. Nothing compiles while it runs.

import wasm from "./weir.wasm";
import { cryptoBy } from "./web_crypto.js";

export const compiledModule = (): WebAssembly.Module => wasm as unknown as WebAssembly.Module;

export const { randomBytes, sha256 } = cryptoBy(() => globalThis.crypto);
