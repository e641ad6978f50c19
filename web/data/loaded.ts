/** Answers of the server as state of a component. */
import { useEffect, useState } from "preact/hooks";
import { get, type ServerError } from "./server.ts";

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: ServerError | undefined;
  /** Asks again; the old value stays until the new one is there. */
  readonly reload: () => void;
}

/** What a path answers; asked again when `version` changes. Without a path nothing is asked. */
export function useGet<T>(path: string | undefined, version: unknown = 0): Loaded<T> {
  const [state, setState] = useState<{ path?: string; value?: T; error?: ServerError }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === undefined) return;
    let ended = false;
    get<T>(path).then(
      (value) => ended || setState({ path, value }),
      (error: ServerError) => ended || setState({ path, error }),
    );
    return () => {
      ended = true;
    };
  }, [path, version, round]);
  const fits = state.path === path;
  return {
    value: fits ? state.value : undefined,
    error: fits ? state.error : undefined,
    reload: () => setRound((each) => each + 1),
  };
}

/** Something the user asked for, under way or failed. */
export function useAction(): {
  readonly busy: boolean;
  readonly error: ServerError | undefined;
  readonly run: (work: () => Promise<void>) => void;
} {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ServerError>();
  const run = (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    work()
      .catch((reason: ServerError) => setError(reason))
      .finally(() => setBusy(false));
  };
  return { busy, error, run };
}
