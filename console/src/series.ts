// What there is to say of figures in the order of their times. Pure.

import type { Rates, Second } from "./message";

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

/** What all of the time had. */
export function sumOf(points: readonly Second[]): Rates {
  let [requests, denied, shadow] = [0, 0, 0];
  for (const { seconds, ...rates } of points) {
    requests += (rates.requests ?? 0) * seconds;
    denied += (rates.denied ?? 0) * seconds;
    shadow += (rates.shadow ?? 0) * seconds;
  }
  return { requests: Math.round(requests), denied: Math.round(denied), shadow: Math.round(shadow),
    denyRate: requests > 0 ? denied / requests : 0 };
}

/** At most so many values: the highest of each as many. */
export function highest(values: readonly number[], most: number): number[] {
  const size = Math.ceil(values.length / most);
  const found: number[] = [];
  for (let at = 0; at < values.length; at += size) {
    found.push(Math.max(...values.slice(at, at + size)));
  }
  return found;
}
