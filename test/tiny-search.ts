/** Settings of a search that takes a second. */
export const tinySearch = {
  pieces: 300,
  width: 16,
  heads: 2,
  feedForward: 32,
  memory: 4,
  batch: 4,
  length: 8,
  cutoffs: [40, 120],
  warmup: 2,
  evaluationBatch: 32,
  evaluationLength: 64,
};
