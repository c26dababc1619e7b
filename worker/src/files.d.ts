declare module "#rules" {
  const rules: unknown;
  export default rules;
}
