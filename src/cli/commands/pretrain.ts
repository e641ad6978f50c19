/** `layerwise pretrain`: an ALBERT whose tokens choose their depth, on masked words and the order of sentences. */
import { taskSettings } from "../../tasks/settings/index.ts";
import { carryOut } from "../carry-out.ts";
import type { Command } from "../command.ts";
import { type SettingsFlags, settingsFrom } from "../flags.ts";
import { handed, say } from "../output.ts";

const pretrainSettings = await taskSettings.pretrain();

const examples = `
Presets: tiny, small and base are the published models (weeks of this machine: see --dry-run); laptop trains here within two hours; few-labels
learns vectors of words and pairs of words from many texts without labels in twelve minutes of a core, for finetune --head-start fitted
--pooling pairs;
trial takes half a minute. Order: defaults < preset < --config file < flags. Vocabularies are trained on the text unless --tokenizer is given.
With --search the encoder has blocks of its own instead of a shared layer: attention, feed-forward or nothing, drawn by Gumbel-softmax;
candidates that π gives up are cut, blocks settle, --budget penalises latency, as in layerwise search.
At every evaluation: loss and accuracy of masked words and of sentence order, ponder cost, and mean depths by kind of token.

Examples:
  layerwise pretrain --preset trial --out runs/trial             the embedded books, half a minute
  layerwise pretrain --preset laptop --corpus wikitext-2 --data ~/data --out runs/albert
  layerwise pretrain --preset base --dry-run                     parameters, memory, measured time
  layerwise pretrain --preset laptop --depth-policy fixed        the baseline of fixed depth
  layerwise pretrain --preset laptop --ponder 0                  halting without a penalty
  layerwise pretrain --preset par-bert --out runs/blocks         which blocks an encoder wants: s, f or nothing at each depth
  layerwise pretrain --preset par-bert --budget 0.65             the same within 0.65 of the (sf)-encoder's latency
  layerwise pretrain --found runs/blocks --steps 2000            what it found, from scratch; then finetune it like any other
  layerwise pretrain --blocks '(sff)x4' --steps 2000             blocks by hand
  layerwise pretrain --preset laptop --length 64 --long-length 256 --long-share 0.2    short texts first, then long ones
  layerwise resume runs/albert                                   exactly as if it had never stopped
  layerwise depth runs/albert                                    how deep its tokens run`;

interface Flags extends SettingsFlags {
  found?: string;
  init?: string;
  albertConfig?: string;
}

export function addPretrain(program: Command): void {
  program
    .command("pretrain")
    .option("--init <run>", "start from the weights of another run")
    .option("--found <search>", "pre-train what a search found (--search), from scratch, with that run's settings")
    .option("--albert-config <file>", "sizes of an albert_config.json; other flags win over it")
    .option("--no-halt", "the same as --depth-policy fixed")
    .settings([pretrainSettings], {
      dryRun: "print model, parameters, memory and an estimate of time, and stop",
    })
    .explain(examples)
    .action(runPretrain);
}

async function configFrom({ halt, albertConfig, found, ...flags }: Flags) {
  const sizes = albertConfig === undefined ? {} : await sizesIn(albertConfig, flags.tokenizer !== undefined);
  const given = { ...sizes, ...(halt === false ? { depthPolicy: "fixed" } : {}), ...flags };
  if (found === undefined) return settingsFrom(pretrainSettings, given);
  const { foundSettings } = await import("../../tasks/pretrain/index.ts");
  return settingsFrom(pretrainSettings, given, [{ source: found, values: await foundSettings(found) }]);
}

/** A tokenizer that is named has as many pieces as it has. */
async function sizesIn(file: string, named: boolean) {
  const { readAlbertConfig } = await import("../../tasks/pretrain/index.ts");
  const { pieces, ...sizes } = await readAlbertConfig(file);
  return named ? sizes : { pieces, ...sizes };
}

async function runPretrain(flags: Flags): Promise<void> {
  const settings = await configFrom(flags);
  const { initialOf, openPretrain, pretrainJob } = await import("../../tasks/pretrain/index.ts");
  const parts = await openPretrain(settings, handed());
  await carryOut(await pretrainJob(parts, await initialOf(flags.init, parts, { say })), "pretrain", flags);
}
