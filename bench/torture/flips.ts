/** Bits turned over in every file of run folders and caches: what is read afterwards is the same, or the damage is reported. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LayerwiseError } from "../../src/base/errors.ts";
import type { RandomStream } from "../../src/base/random.ts";
import { sha256 } from "../../src/files/checksum.ts";
import { encodeJson } from "../../src/runs/event-log.ts";
import { RunFolder } from "../../src/runs/folder.ts";
import { parseYaml } from "../../src/runs/settings-file.ts";
import { keptTokenizer } from "../../src/tasks/open-run.ts";
import { keptCosts, keptResult } from "../../src/tasks/search/result.ts";
import { openCorpus } from "../../src/text/files/corpus.ts";
import { tokensOf } from "../../src/text/files/tokens.ts";
import { chooseTokenizer } from "../../src/text/files/trained-tokenizer.ts";
import type { TrainState } from "../../src/train/events.ts";

/** What was found: `same` content, damage that was `reported`, or neither. */
export interface FlipCounts {
  same: number;
  reported: number;
  silent: number;
  crashed: number;
}

/** Reads all there is; what a person would be told goes to `say`. */
type Reading = (path: string, say: (text: string) => void) => Promise<string>;

const stateText = ({ progress, weights, moments }: TrainState) =>
  [
    encodeJson(progress),
    ...[...weights, ...moments].map(([name, { data }]) => `${name} ${sha256(bytesOf(data))}`),
  ].join();
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => new Uint8Array(buffer, byteOffset, byteLength);

const readRun: Reading = async (path, say) => {
  const run = await RunFolder.read(path);
  const { events, damaged } = run.eventLog();
  if (damaged > 0) say(`${damaged} lines are damaged`);
  const places = await run.checkpoints();
  const parts = [encodeJson(parseYaml(run.config, path)), encodeJson(run.environment), encodeJson(events)];
  for (const choice of ["last", ...places.map(({ step }) => step)] as const) {
    const { step, state, warnings } = await run.readCheckpoint(choice);
    parts.push(`${step} ${stateText(state)}`);
    for (const text of warnings) say(text);
  }
  parts.push(encodeJson(places), (await keptTokenizer(path))?.sha256 ?? "none");
  parts.push(encodeJson((await keptResult(path)) ?? null), encodeJson((await keptCosts(path)) ?? null));
  for (const text of run.warnings) say(text);
  return parts.join("\n");
};

const readCache: Reading = async (cache, say) => {
  const corpus = await openCorpus("fixtures/runs/data/text");
  const opened = await chooseTokenizer(undefined, corpus, { cache, pieces: 150, say });
  const { ids } = await tokensOf(corpus, "valid", opened, { cache, warn: say });
  return `${opened.sha256} ${sha256(bytesOf(ids))}`;
};

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile() && !name.includes(".tmp"))
    .sort();

/** Turns `count` random bits of random files in a copy of `folder`, one at a time, and reads it after each. */
export async function flip(
  folder: string,
  copy: string,
  count: number,
  random: RandomStream,
  until: () => boolean,
): Promise<FlipCounts & { faults: string[] }> {
  const read = existsSync(join(folder, "config.yaml")) ? readRun : readCache;
  const found = { same: 0, reported: 0, silent: 0, crashed: 0, faults: [] as string[] };
  cpSync(folder, copy, { recursive: true });
  const expected = await read(copy, () => {});
  const files = filesIn(copy);
  for (let i = 0; i < count && !until(); i++) {
    const file = files[random.integer(files.length)]!;
    const place = join(copy, file);
    const bytes = readFileSync(place);
    if (bytes.length === 0) continue;
    const [at, bit] = [random.integer(bytes.length), random.integer(8)];
    const turned = Buffer.from(bytes);
    turned[at]! ^= 1 << bit;
    writeFileSync(place, turned);
    const outcome = await outcomeOf(read, copy, expected);
    found[outcome]++;
    if (outcome === "silent" || outcome === "crashed") found.faults.push(`${outcome}: ${file}, byte ${at}, bit ${bit}`);
    rmSync(copy, { recursive: true });
    cpSync(folder, copy, { recursive: true });
  }
  return found;
}

async function outcomeOf(read: Reading, path: string, expected: string): Promise<keyof FlipCounts> {
  const said: string[] = [];
  try {
    const same = (await read(path, (text) => said.push(text))) === expected;
    return said.length > 0 ? "reported" : same ? "same" : "silent";
  } catch (error) {
    return error instanceof LayerwiseError ? "reported" : "crashed";
  }
}
