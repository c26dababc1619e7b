// What changed between two texts, line by line. Pure.

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond it the table of the comparison would hold a browser up. */
export const LINES_MAX = 2000;

/** The shortest list of removed and added lines; of longer texts all of both. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = linesOf(before);
  const fresh = linesOf(after);
  if (old.length > LINES_MAX || fresh.length > LINES_MAX) {
    const all = [...mark(old, "removed"), ...mark(fresh, "added")];
    return before === after ? mark(old, "same") : all;
  }
  return walk(old, fresh, commonLengths(old, fresh));
}

/** Changed lines with `around` unchanged ones around them; null stands for those left out. */
export function hunks(lines: readonly DiffLine[], around = 2): (DiffLine | null)[] {
  const shown = new Set<number>();
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let near = at - around; near <= at + around; near++) shown.add(near);
  });
  const result: (DiffLine | null)[] = [];
  lines.forEach((line, at) => {
    if (shown.has(at)) result.push(line);
    else if (shown.size > 0 && result[result.length - 1] !== null) result.push(null);
  });
  return result;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

function mark(lines: readonly string[], kind: DiffLine["kind"]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

/** table[i][j]: how many lines old from i and fresh from j have in common, in order. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    const row = table[i]!;
    const below = table[i + 1]!;
    for (let j = fresh.length - 1; j >= 0; j--) {
      row[j] = old[i] === fresh[j] ? below[j + 1]! + 1 : Math.max(below[j]!, row[j + 1]!);
    }
  }
  return table;
}

function walk(old: readonly string[], fresh: readonly string[], table: Uint16Array[]): DiffLine[] {
  const result: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      result.push({ kind: "same", text: old[i++]! });
      j++;
    } else if (i < old.length && (j === fresh.length || table[i + 1]![j]! >= table[i]![j + 1]!)) {
      result.push({ kind: "removed", text: old[i++]! });
    } else {
      result.push({ kind: "added", text: fresh[j++]! });
    }
  }
  return result;
}
