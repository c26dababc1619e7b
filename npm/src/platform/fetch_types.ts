// The platform's own Request and Response, by any declaration: TypeScript's lib "dom", or the types
// of Node, Bun, Deno or Workers. Where nothing declares them, the parts that are used here.

type Declared<Name extends string, Otherwise> =
  typeof globalThis extends Record<Name, { prototype: infer Made }> ? Made : Otherwise;

interface RequestParts {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  json(): Promise<unknown>;
}

interface ResponseParts {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  json(): Promise<unknown>;
  text(): Promise<string>;
}

export type PlatformRequest = Declared<"Request", RequestParts>;
export type PlatformResponse = Declared<"Response", ResponseParts>;

/** The one shape of request that we send: it fits every platform's RequestInit. */
export interface PostInit {
  method: "POST";
  headers?: Record<string, string>;
  body: string;
  redirect?: "manual";
  signal?: Declared<"AbortSignal", object>;
}
