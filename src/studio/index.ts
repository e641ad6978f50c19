/** `layerwise/studio`: the server of the page on which runs are watched, compared, used and started. For Node. */

export type * as api from "./api.ts";
export { openInBrowser } from "./browser.ts";
export { type ServedStudio, type StudioOptions, serveStudio } from "./server.ts";
