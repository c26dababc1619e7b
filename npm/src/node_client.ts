// Requests to a node, by fetch: so many at a time, each bounded in time, and in what is read of its
// answer.

import { StoreError } from "./batcher.js";
import { DEADLINE_MAX_MS, storeErrorOf } from "./failover.js";
import type { PlatformResponse, PostInit } from "./platform/fetch_types.js";

export interface NodeOptions {
  /** Where the node is: "http://10.0.0.7:8080". */
  url: string;
  /** In place of the global one. */
  fetch?: (url: string, init: PostInit) => Promise<PlatformResponse>;
  /** Sent with every request, an Authorization for instance. */
  headers?: Record<string, string>;
}

const UNDER_WAY_MAX = 64;
const ANSWER_MAX = 1 << 20;  // UTF-16 units; the answer to 256 checks has a tenth of it
const SHOWN_MAX = 200;       // characters of an answer that is none
const DETAIL_MAX = 1000;

/** An answer of a node that is no decision. */
export class Refusal extends StoreError {
  /** "urn:weir:problem:..." if it is one of a node's. */
  readonly type: unknown;
  readonly detail: string;

  constructor(status: number, text: string, readonly retryAfter: number) {
    super(`the node answered ${status}: ${text.slice(0, SHOWN_MAX)}`);
    let problem: { type?: unknown; detail?: unknown } | null = {};
    try {
      problem = JSON.parse(text);
    } catch {
      // a proxy's page
    }
    this.type = problem?.type;
    this.detail = String(problem?.detail ?? this.type).slice(0, DETAIL_MAX);
  }
}

// It keeps no program alive: what is under way does.
function abortLater(controller: AbortController, ms: number): ReturnType<typeof setTimeout> {
  const late = (): void => controller.abort(new StoreError(`no answer within ${ms} ms`));
  const timer = setTimeout(late, Math.min(ms, DEADLINE_MAX_MS));
  (timer as { unref?(): void }).unref?.();
  return timer;
}

// Cuts a text that is longer than any answer, so that it is no JSON.
async function textOf(response: PlatformResponse): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return response.text();
  const decoder = new TextDecoder();
  let text = "";
  while (text.length <= ANSWER_MAX) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  reader.cancel().catch(() => {});
  return text;
}

export class NodeClient {
  private underWay = 0;
  private readonly waiting = new Set<() => void>();

  /** A call is sent within `deadline`, in milliseconds, or not at all. */
  constructor(private readonly options: NodeOptions, private readonly deadline: number) {}

  /** What the node answers; once the body is sent, within `patience` deadlines. */
  async post(path: string, body: unknown, patience = 1): Promise<object> {
    const controller = new AbortController();
    const { signal } = controller;
    let timer = abortLater(controller, this.deadline);
    try {
      await this.turn(signal);
      if (patience > 1) {
        clearTimeout(timer);
        timer = abortLater(controller, patience * this.deadline);
      }
      // A fetch of the program's own may not heed the signal.
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)));
      const answer = this.exchange(path, body, signal);
      return await Promise.race([answer, aborted]).finally(() =>
        // Not at once: what has waited as long is out of time, too, and must not go.
        signal.aborted ? setTimeout(() => this.next(), this.deadline / 10) : this.next());
    } catch (error) {
      throw storeErrorOf(error);  // whatever fetch throws is no mistake of the call
    } finally {
      clearTimeout(timer);
    }
  }

  private turn(signal: AbortSignal): Promise<void> {
    return new Promise((go, reject) => {
      if (this.underWay < UNDER_WAY_MAX) {
        ++this.underWay;
        return go();
      }
      this.waiting.add(go);
      signal.addEventListener("abort", () => this.waiting.delete(go) && reject(signal.reason));
    });
  }

  private next(): void {
    const [go] = this.waiting;
    if (go === undefined) {
      --this.underWay;
      return;
    }
    this.waiting.delete(go);
    go();
  }

  private async exchange(path: string, body: unknown, signal: AbortSignal): Promise<object> {
    const { url, headers, fetch: send = fetch } = this.options;
    const response = await send(url + path, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      redirect: "manual",  // is an answer that is none; Workers do not know "error"
      signal,
    });
    const text = await textOf(response);
    if (!response.ok) {
      const seconds = Number(response.headers.get("retry-after"));
      throw new Refusal(response.status, text, seconds > 0 ? seconds : 1);
    }
    try {
      const answer = JSON.parse(text);
      if (typeof answer === "object" && answer !== null) return answer;
    } catch {
      // as if it were a text
    }
    throw new StoreError(`${url} answered what is no JSON object: is it a node of Weir?`);
  }
}
