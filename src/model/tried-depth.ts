/** Depth policies, tried when a model is built: mistakes show before anything is trained. */
import { reject, rejectShape } from "../base/errors.ts";
import type { Deepened, DepthPolicy } from "../depth/policy.ts";
import { input } from "../graph/index.ts";
import { type Context, inference, Training } from "../nn/index.ts";

/** Tokens of the text that depths are tried with. */
export const TRIED_LENGTH = 2;

/** What a policy makes of two tokens in training, once it is seen to keep the width in training and in use. */
export function triedDepth(who: string, policy: DepthPolicy, width: number, context: Partial<Context> = {}): Deepened {
  const rows = { batch: 1, length: TRIED_LENGTH };
  const [trained, used] = [new Training(), inference].map((mode) => {
    return policy.apply(input("x", [TRIED_LENGTH, width]), { rows, mode, ...context });
  });
  const { shape } = used!.hidden;
  if (`${shape}` !== `${TRIED_LENGTH},${width}`) {
    rejectShape({ who, needed: `states of width ${width}, [${TRIED_LENGTH},${width}]`, got: `[${shape}]` });
  }
  return trained!;
}

/** Refuses exits that predict: an encoder has no next token to predict, so that nothing could train them. */
export function checkEncoderDepth(who: string, policy: DepthPolicy, width: number, elsewhere = ""): void {
  const { exits = [] } = triedDepth(who, policy, width);
  if (exits.length === 0) return;
  const needed = "a depth without exits that predict: an encoder has no head";
  const remedy = `write halt or route, or drop(0.1, exitLoss=0), or exits(rule=difference)${elsewhere}`;
  reject({ who, needed, got: `${exits.length} exits`, remedy }, 2);
}
