/** The largest sizes that can be meant: what lies beyond is refused before anything is opened. */

/** By what is counted; far above what any machine trains today, and below what would fill its memory with plans alone. */
export const LARGEST = {
  /** Blocks that run, or that own weights. */
  depth: 4096,
  heads: 4096,
  width: 65_536,
  hidden: 1_048_576,
  /** Tokens of a text. */
  length: 1_048_576,
  batch: 65_536,
  accumulate: 65_536,
  /** Of a vocabulary. */
  pieces: 4_194_304,
  /** Networks that one search measures. */
  networks: 1_000_000,
  /** Searches of one command. */
  seeds: 1000,
  threads: 4096,
  /** Updates. */
  steps: 1e12,
} as const;
