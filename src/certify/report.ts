/** What came of many cases: how many of each, as a table or as plain data. */
import { table } from "../base/table.ts";
import type { Verdict } from "./certify.ts";

/** How many cases passed, failed, or belong to a system that is not covered. */
export type Totals = Readonly<Record<Verdict["status"], number>>;

/** Counts verdicts. */
export function totalsOf(verdicts: readonly Verdict[]): Totals {
  const count = (status: Verdict["status"]) => verdicts.filter((each) => each.status === status).length;
  return { passed: count("passed"), failed: count("failed"), notCovered: count("notCovered") };
}

const words = { passed: "passed", failed: "FAILED", notCovered: "not covered" };

/** A line per case, with the tensor that came closest to its tolerance, and the totals. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ system, case: name, status, worst, reason }) => ({
    system,
    case: name,
    status: words[status],
    "largest error": worst ? worst.error.toExponential(1) : "",
    in: worst?.tensor ?? reason ?? "",
  }));
  const { passed, failed, notCovered } = totalsOf(verdicts);
  return `${table(rows)}\n\n${passed} passed, ${failed} failed, ${notCovered} not covered`;
}
