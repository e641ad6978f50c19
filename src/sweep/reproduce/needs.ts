/** Datasets that reproductions need. */
import { join } from "node:path";

/** A dataset that must be there before anything is trained. */
export interface Need {
  /** As `layerwise data download` knows it. */
  readonly dataset: string;
  /** Files below the folder of datasets; of several names for one, each a list. */
  readonly files: readonly (readonly string[])[];
}

/** The dataset that all papers are tried on. */
export const wikitext: Need = {
  dataset: "wikitext-2",
  files: ["train", "valid", "test"].map((part) => [join("wikitext-2", `${part}.txt`)]),
};
