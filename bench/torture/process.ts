/** The command line as a process that meets faults. */
import { spawn } from "node:child_process";

/** How a process ended: with a code, or null for a kill. */
export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** What a process is given besides its arguments: variables for faults.mjs, and after how long it is killed. */
export interface Faulty {
  readonly env: Readonly<Record<string, string>>;
  readonly killMs?: number | undefined;
  /** The program. Default: the command line that was built. */
  readonly program?: string | undefined;
}

const preload = new URL("faults.mjs", import.meta.url).href;

/** Runs a command to its end, whichever that is. */
export function layerwise(
  args: readonly string[],
  { env, killMs, program = "dist/cli/main.js" }: Faulty,
): Promise<Ended> {
  const child = spawn(process.execPath, ["--import", preload, program, ...args], { env: { ...process.env, ...env } });
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killMs);
  let stderr = "";
  child.stderr.on("data", (data) => (stderr += data));
  child.stdout.resume();
  return new Promise((done) => {
    child.on("close", (code) => {
      clearTimeout(timer);
      done({ code, stderr });
    });
  });
}
