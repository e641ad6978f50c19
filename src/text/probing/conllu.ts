/** CoNLL-U treebanks: sentences of words with part of speech and dependency relation, and the text they stand in. */
import { rejectFile } from "../../base/errors.ts";
import { linesOfText, type TextLines } from "../corpus.ts";

/** A word with its tags. */
export interface TreebankWord {
  readonly form: string;
  readonly upos: string;
  /** Universal relation to the head, without a subtype (`nmod:poss` → `nmod`). */
  readonly deprel: string;
  /** Whether a space follows in the text. */
  readonly spaceAfter: boolean;
}

/** A sentence of a treebank. */
export interface TreebankSentence {
  /** Line of its first word, from 1. */
  readonly line: number;
  readonly words: readonly TreebankWord[];
}

/** Reads a text or its lines; `source` names it in errors. A blank line ends a sentence, and so does the end. */
export function parseConllu(text: TextLines, source = "treebank"): TreebankSentence[] {
  const lines = typeof text === "string" ? linesOfText(text) : text;
  const sentences: TreebankSentence[] = [];
  let open = new Sentence(source);
  let number = 0;
  for (const line of lines) {
    number++;
    if (line.startsWith("#")) continue;
    if (line.trim() !== "") open.add(line.replace(/\r$/, ""), number);
    else {
      sentences.push(...open.finish());
      open = new Sentence(source);
    }
  }
  return [...sentences, ...open.finish()];
}

/** A word of several: the text has its form, the lines below it say what it is made of. */
interface Joined {
  readonly form: string;
  readonly last: number;
  readonly spaceAfter: boolean;
  readonly from: number;
}

class Sentence {
  readonly #source: string;
  readonly #words: TreebankWord[] = [];
  #first = 0;
  #count = 0;
  #joined: Joined | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  add(line: string, number: number): void {
    const who = `${this.#source}:${number}`;
    const columns = line.split("\t");
    if (columns.length !== 10) rejectFile({ who, needed: "10 columns apart by tabs", got: `${columns.length}` });
    const [id, form, , upos, , , , deprel, , misc] = columns as [string, ...string[]];
    const spaceAfter = !misc!.split("|").includes("SpaceAfter=No");
    if (/^\d+\.\d+$/.test(id)) return; // an empty node is not in the text
    const range = /^(\d+)-(\d+)$/.exec(id);
    if (range) {
      this.#joined = { form: form!, last: Number(range[2]), spaceAfter, from: this.#words.length };
      return;
    }
    if (id !== String(this.#count + 1)) rejectFile({ who, needed: `word ${this.#count + 1}`, got: `id ${id}` });
    this.#first ||= number;
    this.#count++;
    this.#words.push({ form: form!, upos: upos!, deprel: deprel!.split(":")[0]!, spaceAfter });
    if (this.#joined && this.#count === this.#joined.last) this.#close(this.#joined);
  }

  /** Words of a joined form stand without spaces. Where they do not spell it, the form is one word, with the tags of the first. */
  #close({ form, spaceAfter, from }: Joined): void {
    const parts = this.#words.splice(from);
    const spelt = parts.map((part) => part.form).join("") === form;
    const last = parts.length - 1;
    if (spelt) this.#words.push(...parts.map((part, i) => ({ ...part, spaceAfter: i === last && spaceAfter })));
    else this.#words.push({ ...parts[0]!, form, spaceAfter });
    this.#joined = undefined;
  }

  finish(): TreebankSentence[] {
    if (this.#joined) {
      const needed = `words up to ${this.#joined.last} of the joined form ${this.#joined.form}`;
      rejectFile({ who: `${this.#source}:${this.#first || "?"}`, needed, got: `${this.#count} words` });
    }
    return this.#words.length === 0 ? [] : [{ line: this.#first, words: this.#words }];
  }
}
