// When to try again after a connection was lost, and when to poll instead. Pure.

export const FIRST_WAIT_MS = 250;
export const LONGEST_WAIT_MS = 8000;
/** As many failures in a row without one message, and a proxy probably breaks upgrades. */
export const FAILURES_BEFORE_POLLING = 3;
/** While it polls, the page tries the WebSocket so often. */
export const RETRY_WHILE_POLLING_MS = 30_000;
export const POLL_EVERY_MS = 1000;

export interface Plan {
  /** How the page gets its figures until the next attempt. */
  readonly way: "wait" | "poll";
  readonly waitMs: number;
}

/**
 * What to do after the n-th failure in a row, n from 1. `chance` is from 0 to 1: a thousand
 * pages do not come back in the same moment.
 */
export function planAfter(failures: number, chance: number): Plan {
  if (failures >= FAILURES_BEFORE_POLLING) return { way: "poll", waitMs: RETRY_WHILE_POLLING_MS };
  const whole = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return { way: "wait", waitMs: Math.round(whole * (0.5 + chance / 2)) };
}

/** How long a page that cannot even poll waits for the next try. */
export function pollWaitMs(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, POLL_EVERY_MS * 2 ** Math.min(failures, 10));
}
