/** An ALBERT out of somebody's tensors and config: the heads are those the tensors belong to. */
import { reject } from "../../base/errors.ts";
import type { Tensor } from "../../graph/index.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import type { Albert } from "./albert.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert, type HeadOptions } from "./description.ts";
import { albertOptionsFrom, loadAlbert, type NamedTensor, renamed, transposed } from "./weights.ts";

export interface ImportOptions {
  /** Gives a stock ALBERT a halting unit, which is still to be trained. */
  halt?: boolean;
  /** Turns the pooler's weight, which the published PyTorch files of ALBERT-ACT probably hold transposed. */
  transposePooler?: boolean;
  /** Instead of the config's: the published ALBERT-ACT models say gelu, but were trained with gelu_new. */
  activation?: string | undefined;
  /** Of the weights that are not in the file. */
  seed?: number;
  /** Names the config in errors. */
  configSource?: string;
}

export interface ImportedAlbert extends DescribedAlbert {
  readonly description: AlbertDescription;
  readonly weights: ReadonlyMap<Tensor<"parameter">, Float32Array>;
  /** What to know before one trusts the numbers. */
  readonly warnings: readonly string[];
}

const headsByTensor: Readonly<Record<string, (tensor: NamedTensor) => HeadOptions>> = {
  "predictions.dense.weight": () => ({ maskedLanguage: {} }),
  "sop_classifier.classifier.weight": () => ({ sentenceOrder: {} }),
  "classifier.weight": ({ shape }) => ({ classification: { labels: shape[0] ?? 1 } }),
  "qa_outputs.weight": () => ({ questionAnswering: {} }),
};

function headsIn(found: ReadonlyMap<string, NamedTensor>): HeadOptions {
  const present = Object.entries(headsByTensor).flatMap(([name, head]) => {
    const tensor = found.get(name);
    return tensor ? [head(tensor)] : [];
  });
  return Object.assign({}, ...present) as HeadOptions;
}

const isHalting = (name: string) => name.startsWith("encoder.halting.");

/** Builds the model that config and tensors describe, and checks every name and shape; `source` names the file in errors. */
export function importAlbert(
  tensors: ReadonlyMap<string, NamedTensor>,
  config: Readonly<Record<string, unknown>>,
  source: string,
  { halt = false, transposePooler = false, activation, seed = 1, configSource = "config" }: ImportOptions = {},
): ImportedAlbert {
  const found = renamed(tensors, source);
  const pooler = found.get("pooler.weight");
  if (pooler && transposePooler) found.set("pooler.weight", transposed(pooler));
  const adaptive = [...found.keys()].some(isHalting);
  const options = albertOptionsFrom(
    activation === undefined ? config : { ...config, hidden_act: activation },
    configSource,
  );
  const halting = adaptive || halt ? { ...(adaptive ? { haltAtCap: false } : {}), ...options.halting } : undefined;
  if (options.halting && !halting) {
    const needed = "a halting unit (act.dense), which its config speaks of";
    reject({ who: source, needed, got: "none", remedy: "pass --halt for a new one, or remove act_epsilon" });
  }
  const description = { model: { ...options, halting, pooler: pooler !== undefined }, heads: headsIn(found) };
  const described = describedAlbert(description);
  const optional = (name: string) => halt && isHalting(name);
  const { weights, missing } = loadAlbert(described.parameters, found, source, { optional });
  for (const [tensor, values] of initialise(missing, seed)) weights.set(tensor, values);
  const published = !transposePooler && pooler !== undefined;
  const warnings = warningsFor(described.model, { adaptive, published, missing });
  return { ...described, description: { ...description, model: described.model.options }, weights, warnings };
}

function warningsFor(
  { options }: Albert,
  { adaptive, published, missing }: { adaptive: boolean; published: boolean; missing: readonly Parameter[] },
): string[] {
  const warnings: string[] = [];
  if (adaptive && published) {
    warnings.push(
      "the published PyTorch files of ALBERT-ACT probably hold the pooler transposed: if so, pass --transpose-pooler",
    );
  }
  if (adaptive && options.activation === "gelu") {
    warnings.push(
      "the published ALBERT-ACT models were trained with gelu_new, though their config says gelu: pass --activation gelu_new",
    );
  }
  if (missing.length > 0)
    warnings.push(`${missing.map(({ name }) => name).join(", ")}: not in the file, drawn at random`);
  return warnings;
}
