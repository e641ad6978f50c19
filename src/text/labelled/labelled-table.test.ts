import { describe, expect, it } from "vitest";
import { parseTable, type TableForm } from "./labelled-table.ts";

const read = (form: TableForm, text: string, header?: boolean) =>
  parseTable(text.split("\n"), { source: "my", form, header });

describe("a table of texts", () => {
  it("has tabs between columns, and no quotes", () => {
    const { columns, rows } = read("tsv", 'text\tlabel\na "b"\t1\nc\t2\n');
    expect(columns).toEqual(["text", "label"]);
    expect(rows).toEqual([
      { line: 2, cells: { text: 'a "b"', label: "1" } },
      { line: 3, cells: { text: "c", label: "2" } },
    ]);
  });

  it("may quote commas, quotes and ends of lines, and counts lines as the file has them", () => {
    const { rows } = read("csv", '\uFEFFtext,label\n"one, ""two""\nthree",x\n"",\nlast,y');
    expect(rows).toEqual([
      { line: 2, cells: { text: 'one, "two"\nthree', label: "x" } },
      { line: 4, cells: { text: "", label: "" } },
      { line: 5, cells: { text: "last", label: "y" } },
    ]);
  });

  it("may be JSON lines, among which blank ones do not count", () => {
    const { rows } = read("jsonl", '{"text":"a","label":["x"]}\n\n{"text":"b","label":[]}\n');
    expect(rows.map(({ line, cells }) => [line, cells.label])).toEqual([
      [1, ["x"]],
      [3, []],
    ]);
  });

  it("without a header calls its columns by their places", () => {
    expect(read("tsv", "a\tx", false)).toEqual({ columns: ["1", "2"], rows: [{ line: 1, cells: { 1: "a", 2: "x" } }] });
  });

  it.each<[string, TableForm, string, string]>([
    ["a row of another width", "tsv", "text\tlabel\na\tx\nb", "my: line 3: expected 2 columns, got 1"],
    ["a blank row in the middle", "tsv", "text\tlabel\n\nb\tx", "my: line 2: expected 2 columns, got 1"],
    ["an open quote", "csv", 'text,label\n"a,x\nb,y', "my: line 2: expected a closing quote"],
    ["text after a quote", "csv", 'text,label\n"a"b,x', "my: line 2: expected a comma after a closing quote"],
    ["what is no JSON", "jsonl", '{"text":"a"}\n{"text":', "my: line 2: expected a JSON object"],
    ["a list", "jsonl", "[1]", "my: line 1: expected a JSON object, got [1]"],
    ["two columns of one name", "tsv", "text\ttext\na\tb", "my: line 1: expected a name for each column"],
    ["nothing but a header", "csv", "text,label\n", "my: expected at least one row, got none"],
  ])("refuses %s", (_, form, text, message) => {
    expect(() => read(form, text)).toThrow(message);
  });
});
