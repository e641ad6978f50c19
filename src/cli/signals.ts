/** Answers Ctrl-C while training: once to stop after the step, twice to quit. */

/** The first signal asks training to stop after its step; the second ends the process. */
export function stopOnSignals(output: NodeJS.WriteStream): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    output.write("\nstopping after this step; once more to quit at once\n");
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, onSignal);
  const release = () => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, onSignal);
  };
  return { signal: controller.signal, release };
}
