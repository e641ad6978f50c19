/** Names of settings: those that older versions had, which still work, and those that other tools have. */
import { reject } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";

/** What settings were called before: former name → name. The one table of renames, for flags, files, programs and old runs. */
export const formerNames: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  hidden: "feedForward",
});

/** What other tools call a setting, in lower case without hyphens → the names it may have here, of which a command has at most one. */
const elsewhere: Readonly<Record<string, readonly string[]>> = Object.assign(Object.create(null), {
  lr: ["rate"],
  learningrate: ["rate"],
  maxlr: ["rate"],
  batchsize: ["batch"],
  bs: ["batch"],
  layers: ["depth", "blocks"],
  numlayers: ["depth", "blocks"],
  nlayer: ["depth", "blocks"],
  nlayers: ["depth", "blocks"],
  numhiddenlayers: ["depth", "blocks"],
  seqlen: ["length"],
  seqlength: ["length"],
  sequencelength: ["length"],
  contextlength: ["length"],
  contextsize: ["length"],
  blocksize: ["length"],
  maxseqlength: ["length"],
  maxlength: ["length"],
  memlen: ["memory"],
  optimizer: ["optimiser"],
  hiddensize: ["width"],
  dmodel: ["width"],
  dim: ["width"],
  nembd: ["width"],
  embeddim: ["width"],
  ffn: ["feedForward"],
  dff: ["feedForward"],
  ffndim: ["feedForward"],
  intermediatesize: ["feedForward"],
  nhead: ["heads"],
  nheads: ["heads"],
  numheads: ["heads"],
  numattentionheads: ["heads"],
  vocabsize: ["pieces"],
  vocab: ["pieces"],
  maxsteps: ["steps"],
  numsteps: ["steps"],
  iters: ["steps"],
  maxiters: ["steps"],
  iterations: ["steps"],
  numepochs: ["epochs"],
  numtrainepochs: ["epochs"],
  gradaccum: ["accumulate"],
  gradientaccumulationsteps: ["accumulate"],
  warmupsteps: ["warmup"],
  warmupiters: ["warmup"],
  wd: ["weightDecay"],
  decay: ["weightDecay"],
  gradclip: ["clipNorm"],
  maxgradnorm: ["clipNorm"],
  scheduler: ["schedule"],
  lrschedule: ["schedule"],
  lrscheduler: ["schedule"],
  evalevery: ["evaluateEvery"],
  evalinterval: ["evaluateEvery"],
  evalsteps: ["evaluateEvery"],
  saveevery: ["checkpointEvery"],
  savesteps: ["checkpointEvery"],
  labelsmoothing: ["smoothing"],
  numthreads: ["threads"],
  dataset: ["corpus"],
  text: ["corpus"],
  datadir: ["data"],
  // Flags that are no settings.
  maxtokens: ["tokens"],
  maxnewtokens: ["tokens"],
  numtokens: ["tokens"],
  output: ["out"],
  outdir: ["out"],
  outputdir: ["out"],
  rundir: ["out"],
});

/** The name here of what is called otherwise in older versions or in other tools, if one of `known` is it. */
export function nameHere(word: string, known: readonly string[]): string | undefined {
  const plain = word.toLowerCase().replace(/[-_]/g, "");
  const spelled = known.find((name) => name.toLowerCase() === plain);
  const former = formerNames[word];
  const names = [...(spelled ? [spelled] : []), ...(former ? [former] : []), ...(elsewhere[plain] ?? [])];
  return names.find((name) => known.includes(name));
}

/** The name that was probably meant: called otherwise elsewhere, or misspelt. */
export const nameMeant = (word: string, known: readonly string[]): string | undefined =>
  nameHere(word, known) ?? nearest(word, known);

/** Values under the names that settings have today; the former name beside it is refused. */
export function withNames<T extends object>(values: T, known: readonly string[], source: string): T {
  const given = values as Readonly<Record<string, unknown>>;
  const former = Object.keys(given).filter((key) => isFormer(key, known) && given[key] !== undefined);
  if (former.length === 0) return values;
  const twice = former.find((key) => given[formerNames[key]!] !== undefined);
  if (twice !== undefined) {
    const name = formerNames[twice]!;
    reject(
      { who: source, needed: name, got: `${name} and ${twice}, its former name`, remedy: `leave ${twice} out` },
      2,
    );
  }
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [former.includes(key) ? formerNames[key]! : key, value]),
  ) as T;
}

const isFormer = (key: string, known: readonly string[]) =>
  formerNames[key] !== undefined && known.includes(formerNames[key]) && !known.includes(key);
