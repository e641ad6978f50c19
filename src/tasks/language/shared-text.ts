/** What became of a run's weights in a model of another depth, in words: from where, how exact, what was drawn, what is left over. */
import { table } from "../../base/table.ts";
import type { SharedFrom, SharedRow } from "../../model/language/shared-from.ts";

/** A table with a line for each block and visit, and what is fresh and unused. */
export function sharedText({ rows, fresh, unused }: SharedFrom, who: string, blocks: string): string {
  return [
    `first weights out of ${who} (shared blocks by ${blocks}):`,
    table(visitsOf(rows), ["block", "visit", "from", "mean error", "largest error"]),
    fresh.length > 0 ? `drawn from the seed: ${namesText(fresh)}` : "drawn from the seed: nothing",
    unused.length > 0 ? `unused of the source: ${namesText(unused)}` : "unused of the source: nothing",
  ].join("\n");
}

/** Errors are relative: those of matrices, norms and biases of one visit together. */
function visitsOf(rows: readonly SharedRow[]) {
  const visits = grouped(rows, ({ name, visit }) => `${blockOf(name)} ${visit}`);
  return [...visits.values()]
    .toSorted(([a], [b]) => numberOf(a!.name) - numberOf(b!.name) || a!.visit - b!.visit)
    .map((each) => {
      const worst = each.reduce((a, b) => (b.error > a.error ? b : a));
      return {
        block: blockOf(each[0]!.name),
        visit: `${each[0]!.visit + 1}`,
        from: [...new Set(each.map(({ from }) => blockOf(from)))].join(", "),
        "mean error": (each.reduce((sum, { error }) => sum + error, 0) / each.length).toFixed(3),
        "largest error": worst.error === 0 ? "0" : `${worst.error.toFixed(3)} (${partOf(worst.name)})`,
      };
    });
}

function grouped<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return groups;
}

const blockOf = (name: string) => name.split(".").slice(0, 2).join(".");
const partOf = (name: string) => name.split(".").slice(2).join(".");
const numberOf = (name: string) => Number(name.split(".")[1]);

/** Names; of many parts of one block how many they are. */
function namesText(names: readonly string[]): string {
  const groups = grouped(names, (name) => (name.startsWith("blocks.") ? blockOf(name) : name));
  return [...groups]
    .map(([group, each]) => (each.length === 1 ? each[0]! : `${group} (${partsText(each)})`))
    .join(", ");
}

const MANY = 4;

function partsText(names: readonly string[]): string {
  const shown = names.slice(0, MANY).map(partOf).join(", ");
  return names.length > MANY ? `${shown} and ${names.length - MANY} more` : shown;
}
