/** Answers signals while training: once to stop after the step, with a checkpoint; twice to quit. */

/** Whether a terminal is read from or written to. Under nohup none is: Node itself forgets that SIGHUP was to be ignored. */
const hasTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);

/** How signals are answered. */
export interface SignalOptions {
  /** A terminal that closes counts if there is one. */
  readonly terminal?: boolean;
  /** Schedulers say stop with SIGTERM and SIGUSR1, perhaps both: then only Ctrl-C twice ends the process at once. */
  readonly scheduled?: boolean | undefined;
}

/** The first signal asks training to stop after its step; the second ends the process. */
export function stopOnSignals(
  output: { write(text: string): unknown },
  { terminal = hasTerminal(), scheduled = false }: SignalOptions = {},
): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    output.write("\nstopping after this step; once more to quit at once\n");
    controller.abort();
  };
  const onNotice = () => controller.signal.aborted || onSignal();
  const handlers = {
    SIGINT: onSignal,
    SIGTERM: scheduled ? onNotice : onSignal,
    SIGHUP: terminal ? onSignal : () => {},
    ...(scheduled ? { SIGUSR1: onNotice } : {}),
  };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  const release = () => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  };
  return { signal: controller.signal, release };
}
