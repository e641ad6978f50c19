/** What orders say of networks and tables, as the studio's page sends it too: types only. */

/** A found network, trained alone. */
export interface RetrainOrder {
  readonly task: "retrain";
  /** A run folder of a search, or a pattern. */
  readonly source: string;
  readonly fromSupernet?: boolean | undefined;
  readonly baseline?: boolean | undefined;
}

/** Shared and unshared models of the task `of` side by side. */
export interface CompareOrder {
  readonly task: "compare";
  readonly of: "language" | "translate";
  readonly seeds: number;
  /** Rows of the table. Default: all. */
  readonly only?: readonly string[] | undefined;
}
