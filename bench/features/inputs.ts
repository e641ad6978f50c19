/** Texts and tables that the command lines of features read, made up. */
import { RandomStream } from "../../src/base/random.ts";

const lines = (...rows: readonly string[]) => `${rows.join("\n")}\n`;

/** Good and bad words by turns among others, so that there is something to learn. */
function sentences(count: number, seed: number): string[] {
  const stream = new RandomStream(seed, "sentences");
  const pick = (words: readonly string[]) => words[stream.integer(words.length)]!;
  const other = ["the", "film", "a", "story", "with", "people", "music"];
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 6 }, () => pick(other));
    words[stream.integer(6)] = pick(i % 2 ? ["good", "fine", "lovely"] : ["bad", "dull", "awful"]);
    return words.join(" ");
  });
}

/** A task's file: `columns` names the place of the index, the text, a second text and the label; anything else stands as it is. */
function examples(columns: string, labels: readonly [string, string], count: number, seed: number): string {
  const row = (text: string, i: number) => {
    const cells: Record<string, string> = { index: `${i}`, text, second: "the film", label: labels[i % 2]! };
    return columns.split(" ").map((column) => cells[column] ?? column);
  };
  return lines(...sentences(count, seed).map((text, i) => row(text, i).join("\t")));
}

const headed = (columns: string, ...rest: [readonly [string, string], number, number]) =>
  lines(columns.replaceAll(" ", "\t")) + examples(columns, ...rest);

type Labels = readonly [string, string];
const task = (name: string, columns: string, labels: Labels, test: string) => ({
  [`glue/${name}/train.tsv`]: headed(columns, labels, 48, 1),
  [`glue/${name}/dev.tsv`]: headed(columns, labels, 16, 2),
  [`glue/${name}/test.tsv`]: headed(test, labels, 16, 3),
});

const follows: Labels = ["contradiction", "entailment"];
const inference = "index x x x x x x x text second";
const similar = "index x x x x x x text second";
const word = (id: number, form: string, tag: string, relation: string) =>
  [id, form, "_", tag, "_", "_", 0, relation, "_", "_"].join("\t");
const sentence = lines(word(1, "Go", "VERB", "root"), word(2, "home", "NOUN", "obl"), word(3, ".", "PUNCT", "punct"));

/** Files of the working folder by path. */
export const inputs: Readonly<Record<string, string>> = {
  "notes.txt": lines(...sentences(80, 4).map((text) => `${text} .`)),
  "lines.en": lines("The dog runs.", "The bird sings."),
  "counts.txt": lines(...Array.from({ length: 300 }, (_, i) => `${Math.ceil(30000 / (i + 1))}`)),
  "run.yaml": lines(
    "corpus: fixtures/runs/data/text",
    "tokenizer: fixtures/runs/data/tokenizer.model",
    ...["width: 16", "heads: 2", "depth: 2", "length: 16", "batch: 4", "threads: 1"],
  ),
  "glue.yaml": lines("rate: 0.001", "halt: true"),
  "bank.conllu": lines(sentence, sentence, sentence),
  "probe.txt": lines("tr\tPAST\tHe went .", "te\tPRES\tShe goes home\t1", "te\tPAST\tShe went home\t1"),
  "agreement.csv": lines(
    "split,orig_sentence,n_intervening,distance,verb_pos,verb_index",
    'test,"the keys , he said , are here",1,4,VBP,7',
    "test,the key is here,0,1,VBZ,3",
  ),
  ...task("SST-2", "text label", ["0", "1"], "index text"),
  ...task("STS-B", `${similar} label`, ["0.5", "4.5"], similar),
  ...task("RTE", "index text second label", ["not_entailment", "entailment"], "index text second"),
  "glue/CoLA/train.tsv": examples("gj04 label x text", ["0", "1"], 48, 1),
  "glue/CoLA/dev.tsv": examples("gj04 label x text", ["0", "1"], 16, 2),
  "glue/MNLI/train.tsv": headed(`${inference} x label`, follows, 48, 1),
  "glue/MNLI/dev_matched.tsv": headed(`${inference} x label`, follows, 16, 2),
  "glue/MNLI/dev_mismatched.tsv": headed(`${inference} x label`, follows, 16, 5),
  "glue/MNLI/test_matched.tsv": headed(inference, follows, 16, 3),
  "glue/MNLI/test_mismatched.tsv": headed(inference, follows, 16, 6),
  "glue/AX/AX.tsv": headed("index text second", follows, 16, 7),
};
