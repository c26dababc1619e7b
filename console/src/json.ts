// Reads values whose shape nobody promises. Pure.

export type Fields = Record<string, unknown>;

export function object(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objects(value: unknown): Fields[] {
  return list(value).filter(isObject);
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Those of the named fields that are numbers. */
export function numbers<N extends string>(from: Fields, ...names: N[]) {
  return picked(from, names, number);
}

/** Those of the named fields that are texts. */
export function texts<N extends string>(from: Fields, ...names: N[]) {
  return picked(from, names, text);
}

function picked<N extends string, V>(
  from: Fields, names: readonly N[], read: (value: unknown) => V | undefined,
) {
  const found = names.map((name) => [name, read(from[name])]);
  return Object.fromEntries(found) as { readonly [name in N]?: V };
}

export function parse(source: string): unknown {
  try {
    return JSON.parse(source) as unknown;
  } catch {
    return undefined;
  }
}
