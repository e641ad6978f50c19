/** The sizes of a search that tests can open at once. */
export const tinySearch = {
  pieces: 300,
  width: 16,
  heads: 2,
  feedForward: 32,
  blocks: 2,
  memory: 4,
  batch: 4,
  length: 8,
  cutoffs: [40],
};
