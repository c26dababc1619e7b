declare module "#platform" {
  /** weir.wasm; always the same module. */
  export function compiledModule(): WebAssembly.Module;
  export function randomBytes(count: number): Uint8Array;
  export function sha256(bytes: Uint8Array): Promise<Uint8Array>;
}
declare module "#script" {
  /** The Lua script of the server, and its SHA-1. */
  export const script: string;
  export const scriptSha: string;
}
