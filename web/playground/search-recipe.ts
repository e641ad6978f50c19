/** The search of the playground, as settings of the command line: what decides well within a minute of one WebAssembly thread. */

export interface SearchWish {
  readonly steps: number;
  readonly blocks: number;
  /** Fraction of the baseline's latency; 0: none. */
  readonly budget: number;
  /** Rows of a batch. */
  readonly batch: number;
}

/** Below this part of the baseline's latency, or with so few blocks, feed-forward alone may cost too much: blocks may vanish, too. */
export const VANISHING = 0.7;
const FEW = 4;

/**
 * Attention pays where little is known of a piece by itself: with some 100 pieces, not with 400. It learns later than feed-forward, so π rests for the first third; the
 * penalty of the budget is small, since a heavy one chooses feed-forward before attention has learnt anything. Blocks that settle keep to the budget in any case.
 */
export function searchSettingsOf({ steps, blocks, budget, batch }: SearchWish) {
  const every = Math.max(2, Math.ceil(steps / 30));
  return {
    blocks,
    candidates: budget > 0 && (budget < VANISHING || blocks < FEW) ? "s,f,i" : "s,f",
    width: 64,
    heads: 2,
    hidden: 128,
    memory: 16,
    cutoffs: [],
    dropout: 0,
    batch,
    length: 16,
    optimiser: "muon" as const,
    rate: 0.01,
    warmup: Math.min(20, Math.ceil(steps / 5)),
    architectureRate: 0.1,
    freeze: 0.3,
    temperatureStart: 2,
    temperatureEnd: 0.1,
    settle: [0.45, 0.8] as [number, number],
    decide: null,
    cutEvery: every,
    latency: { batch: 1, length: 32, memory: 32 },
    budget: budget === 0 ? null : String(budget),
    budgetWeight: 0.1,
    evaluateEvery: every,
    evaluateTokens: 2000,
    checkpointEvery: 3 * every,
    keep: 1,
  };
}
