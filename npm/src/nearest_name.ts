// The name that somebody probably meant who wrote one that does not exist. It follows the server's
// rule (src/base/nearest_name.h): a slip of the fingers or a beginning, and no synonym.

const LENGTH_MAX = 64;  // a longer name is near nothing
const PREFIX_MIN = 3;   // two letters begin half the words there are

// Optimal string alignment: letters to change, insert, remove, or swap with the next one.
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= from.length; ++i) {
    const previous = rows[i - 1]!;
    const row = [i];
    for (let j = 1; j <= to.length; ++j) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      let least = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + change);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwapped) least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}

/** The first of those that are equally near, or the only one that begins so. */
export function nearestName(name: string, candidates: string[]): string | undefined {
  if (name === "" || name.length > LENGTH_MAX) return undefined;
  const written = name.toLowerCase();
  let nearest: string | undefined;
  let nearestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(written, candidate.toLowerCase());
    const isNear = distance <= Math.max(1, Math.floor(candidate.length / 3)) &&
                   distance < candidate.length;
    if (!isNear || distance >= nearestDistance) continue;
    nearest = candidate;
    nearestDistance = distance;
  }
  if (nearest !== undefined || name.length < PREFIX_MIN) return nearest;
  const begun = candidates.filter((candidate) => candidate.toLowerCase().startsWith(written));
  return begun.length === 1 ? begun[0] : undefined;
}
