/** Curves of runs: fetched once, then lengthened by what comes live. */
import { useEffect, useState } from "preact/hooks";
import type { Axis, RunId, Series, SeriesAnswer, Update } from "../../src/studio/api.ts";
import { listen } from "./live.ts";
import { get, record, type ServerError, saved } from "./server.ts";
import { lengthened } from "./thinning.ts";

export type SeriesByRun = ReadonlyMap<RunId, Readonly<Record<string, Series>>>;

/** Curves are drawn once a second, however often points come. */
const DRAWN_MS = 1000;

interface Wanted {
  readonly ids: readonly RunId[];
  readonly x: Axis;
  readonly metrics?: readonly string[];
  readonly range?: readonly [number, number] | undefined;
  readonly log?: boolean;
  readonly onUpdate?: (update: Update) => void;
}

/** The curves of runs, live. */
export function useSeries({ ids, x, metrics, range, log = false, onUpdate }: Wanted) {
  const [series, setSeries] = useState<SeriesByRun>(new Map());
  const [error, setError] = useState<ServerError>();
  const [axes, setAxes] = useState<readonly Axis[]>(["step", "minutes", "tokens"]);
  const [round, setRound] = useState(0);
  const key = [...ids, x, ...(metrics ?? []), ...(range ?? [])].join(" ");
  useEffect(() => {
    let [ended, stop, timer] = [false, () => {}, 0];
    const path = (id: RunId) => `/api/runs/${encodeURIComponent(id)}/series?${queryOf(x, metrics, range)}`;
    const load = async () => {
      const got = await Promise.all(ids.map((id) => get<SeriesAnswer>(path(id))));
      if (ended) return;
      const all = new Map(got.map((each): [RunId, SeriesAnswer["series"]] => [each.id, each.series]));
      setSeries(all);
      setAxes((old) => old.filter((axis) => got.every((each) => each.axes.includes(axis))));
      setError(undefined);
      if (saved) return;
      const show = () => {
        timer = 0;
        setSeries(new Map(all));
      };
      stop = listen({
        runs: got.map(({ id, cursor }) => ({ id, cursor })),
        ...(metrics ? { metrics } : {}),
        x,
        log,
        onGap: () => setRound((each) => each + 1),
        onUpdate: (update) => {
          onUpdate?.(update);
          if (update.reset?.some((id) => ids.includes(id))) return setRound((each) => each + 1);
          for (const [id, points] of Object.entries(update.points ?? {})) {
            if (!ids.includes(id)) continue;
            const next = { ...all.get(id) };
            for (const [name, added] of Object.entries(points)) next[name] = lengthened(next[name], added);
            all.set(id, next);
            const answer = got.find((each) => each.id === id)!;
            record(`GET ${path(id)}`, { ...answer, series: next });
          }
          if (update.points) timer ||= setTimeout(show, DRAWN_MS);
        },
      });
    };
    load().catch((reason: ServerError) => ended || setError(reason));
    return () => {
      ended = true;
      clearTimeout(timer);
      stop();
    };
  }, [key, round]);
  return { series, axes, error };
}

function queryOf(x: Axis, metrics?: readonly string[], range?: readonly [number, number]): string {
  const query = new URLSearchParams({ x, points: "1200" });
  if (metrics) query.set("metrics", metrics.join(","));
  if (range) {
    query.set("from", String(range[0]));
    query.set("to", String(range[1]));
  }
  return query.toString();
}
