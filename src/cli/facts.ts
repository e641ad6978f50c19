/** Facts about a job as a table of two columns. */
import { table } from "../base/index.ts";

/** One row a fact, without headings. */
export function factTable(facts: readonly { readonly what: string; readonly value: string }[]): string {
  const rows = facts.map(({ what, value }) => ({ what, value }));
  const columns = [
    { key: "what", title: "" },
    { key: "value", title: "" },
  ];
  return table(rows, columns).trim();
}
