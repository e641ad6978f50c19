/** Evaluation of pre-training: words and orders guessed, each part of the loss, and how deep each kind of token runs. */
import { DepthTally } from "../../depth/tally.ts";
import type { Engine, Program } from "../../engine/engine.ts";
import { argMax, crossEntropy, reshape, simplify, type Tensor } from "../../graph/index.ts";
import { pretrainingObjective } from "../../model/albert-depth.ts";
import type { DescribedAlbert } from "../../model/albert-description.ts";
import type { SpecialIds } from "../../text/documents.ts";
import type { MaskedBatches } from "../../text/maskedbatches.ts";
import { pretrainingFeeds } from "../../text/maskedbatches.ts";
import type { PretrainingBatch } from "../../text/pretraining.ts";
import { eachToken, TOKEN_KINDS } from "../../text/tokenkinds.ts";
import type { Measured } from "../../train/events.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { Phase } from "./phases.ts";

type Weights = ReadonlyMap<ParameterTensor, Float32Array>;

/** Names of the figures in events and TensorBoard, and which of them a person sees at each evaluation. */
export const SHOWN = [
  "mlm_accuracy",
  "sop_accuracy",
  "ponder_cost",
  "depth/all",
  "depth/unmasked",
  "depth/[MASK/MASK]",
];

export class PretrainingEvaluator {
  readonly #program: Program;
  readonly #batches: readonly PretrainingBatch[];
  readonly #special: SpecialIds;
  readonly #cap: number;
  readonly #halting: DescribedAlbert["model"]["options"]["halting"];

  /** Evaluates on the first `texts` texts of the batches, or on all there are. */
  static async create(
    engine: Engine,
    { model, heads }: DescribedAlbert,
    { batch, length, predictions }: Phase,
    given: { batches: MaskedBatches; special: SpecialIds; texts: number },
  ): Promise<PretrainingEvaluator> {
    const shape = { batch, length, predictions, training: false, warmup: false };
    const both = { maskedLanguage: heads.maskedLanguage!, sentenceOrder: heads.sentenceOrder! };
    const { logits, inputs, depths, remainders } = pretrainingObjective(model, both, shape);
    const labels = reshape(inputs.maskedLabels!, [batch * predictions]);
    const outputs: Record<string, Tensor> = {
      wordLoss: crossEntropy(logits.words!, labels),
      wordGuess: argMax(logits.words!),
      orderLoss: crossEntropy(logits.order!, inputs.order!),
      orderGuess: argMax(logits.order!),
      ...(remainders ? { depths, remainders } : {}),
    };
    const simple = simplify(Object.values(outputs));
    const program = await engine.compile({
      outputs: Object.fromEntries(Object.keys(outputs).map((name, i) => [name, simple[i]!])),
    });
    return new PretrainingEvaluator(program, model.options, given);
  }

  private constructor(
    program: Program,
    { depth, halting }: DescribedAlbert["model"]["options"],
    { batches, special, texts }: { batches: MaskedBatches; special: SpecialIds; texts: number },
  ) {
    const count = Math.min(batches.count, Math.max(1, Math.round(texts / batches.rows)));
    this.#program = program;
    this.#batches = Array.from({ length: count }, (_, i) => batches.at(i));
    this.#special = special;
    this.#cap = depth;
    this.#halting = halting;
  }

  async measure(weights: Weights): Promise<Measured> {
    const fixed = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const sums = new Sums(this.#cap);
    for (const batch of this.#batches) {
      const found = await this.#program.run({ ...fixed, ...pretrainingFeeds(batch) });
      sums.add(batch, (name) => found[name]?.data, this.#special);
    }
    return this.#figures(sums);
  }

  #figures(sums: Sums): Measured {
    const words = sums.wordLoss / sums.words;
    const order = sums.orderLoss / sums.texts;
    return {
      loss: words + order,
      perplexity: Math.exp(words),
      tokens: sums.words,
      scalars: {
        mlm_loss: words,
        mlm_accuracy: sums.wordHits / sums.words,
        sop_loss: order,
        sop_accuracy: sums.orderHits / sums.texts,
        ...(this.#halting ? depthFigures(sums, this.#halting) : {}),
      },
    };
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}

/** The mean token's cost N + R, the penalty as the loss has it in full, and mean depths by kind of token. */
function depthFigures(
  { ponder, tokens, texts, depths }: Sums,
  halting: { ponder: number; ponderReduce: "mean" | "sum" },
): Record<string, number> {
  const rows = depths.rows(TOKEN_KINDS);
  return {
    ponder_cost: ponder / tokens,
    ponder_loss: (halting.ponder * ponder) / (halting.ponderReduce === "mean" ? tokens : texts),
    ...Object.fromEntries(rows.map(({ name, mean }) => [`depth/${name}`, mean])),
    "depth/at cap": rows[0]!.atCap,
  };
}

/** What is added up over batches. */
class Sums {
  readonly depths: DepthTally;
  words = 0;
  wordLoss = 0;
  wordHits = 0;
  texts = 0;
  orderLoss = 0;
  orderHits = 0;
  tokens = 0;
  /** Depths and remainders of all tokens. */
  ponder = 0;

  constructor(cap: number) {
    this.depths = new DepthTally(cap);
  }

  add(batch: PretrainingBatch, of: (name: string) => ArrayLike<number> | undefined, special: SpecialIds): void {
    batch.maskedWeights.forEach((weight, i) => {
      if (weight === 0) return;
      this.words++;
      this.wordLoss += of("wordLoss")![i]!;
      if (of("wordGuess")![i] === batch.maskedIds[i]) this.wordHits++;
    });
    batch.orderLabels.forEach((label, i) => {
      this.texts++;
      this.orderLoss += of("orderLoss")![i]!;
      if (of("orderGuess")![i] === label) this.orderHits++;
    });
    const [depths, remainders] = [of("depths"), of("remainders")];
    eachToken(batch, special, (place, kinds) => {
      this.tokens++;
      if (!depths || !remainders) return;
      this.ponder += depths[place]! + remainders[place]!;
      for (const kind of kinds) this.depths.add(kind, depths[place]!);
    });
  }
}
