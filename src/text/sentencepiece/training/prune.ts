/** Pruning: drops the pieces whose loss would cost the text's likelihood least. */
import type { Candidates } from "./candidates.ts";

/** Leaves about `target` pieces alive: those that nothing can replace, and those whose loss would cost most. */
export function prune(candidates: Candidates, target: number): void {
  const counts = candidates.bestCounts();
  const total = counts.reduce((sum, count) => sum + count, 0);
  const kept: number[] = [];
  const losses: { id: number; loss: number }[] = [];
  const path: number[] = [];
  for (const id of candidates.living()) {
    const count = counts[id]!;
    if (count === 0) continue;
    const score = candidates.alternative(id, path);
    if (score === undefined) kept.push(id);
    else if (score <= candidates.scores[id]!) losses.push({ id, loss: lossWithout(id, path, counts, total) });
  }
  losses.sort((a, b) => b.loss - a.loss);
  for (const { id } of losses.slice(0, Math.max(0, target - kept.length))) kept.push(id);
  candidates.keep(kept);
}

/** What the log likelihood loses if every use of the piece is spelled as `path`, whose pieces become more frequent by it. */
function lossWithout(id: number, path: readonly number[], counts: Float64Array, total: number): number {
  const count = counts[id]!;
  const own = Math.log(count) - Math.log(total);
  const totalWithout = Math.log(total + count * (path.length - 1));
  let spelled = 0;
  for (const other of path) spelled += Math.log(counts[other]! + count) - totalWithout;
  return count * (own - spelled);
}
