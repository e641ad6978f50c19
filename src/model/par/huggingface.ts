/** A found network with memory as modeling_layerwise.py is told it. */
import { reject } from "../../base/errors.ts";
import { AdaptiveSoftmax } from "../../nn/index.ts";
import { patternBlockOf } from "./candidates.ts";
import type { ParModel } from "./par.ts";

/** `layerwise.model` of config.json; `length` is that of training's segments. What the Python file cannot run is refused by name. */
export function parSpec({ options, choices, words }: ParModel, length: number): Readonly<Record<string, unknown>> {
  const { vocabulary, width, heads, memory } = options;
  const own = choices.flat().find(({ make }) => make);
  const stranger =
    options.compat !== undefined
      ? `compat ${options.compat}`
      : own
        ? `a candidate of your own (${own.name ?? own.kind})`
        : options.padding !== undefined
          ? "padding"
          : options.plan
            ? "blocks that share weights"
            : undefined;
  if (stranger !== undefined) {
    const needed = "a network that modeling_layerwise.py can run";
    reject({ who: "export --format huggingface", needed, got: stranger, remedy: "export it as ONNX" }, 2);
  }
  return {
    vocabulary,
    width,
    heads,
    hidden: options.hidden ?? 4 * width,
    length,
    memory,
    dropout: options.dropout ?? 0,
    activation: options.activation ?? "relu",
    clamp_length: options.clampLength ?? null,
    same_length: options.sameLength ?? false,
    adaptive_input: options.adaptiveInput ?? false,
    tails: words instanceof AdaptiveSoftmax ? words.tails : [],
    blocks: choices.map(([choice]) => {
      const { kind, size } = patternBlockOf(choice!);
      return { kind, size: size ?? null };
    }),
  };
}
