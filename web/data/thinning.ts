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

/** At most so many points: of each part the lowest and the highest, and the last of all. */
export function thinned({ x, y }: Series, points: number): Series {
  const parts = Math.max(1, Math.floor((points - 1) / 2));
  const kept = new Set<number>([x.length - 1]);
  for (let part = 0; part < parts; part++) {
    const [from, to] = [part, part + 1].map((each) => Math.floor((each * x.length) / parts)) as [number, number];
    let [low, high] = [from, from];
    for (let i = from; i < to; i++) {
      if ((y[i] ?? Number.POSITIVE_INFINITY) < (y[low] ?? Number.POSITIVE_INFINITY)) low = i;
      if ((y[i] ?? Number.NEGATIVE_INFINITY) > (y[high] ?? Number.NEGATIVE_INFINITY)) high = i;
    }
    if (to > from) kept.add(low).add(high);
  }
  const order = [...kept].filter((i) => i >= 0).sort((a, b) => a - b);
  return { x: order.map((i) => x[i]!), y: order.map((i) => y[i] ?? null) };
}
