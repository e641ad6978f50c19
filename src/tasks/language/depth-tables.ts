/** Tables of depth for language models: by kind of token in the run's own text, or by the tags of a treebank. */
import type { TokenDepth } from "../../analysis/depth-analysis.ts";
import { type DepthRow, DepthTally } from "../../depth/tally.ts";
import { linesOf } from "../../text/corpus.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import type { TreebankSentence } from "../../text/probing/conllu.ts";
import { commonWords, depthsByKind } from "../tour/kinds.ts";

/** Depths of several texts at once. */
export type ReadDepths = (texts: readonly string[]) => Promise<readonly (readonly TokenDepth[])[]>;

/** Shorter lines are titles and the like. */
const SHORTEST = 40;

/** Lines of the validation split. */
export async function causalKinds(
  read: ReadDepths,
  corpusName: string,
  texts: number,
  cap: number,
): Promise<{ readonly kinds: readonly DepthRow[] }> {
  const corpus = await openCorpus(corpusName);
  const lines: string[] = [];
  for (const line of linesOf(corpus, "valid")) {
    if (line.length > SHORTEST) lines.push(line);
    if (lines.length === texts) break;
  }
  return { kinds: depthsByKind(await read(lines), commonWords(linesOf(corpus, "train")), cap).kinds };
}

/** Every piece of a word has the word's tags. */
export async function causalTags(
  read: ReadDepths,
  sentences: readonly TreebankSentence[],
  cap: number,
): Promise<{ readonly upos: readonly DepthRow[]; readonly deprel: readonly DepthRow[] }> {
  const textOf = ({ words }: TreebankSentence) =>
    words
      .map(({ form, spaceAfter }) => `${form}${spaceAfter ? " " : ""}`)
      .join("")
      .trim();
  const found = await read(sentences.map(textOf));
  const [upos, deprel] = [new DepthTally(cap), new DepthTally(cap)];
  for (const [i, { words }] of sentences.entries()) {
    for (const { word, depth } of owned(found[i]!, words)) {
      upos.add(word.upos, depth);
      deprel.add(word.deprel, depth);
    }
  }
  const deepestFirst = (tally: DepthTally) => tally.rows().sort((a, b) => b.mean - a.mean);
  return { upos: deepestFirst(upos), deprel: deepestFirst(deprel) };
}

const lettersIn = (text: string) => [...text.replaceAll("▁", "").replaceAll(" ", "")].length;

/** Pieces with the word in which they begin; none of a sentence in which pieces and words do not have the same letters. */
function owned<W extends { readonly form: string }>(tokens: readonly TokenDepth[], words: readonly W[]) {
  const owners = words.flatMap((word) => Array.from({ length: lettersIn(word.form) }, () => word));
  const lengths = tokens.map(({ piece }) => lettersIn(piece));
  if (lengths.reduce((sum, length) => sum + length, 0) !== owners.length) return [];
  let at = 0;
  return tokens.flatMap(({ depth }, i) => {
    const word = owners[at];
    at += lengths[i]!;
    return word && lengths[i]! > 0 ? [{ word, depth }] : [];
  });
}
