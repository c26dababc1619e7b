// Quota: `limit` units per `window`, read by an algorithm; checked once, as the server checks it.

import { checkOption, checkOptional, isText, ownOptions, type NamesOf } from "./options.js";

export const ALGORITHMS = [
  "fixed_window",
  "sliding_log",
  "sliding_window",
  "token_bucket",
  "exponential_backoff",
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** Seconds, or a text with units: 60, 0.25, "500ms", "1m", "1h30m". */
export type Window = number | string;

export interface QuotaOptions {
  /** Units a window; 0 denies everything. A whole number up to 10^12. */
  limit: number;
  /** 1 ms to 366 days. */
  window: Window;
  /** sliding_window unless given. */
  algorithm?: Algorithm;
  /** token_bucket only: the most that can be spent at once; the limit unless given. */
  burst?: number;
}
export const QUOTA_NAMES: NamesOf<QuotaOptions> = {
  limit: true, window: true, algorithm: true, burst: true,
};

const LIMIT_MAX = 1e12;
const UNITS_MAX = "1,000,000,000,000";
const WINDOW_MIN_US = 1e3;
const WINDOW_MAX_US = 366 * 24 * 3600e6;
const FILL_TIME_MAX_US = 4 * WINDOW_MAX_US;
const UNITS_US: Record<string, number> = {
  w: 7 * 24 * 3600e6, d: 24 * 3600e6, h: 3600e6, m: 60e6, s: 1e6, ms: 1e3, us: 1,
};

function parseDuration(text: string): number {
  if (!/^(\d+w)?(\d+d)?(\d+h)?(\d+m(?!s))?(\d+s)?(\d+ms)?(\d+us)?$/.test(text)) return NaN;
  let us = text === "" ? NaN : 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([a-z]+)/g)) {
    us += Number(count) * UNITS_US[unit as string]!;
  }
  return us;
}

/** NaN for what is no length. */
export function microseconds(window: Window): number {
  if (typeof window === "number") return Math.round(window * 1e6);
  if (typeof window !== "string") return NaN;
  return /^[\d.]+$/.test(window) ? Math.round(Number(window) * 1e6) : parseDuration(window);
}

function isUnits(value: unknown, least = 0): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= LIMIT_MAX;
}

/** For the cost of work, which gives nothing back. */
export function checkUnits(name: string, value: unknown, least: number): void {
  checkOption(name, value, isUnits(value, least), `a whole number from ${least} to ${UNITS_MAX}`);
}

/** How long something is held for; the store knows whether it is above `most`. Microseconds. */
export function holdUs(hold: Window, most: string): number {
  const us = microseconds(hold);
  checkOption("hold", hold, us >= WINDOW_MIN_US && us <= WINDOW_MAX_US,
              `from 1 ms to ${most}: seconds, or a text such as "30s"`);
  return us;
}

// In whole numbers, as the server compares them.
const fillsInTime = ({ limit, windowUs, burst }: Quota): boolean =>
  BigInt(burst) * BigInt(windowUs) <= BigInt(FILL_TIME_MAX_US) * BigInt(limit);

const UNITS_EXPECTED = `a whole number from 0 to ${UNITS_MAX}`;
const WINDOW_EXPECTED = 'from 1 ms to 366 days: seconds, or a text such as "1m"';

export class Quota {
  readonly limit: number;
  readonly windowUs: number;
  /** Its place in ALGORITHMS. */
  readonly algorithm: number;
  /** 0 unless it is a token bucket whose burst differs from its limit. */
  readonly burst: number;

  /** Throws an error that names the option: TypeError if it is missing, else RangeError. */
  constructor(options: QuotaOptions) {
    const own = ownOptions(options, "limit and window", QUOTA_NAMES);
    const { limit, window, algorithm = "sliding_window", burst } = own;
    this.limit = limit;
    this.windowUs = microseconds(window);
    this.algorithm = ALGORITHMS.indexOf(algorithm);
    this.burst = burst === undefined ? 0 : burst;
    checkOption("algorithm", algorithm, this.algorithm >= 0, `one of ${ALGORITHMS.join(", ")}`);
    checkOption("limit", limit, isUnits(limit), UNITS_EXPECTED);
    const isInRange = this.windowUs >= WINDOW_MIN_US && this.windowUs <= WINDOW_MAX_US;
    checkOption("window", window, isInRange, WINDOW_EXPECTED);
    checkOptional("burst", burst, isUnits(this.burst), UNITS_EXPECTED);
    if (this.burst === 0) return;
    checkOption("burst", burst, this.name === "token_bucket",
                "left out, as only token_bucket has one");
    checkOption("burst", burst, this.limit === 0 || fillsInTime(this),
                "at most what is refilled in 4 * 366 days");
  }

  get name(): Algorithm {
    return ALGORITHMS[this.algorithm]!;
  }

  get window(): number {
    return this.windowUs / 1e6;
  }

  /** The most that can be spent at once. */
  get capacity(): number {
    return this.burst > 0 && this.limit > 0 ? this.burst : this.limit;
  }
}

/** For one call: "7" is as wrong here as elsewhere, though it compares equal to 7. */
export function checkOverrides(limit: unknown, window: unknown): void {
  checkOptional("limit", limit, isUnits(limit), UNITS_EXPECTED);
  const isRight = isText(window) || typeof window === "number";
  checkOptional("window", window, isRight, WINDOW_EXPECTED);
}

const COST_MAX = 1e12;

export function checkCost(cost: unknown): void {
  const isRight = Number.isInteger(cost) && Math.abs(cost as number) <= COST_MAX;
  checkOption("cost", cost, isRight, "a whole number within 10^12 either way");
}
