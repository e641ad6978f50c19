/** Encoding that saves time: tokens that have stopped are computed no further. */
import { rejectOption } from "../../base/errors.ts";
import { type HaltingPolicy, isHalting } from "../../depth/halting.ts";
import { applySkipping } from "../../depth/skipping.ts";
import type { Albert, AlbertInputs, Encoded } from "./albert.ts";

/** What `model.encode` gives, for inference, without computing tokens that have stopped: a model whose tokens halt, or one of a depth in words. */
export function encodeRunning(model: Albert, inputs: AlbertInputs): Encoded {
  const { rows, context } = model.start(inputs);
  const deepened =
    typeof model.options.depth === "string"
      ? model.policy.apply(rows, { ...context, skips: true })
      : applySkipping(haltingPolicyOf(model), model.layers, rows, context);
  return model.encoded(deepened, context, inputs.ids);
}

/** The policy of a model whose tokens halt; a model of fixed depth is refused. */
export function haltingPolicyOf({ policy }: Albert): HaltingPolicy {
  if (isHalting(policy)) return policy;
  const remedy = "give the model halting options";
  return rejectOption({ who: "ALBERT", needed: "a model whose tokens halt", got: "fixed depth", remedy });
}
