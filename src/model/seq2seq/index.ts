/** `layerwise/models/seq2seq`: the parameter-shared encoder, encoder–decoders and translation with beam search. */
export { Beam, type BeamOptions, type Choice as BeamChoice, type Specials, Translator } from "./beam.ts";
export { type SideSizes, type TranslationDepthReport, translationDepthReport } from "./depth-report.ts";
export { EncoderDecoder, type EncoderDecoderMasks, type EncoderDecoderOptions } from "./encoder-decoder.ts";
export { type PlanFigures, type PlanReport, planReport, planTable } from "./plan-report.ts";
export {
  type EncodeOptions,
  EncoderProgram,
  type ForwardMasks,
  type ForwardOptions,
  ParameterSharedTransformerEncoder,
  type SharedEncoderOptions,
} from "./shared-encoder.ts";
export type { SideDepths, SideStyle } from "./sides.ts";
export type { Layout, StackOptions, Trace } from "./stacks.ts";
export { type DecodingStep, TranslationModel, type TranslationOptions } from "./translation.ts";
