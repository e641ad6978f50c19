/** Small models of every kind of depth, as training sees them: for tests of what runs on a graphics processor. */
import { cycle } from "../src/depth/plan.ts";
import {
  type depth as depths,
  exits,
  halting,
  type LanguageModel,
  languageModel,
  layerDropout,
  looped,
  nn,
  parModel,
  RandomStream,
  routed,
  TranslationModel,
  type training,
} from "../src/index.ts";

export const [BATCH, LENGTH, VOCABULARY] = [2, 8, 24];
const width = 16;
const sizes = { width, heads: 2, hidden: 24, dropout: 0.1, activation: "gelu" } as const;
const language = { vocabulary: VOCABULARY, length: LENGTH, width, dropout: 0.1 } as const;
const blocks = () => [new nn.TransformerBlock("blocks.0", sizes)];
const plan = cycle({ unique: 1, depth: 2 });
const over = (depth: depths.DepthPolicy): LanguageModel => languageModel({ ...language, depth });
const found = { vocabulary: VOCABULARY, width, heads: 2, hidden: 24, memory: 4, dropout: 0.1 } as const;

/** Each made anew: its parameters are its own. */
export const smallModels: Readonly<Record<string, () => training.Trainable>> = {
  "a plan": () => languageModel({ ...language, ...sizes, plan }),
  halting: () => over(halting(blocks(), plan, { width, ponder: 0.1 })),
  exits: () => over(exits(blocks(), plan, { width, gate: true })),
  loops: () => over(looped({ core: blocks(), loops: { mean: 1.5, most: 2 }, width, injection: "diagonal" })),
  "layer dropout": () => over(layerDropout(blocks(), plan, { dropout: 0.5 })),
  "routing by token": () => over(routed(blocks(), plan, { width, choice: "token" })),
  "routing by expert": () => over(routed(blocks(), plan, { width, choice: "expert" })),
  "Transformer-XL": () => withMemory(parModel({ ...found, blocks: "sf" })),
  "a search": () => withMemory(parModel({ ...found, blocks: 2 })),
  translation: () =>
    new TranslationModel({
      vocabulary: VOCABULARY,
      width,
      heads: 2,
      hidden: 24,
      encoderPlan: cycle({ unique: 1, depth: 2 }),
      decoderPlan: cycle({ unique: 1, depth: 2 }),
      length: LENGTH,
      dropout: 0.1,
    }),
};

function withMemory(model: ReturnType<typeof parModel>): training.Trainable {
  return { parameters: model.parameters, objective: (size) => model.objective({ ...size, memory: found.memory }) };
}

/** Batches of random tokens, with what a memory asks for besides. */
export function smallBatches(name: string): training.Batches {
  const random = new RandomStream(3, "tokens");
  const draw = () => Int32Array.from({ length: BATCH * LENGTH }, () => random.integer(VOCABULARY));
  const all = Array.from({ length: 20 }, () => ({ ids: draw(), targets: draw() }));
  const more = (i: number) => (hasMemory(name) ? { missing: [i === 0 ? found.memory : 0] } : {});
  return { count: all.length, rows: BATCH, length: LENGTH, at: (i) => ({ ...all[i]!, ...more(i) }) };
}

const hasMemory = (name: string) => ["Transformer-XL", "a search"].includes(name);
