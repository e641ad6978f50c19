/** A language model or found network that came from elsewhere: where its parts lie, and what they are. */
import type { Parameter } from "../nn/index.ts";
import type { TokenizerFile } from "../text/files/tokenizer.ts";
import type { Weights } from "../train/stages.ts";
import type { NewRun } from "./new-run.ts";

/** Where the parts of a model lie, and where its run goes. */
export interface ImportModelOptions {
  /** The model's config.json. Default: beside the weights. */
  readonly config?: string | undefined;
  /** Its SentencePiece model. Default: tokenizer.model beside the weights. */
  readonly tokenizer?: string | undefined;
  /** The run folder to make. Default: nothing is written. */
  readonly into?: NewRun | undefined;
}

/** A model that came back from elsewhere. */
export interface ImportedModel {
  readonly kind: "language" | "retrain";
  readonly parameters: readonly Parameter[];
  readonly weights: Weights;
  readonly width: number;
  readonly depth: number;
  readonly tokenizer: TokenizerFile;
  readonly warnings: readonly string[];
}
