// Quota: `limit` units per `window`, read by an algorithm; checked once, as the server checks it.

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

const LIMIT_MAX = 1e12;
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

function windowUs(window: Window): number {
  if (typeof window === "number") return Math.round(window * 1e6);
  return /^[\d.]+$/.test(window) ? Math.round(Number(window) * 1e6) : parseDuration(window);
}

function isUnits(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LIMIT_MAX;
}

const UNITS_EXPECTED = "a whole number from 0 to 1,000,000,000,000";

export class Quota {
  readonly limit: number;
  readonly windowUs: number;
  /** Its place in ALGORITHMS. */
  readonly algorithm: number;
  /** 0 unless it is a token bucket whose burst differs from its limit. */
  readonly burst: number;

  /** Throws a RangeError that names the option. */
  constructor(options: QuotaOptions) {
    this.limit = options.limit;
    this.windowUs = windowUs(options.window);
    this.algorithm = ALGORITHMS.indexOf(options.algorithm ?? "sliding_window");
    this.burst = options.burst ?? 0;
    const refuse = (field: string, expected: string): never => {
      throw new RangeError(`${field} must be ${expected}`);
    };
    if (this.algorithm < 0) refuse("algorithm", `one of ${ALGORITHMS.join(", ")}`);
    if (!isUnits(this.limit)) refuse("limit", UNITS_EXPECTED);
    if (!(this.windowUs >= WINDOW_MIN_US && this.windowUs <= WINDOW_MAX_US)) {
      refuse("window", 'from 1 ms to 366 days: seconds, or a text such as "1m"');
    }
    if (!isUnits(this.burst)) refuse("burst", UNITS_EXPECTED);
    if (this.burst === 0) return;
    if (this.name !== "token_bucket") refuse("burst", "left out, as only token_bucket has one");
    if (this.limit > 0 && (this.burst * this.windowUs) / this.limit > FILL_TIME_MAX_US) {
      refuse("burst", "at most what is refilled in 4 * 366 days");
    }
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

const COST_MAX = 1e12;

export function checkCost(cost: number): void {
  if (!Number.isInteger(cost) || Math.abs(cost) > COST_MAX) {
    throw new RangeError("cost must be a whole number within 10^12 either way");
  }
}
