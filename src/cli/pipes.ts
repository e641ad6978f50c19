/** Output that nobody reads any more (`… | head`): work goes on without it; where it was the point, the exit code tells. */

/** As of a program that a signal ended: 128 and the number of SIGPIPE. */
const SIGPIPE_EXIT = 141;
let outlives = false;

/** From now on the command goes on when its output is closed: what it makes lies in files. */
export function outliveOutput(): void {
  outlives = true;
}

/** Nothing is said on a closed pipe. Without a reader of its results a command ends, unless it was told to outlive them. */
export function quietOnClosedPipes(): void {
  process.stderr.on("error", ignored);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    ignored(error);
    if (!outlives) process.exit(SIGPIPE_EXIT);
  });
}

/** Of processes that train together (`mpirun`) the first one speaks; what goes wrong in others is said by `fail`. */
export function quietUnlessFirst(rank: number): void {
  if (rank === 0) return;
  const silent = ((_: unknown, ...rest: unknown[]) => {
    const done = rest.find((each) => typeof each === "function");
    if (typeof done === "function") done();
    return true;
  }) as typeof process.stdout.write;
  process.stdout.write = silent;
  process.stderr.write = silent;
}

function ignored(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error; // EIO: the terminal is gone
}
