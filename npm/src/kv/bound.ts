// How much limits over KV exceed the limit, as npm/tools/kv_simulation.mjs finds: per cent of
// what an exact limiter admits, under three times the limit's load.
export const EXPECTED: { places: number; limit: number; percent: number }[] = [
  { places: 2, limit: 10, percent: 111 },
  { places: 2, limit: 60, percent: 109 },
  { places: 2, limit: 1000, percent: 106 },
  { places: 4, limit: 10, percent: 117 },
  { places: 4, limit: 60, percent: 114 },
  { places: 4, limit: 1000, percent: 111 },
  { places: 8, limit: 10, percent: 123 },
  { places: 8, limit: 60, percent: 124 },
  { places: 8, limit: 1000, percent: 129 },
];

/** From the nearest row: as many places or more, and a limit as large or smaller. */
export function expectedPercent(places: number, limit: number): number {
  if (places <= 1) return 100;
  const enough = EXPECTED.filter((row) => row.places >= places);
  if (enough.length === 0) return 100 * places;
  const nearest = Math.min(...enough.map((row) => row.places));
  const rows = enough.filter((row) => row.places === nearest);
  const known = rows.filter((row) => row.limit <= limit);
  if (known.length === 0) return 100 * places;
  return known.reduce((a, b) => (b.limit > a.limit ? b : a)).percent;
}
