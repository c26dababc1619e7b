// Numbers, spans of time and instants as people read them. Pure.

const UNITS: readonly [number, string][] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
const SPANS: readonly [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
export const NOTHING = "–";

/** At most four characters of digits: 7, 0.25, 12.5, 1.23 k. */
export function count(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NOTHING;
  for (const [size, name] of UNITS) {
    if (Math.abs(value) >= size) return `${digits(value / size)} ${name}`;
  }
  return digits(value);
}

/** An estimate. */
export function about(value: number | undefined): string {
  return value ? `about ${count(value)}` : count(value);
}

/** A number that people rely on, in full: 1,000,000. */
export function exact(value: number): string {
  return value.toLocaleString("en");
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value)) return String(value);
  if (size >= 10) return value.toFixed(size >= 100 ? 0 : 1);
  return trimmed(value.toFixed(2));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A share from 0 to 1 as per cent. */
export function share(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NOTHING;
  const percent = value * 100;
  const near = percent > 0 && percent < 10 && !Number.isInteger(percent);
  return `${near ? trimmed(percent.toFixed(1)) : percent.toFixed(0)} %`;
}

export function ratio(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? NOTHING : value.toFixed(1);
}

/** How long an answer took: 18 µs, 1.2 ms, 3 s. */
export function latency(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 1e-3) return `${digits(Math.round(seconds * 1e6))} µs`;
  if (seconds < 1) return `${trimmed((seconds * 1e3).toPrecision(3))} ms`;
  return `${digits(seconds)} s`;
}

/** A span with its two largest units: 45 s, 3 min 5 s, 2 h, 4 d 3 h. */
export function span(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 10) return `${trimmed(Math.max(0, seconds).toFixed(1))} s`;
  const parts = inUnits(Math.round(seconds));
  const largest = parts.findIndex((part) => part !== "");
  return parts.slice(largest, largest + 2).filter(Boolean).join(" ");
}

/** Whole seconds as so many of each unit, the largest first; "" is none. */
function inUnits(seconds: number): string[] {
  let rest = seconds;
  return SPANS.map(([size, name]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return amount > 0 ? `${amount} ${name}` : "";
  });
}

/** A wait, never shorter than it is, as the command line has it: 350 ms, 36 s, 1 h 2 min 5 s. */
export function wait(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 1) return `${Math.ceil(seconds * 1e3 - 1e-6)} ms`;
  return inUnits(Math.ceil(seconds - 1e-6)).filter(Boolean).join(" ");
}

/** A span by its largest unit alone, never shorter than it is: 45 min. */
export function briefSpan(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 10) return span(seconds);
  const unit = SPANS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.ceil(seconds / unit[0])} ${unit[1]}`;
}

/** The clock of the reader, to the second. */
export function clock(unixSeconds: number | undefined): string {
  if (unixSeconds === undefined || !Number.isFinite(unixSeconds)) return NOTHING;
  const time = new Date(unixSeconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** The clock of the reader, with the day unless it is today. */
export function moment(unixSeconds: number): string {
  const day = new Date(unixSeconds * 1000).toLocaleDateString("en-CA");
  const today = new Date().toLocaleDateString("en-CA");
  return day === today ? clock(unixSeconds) : `${day} ${clock(unixSeconds)}`;
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

/** A text in which nothing is hidden: what turns the direction, breaks lines or has no shape. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (hidden) =>
    `\\u{${hidden.codePointAt(0)!.toString(16)}}`);
}
