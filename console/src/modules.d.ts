// The type of imports that are no TypeScript: icons as texts.

declare module "*.svg" {
  const text: string;
  export default text;
}
