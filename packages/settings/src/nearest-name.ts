/** A third of the letters wrong is no longer a typing error. */
const MAX_DISTANCE_SHARE = 1 / 3;

/** The known name that a mistyped one was likely meant to be, or null when none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((left, right) => left.distance - right.distance);
  if (best === undefined) return null;
  return best.distance <= best.candidate.length * MAX_DISTANCE_SHARE ? best.candidate : null;
}

/** Levenshtein's distance, with two swapped neighbours counted once. */
function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= left.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const cost = left[i - 1] === right[j - 1] ? 0 : 1;
      const swapped =
        i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      row.push(
        Math.min(
          cell(rows, i - 1, j) + 1,
          (row[j - 1] ?? 0) + 1,
          cell(rows, i - 1, j - 1) + cost,
          swapped ? cell(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    rows.push(row);
  }
  return cell(rows, left.length, right.length);
}

function cell(rows: readonly number[][], row: number, column: number): number {
  return rows[row]?.[column] ?? 0;
}
