/** A curve the size of a word. */
import { figure } from "./format.ts";

const [WIDTH, HEIGHT] = [96, 24];

/** Losses from the first to the last; a sentence says both ends. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const known = values.filter((value): value is number => value !== null);
  if (known.length < 2) return <span class="muted">–</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i: number) => (i / (values.length - 1)) * WIDTH;
  const y = (value: number) => 2 + (HEIGHT - 4) * (high > low ? (high - value) / (high - low) : 0.5);
  const points = values.flatMap((value, i) => (value === null ? [] : [`${x(i).toFixed(1)},${y(value).toFixed(1)}`]));
  const label = `loss from ${figure(known[0])} to ${figure(known.at(-1))}`;
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
