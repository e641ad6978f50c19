/** What runs have whose model can be used elsewhere: its files in memory, or in a folder. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFolderAtomically } from "../files/atomic.ts";
import type { ExportedFiles } from "./exports.ts";

/** Files that make a run's model usable elsewhere (ONNX, safetensors, config, tokenizer), in memory or in a folder. */
export interface Exporting {
  /** The files by name. */
  exported(): Promise<ExportedFiles>;
  /** Writes them into a folder, whole or not at all, and gives them; one that exists is refused, unless `force` and an export wrote it. */
  export(folder: string, options?: { readonly force?: boolean | undefined }): Promise<ExportedFiles>;
}

/** Both ways to export, from the first. */
export function exporting(exported: () => Promise<ExportedFiles>): Exporting {
  return {
    exported,
    export: async (path, { force = false } = {}) => {
      const files = await exported();
      const fill = async (folder: string) => {
        for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
      };
      await writeFolderAtomically(path, fill, { command: "export", force });
      return files;
    },
  };
}
