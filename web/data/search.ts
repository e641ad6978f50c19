/** A search's π over time: fetched once, then lengthened by the frames that come live. */
import { useEffect, useState } from "preact/hooks";
import type { RunId, SearchData } from "../../src/studio/api.ts";
import { listen } from "./live.ts";
import { get, record, type ServerError, saved } from "./server.ts";

/** The search of a run, live. Cuts, seeds and the front are asked for again with every frame. */
export function useSearch(id: RunId, version: unknown) {
  const [data, setData] = useState<SearchData>();
  const [error, setError] = useState<ServerError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!id) return;
    let [ended, stop] = [false, () => {}];
    const path = `/api/runs/${encodeURIComponent(id)}/search`;
    const load = async () => {
      let present = await get<SearchData>(path);
      if (ended) return;
      setData(present);
      setError(undefined);
      if (saved) return;
      stop = listen({
        runs: [{ id: present.shown, cursor: present.cursor }],
        metrics: ["temperature"],
        frames: true,
        onGap: () => setRound((each) => each + 1),
        onUpdate: ({ frames, reset }) => {
          if (reset?.includes(present.shown)) return setRound((each) => each + 1);
          const fresh = (frames?.[present.shown] ?? []).filter(
            ({ step }) => step > (present.frames.at(-1)?.step ?? -1),
          );
          if (fresh.length === 0) return;
          present = { ...present, frames: [...present.frames, ...fresh] };
          record(`GET ${path}`, present);
          setData(present);
        },
      });
    };
    load().catch((reason: ServerError) => ended || setError(reason));
    return () => {
      ended = true;
      stop();
    };
  }, [id, round, version]);
  return { data, error };
}
