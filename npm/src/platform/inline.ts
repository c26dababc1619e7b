// Where WebAssembly can be made of bytes at once: browsers, and whatever is not named elsewhere.
// At the import, since Workers that come this way may not do so later.

import wasm from "weir.wasm";  // the bytes, in the bundle
import { cryptoBy } from "./web_crypto.js";

const compiled = new WebAssembly.Module(wasm);
export const compiledModule = (): WebAssembly.Module => compiled;

export const { randomBytes, sha256 } = cryptoBy(() => globalThis.crypto);
