/** What one may do next with a run: commands, a line each. */
import { commandName } from "./command-name.ts";

/** Commands with the run's folder in the place of RUN. */
export const nextLines = (run: string, commands: readonly string[]): string =>
  ["next:", ...commands.map((line) => `  ${commandName()} ${line.replace("RUN", run)}`)].join("\n");
