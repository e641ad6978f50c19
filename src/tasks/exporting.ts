/** What runs have whose model can be used elsewhere: its files in memory, or in a folder. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../base/errors.ts";
import { writeFolderAtomically } from "../files/atomic.ts";
import type { ExportedFiles } from "./exports.ts";

/** Formats of an export: `onnx` (ONNX with safetensors) or `huggingface` (a folder that transformers load). */
export const exportFormats = ["onnx", "huggingface"] as const;

/** A format of an export. */
export type ExportFormat = (typeof exportFormats)[number];

/** What an export is asked for. */
export interface ExportOptions {
  /** Default: onnx. */
  readonly format?: ExportFormat | undefined;
}

/** Files that make a run's model usable elsewhere (ONNX, safetensors, config, tokenizer), in memory or in a folder. */
export interface Exporting {
  /** The files by name. */
  exported(options?: ExportOptions): Promise<ExportedFiles>;
  /** Writes them into a folder, whole or not at all, and gives them; one that exists is refused, unless `force` and an export wrote it. */
  export(folder: string, options?: ExportOptions & { readonly force?: boolean | undefined }): Promise<ExportedFiles>;
}

/** Both ways to export, from how the files of each format are made. */
export function exporting(made: Readonly<Record<ExportFormat, () => Promise<ExportedFiles>>>): Exporting {
  const exported = async ({ format = "onnx" }: ExportOptions = {}) => {
    if (exportFormats.includes(format)) return made[format]();
    return reject({ who: "export / format", needed: exportFormats.join(" or "), got: `${format}` }, 2);
  };
  return {
    exported,
    export: async (path, { force = false, format } = {}) => {
      const files = await exported({ format });
      const fill = async (folder: string) => {
        for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
      };
      await writeFolderAtomically(path, fill, { command: "export", force });
      return files;
    },
  };
}
