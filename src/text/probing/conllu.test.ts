import { describe, expect, it } from "vitest";
import { parseConllu } from "./conllu.ts";

const row = (id: string, form: string, upos = "X", deprel = "dep", misc = "_") =>
  [id, form, "_", upos, "_", "_", "0", deprel, "_", misc].join("\t");

describe("CoNLL-U", () => {
  it("reads words, tags and spaces, and passes over comments and empty nodes", () => {
    const text = `# text = Go home.\n${row("1", "Go", "VERB", "root")}\n${row("1.1", "ghost")}\n${row("2", "home", "NOUN", "obl:tmod", "SpaceAfter=No")}\n${row("3", ".", "PUNCT", "punct")}\n`;
    const [sentence] = parseConllu(text, "file");
    expect(sentence!.words).toEqual([
      { form: "Go", upos: "VERB", deprel: "root", spaceAfter: true },
      { form: "home", upos: "NOUN", deprel: "obl", spaceAfter: false },
      { form: ".", upos: "PUNCT", deprel: "punct", spaceAfter: true },
    ]);
    expect(sentence!.line).toBe(2);
  });

  it("takes joined forms apart where their words spell them, and keeps them whole where not", () => {
    const spelt = `${row("1-2", "didn't")}\n${row("1", "did", "AUX")}\n${row("2", "n't", "PART")}\n`;
    const other = `${row("1-2", "zum")}\n${row("1", "zu", "ADP")}\n${row("2", "dem", "DET")}\n`;
    const forms = (text: string) =>
      parseConllu(text, "f")[0]!.words.map(({ form, spaceAfter }) => `${form}${spaceAfter ? "_" : ""}`);
    expect(forms(spelt)).toEqual(["did", "n't_"]);
    expect(forms(other)).toEqual(["zum_"]);
  });

  it("keeps the last sentence of a file without a blank line at its end, and reads CRLF", () => {
    const text = `${row("1", "a")}\r\n\r\n${row("1", "b")}`;
    expect(parseConllu(text, "f").map(({ words }) => words[0]!.form)).toEqual(["a", "b"]);
  });

  it("names file and line of what is wrong", () => {
    expect(() => parseConllu(`${row("1", "a")}\n2\tb\tc`, "en.conllu")).toThrow(
      /en\.conllu:2: expected 10 columns apart by tabs, got 3/,
    );
    expect(() => parseConllu(`${row("1", "a")}\n${row("3", "b")}`, "f")).toThrow(/f:2: expected word 2, got id 3/);
    expect(() => parseConllu(`${row("1-3", "abc")}\n${row("1", "a")}\n`, "f")).toThrow(/words up to 3/);
  });
});
