/** What a search records when it leaves candidates behind. */

/** A block that lost candidates, at or before a step. */
export interface Cut {
  readonly step: number;
  readonly block: number;
  readonly cut: readonly string[];
  readonly left: readonly string[];
  /** How far π of the likeliest that is left was above the likeliest that was cut; below 0 where a budget decided. */
  readonly margin?: number | undefined;
  /** π of what was taken, where it had left the block open and the search came to its end. */
  readonly openAt?: number | undefined;
}
