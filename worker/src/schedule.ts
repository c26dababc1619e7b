// The hours of the week in which a rule is in force, by the clocks of a time zone. What a
// schedule means, src/rules/schedule.h says; test/schedules.json is asked of both.

export interface Hours {
  /** A bit a day, Monday's is the lowest. */
  days: number;
  /** Minutes of the day; `to` on the next day unless it is after `from`. */
  from: number;
  to: number;
  zone: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MINUTE_MS = 60_000;

export function scheduleOf({ days, from, to, zone }: Hours): (now: number) => boolean {
  const clock = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", weekday: "short", hour: "2-digit", minute: "2-digit",
  });
  const begins = (day: number): boolean => ((days >> (day % DAYS.length)) & 1) === 1;
  const holdsAt = (now: number): boolean => {
    const shown = clock.formatToParts(now);
    const part = (type: string): string => shown.find((each) => each.type === type)!.value;
    const day = DAYS.indexOf(part("weekday"));
    const time = 60 * Number(part("hour")) + Number(part("minute"));
    if (from < to) return begins(day) && time >= from && time < to;
    return (begins(day) && time >= from) || (begins(day + DAYS.length - 1) && time < to);
  };
  // Asked of each request, and changes with a minute at the soonest.
  let minute = NaN;
  let held = false;
  return (now) => {
    const asked = Math.floor(now / MINUTE_MS);
    if (asked !== minute) held = holdsAt(now);
    minute = asked;
    return held;
  };
}
