/** As much of vitest as a contract suite needs, on a page: tests are collected, run in turn, and those that fail are told. */
import { chai, JestAsymmetricMatchers, JestChaiExpect } from "@vitest/expect";

chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
export const expect = chai.expect;

type Test = (...given: never[]) => unknown;
const tests: { name: string; run: () => unknown }[] = [];
const path: string[] = [];

/** `%s` in a name is the first of what is given. */
const named = (name: string, row: readonly unknown[]) => name.replace("%s", String(row[0]));
const rowOf = (each: unknown) => (Array.isArray(each) ? each : [each]) as never[];

export function describe(name: string, suite: () => void): void {
  path.push(name);
  suite();
  path.pop();
}
describe.each = (rows: readonly unknown[]) => (name: string, suite: Test) => {
  for (const row of rows.map(rowOf)) describe(named(name, row), () => suite(...row));
};

export function it(name: string, run: () => unknown): void {
  tests.push({ name: [...path, name].join(" > "), run });
}
it.each = (rows: readonly unknown[]) => (name: string, run: Test) => {
  for (const row of rows.map(rowOf)) it(named(name, row), () => run(...row));
};

/** Runs what was collected. */
export async function outcome(): Promise<{ passed: number; failed: string[] }> {
  const failed: string[] = [];
  for (const { name, run } of tests) {
    try {
      await run();
    } catch (error) {
      failed.push(`${name}: ${error}`);
    }
  }
  return { passed: tests.length - failed.length, failed };
}
