// What a limiter answers.

export interface Decision {
  allowed: boolean;
  /** Units still to spend, after this request. */
  remaining: number;
  /** Seconds until the same request fits; 0 if it was allowed, Infinity if it never fits. */
  retryAfter: number;
  /** Seconds until the key is as if it had never been seen. */
  resetAfter: number;
  /**
   * When that is, in milliseconds since 1970, by the clock of the store that decided: the same for
   * all calls of a window. Left out where a store does not say it.
   */
  resetAt?: number;
  /**
   * Seconds until there is more than `remaining`; 0 if nothing more comes. Where a store does not
   * know, until the key is new at the latest.
   */
  moreAfter: number;
  /** The most an idle key can spend at once: limit, burst, or the halved limit of a backoff. */
  limit: number;
}

const NEVER = 2;
export const VERDICT_ALLOWED = 0;

// A double is an object of its own in V8, a small whole number is none.
const light = (value: number): number => ((value | 0) === value ? value | 0 : value);

function waitOf(verdict: number, retryUs: number): number {
  if (verdict === VERDICT_ALLOWED) return 0;
  return verdict === NEVER ? Infinity : retryUs / 1e6;
}

/** Reads the core's answer: `verdict` 0 allowed, 1 denied, 2 never; times in microseconds. */
export function decisionOf(
  verdict: number, limit: number, remaining: number, retryUs: number, resetUs: number,
  moreUs: number, nowUs: number,
): Decision {
  return {
    allowed: verdict === VERDICT_ALLOWED,
    remaining: light(remaining),
    retryAfter: waitOf(verdict, retryUs),
    resetAfter: resetUs / 1e6,
    resetAt: (Math.floor(nowUs) + resetUs) / 1000,  // the core's clock has whole microseconds
    moreAfter: moreUs / 1e6,
    limit: light(limit),
  };
}

/** Whether it is one: what keeps counters elsewhere may answer anything. */
export function isDecision(answer: Decision): boolean {
  const { allowed, remaining, retryAfter, resetAfter, limit } = answer;
  return typeof allowed === "boolean" &&
         [remaining, retryAfter, resetAfter, limit].every((value) => typeof value === "number");
}

export type Allowance = "allow" | "deny";

/** An answer without a counter behind it: what a limit says when its store is away. */
export function uncounted(allowance: Allowance, limit: number): Decision {
  const allowed = allowance === "allow";
  return { allowed, remaining: allowed ? limit : 0, retryAfter: allowed ? 0 : 1, resetAfter: 0,
           moreAfter: allowed ? 0 : 1, limit };
}
