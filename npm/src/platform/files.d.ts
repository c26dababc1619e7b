declare module "*.wasm" {
  const bytes: Uint8Array;
  export default bytes;
}
declare module "*.wasm?module" {
  const bytes: Uint8Array;
  export default bytes;
}
declare module "*.lua" {
  const text: string;
  export default text;
}
declare module "node:module" {
  export function createRequire(from: string): (name: string) => unknown;
}
