/** The comparison of depth policies: its rows, and its two tables, at equal parameters and at equal FLOPs per token. */
import { formatNumber, table } from "../base/table.ts";
import {
  type AnyContestant,
  type Contestant,
  comparisonTable,
  contestants,
  type Result,
  spreadText,
  type WrittenContestant,
  writtenRows,
} from "./comparison.ts";

/** What all rows of a table have in common: distinct parameters, or FLOPs per token in the mean. */
export type Equality = "parameters" | "flops";

/** A row, and the tables in which it stands. */
export type PolicyContestant = AnyContestant & { readonly equal: readonly Equality[] };

const both: readonly Equality[] = ["parameters", "flops"];

const sharing = (wanted: string, equal: readonly Equality[]): PolicyContestant => ({
  ...contestants.find(({ name }) => name === wanted)!,
  equal,
});

/**
 * Policies that own the weights of 3 blocks and run 6 of them in the mean, beside vanilla models of 3 and of 6 blocks. Where tokens decide,
 * 9 or 12 blocks run at most.
 */
export const policies: readonly PolicyContestant[] = [
  sharing("vanilla 3/3", ["parameters"]),
  sharing("vanilla 6/6", ["flops"]),
  sharing("cycle 3/6", both),
  { name: "looped", depth: "1 + 1 loop(4, injection=add) + 1", equal: both },
  { name: "relaxed", depth: "3*2 relax(8, norms)", equal: both },
  { name: "halting", depth: "3*4 halt(ponder=0.003, biasInitial=-2)", equal: both },
  { name: "routed token", depth: "3*4 route(token)", equal: both },
  {
    name: "routed expert",
    depth: "3*3 route(expert, capacity=1/1/1/0.66/0.66/0.66/0.33/0.33/0.33)",
    equal: both,
  },
  { name: "exits", depth: "3*3 exits(gate, every=3, keys=own)", equal: both },
];

/** A row of one of the tables; the mean depth of a fixed one is its depth. */
export type PolicyResult = Result<PolicyContestant> & Required<Pick<Result, "meanDepth" | "meanFlopsPerToken">>;

/** The rows of both tables: most stand in both. */
export function policyTables(rows: readonly Result<PolicyContestant>[]): Record<Equality, PolicyResult[]> {
  const complete = rows.map(
    ({ meanDepth, meanFlopsPerToken, ...row }): PolicyResult => ({
      ...row,
      meanDepth: meanDepth === undefined ? row.executedDepth : meanDepth,
      meanFlopsPerToken: meanFlopsPerToken === undefined ? row.flopsPerToken : meanFlopsPerToken,
    }),
  );
  const among = (equality: Equality) => complete.filter(({ equal }) => equal.includes(equality));
  return { parameters: among("parameters"), flops: among("flops") };
}

const titles: Readonly<Record<Equality, string>> = {
  parameters: "At equal parameters",
  flops: "At equal FLOPs per token, in the mean",
};

/** Both tables as text, and what each model's depth is. */
export function policyTablesText(rows: readonly Result<PolicyContestant>[]): string {
  const tables = Object.entries(policyTables(rows)) as [Equality, PolicyResult[]][];
  const shown = tables.filter(([, own]) => own.length > 0);
  const written = rows.flatMap((row) => (typeof row.depth === "string" ? { model: row.name, depth: row.depth } : []));
  return [
    ...shown.map(([equality, own]) => `${titles[equality]}\n\n${table(own.map(tableRow))}`),
    ...(written.length > 0 ? [table(written)] : []),
  ].join("\n\n");
}

const million = (n: number | null) => n && `${formatNumber(n / 1e6, 2)} M`;
const rounded = (n: number | null, digits: number) => n && formatNumber(n, digits);

function tableRow({ name, perplexity, ...row }: Omit<PolicyResult, "equal">) {
  return {
    model: name,
    "distinct parameters": million(row.parameters),
    "mean depth": rounded(row.meanDepth, 2),
    "at most": row.executedDepth,
    "FLOPs/token": million(row.meanFlopsPerToken),
    "FLOPs/token at most": million(row.flopsPerToken),
    "tokens/s": rounded(row.tokensPerSecond, 0),
    seconds: rounded(row.seconds, 1),
    "valid perplexity": perplexity && spreadText(perplexity),
    seeds: perplexity?.values.length ?? 0,
  };
}

/** Models that are compared, and how what came of them is shown. */
export interface ComparedSet<R extends AnyContestant = AnyContestant> {
  readonly rows: readonly R[];
  /** What its picture places models by. */
  readonly over: Equality;
  data(rows: readonly Result<R>[]): object;
  text(rows: readonly Result<R>[]): string;
}

/** The names of the sets. */
export type ModelSet = "sharing" | "policies";

const sharingSet: ComparedSet<Contestant> = {
  rows: contestants,
  over: "parameters",
  data: (rows) => ({ rows }),
  text: comparisonTable,
};

const policySet: ComparedSet<PolicyContestant> = {
  rows: policies,
  over: "flops",
  data: (rows) => ({ tables: policyTables(rows) }),
  text: policyTablesText,
};

/** Depths in words beside each other, in one table; refused where one of them is none. */
export const writtenSet = (depths: readonly string[], who?: string): ComparedSet<WrittenContestant> => ({
  rows: writtenRows(depths, who),
  over: "flops",
  data: (rows) => ({ rows }),
  text: (rows) => table(rows.map((row) => tableRow({ meanDepth: null, meanFlopsPerToken: null, ...row }))),
});

/** Sharing schedules and depth policies, as `layerwise compare --models` names them. */
export const comparisons: Readonly<Record<ModelSet, ComparedSet>> = { sharing: sharingSet, policies: policySet };
