/** Settings of translation: sentence pairs, an encoder and a decoder with a plan each. */

import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { sharedParts } from "../../depth/plan.ts";
import { choice, defaultsOf, group, optional, real, text, whole, withDefaults } from "../../runs/fields.ts";
import { defineSettings, type Resolved } from "../../runs/settings.ts";
import { depthField, depthInWords, endedInWords } from "../depth-words.ts";
import {
  activationNames,
  dataFields,
  plan,
  planFields,
  smallPresets,
  styleFields,
  trainFields,
  usualRates,
} from "../fields.ts";

const fields = {
  ...group("Data", {
    corpus: text("multi30k", "multi30k, or a folder with train, valid and test in two languages (train.en, train.de)"),
    ...dataFields,
    source: text("en", "language to translate from"),
    target: text("de", "language to translate to"),
  }),
  ...group("Model", {
    width: whole(128, "width of the hidden state", 1, LARGEST.width),
    heads: whole(4, "attention heads; they divide the width", 1, LARGEST.heads),
    feedForward: optional(
      whole(768, "width of the feed-forward layer; none: four times the width", 1, LARGEST.hidden),
      256,
    ),
    activation: choice(activationNames, "relu", "activation of the feed-forward layer"),
    length: whole(64, "tokens per row of a batch", 1, LARGEST.length),
    dropout: real(0.1, "fraction of activations and attention that is dropped in training", { from: 0, below: 1 }),
    smoothing: real(0.1, "label smoothing", { from: 0, below: 1 }),
    ...styleFields,
  }),
  ...planFields,
  ...group("Depth", {
    parts: choice(sharedParts, "layers", "what the plan shares: whole layers, or one part of them"),
    norms: choice(["shared", "per-depth"], "shared", "whether layer norms follow the plan"),
    decoderPlan: optional(plan("the order of the decoder's blocks; default: as the encoder's")),
    depth: depthField("blocks that run on either side; or which, how often and who decides: 2*3 halt (docs/depth.md)"),
    decoderDepth: optional(depthField("as depth, of the decoder alone, where it differs")),
  }),
  ...trainFields,
};

/** Multi30k in about twenty minutes of a core; docs/log.md has the run it is taken from. */
const multi30k = {
  pieces: 4000,
  depth: 3,
  optimiser: "adamw",
  rate: 0.003,
  floor: 0.02,
  epochs: 8,
} as const;

/** Settings that only language models have. */
const ofLanguageModels = [
  ...[
    "cased",
    "halt",
    "ponder",
    "ponderWarmup",
    "haltBias",
    "haltRate",
    "ponderFrom",
    "accumulateStates",
    "evaluationBatch",
  ],
  ...["positions", "keyHeads", "queryKeyNorm", "withoutBias", "rotaryBase", "normEpsilon", "initBlocks"],
];

/** Settings that a depth in words says itself. */
const saidInDepth = ["unique", "share", "plan", "parts", "norms", "decoderPlan"];

type Given = Readonly<Record<string, unknown>>;

/** The depths of both sides as they are printed. */
function depthsIn(depth: string | number, decoderDepth: string | number | null, given: Given) {
  const defaults = defaultsOf(fields);
  const printed = (who: string, said: readonly string[], text: string | number) =>
    typeof text === "string" ? depthInWords(text, { who, said, given, defaults }) : text;
  if (decoderDepth !== null && given.decoderPlan !== null) {
    const remedy = "leave one of them out";
    reject({ who: "decoderDepth", needed: "one order of the decoder's blocks", got: "decoderPlan too", remedy }, 2);
  }
  return {
    depth: printed("depth", saidInDepth, depth),
    decoderDepth: decoderDepth === null ? null : printed("decoderDepth", ["parts", "norms"], decoderDepth),
  };
}

/** The schema of translation's settings. */
export const translateSettings = defineSettings("translate", withDefaults(fields, multi30k), {
  command: "train --task translate",
  presets: {
    /** English to German on Multi30k: the defaults. */
    translate: {},
    /** The paper's best order, at the size of the defaults: six layers deep, three layers of weights. */
    "share-paper": { depth: 6, unique: 3, share: "cycle_rev" },
    ...smallPresets,
  },
  ends: endedInWords(saidInDepth),
  derive: ({ rate, optimiser, depth, decoderDepth, ...given }) => ({
    task: "translate" as const,
    rate: rate ?? usualRates[optimiser],
    ...depthsIn(depth, decoderDepth, given),
  }),
  elsewhere: Object.fromEntries(ofLanguageModels.map((key) => [key, "task language"])),
});

/** Settings of translation as they are when a run begins. */
export type TranslateConfig = Resolved<typeof translateSettings>;
