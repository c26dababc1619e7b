// Asks the server. Every request shows by a header that it comes from the console itself.

import * as json from "./json";

export interface Reply {
  readonly status: number;
  readonly ok: boolean;
  readonly body: json.Fields;
  readonly text: string;
  /** The mistake in the server's words, or the reason why nothing came back. */
  readonly problem: string;
  /** Of rules: their version. */
  readonly etag: string;
}

export interface Ask {
  readonly method?: string;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  /** Nobody has asked for it just now, so it shall not make anybody sign in. */
  readonly unasked?: boolean;
}

export const UNASKED: Ask = { unasked: true };

/** Told when the server wants somebody to sign in. */
export const api = new EventTarget();

export const DEADLINE_MS = 15_000;

export async function ask(path: string, how: Ask = {}): Promise<Reply> {
  const timer = new AbortController();
  const stop = setTimeout(() => timer.abort(), DEADLINE_MS);
  how.signal?.addEventListener("abort", () => timer.abort());
  try {
    const reply = await fetch(path, {
      method: how.method ?? (how.body === undefined ? "GET" : "POST"),
      headers: { "X-Weir-Console": "1", Accept: "application/json", ...type(how), ...how.headers },
      body: typeof how.body === "string" ? how.body : JSON.stringify(how.body),
      cache: "no-store",
      signal: timer.signal,
    });
    if (reply.status === 401 && path !== "/console/session" && how.unasked !== true) {
      api.dispatchEvent(new Event("signin"));
    }
    return answer(reply, await reply.text());
  } catch {
    return { status: 0, ok: false, body: {}, text: "", problem: "The server does not answer.",
      etag: "" };
  } finally {
    clearTimeout(stop);
  }
}

function type(how: Ask): Record<string, string> {
  if (how.body === undefined) return {};
  const kind = typeof how.body === "string" ? "text/plain; charset=utf-8" : "application/json";
  return { "Content-Type": kind };
}

function answer({ status, ok, headers }: Response, text: string): Reply {
  const body = json.object(json.parse(text));
  // The server's words on it are meant for programs.
  const problem = status === 401 ? "Sign in to see this."
    : json.text(body.detail) ?? json.text(body.title) ?? `The answer was ${status}.`;
  const etag = (headers.get("ETag") ?? "").replace(/^W\/|"/g, "");
  return { status, ok, body, text, problem: ok ? "" : problem, etag };
}

export function query(path: string, parameters: Record<string, string | number>): string {
  const said = Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return said.length > 0 ? `${path}?${said.join("&")}` : path;
}
