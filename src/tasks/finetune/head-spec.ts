/** Tasks besides labelled texts as config.yaml and adapters keep them: which kind, and what was found in the texts. */
import type { ChoiceQuestion } from "../../text/labelled/choices.ts";
import type { Question } from "../../text/labelled/questions.ts";
import type { TaggedSentence } from "../../text/labelled/tagged.ts";

/** Tasks besides labelled texts that files are read for. */
export const headKinds = ["tagging", "qa", "choice"] as const;
/** A name of one. */
export type HeadKind = (typeof headKinds)[number];

/** An example of any of them: a sentence with tags, a question on a text, a text with choices. */
export type HeadInput = TaggedSentence | Question | ChoiceQuestion;
/** What is said about one: a tag per word, an answer, the place of the right choice. */
export type HeadAnswer = string[] | string | number;

/** What config.yaml keeps of a task: what was found in the texts to learn from. */
export interface HeadSpec {
  readonly kind: HeadKind;
  /** Tags. */
  readonly labels?: readonly string[] | undefined;
  /** Some questions have no answer. */
  readonly unanswerable?: boolean | undefined;
  /** Choices per question. */
  readonly choices?: number | undefined;
}
