// What there is to say of figures in the order of their times. Pure.

import { span } from "./format";
import type { Second, Told } from "./message";

/** The one that is nearest in time, within so many seconds. */
export function nearest<T extends { readonly t: number }>(
  points: readonly T[], t: number, within: number,
): T | undefined {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]!.t < t) low = middle + 1;
    else high = middle;
  }
  const near = [points[low - 1], points[low]].filter((one): one is T => one !== undefined);
  const [first] = near.sort((one, other) => Math.abs(one.t - t) - Math.abs(other.t - t));
  return first && Math.abs(first.t - t) <= within ? first : undefined;
}

/** The times of one second differ by less: the server's two clocks drift. */
const DRIFT_S = 0.5;

/** The steps that are told, and what is known of the time before and after them. */
export function withTold<T extends { readonly t: number }>(
  told: readonly T[], seconds: readonly T[],
): T[] {
  const first = told[0]?.t ?? Infinity;
  const last = told[told.length - 1]?.t ?? Infinity;
  return [...seconds.filter(({ t }) => t < first - DRIFT_S), ...told,
    ...seconds.filter(({ t }) => t > last + DRIFT_S)];
}

/** Fewer seconds that a sum leaves out are not worth a word: the first of a node. */
const APART_MIN_S = 5;

/** What the time had whose points are as the newest is: of the fleet, or of this node alone. */
export function sumOf(points: readonly Second[]) {
  const isAlone = points[points.length - 1]?.alone === true;
  let [requests, denied, shadow, summedS, apartS] = [0, 0, 0, 0, 0];
  for (const { seconds, alone = false, ...rates } of points) {
    if (alone !== isAlone) {
      apartS += seconds;
      continue;
    }
    summedS += seconds;
    requests += (rates.requests ?? 0) * seconds;
    denied += (rates.denied ?? 0) * seconds;
    shadow += (rates.shadow ?? 0) * seconds;
  }
  return { requests: Math.round(requests), denied: Math.round(denied), shadow: Math.round(shadow),
    denyRate: requests > 0 ? denied / requests : 0, isAlone, summedS, apartS };
}

/** Which time a sum is of; `words` are for all of it. */
export function timeOf({ isAlone, summedS, apartS }: ReturnType<typeof sumOf>, words: string) {
  if (isAlone) return `${span(summedS)} of this node alone`;
  return apartS < APART_MIN_S ? words : `${words}, without ${span(apartS)} of this node alone`;
}

/** "the last minute", or as much of it as a node knows that is up for so long. */
export function lastOf(seconds: number, words: string, uptime = Infinity): string {
  return `the last ${uptime < seconds ? span(Math.max(1, Math.ceil(uptime))) : words}`;
}

/** From when to when this node was alone. */
export function timesAlone(points: readonly Told[]): [number, number][] {
  const found: [number, number][] = [];
  points.forEach(({ t, seconds = 0, alone }, at) => {
    if (!alone) return;
    if (points[at - 1]?.alone) found[found.length - 1]![1] = t;
    else found.push([t - seconds, t]);
  });
  return found;
}

/** At most so many values: the highest of each as many. */
export function highest(values: readonly number[], most: number): number[] {
  const size = Math.ceil(values.length / most);
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    Math.max(...values.slice(at * size, (at + 1) * size)));
}
