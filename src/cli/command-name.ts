/** How the user calls this program, and what may be done next with it. */

/** Through npm it is not on the path. */
export const commandName = (): string => (process.env.npm_lifecycle_event ? "npx layerwise" : "layerwise");

/** Commands with the run's folder in the place of RUN, a line each. */
export const nextLines = (run: string, commands: readonly string[]): string =>
  ["next:", ...commands.map((line) => `  ${commandName()} ${line.replace("RUN", run)}`)].join("\n");
