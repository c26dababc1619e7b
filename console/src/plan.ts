// The simulator's runs: how many requests, when, and about which keys. Pure.

import type { IconName } from "./icons";

export interface Run {
  readonly name: string;
  /** Requests a second; all at once if it is 0. */
  readonly rate: number;
  readonly seconds: number;
  /** How many in all, of a run that sends all at once. */
  readonly amount: number;
  readonly keys: number;
  /** On its button, which has none for a run of somebody's own. */
  readonly label?: string;
  readonly drawn?: IconName;
  readonly hint?: string;
}

export const RATE_MAX = 200;
export const SECONDS_MAX = 60;
export const KEYS_MAX = 1000;
/** More wait their turn: a browser sends six at a time over HTTP/1.1. */
export const IN_FLIGHT_MAX = 64;

export const RUNS: readonly Run[] = [
  { name: "normal", rate: 5, seconds: 5, amount: 0, keys: 1,
    label: "Normal", drawn: "play", hint: "5 requests a second for 5 s" },
  { name: "burst", rate: 0, seconds: 0, amount: 100, keys: 1,
    label: "Burst", drawn: "burst", hint: "100 requests at once" },
  { name: "spam", rate: 30, seconds: 15, amount: 0, keys: 1,
    label: "Spam", drawn: "spam", hint: "30 requests a second for 15 s" },
  { name: "one", rate: 0, seconds: 0, amount: 1, keys: 1,
    label: "One", drawn: "plus", hint: "one request more, with the same key" },
];

export function requestsOf(run: Run): number {
  return run.rate === 0 ? run.amount : Math.round(run.rate * run.seconds);
}

/** How many should have been sent by then. */
export function dueBy(run: Run, elapsedMs: number): number {
  const all = requestsOf(run);
  if (run.rate === 0) return all;
  return Math.min(all, Math.floor((elapsedMs / 1000) * run.rate) + 1);
}

/** The key of the n-th request, n from 0: each in turn. */
export function keyOf(base: string, run: Run, number: number): string {
  return run.keys === 1 ? base : `${base}-${(number % run.keys) + 1}`;
}

export function ownRun(rate: number, keys: number, seconds: number): Run | { problem: string } {
  const wrong = fault("rate", rate, RATE_MAX) ?? fault("keys", keys, KEYS_MAX) ??
    fault("seconds", seconds, SECONDS_MAX);
  return wrong ? { problem: wrong } : { name: "own", rate, keys, seconds, amount: 0 };
}

function fault(name: string, value: number, most: number): string | undefined {
  const right = Number.isInteger(value) && value >= 1 && value <= most;
  return right ? undefined : `The ${name} must be a whole number from 1 to ${most}.`;
}

