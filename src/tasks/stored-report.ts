/** What the model of a stored run stores and costs, from its settings and the shapes of its weights; nothing is loaded or run. */
import { rejectFile } from "../base/errors.ts";
import type { Plan } from "../depth/plan.ts";
import type { ModelReport } from "../model/report.ts";
import { RunFolder } from "../runs/folder.ts";
import { storedSettings } from "../runs/settings-file.ts";
import { keptTokenizer } from "./open-run.ts";
import type { RunKind } from "./run.ts";

/** A report on the model of a run; what depends on what a search still decides is null. */
export interface StoredReport extends Omit<ModelReport, "flopsPerToken" | "trainingFlopsPerToken"> {
  readonly flopsPerToken: number | null;
  readonly trainingFlopsPerToken: number | null;
  /** Which block runs at each depth, of models that share blocks. */
  readonly plan: Plan | null;
}

/** Shapes of weights by name. */
type Shapes = ReadonlyMap<string, readonly number[]>;

interface Stored {
  readonly path: string;
  readonly yaml: string;
  readonly shapes: Shapes;
}

const countIn = (shapes: Shapes) =>
  [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);

const source = (path: string) => `${path}/config.yaml`;

function vocabularyIn({ shapes, path }: Stored): number {
  const [vocabulary] = shapes.get("embedding.weight") ?? [];
  return vocabulary ?? rejectFile({ who: path, needed: "weights with embedding.weight", got: "none" });
}

async function languageReport(stored: Stored): Promise<StoredReport> {
  const { modelOf, planOf } = await import("./language/job.ts");
  const { languageSettings } = await import("./language/settings.ts");
  const { reportOn } = await import("../model/report.ts");
  const settings = storedSettings(languageSettings, stored.yaml, source(stored.path));
  const { length } = settings;
  return { ...reportOn(modelOf(settings, vocabularyIn(stored)), { length }), plan: planOf(settings) };
}

async function translateReport(stored: Stored): Promise<StoredReport> {
  const { translationModelOf, translationReport } = await import("./translate/job.ts");
  const { translateSettings } = await import("./translate/settings.ts");
  const settings = storedSettings(translateSettings, stored.yaml, source(stored.path));
  const model = translationModelOf(settings, vocabularyIn(stored));
  return { ...translationReport(model, settings.length), plan: model.options.encoderPlan ?? null };
}

/** Of the encoder, at its training's length through all depths. */
async function albertReport({ yaml, path, shapes }: Stored): Promise<StoredReport> {
  const { parseAlbertRun } = await import("./pretrain/albert-run.ts");
  const { describedAlbert } = await import("../model/albert/description.ts");
  const { textInputs } = await import("../model/albert/heads.ts");
  const { cost } = await import("../graph/index.ts");
  const config = parseAlbertRun(yaml, source(path));
  const { model } = describedAlbert(config);
  const length = Math.min(model.options.length, Number(config.training?.length ?? 128));
  const { depth, unique = depth } = model.policy;
  const { flops } = cost([model.encode(textInputs({ batch: 1, length })).sequence]);
  const plan = "plan" in model.policy ? (model.policy.plan as Plan) : null;
  return {
    parameters: countIn(shapes),
    uniqueBlocks: unique,
    executedDepth: depth,
    flopsPerToken: flops / length,
    trainingFlopsPerToken: null,
    plan,
  };
}

/** Of a decided network as `layerwise retrain` counts them; while a search decides, nobody can say. */
async function parReport({ yaml, path, shapes }: Stored): Promise<StoredReport> {
  const { storedSettings: parSettings } = await import("./search/stored.ts");
  const { modelOf } = await import("./search/parts.ts");
  const { keptCosts } = await import("./search/result.ts");
  const { networkFlops } = await import("../analysis/latency.ts");
  const { settings, task } = parSettings(yaml, path);
  const { size } =
    (await keptTokenizer(path))?.tokenizer ?? rejectFile({ who: path, needed: "its tokenizer", got: "none" });
  const model = modelOf(settings, size, (await keptCosts(path)) ?? null);
  const { batch, length } = settings.latency;
  const flops = task === "retrain" ? networkFlops(model, settings.latency) / (batch * length) : null;
  const { depth } = model.policy;
  const running = model.choices.filter(([first]) => first?.kind !== "identity").length;
  return {
    parameters: countIn(shapes),
    uniqueBlocks: depth,
    executedDepth: running,
    flopsPerToken: flops,
    trainingFlopsPerToken: null,
    plan: null,
  };
}

const reporters: Readonly<Partial<Record<RunKind, (stored: Stored) => Promise<StoredReport>>>> = {
  language: languageReport,
  translate: translateReport,
  pretrain: albertReport,
  finetune: albertReport,
  imported: albertReport,
  search: parReport,
  retrain: parReport,
};

/** The report on a run with a checkpoint; undefined for kinds whose model only a program knows. */
export async function storedReport(
  path: string,
  kind: RunKind,
  shapes: ReadonlyMap<string, readonly number[]>,
): Promise<StoredReport | undefined> {
  const { config: yaml } = await RunFolder.read(path);
  return reporters[kind]?.({ path, yaml, shapes });
}
