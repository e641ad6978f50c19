/** The weights that an evaluation judged, beside its event: who looks at the event before asking for the next one finds them. */
import type { Weights } from "../graph/index.ts";
import type { EvaluationEvent } from "./events.ts";

// Beside and not inside: events are written down and sent to other processes.
export const judged = new WeakMap<EvaluationEvent, () => Weights>();

/** The weights of an evaluation, until the next update; undefined of an event that was read or copied. */
export const judgedWeights = (event: EvaluationEvent): Weights | undefined => judged.get(event)?.();
