/** Names of settings: those that older versions had, which still work, and those that other tools have. */
import { reject } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";

/** What settings were called before: former name → name. The one table of renames, for flags, files, programs and old runs. */
export const formerNames: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  hidden: "feedForward",
});

/** What other tools call a setting, or a flag that is none: the names it may have here, then the others in lower case without hyphens. */
const elsewhere: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ["rate", "lr learningrate maxlr"],
    ["batch", "batchsize bs"],
    ["depth blocks", "layers numlayers nlayer nlayers numhiddenlayers"],
    ["length", "seqlen seqlength sequencelength contextlength contextsize blocksize maxseqlength maxlength"],
    ["memory", "memlen"],
    ["optimiser", "optimizer"],
    ["width", "hiddensize dmodel dim nembd embeddim"],
    ["feedForward", "ffn dff ffndim intermediatesize"],
    ["heads", "nhead nheads numheads numattentionheads"],
    ["pieces", "vocabsize vocab"],
    ["steps", "maxsteps numsteps iters maxiters iterations"],
    ["epochs", "numepochs numtrainepochs"],
    ["accumulate", "gradaccum gradientaccumulationsteps"],
    ["warmup", "warmupsteps warmupiters"],
    ["weightDecay", "wd decay"],
    ["clipNorm", "gradclip maxgradnorm"],
    ["schedule", "scheduler lrschedule lrscheduler"],
    ["evaluateEvery", "evalevery evalinterval evalsteps"],
    ["checkpointEvery", "saveevery savesteps"],
    ["smoothing", "labelsmoothing"],
    ["threads", "numthreads"],
    ["corpus", "dataset text"],
    ["data", "datadir"],
    ["tokens", "maxtokens maxnewtokens numtokens"],
    ["out", "output outdir outputdir rundir"],
  ].flatMap(([here, others]) => others!.split(" ").map((word) => [word, here!.split(" ")] as const)),
);

/** The name here of what is called otherwise in older versions or in other tools, if one of `known` is it. */
export function nameHere(word: string, known: readonly string[]): string | undefined {
  const plain = word.toLowerCase().replace(/[-_]/g, "");
  const spelled = known.find((name) => name.toLowerCase() === plain);
  const former = formerNames[word];
  const names = elsewhere.get(plain) ?? [];
  // Of several names the one that is told first: of a search how many blocks, of others how deep.
  return spelled ?? known.find((name) => name === former) ?? known.find((name) => names.includes(name));
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

/** How a command line writes a setting or an option: `evaluateEvery` is --evaluate-every. */
export const flagOf = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const camel = (flag: string) => flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The words of a command line with flags as they are called here. */
export interface NamedWords {
  readonly words: readonly string[];
  /** A line for each flag that was called otherwise. */
  readonly hints: readonly string[];
}

/** Names the flags among words as a program has them; what is the value of another flag, or comes after --, stays as it is. */
export function namedFlags(
  words: readonly string[],
  flags: readonly { readonly long: string; readonly takesValue: boolean }[],
): NamedWords {
  const known = flags.map(({ long }) => camel(long.slice(2)));
  const hints = new Set<string>();
  let [isValue, isRest] = [false, false];
  const named = words.map((word) => {
    const [, flag, value = ""] = /^--([a-z][\w-]*)(=.*)?$/is.exec(word) ?? [];
    isRest ||= word === "--" && !isValue;
    if (flag === undefined || isValue || isRest) {
      isValue = false;
      return word;
    }
    const own = known.includes(camel(flag)) ? undefined : nameHere(camel(flag), known);
    const long = own === undefined ? `--${flag}` : flagOf(own);
    if (own !== undefined) hints.add(`--${flag} is called ${long} here`);
    isValue = value === "" && flags.some((each) => each.long === long && each.takesValue);
    return long + value;
  });
  return { words: named, hints: [...hints] };
}
