import { describe, expect, it } from "vitest";
import { parseChoices } from "./choices.ts";
import { answerFigures, parseSquad, plainAnswer } from "./questions.ts";
import { parseConll, spansOf, tagFigures, tagsIn } from "./tagged.ts";

const source = "my";

describe("CoNLL's columns", () => {
  const conll = (text: string) => parseConll(text.split("\n"), { source });

  it("give words and tags; blank lines and -DOCSTART- end sentences", () => {
    const found = conll("-DOCSTART- -X- O\n\nAnn NNP B-PER\nran VBD O\n\n\nRome NNP B-LOC\n");
    expect(found).toEqual([
      { words: ["Ann", "ran"], tags: ["B-PER", "O"] },
      { words: ["Rome"], tags: ["B-LOC"] },
    ]);
    expect(tagsIn(found)).toEqual(["O", "B-LOC", "B-PER"]);
  });

  it.each([
    ["a row of another width", "Ann NNP B-PER\nran O", "my: line 2: expected 3 columns, got 2"],
    ["words alone", "Ann", "my: line 1: expected a word and a tag"],
    ["nothing", "\n", "my: expected at least one sentence"],
  ])("refuse %s", (_, text, message) => {
    expect(() => conll(text)).toThrow(message);
  });

  it("mark spans, which count whole", () => {
    expect(spansOf(["B-PER", "I-PER", "I-LOC", "O", "B-LOC", "B-LOC"])).toEqual([
      "PER 0 1",
      "LOC 2 2",
      "LOC 4 4",
      "LOC 5 5",
    ]);
    const truth = [["B-PER", "I-PER", "O", "B-LOC"]];
    expect(tagFigures(truth, [["B-PER", "O", "O", "B-LOC"]])).toEqual({ f1: 0.5, accuracy: 0.75 });
    expect(tagFigures([["N", "V"]], [["N", "N"]])).toEqual({ accuracy: 0.5 });
  });
});

describe("SQuAD's form", () => {
  const file = (qa: object, context = "Ann sat in Rome.") =>
    JSON.stringify({ data: [{ paragraphs: [{ context, qas: [{ id: "1", question: "where?", ...qa }] }] }] });

  it("gives questions with their answers, or without any", () => {
    const [asked] = parseSquad(file({ answers: [{ text: "Rome", answer_start: 11 }] }), source);
    expect(asked).toMatchObject({ question: "where?", answers: [{ text: "Rome", start: 11 }] });
    expect(parseSquad(file({ answers: [], is_impossible: true }), source)[0]!.answers).toEqual([]);
  });

  it.each([
    [
      "an answer that stands elsewhere",
      file({ answers: [{ text: "Rome", answer_start: 3 }] }),
      'expected "Rome" in the context at answer_start, got answer_start 3',
    ],
    [
      "no answer",
      file({ answers: [] }),
      "my: line 1 / data.0 / paragraphs.0 / qas.0: expected an answer, or is_impossible",
    ],
    [
      "an empty context",
      file({ answers: [] }, " "),
      "my: line 1 / data.0 / paragraphs.0: expected a text called context",
    ],
    ["what is no JSON", "{", "my: line 1: expected JSON"],
    ["another form", "{}", "my: line 1: expected a list called data, got none"],
  ])("refuses %s by its path", (_, json, message) => {
    expect(() => parseSquad(json, source)).toThrow(message);
  });

  it("names the line of the answer, of the question, or of the broken JSON", () => {
    const lines = JSON.stringify(JSON.parse(file({ answers: [{ text: "Rome", answer_start: 3 }] })), null, 1).split(
      "\n",
    );
    const line = (part: string) => lines.findIndex((each) => each.includes(part)) + 1;
    expect(() => parseSquad(lines.join("\n"), source)).toThrow(
      `my: line ${line('"text"') - 1} / data.0 / paragraphs.0 / qas.0 / answers.0: expected "Rome" in the context`,
    );
    const nameless = lines.map((each) => each.replace('"question"', '"asked"')).join("\n");
    expect(() => parseSquad(nameless, source)).toThrow(
      `my: line ${line('"id"') - 1} / data.0 / paragraphs.0 / qas.0: expected a text called question, got none`,
    );
    const broken = lines.map((each) => each.replace('"Rome",', '"Rome"')).join("\n");
    expect(() => parseSquad(broken, source)).toThrow(`my: line ${line("answer_start")}: expected JSON, got `);
  });

  it("compares answers without articles and punctuation", () => {
    expect(plainAnswer("The  City, of Rome!")).toBe("city of rome");
    const questions = parseSquad(file({ answers: [{ text: "in Rome", answer_start: 8 }] }), source);
    expect(answerFigures(questions, ["Rome."])).toEqual({ f1: 2 / 3, exact: 0 });
    expect(answerFigures(questions, ["in the Rome"])).toEqual({ f1: 1, exact: 1 });
  });
});

describe("choices in JSON lines", () => {
  it("are named by place or by text", () => {
    const lines = ['{"text":"a","choices":["x","y"],"label":1}', '{"text":"b","choices":["x","y"],"label":"x"}'];
    expect(parseChoices(lines, source).map(({ label }) => label)).toEqual([1, 0]);
  });

  it.each([
    [
      "a place beyond them",
      ['{"text":"a","choices":["x","y"],"label":2}'],
      "my: line 1: expected one of the choices as label",
    ],
    [
      "fewer than the first",
      ['{"text":"a","choices":["x","y","z"],"label":0}', '{"text":"a","choices":["x","y"],"label":0}'],
      "my: line 2: expected 3 choices, got 2",
    ],
    ["one alone", ['{"text":"a","choices":["x"],"label":0}'], "my: line 1: expected two or more choices"],
    ["no text", ['{"choices":["x","y"],"label":0}'], "my: line 1: expected a text, got none"],
  ])("refuse %s", (_, lines, message) => {
    expect(() => parseChoices(lines, source)).toThrow(message);
  });
});
