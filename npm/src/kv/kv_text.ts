// What a key's value in KV says: an entry for each place that has admitted some of it.
//
//   {"v":1,"p":{"3f9c1a":[1763836000123,12,5,0.08]}}    time in ms, units of the window before,
//                                                       units of that window, units a ms since
//
// All other texts are taken for nothing, and overwritten with the next write.

export interface Entry {
  /** When the place wrote it, in ms, by its clock. */
  at: number;
  previous: number;
  current: number;
  rate: number;
}

export type Entries = Map<string, Entry>;

const VERSION = 1;
const TEXT_MAX = 64 * 1024;  // some 1,000 places
export const PLACES_MAX = 128;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= 1e15;

function entryOf(value: unknown): Entry | undefined {
  if (!Array.isArray(value) || value.length !== 4 || !value.every(isCount)) return undefined;
  const [at, previous, current, rate] = value as [number, number, number, number];
  return { at, previous, current, rate };
}

/** Nothing if the text is not of this kind. */
export function readEntries(text: string): Entries | undefined {
  if (text.length > TEXT_MAX) return undefined;
  try {
    const { v, p } = JSON.parse(text);
    if (v !== VERSION || typeof p !== "object" || p === null) return undefined;
    const entries: Entries = new Map();
    for (const [place, value] of Object.entries(p).slice(0, PLACES_MAX)) {
      const entry = entryOf(value);
      if (entry !== undefined) entries.set(place, entry);
    }
    return entries;
  } catch {
    return undefined;
  }
}

export function writeEntries(entries: Entries): string {
  const newest = [...entries].sort(([, a], [, b]) => b.at - a.at).slice(0, PLACES_MAX);
  const list = newest.map(([place, { at, previous, current, rate }]) =>
    [place, [at, previous, current, Number(rate.toPrecision(4))]]);
  return JSON.stringify({ v: VERSION, p: Object.fromEntries(list) });
}

/** What the entry's place has admitted in the window that ends `now`, as far as can be told. */
export function usedAt({ at, previous, current, rate }: Entry, windowMs: number, isFixed: boolean,
                       horizonMs: number, now: number): number {
  const until = Math.min(now, at + horizonMs);  // its rate is believed that long
  const window = Math.floor(now / windowMs);
  const begins = window * windowMs;
  const wrote = Math.floor(at / windowMs);
  const carried = (from: number, to: number): number =>
    rate * Math.max(0, Math.min(to, until) - Math.max(from, at));
  const counted = (index: number): number =>
    (index === wrote ? current : index === wrote - 1 ? previous : 0) +
    carried(index * windowMs, (index + 1) * windowMs);
  if (isFixed) return counted(window);
  return counted(window - 1) * (1 - (now - begins) / windowMs) + counted(window);
}
