/** An ALBERT out of somebody's tensors and config: the heads are those the tensors belong to. */

import { rejectFile } from "../../base/errors.ts";
import { anything, checkOptions, number, type Rules, text, truth, whole } from "../../base/options.ts";
import type { Weights } from "../../graph/index.ts";
import { activationRule } from "../../nn/feed-forward.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import type { NamedTensors } from "../state-dict.ts";
import type { Albert } from "./albert.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert, type HeadOptions } from "./description.ts";
import { albertOptionsFrom, loadAlbert, renamed, transposed } from "./weights.ts";

/** How weights made elsewhere are read. */
export interface ImportOptions {
  /** Gives a stock ALBERT a halting unit, which is still to be trained. */
  halt?: boolean | undefined;
  /** Turns the pooler's weight, which the published PyTorch files of ALBERT-ACT probably hold transposed. */
  transposePooler?: boolean | undefined;
  /** Instead of the config's: the published ALBERT-ACT models say gelu, but were trained with gelu_new. */
  activation?: string | undefined;
  /** Penalty on depth for later training, which the published configs do not say: 0.001, 0.0005, 0.00025 for depth 6, 12, 24. */
  ponder?: number | undefined;
  /** Of the weights that are not in the file. */
  seed?: number;
  /** The heads, where more is known of them than the tensors say. */
  heads?: HeadOptions | undefined;
  /** Names the config in errors. */
  configSource?: string;
}

const importRules: Rules<ImportOptions> = {
  halt: truth,
  transposePooler: truth,
  activation: activationRule,
  ponder: number({ from: 0 }),
  seed: whole(),
  heads: anything,
  configSource: text,
};

/** An ALBERT that was read, with what to know about it. */
export interface ImportedAlbert extends DescribedAlbert {
  readonly description: AlbertDescription;
  readonly weights: Weights;
  /** What to know before one trusts the numbers. */
  readonly warnings: readonly string[];
}

/** The head that owns the tensors below a name, however many of them a file holds. */
const headsByScope: Readonly<Record<string, (found: NamedTensors) => HeadOptions>> = {
  "predictions.": () => ({ maskedLanguage: {} }),
  "sop_classifier.": () => ({ sentenceOrder: {} }),
  "classifier.": (found) => ({ classification: { labels: labelsIn(found) } }),
  "qa_outputs.": () => ({ questionAnswering: {} }),
};

const labelsIn = (found: NamedTensors) =>
  (found.get("classifier.weight") ?? found.get("classifier.bias"))?.shape[0] ?? 1;

const holds = (found: NamedTensors, scope: string) => [...found.keys()].some((name) => name.startsWith(scope));

function headsIn(found: NamedTensors): HeadOptions {
  const present = Object.entries(headsByScope).flatMap(([scope, head]) => (holds(found, scope) ? [head(found)] : []));
  return Object.assign({}, ...present) as HeadOptions;
}

const isHalting = (name: string) => name.startsWith("encoder.halting.");

/** Builds the model that config and tensors describe, and checks every name and shape; `source` names the file in errors. */
export function importAlbert(
  tensors: NamedTensors,
  config: Readonly<Record<string, unknown>>,
  source = "tensors",
  given: ImportOptions = {},
): ImportedAlbert {
  checkOptions("importAlbert", given, importRules);
  const { halt = false, transposePooler = false, activation, ponder, seed = 1, configSource = "config" } = given;
  const found = renamed(tensors, source);
  const pooler = found.get("pooler.weight");
  if (pooler && transposePooler) found.set("pooler.weight", transposed(pooler));
  const adaptive = [...found.keys()].some(isHalting);
  const options = albertOptionsFrom(
    activation === undefined ? config : { ...config, hidden_act: activation },
    configSource,
  );
  const penalty = ponder === undefined ? {} : { ponder };
  const halting =
    adaptive || halt ? { ...(adaptive ? { haltAtCap: false } : {}), ...options.halting, ...penalty } : undefined;
  if (ponder !== undefined && !halting) {
    rejectFile({
      who: source,
      needed: "a model whose tokens halt for `ponder`",
      got: "fixed depth",
      remedy: "set `halt`",
    });
  }
  if (options.halting && !halting) {
    const needed = "a halting unit (act.dense), which its config speaks of";
    rejectFile({ who: source, needed, got: "none", remedy: "set `halt` for a new one, or remove act_epsilon" });
  }
  const description = {
    model: { ...options, halting, pooler: holds(found, "pooler.") },
    heads: given.heads ?? headsIn(found),
  };
  const described = describedAlbert(description);
  const optional = (name: string) => halt && isHalting(name);
  const { weights, missing } = loadAlbert(described.parameters, found, source, { optional });
  for (const [tensor, values] of initialise(missing, seed)) weights.set(tensor, values);
  const published = !transposePooler && pooler !== undefined;
  const unpunished = halting !== undefined && halting.ponder === undefined;
  const warnings = warningsFor(described.model, { adaptive, published, unpunished, missing });
  return { ...described, description: { ...description, model: described.model.options }, weights, warnings };
}

/** What is not certain of weights that were read. */
interface Doubts {
  readonly adaptive: boolean;
  readonly published: boolean;
  /** Tokens halt, and nothing says what depth costs. */
  readonly unpunished: boolean;
  readonly missing: readonly Parameter[];
}

function warningsFor({ options }: Albert, { adaptive, published, unpunished, missing }: Doubts): string[] {
  const warnings: string[] = [];
  if (adaptive && published) {
    warnings.push(
      "the published PyTorch files of ALBERT-ACT probably hold the pooler transposed: if so, set `transposePooler`",
    );
  }
  if (adaptive && options.activation === "gelu") {
    warnings.push(
      "the published ALBERT-ACT models were trained with gelu_new, though their config says gelu: set activation to gelu_new",
    );
  }
  if (unpunished) {
    warnings.push(
      "the config does not say the penalty on depth (τ), so it is 0 in later training: set `ponder`; the published models had 0.001 at depth 6, 0.0005 at 12, 0.00025 at 24",
    );
  }
  if (missing.length > 0)
    warnings.push(`${missing.map(({ name }) => name).join(", ")}: not in the file, drawn at random`);
  return warnings;
}
