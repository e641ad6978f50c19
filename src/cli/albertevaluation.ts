/** How well an ALBERT's run predicts masked pieces and the order of sentences, and how deep its tokens run, on a text. */
import { reject } from "../base/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { argMax, cast, equal, multiply, reshape, simplify, sum, type Tensor } from "../graph/index.ts";
import { describedAlbert } from "../model/albert-description.ts";
import { type AlbertObjective, albertObjective } from "../model/albert-heads.ts";
import type { Document, PieceTokenizer } from "../text/documents.ts";
import { pretrainingFeeds } from "../text/maskedbatches.ts";
import { PretrainingStream, stackExamples } from "../text/pretraining.ts";
import type { Batches } from "../train/evaluate.ts";
import type { AlbertRun } from "./albertrun.ts";

/** Only what the model has heads for. */
export interface AlbertFigures {
  /** Mean loss of the masked pieces, and the part of them that was guessed. */
  maskedLoss?: number;
  maskedAccuracy?: number;
  orderLoss?: number;
  orderAccuracy?: number;
  /** Depths of the mean token, without padding. */
  meanDepth: number;
  /** Masked pieces, and texts. */
  masked: number;
  texts: number;
}

export interface EvaluationSizes {
  batch: number;
  length: number;
  predictions: number;
}

/** One pass over the documents, always the same: chunks and masks come from a fixed seed. */
export function evaluationBatches(
  documents: readonly Document[],
  tokenizer: PieceTokenizer,
  { batch, length, predictions }: EvaluationSizes,
): Batches {
  const stream = new PretrainingStream(documents, tokenizer, { length, maxPredictions: predictions });
  const count = Math.floor(stream.passLength / batch);
  if (count === 0) {
    const got = `${stream.passLength}`;
    reject({ who: "eval", needed: `text for at least ${batch} examples`, got, remedy: "give a longer text" }, 2);
  }
  const examples = Array.from({ length: count * batch }, () => stream.next());
  return {
    count,
    tokens: batch * length,
    at: (i) => pretrainingFeeds(stackExamples(examples.slice(i * batch, (i + 1) * batch))),
  };
}

const hits = (logits: Tensor, labels: Tensor): Tensor =>
  cast(equal(argMax(logits), reshape(labels, [logits.shape[0]!])), "float");

/** What a program adds up over batches. */
function totals({ inputs, logits, losses, encoded }: AlbertObjective): Record<string, Tensor> {
  const { maskedLabels, maskedWeights, order, mask } = inputs;
  const tokens = sum(cast(mask!, "float"));
  const depth = encoded.probes.updates;
  return {
    tokens,
    ...(depth ? { depths: sum(depth) } : {}),
    ...(logits.words
      ? {
          maskedLoss: losses[0]!,
          maskedHits: sum(
            multiply(hits(logits.words, maskedLabels!), reshape(maskedWeights!, [logits.words.shape[0]!])),
          ),
        }
      : {}),
    ...(logits.order ? { orderLoss: losses.at(-1)!, orderHits: sum(hits(logits.order, order!)) } : {}),
  };
}

/** Measures a run; it needs a head for masked pieces or for the order of sentences. */
export async function evaluateAlbert(
  engine: Engine,
  run: Pick<AlbertRun, "config" | "state" | "path">,
  batches: Batches,
  { predictions, ...shape }: EvaluationSizes,
): Promise<AlbertFigures> {
  const { maskedLanguage, sentenceOrder } = run.config.heads;
  if (!maskedLanguage && !sentenceOrder) {
    const got = Object.keys(run.config.heads).join(", ") || "none";
    const remedy = "published ALBERT-ACT files have no heads; look at depths with `layerwise depth`";
    reject({ who: run.path, needed: "a head for masked pieces or the order of sentences", got, remedy }, 2);
  }
  const heads = {
    ...(maskedLanguage ? { maskedLanguage: { predictions } } : {}),
    ...(sentenceOrder ? { sentenceOrder } : {}),
  };
  const built = describedAlbert({ model: run.config.model, heads });
  const objective = albertObjective(built.model, Object.values(built.heads), { ...shape, training: false });
  const wanted = totals(objective);
  const outputs = Object.fromEntries(
    simplify(Object.values(wanted)).map((tensor, i) => [Object.keys(wanted)[i]!, tensor]),
  );
  const values = (name: string) => run.state.weights.get(name)!.data;
  const weights = new Map(built.parameters.map(({ name, tensor }) => [tensor, values(name)]));
  const program = await engine.compile({ outputs, weights });
  try {
    return figuresOf(await addedUp(program, batches), shape.batch * batches.count, built.model.options.depth);
  } finally {
    await program.release();
  }
}

type Program = Awaited<ReturnType<Engine["compile"]>>;

/** Sums over all batches; losses are weighted by what they are means of. */
async function addedUp(program: Program, batches: Batches): Promise<Map<string, number>> {
  const all = new Map<string, number>();
  const add = (name: string, value: number) => all.set(name, (all.get(name) ?? 0) + value);
  const used = new Set(program.inputs.map(({ name }) => name));
  for (let i = 0; i < batches.count; i++) {
    const feeds = batches.at(i) as Record<string, Int32Array | Float32Array>;
    const needed = Object.fromEntries(Object.entries(feeds).filter(([name]) => used.has(name)));
    const masked = Array.from(feeds.maskedWeights!).reduce((a, b) => a + b, 0);
    add("masked", masked);
    for (const [name, { data }] of Object.entries(await program.run(needed))) {
      add(name, data[0]! * (name === "maskedLoss" ? masked : 1));
    }
  }
  all.set("batches", batches.count);
  return all;
}

function figuresOf(all: ReadonlyMap<string, number>, texts: number, depth: number): AlbertFigures {
  const of = (name: string) => all.get(name) ?? 0;
  const masked = of("masked");
  return {
    ...(all.has("maskedLoss")
      ? { maskedLoss: of("maskedLoss") / masked, maskedAccuracy: of("maskedHits") / masked }
      : {}),
    ...(all.has("orderLoss")
      ? { orderLoss: of("orderLoss") / of("batches"), orderAccuracy: of("orderHits") / texts }
      : {}),
    meanDepth: all.has("depths") ? of("depths") / of("tokens") : depth,
    masked,
    texts,
  };
}
