/** Layers, blocks and initial distributions. */
export * from "./adaptive-softmax.ts";
export type {
  AlbertEmbeddingOptions,
  AlbertEmbeddings,
  AlbertLayer,
  AlbertLayerOptions,
} from "./albert.ts";
export { PAIR_WEIGHT } from "./albert.ts";
export {
  type Attended,
  type AttendOptions,
  type AttentionContext,
  type AttentionOptions,
  attend,
  attendByHeads,
  type ByHeadsOptions,
  type Cache,
  type HeldKeys,
  type HeldOptions,
  type KeyValues,
  type PastKeys,
  SelfAttention,
} from "./attention.ts";
export {
  type Block,
  type BlockStyle,
  type Context,
  isRowwise,
  type Memory,
  type RowwiseBlock,
  TransformerBlock,
  type TransformerBlockOptions,
} from "./block.ts";
export * from "./candidates.ts";
export { type Activation, activations, FeedForward, type FeedForwardOptions } from "./feed-forward.ts";
export * from "./gumbel.ts";
export {
  Embedding,
  type EmbeddingOptions,
  LayerNorm,
  Linear,
  type LinearOptions,
  type LowRank,
  type Norm,
  type NormName,
  type NormOptions,
  norms,
  RmsNorm,
} from "./layers.ts";
export * from "./masks.ts";
export { inference, type Mode, Sampling, Training } from "./mode.ts";
export { PairTable } from "./pairs.ts";
export * from "./parameter.ts";
export * from "./relative.ts";
export { Rotary, type RotaryOptions } from "./rotary.ts";
export * from "./running.ts";
export type {
  DecoderLayer,
  DecoderParts,
  EncoderLayer,
  EncoderParts,
  MultiheadAttention,
  TorchFeedForward,
  TorchLayer,
  TorchLayerOptions,
} from "./torch-layers.ts";
