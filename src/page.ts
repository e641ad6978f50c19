/** Training on a page: what Node's tasks do about engines, for browsers. */
import type { Engine } from "./engine/engine.ts";
import type { OrtWebOptions } from "./engine/ort-web.ts";
import type { TrainEvent } from "./train/events.ts";
import { lengthOf } from "./train/loop.ts";
import type { Trainable } from "./train/objective.ts";
import { type Session, startSession } from "./train/session.ts";
import { type TrainResult, type TrainOptions as TrainWithEngine, training } from "./train/train.ts";

/** How a model is trained on a page. */
export interface TrainOptions extends Omit<TrainWithEngine, "engine"> {
  /** Default: the best there is here. */
  readonly engine?: Engine | undefined;
}

/** The best engine there is here: ONNX Runtime where onnxruntime-web is installed, else the reference engine. */
export async function defaultEngine(options: OrtWebOptions = {}): Promise<Engine> {
  return (await import("./engine/best.ts")).bestEngine(options);
}

/** Trains a model. Iterate the session to see its events, or await its result. */
export function train<M extends Trainable>(model: M, options: TrainOptions): Session<TrainEvent, TrainResult<M>> {
  lengthOf(options);
  return startSession(async function* (signal) {
    const engine = options.engine ?? (await defaultEngine());
    return yield* training(model, { ...options, engine, signal });
  }, options.signal);
}
