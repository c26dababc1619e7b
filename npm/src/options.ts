// Options are checked where a program passes them: its mistake has a name there, and not at the
// first request.

import { nearestName } from "./nearest_name.js";

const SHOWN_MAX = 40;  // characters of a text

export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, SHOWN_MAX));
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "bigint" ? `${value}n` : String(value);
}

const wrong = (name: string, value: unknown, expected: string): string =>
  `${name} must be ${expected}, not ${shown(value)}`;

/** The names of a type's options; the compiler finds one that is left out. */
export type NamesOf<Options> = Readonly<Record<keyof Options, true>>;

/** `needed`: the names of those that must be there. */
export function checkObject(options: unknown, needed: string): void {
  if (typeof options === "object" && options !== null) return;
  throw new TypeError(`options must be an object with ${needed}, not ${shown(options)}`);
}

/**
 * The options, without a prototype: code that pollutes Object.prototype sets none of them. Refuses
 * other names, too: a misspelled one would leave what it says as it is.
 */
export function ownOptions<Options>(options: Options, needed: string,
                                    names: Readonly<Record<string, true>>): Options {
  checkObject(options, needed);
  // Over a copy without a prototype the loop takes twice as long as all the rest.
  for (const name in options) {
    if (names[name] !== true && Object.hasOwn(options as object, name)) refuse(name, names);
  }
  return Object.assign(Object.create(null), options);
}

/** For what a function without options was called with beyond its arguments. */
export function checkNoOptions([options]: readonly unknown[], instead: string): void {
  const isObject = typeof options === "object" && options !== null;
  const names = isObject ? Object.keys(options) : options === undefined ? [] : [options];
  if (names.length > 0) throw new TypeError(`there is no option ${shown(names[0])}; ${instead}`);
}

function refuse(name: string, names: object): never {
  const candidates = Object.keys(names);
  const nearest = nearestName(name, candidates);
  const hint = nearest === undefined ? `there is ${candidates.join(", ")}`
                                     : `did you mean ${nearest}?`;
  throw new TypeError(`there is no option ${shown(name)}; ${hint}`);
}

/** A TypeError for what is missing, a RangeError for what is wrong. */
export function checkOption(name: string, value: unknown, isRight: boolean,
                            expected: string): void {
  if (isRight) return;
  if (value === undefined) throw new TypeError(`${name} is missing; it must be ${expected}`);
  throw new RangeError(wrong(name, value, expected));
}

/** For a text that a program computes for each call, such as a key: throws a TypeError. */
export function checkText(name: string, value: unknown): void {
  if (typeof value !== "string") throw new TypeError(wrong(name, value, "a string"));
}

/** Checks an option that may be left out. */
export function checkOptional(name: string, value: unknown, isRight: boolean,
                              expected: string): void {
  if (value !== undefined) checkOption(name, value, isRight, expected);
}

export const isText = (value: unknown): boolean => typeof value === "string";
/** Whether UTF-8 has it: no half of a surrogate pair. */
export const isUnicode = (text: string): boolean => !/\p{Surrogate}/u.test(text);
export const isFunction = (value: unknown): boolean => typeof value === "function";

/** Whether it has all of these functions. */
export function hasFunctions(value: unknown, ...names: string[]): boolean {
  const object = value as Record<string, unknown> | null | undefined;
  return names.every((name) => isFunction(object?.[name]));
}

/** Milliseconds, for instance. */
export const isCount = (value: unknown, least: number): boolean =>
  typeof value === "number" && value >= least && value < Infinity;

const KEYS_MIN = 1024;
const KEYS_MAX = 1 << 24;
export function checkMaxKeys(maxKeys: unknown): void {
  checkOptional("maxKeys", maxKeys, isCount(maxKeys, KEYS_MIN) && (maxKeys as number) <= KEYS_MAX,
                "a number from 1,024 to 16,777,216");
}

const NOW_MAX = 8.64e15;  // what a Date holds
/** What a clock of the program's own has answered. */
export function checkNow(now: unknown): void {
  if (isCount(now, 0) && (now as number) <= NOW_MAX) return;
  throw new RangeError(
    wrong("clock()", now, "a number of milliseconds since 1970, as Date.now() is"));
}

export function checkLimiter(limiter: unknown): void {
  checkOption("limiter", limiter, hasFunctions(limiter, "hit"),
              "a Limiter, such as new Limiter({ limit: 5, window: \"1m\" })");
}
