declare module "#rules" {
  /** What `weir export` has written. */
  const exported: Uint8Array;
  export default exported;
}
declare module "#rules.wasm" {
  /** Compiled by workerd; node has the bytes. */
  const module: WebAssembly.Module | Uint8Array;
  export default module;
}
