// How far the clocks of a time zone are from UTC, by JavaScript's own tables: what rules.wasm
// imports.

const MINUTE_S = 60;

function offsetsOf(timeZone: string): (utc: number) => number {
  const clock = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const offsetAt = (utc: number): number => {
    const shown = clock.formatToParts(utc * 1000);
    const text = shown.find(({ type }) => type === "timeZoneName")!.value;  // "GMT-03:30", "GMT"
    const [, sign, ...parts] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(text) ?? [];
    const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
    return (sign === "-" ? -1 : 1) * (3600 * hours + 60 * minutes + seconds);
  };
  // Asked of each request, and changes with a minute at the soonest.
  let minute = NaN;
  let offset = 0;
  return (utc) => {
    const asked = Math.floor(utc / MINUTE_S);
    if (asked !== minute) offset = offsetAt(utc);
    minute = asked;
    return offset;
  };
}

/** Zones by number, from 1. */
export class TimeZones {
  private readonly offsets: ((utc: number) => number)[] = [];

  /** Throws if JavaScript has no zone of that name. */
  add(name: string): number {
    return this.offsets.push(offsetsOf(name));
  }

  /** In seconds, as `utc` is. */
  offsetAt(zone: number, utc: number): number {
    return this.offsets[zone - 1]!(utc);
  }
}
