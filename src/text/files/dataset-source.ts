/** What a published dataset is made of: addresses, the files that come out of them, and the checksums of both. */
import { openZip } from "../../format/zip.ts";

/** Files by name. */
export type Contents = Record<string, Uint8Array>;

/** Addresses whose contents together give some files of the dataset. */
export interface Source {
  urls: string[];
  /** SHA-256 of what lies at each address, where it is known: it vouches for files whose own is not. */
  sums?: readonly string[];
  /** Paths of the files it gives. */
  files: readonly string[];
  unpack(contents: Uint8Array[]): Contents;
}

/** A dataset that can be fetched. */
export interface Dataset {
  about: string;
  sources: Source[];
  /** Path under the dataset's folder → SHA-256; null where that of its source is known instead. */
  files: Record<string, string | null>;
}

/** Members of a zip archive: path here → path in the archive. */
export function fromZip(url: string, members: Record<string, string>, sum?: string): Source {
  return {
    urls: [url],
    ...(sum === undefined ? {} : { sums: [sum] }),
    files: Object.keys(members),
    unpack([archive]) {
      const opened = openZip(archive!, url);
      return Object.fromEntries(Object.entries(members).map(([path, member]) => [path, opened.read(member)]));
    },
  };
}

/** A file kept as it is, by default under its own name. */
export const asIs = (url: string, path = lastPart(url)): Source => ({
  urls: [url],
  files: [path],
  unpack: ([content]) => ({ [path]: content! }),
});

/** The name of a file in an address. */
export const lastPart = (url: string): string => url.slice(url.lastIndexOf("/") + 1);
