/** What a search records when it leaves candidates behind. */

/** A block that lost candidates, at or before a step. */
export interface Cut {
  readonly step: number;
  readonly block: number;
  readonly cut: readonly string[];
  readonly left: readonly string[];
}
