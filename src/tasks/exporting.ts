/** What runs have whose model can be used elsewhere: its files in memory, or in a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reject } from "../base/errors.ts";
import { writeFolderAtomically } from "../files/atomic.ts";
import type { ExportedFiles, ExportHow } from "./exports.ts";

/** Formats of an export: `onnx` (ONNX with safetensors), `huggingface` (a folder that transformers load), `transformers.js` (one that transformers.js loads). */
export const exportFormats = ["onnx", "huggingface", "transformers.js"] as const;

/** A format of an export. */
export type ExportFormat = (typeof exportFormats)[number];

/** What an export is asked for. */
export interface ExportOptions extends ExportHow {
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

type Maker = (how: ExportHow) => Promise<ExportedFiles>;

/** How the files of each format are made; transformers.js knows ALBERTs alone. */
type Makers = Readonly<Record<Exclude<ExportFormat, "transformers.js">, Maker>> & {
  readonly "transformers.js"?: Maker;
};

/** Both ways to export, from how the files of each format are made. */
export function exporting(made: Makers): Exporting {
  const exported = async ({ format = "onnx", int8 = false }: ExportOptions = {}) => {
    if (int8 && format !== "onnx")
      reject({ who: "export / int8", needed: "the format onnx", got: format, remedy: "leave one of them out" }, 2);
    const make = exportFormats.includes(format) ? made[format] : undefined;
    if (make) return make({ int8 });
    if (format === "transformers.js") {
      const needed = "an ALBERT, the one architecture of ours that transformers.js knows";
      reject({ who: "export --format transformers.js", needed, got: "another model", remedy: "export it as ONNX" }, 2);
    }
    return reject({ who: "export / format", needed: exportFormats.join(" or "), got: `${format}` }, 2);
  };
  return {
    exported,
    export: async (path, { force = false, ...how } = {}) => {
      const files = await exported(how);
      const fill = async (folder: string) => {
        for (const [name, bytes] of Object.entries(files)) {
          await mkdir(dirname(join(folder, name)), { recursive: true });
          await writeFile(join(folder, name), bytes);
        }
      };
      await writeFolderAtomically(path, fill, { command: "export", force });
      return files;
    },
  };
}
