/** Engines: what compiles graphs into programs. The reference engine runs anywhere; ONNX Runtime's is in `ort.ts`, which needs Node. */
export type {
  Engine,
  Feed,
  Feeds,
  IdRange,
  Numbers,
  Port,
  Program,
  ProgramSource,
  Residence,
  ResidentProgram,
  Stays,
  World,
} from "./engine.ts";
export type { ArenaView, KernelMemory, Kernels } from "./kernels.ts";
export { type ReferenceOptions, referenceEngine } from "./reference.ts";
export type { AdamSettings, LambSettings, MomentSettings, SgdSettings } from "./updates.ts";
