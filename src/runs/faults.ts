/** What the file system refuses, in words that help. */
import { existsSync } from "node:fs";
import { LayerwiseError, messageOf } from "../base/errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; free some space",
  EDQUOT: "the disk quota is used up; free some space",
  EFBIG: "the file would be larger than allowed; raise the limit",
  ENOENT: "the folder is gone; put it back or start a new run",
  ENOTDIR: "a file stands where a folder should be; move it away",
  EACCES: "permission denied; make the folder writable",
  EPERM: "permission denied; make the folder writable",
  EROFS: "the file system is read-only; make it writable",
};

/** The error to throw when `what` of the run in `folder` could not be written; the user's own errors pass as they are. */
export function writeFault(folder: string, what: string, error: unknown): LayerwiseError {
  if (error instanceof LayerwiseError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const gone = code === "ENOENT" && !existsSync(folder);
  const reason = (code === "ENOENT" && !gone ? undefined : REASONS[code]) ?? messageOf(error);
  const after = gone ? "" : `, then continue from the last checkpoint with \`layerwise resume ${folder}\``;
  return new LayerwiseError(`${folder}: cannot write ${what}: ${reason}${after}`, 1, { cause: error });
}
