/** Texts that people give a fine-tuned run to label: one in words, a file, or lines. */
import { reject } from "../../base/errors.ts";
import { plainText, plainTexts, type TextFiles, textsIn } from "../../text/files/labelled.ts";
import type { PlainText } from "../../text/labelled/text-task.ts";
import { type Asked, STDIN } from "./head-report.ts";

/** What is asked about, and which columns of a table hold it. */
export interface AskedTexts extends Asked {
  /** Default: as in training. */
  readonly textColumn?: string | undefined;
  readonly pairColumn?: string | undefined;
  readonly header?: boolean | undefined;
}

/** The texts in it; pairs where the run learnt from pairs, out of `files`. */
export async function askedTexts(files: TextFiles | undefined, asked: AskedTexts): Promise<readonly PlainText[]> {
  const { file, text, pair } = asked;
  if (text === undefined && pair !== undefined)
    reject({ who: "predict", needed: "--text beside --pair", got: "none" }, 2);
  if (text !== undefined && file !== undefined) reject({ who: "predict", needed: "a file or --text", got: "both" }, 2);
  const texts = await textsOf(files, asked);
  const paired = files?.task === "pairs" || files?.pair !== undefined;
  const alone = paired ? texts.findIndex((each) => each.pair === undefined) : -1;
  if (alone < 0) return texts;
  const who = text === undefined ? `${file ?? STDIN}: text ${alone + 1}` : "--text";
  const remedy = "give the second after a tab, or as --pair";
  return reject({ who, needed: "two texts, as in training", got: "one", remedy });
}

async function textsOf(files: TextFiles | undefined, { file, text, pair, lines = "", ...columns }: AskedTexts) {
  if (text !== undefined) return [plainText(pair === undefined ? text : `${text}\t${pair}`, "--text")];
  if (file === undefined) return plainTexts(lines, STDIN);
  return textsIn(file, "predict", {
    text: columns.textColumn ?? files?.text,
    pair: columns.pairColumn ?? files?.pair,
    pairs: files?.task === "pairs",
    header: columns.header && files?.header,
  });
}
