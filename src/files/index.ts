/** `layerwise/files`: files and folders that are whole or not there, locks, downloads that go on, lines of large files. For Node. */

export type { FileContent, FolderWriting } from "./atomic.ts";
export { refuseFolder, writeAtomically, writeFolderAtomically } from "./atomic.ts";
export { sha256, sha256OfFile } from "./checksum.ts";
export { type Downloaded, type DownloadOptions, download } from "./download.ts";
export { type JsonFile, jsonFilesBelow } from "./json.ts";
export { countLines, type LineRange, readLines } from "./lines.ts";
export { type Lock, type LockHolder, lockHolder, takeLock } from "./lock.ts";
export { freeName, readText, writeSlowly } from "./text.ts";
