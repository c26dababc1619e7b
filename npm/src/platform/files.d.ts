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
declare module "node:crypto" {
  export function randomFillSync(bytes: Uint8Array): Uint8Array;
  export function createHash(name: string): {
    update(bytes: Uint8Array): { digest(): Uint8Array };
  };
}
