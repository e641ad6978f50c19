/** Answers signals while training: once to stop after the step, with a checkpoint; twice to quit. */

/** Whether a terminal is read from or written to. Under nohup none is: Node itself forgets that SIGHUP was to be ignored. */
const hasTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);

/** The first signal asks training to stop after its step; the second ends the process. A terminal that closes counts if there is one. */
export function stopOnSignals(
  output: Pick<NodeJS.WriteStream, "write">,
  terminal = hasTerminal(),
): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    output.write("\nstopping after this step; once more to quit at once\n");
    controller.abort();
  };
  const handlers = { SIGINT: onSignal, SIGTERM: onSignal, SIGHUP: terminal ? onSignal : () => {} };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  const release = () => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  };
  return { signal: controller.signal, release };
}
