/** How the user calls this program. */

/** Through npm it is not on the path. */
export const commandName = (): string => (process.env.npm_lifecycle_event ? "npx layerwise" : "layerwise");
