// Vercel's edge: as in Workers, by another name.

import wasm from "./weir.wasm?module";
import { cryptoBy } from "./web_crypto.js";

export const compiledModule = (): WebAssembly.Module => wasm as unknown as WebAssembly.Module;

export const { randomBytes, sha256 } = cryptoBy(() => globalThis.crypto);
