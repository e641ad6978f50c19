/** Finds a browser for tests, pictures and measurements of pages. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The first Chromium on the path; undefined where there is none. */
export function findChromium(): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((each) => join(each, name))).find((path) => existsSync(path));
}
