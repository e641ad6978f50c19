/** What is made when it is first needed, so that nobody waits for what nobody asks. */

/** The same value at every call, made at the first. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Opens something at the first call; `release` gives it back if it was opened. */
export function lazily<T extends { release(): Promise<void> }>(open: () => Promise<T>) {
  let asked = false;
  const get = once(() => {
    asked = true;
    return open();
  });
  return Object.assign(get, { release: async () => void (asked && (await (await get()).release())) });
}
