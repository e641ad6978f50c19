/** An albert_config.json as settings of pre-training: the sizes of a new model as others wrote them down. */
import { reject } from "../../base/errors.ts";
import { readJsonObject } from "../../files/json.ts";
import { albertOptionsFrom } from "../../model/albert/weights.ts";
import { ALBERT_DEVIATION } from "../../nn/albert.ts";
import type { PretrainingConfig } from "./settings.ts";

/** Sizes that such a file gives. */
export type AlbertConfigSettings = Pick<
  PretrainingConfig,
  "width" | "heads" | "feedForward" | "embedding" | "activation" | "positions" | "dropout" | "depth"
> & { readonly pieces: number; readonly haltEpsilon?: number };

/** Reads the file; what pre-training does not build is refused by its key. */
export async function readAlbertConfig(path: string): Promise<AlbertConfigSettings> {
  const config = await readJsonObject(path, 1);
  // Google's files have no model_type, and mean the tanh form by gelu.
  const own = config.model_type === undefined && config.hidden_act === "gelu" ? { hidden_act: "gelu_new" } : {};
  const options = albertOptionsFrom({ ...config, ...own }, path);
  const must = (key: string, wanted: number, found: number) => {
    if (found !== wanted) reject({ code: "bad-data", who: `${path} / ${key}`, needed: `${wanted}`, got: `${found}` });
  };
  must("num_hidden_groups", 1, options.groups!);
  must("inner_group_num", 1, options.inner!);
  must("type_vocab_size", 2, options.types!);
  must("attention_probs_dropout_prob", options.dropout!, options.attentionDropout!);
  must("initializer_range", ALBERT_DEVIATION, Number(config.initializer_range ?? ALBERT_DEVIATION));
  return {
    width: options.width,
    heads: options.heads,
    feedForward: options.hidden!,
    embedding: options.embedding!,
    activation: options.activation!,
    positions: options.length!,
    dropout: options.dropout!,
    depth: options.depth,
    pieces: options.vocabulary,
    ...(options.halting?.epsilon === undefined ? {} : { haltEpsilon: options.halting.epsilon }),
  };
}
