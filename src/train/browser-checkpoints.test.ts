import { expect, it } from "vitest";
import { browserCheckpoints } from "./browser-checkpoints.ts";

it("says what to use where there is no browser", async () => {
  await expect(browserCheckpoints("mine")).rejects.toThrow(
    "browserCheckpoints: expected a browser's IndexedDB, got none; in Node keep a run folder: into: await Run.create(path)",
  );
  await expect(browserCheckpoints("")).rejects.toThrow("browserCheckpoints / name: expected text");
});
