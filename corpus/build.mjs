/** Builds corpus/books from two plain-text books: one sentence a line, a blank line after each chapter. Usage: node corpus/build.mjs FOLDER */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BOOKS = [
  { file: "pg11-alice.body.txt", heading: /^CHAPTER [IVX]+\. /m },
  { file: "pg1661-sherlock-holmes.body.txt", heading: /^(?:ADVENTURE )?[IVX]+\. (?=[A-Z' -]+$)/m },
];
const ABBREVIATION = /\b(?:Mr|Mrs|Ms|Dr|St|Esq|No|Messrs|Lt|Col|Capt|[A-Z])\.$/;

/** Everything before the first heading (title page, contents) is left out. */
const chaptersOf = (text, heading) => text.split(new RegExp(heading.source, "gm")).slice(1);

const paragraphsOf = (chapter) =>
  chapter
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim())
    .filter((paragraph) => /[A-Za-z]/.test(paragraph) && !/^(?:[IVX]+\.|THE END)$/.test(paragraph));

/** Cuts after . ! ? and closing quotes where a capital or an opening quote follows, but not after `Mr.` and the like. */
function sentencesOf(paragraph) {
  const sentences = [];
  for (const part of paragraph.split(/(?<=[.!?]["'’”)]*) (?=["'‘“(]*[A-Z])/)) {
    if (sentences.length > 0 && ABBREVIATION.test(sentences.at(-1))) sentences.push(`${sentences.pop()} ${part}`);
    else sentences.push(part);
  }
  return sentences;
}

const written = { train: "", valid: "", test: "" };
for (const { file, heading } of BOOKS) {
  const chapters = chaptersOf(readFileSync(join(process.argv[2], file), "utf8").replaceAll("\r", ""), heading);
  chapters.forEach((chapter, i) => {
    const split = { [chapters.length - 2]: "valid", [chapters.length - 1]: "test" }[i] ?? "train";
    written[split] += `${paragraphsOf(chapter).flatMap(sentencesOf).join("\n")}\n\n`;
  });
}
const out = join(import.meta.dirname, "books");
mkdirSync(out, { recursive: true });
for (const [split, text] of Object.entries(written)) writeFileSync(join(out, `${split}.txt`), text);
