/** Series that grow: lengthened by what comes live, and thinned so that an hour of it stays small. */
import type { Series } from "../../src/studio/api.ts";

const [MOST, POINTS] = [3200, 1600];

/** A series with new points; where it has become long, the lowest and highest of each part of it. */
export function lengthened(old: Series | undefined, added: Series): Series {
  const last = old?.x.at(-1) ?? Number.NEGATIVE_INFINITY;
  const fresh = added.x.flatMap((x, i) => (x > last ? [i] : []));
  const x = [...(old?.x ?? []), ...fresh.map((i) => added.x[i]!)];
  const y = [...(old?.y ?? []), ...fresh.map((i) => added.y[i] ?? null)];
  return x.length > MOST ? thinned({ x, y }, POINTS) : { x, y };
}

/** At most so many points: of each of equal stretches of x the lowest and the highest, and the last of all. Stretches of equally many points would thin what is old again and again. */
export function thinned({ x, y }: Series, points: number): Series {
  const parts = Math.max(1, Math.floor((points - 1) / 2));
  const [first, width] = [x[0]!, (x.at(-1)! - x[0]!) / parts || 1];
  const partOf = (i: number) => Math.min(parts - 1, Math.floor((x[i]! - first) / width));
  const kept = new Set<number>();
  for (let from = 0; from < x.length; ) {
    let [to, low, high] = [from, from, from];
    for (; to < x.length && partOf(to) === partOf(from); to++) {
      if ((y[to] ?? Number.POSITIVE_INFINITY) < (y[low] ?? Number.POSITIVE_INFINITY)) low = to;
      if ((y[to] ?? Number.NEGATIVE_INFINITY) > (y[high] ?? Number.NEGATIVE_INFINITY)) high = to;
    }
    kept.add(low).add(high);
    from = to;
  }
  const order = [...kept.add(x.length - 1)].filter((i) => i >= 0).sort((a, b) => a - b);
  return { x: order.map((i) => x[i]!), y: order.map((i) => y[i] ?? null) };
}
