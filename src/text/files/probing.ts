/** Files to look into a model's depth with: treebanks, probing sentences and subject–verb agreement. */
import { readLines } from "../../files/lines.ts";
import { parseConllu, type TreebankSentence } from "../probing/conllu.ts";
import { type ProbeSentence, parseAgreement, parseProbe } from "../probing/probing.ts";

/** The sentences of a CoNLL-U file. */
export const readConllu = (path: string): TreebankSentence[] => parseConllu(readLines(path), path);

/** The sentences of a file in SentEval's form. */
export const readProbe = (path: string): ProbeSentence[] => parseProbe(readLines(path), path);

/** The sentences of a table of subject–verb agreement. */
export const readAgreement = (path: string): ProbeSentence[] => parseAgreement(readLines(path), path);
