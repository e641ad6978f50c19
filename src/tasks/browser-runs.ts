/** Run folders on a page: the very folders of the command line, kept by the browser, downloaded and uploaded as zip archives. */
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Zippable, zipSync } from "fflate";
import { reject, rejectFile } from "../base/errors.ts";
import { check, checkOptions, text } from "../base/options.ts";
import { keepDisk } from "../disk/kept.ts";
import { absolute, disk } from "../disk/memory.ts";
import { writeAtomically } from "../files/atomic.ts";
import { openZip, type Zip } from "../format/zip.ts";
import { RunFolder } from "../runs/folder.ts";
import { glanceAt, type RunGlance } from "../runs/glance.ts";
import { parseYaml } from "../runs/settings-file.ts";
import { keptTokenizer } from "./open-run.ts";

/** What a page gives its runs. */
export interface BrowserRunsOptions {
  /** The package's own text, for runs whose corpus is `books`: corpus/books/train.txt, valid.txt and test.txt. */
  readonly books?: Readonly<Record<"train" | "valid" | "test", string>> | undefined;
}

/** The runs that the browser keeps for this page's origin. `Run.create`, `Run.open` and `Run.resume` take their names. */
export interface BrowserRuns {
  /** All of them, the newest first. */
  list(): Promise<RunGlance[]>;
  /** Takes in the run folders of a zip archive, whole or not at all, and gives their names; what is damaged is refused. */
  upload(zip: Uint8Array, options?: { readonly name?: string | undefined }): Promise<string[]>;
  /** A run as a zip archive: its folder, that of its baseline, and its text where that lies beside it. */
  download(name: string): Promise<Uint8Array>;
  remove(name: string): Promise<void>;
  /** Puts a text beside the runs: a run whose corpus is that name takes it along. */
  writeText(name: string, content: string): Promise<void>;
  /** Comes back when the browser has kept everything. */
  keep(): Promise<void>;
  /** Keeps everything and lets another tab open the runs. */
  close(): Promise<void>;
}

const WHO = "browserRuns";
declare const LAYERWISE_VERSION: string;

/** Opens the runs that this browser keeps for this origin; one tab at a time has them. */
export async function browserRuns(options: BrowserRunsOptions = {}): Promise<BrowserRuns> {
  checkOptions(WHO, options, ["books"]);
  const release = await takeTurn();
  const kept = await keepDisk(WHO);
  disk.makeFolder("/layerwise/corpus/books", true);
  disk.write("/layerwise/package.json", encoded(JSON.stringify({ version: LAYERWISE_VERSION })));
  for (const [split, content] of Object.entries(options.books ?? {}))
    disk.write(`/layerwise/corpus/books/${split}.txt`, encoded(content));
  return {
    list: listed,
    upload: (zip, { name } = {}) => uploaded(zip, name),
    download: downloaded,
    remove: async (name) => {
      await rm(runNamed(name), { recursive: true });
      await disk.keep();
    },
    writeText: async (name, content) => {
      await writeAtomically(plainName(name), content);
      await disk.keep();
    },
    keep: () => disk.keep(),
    close: async () => {
      await kept.end();
      release();
    },
  };
}

const encoded = (content: string) => new TextEncoder().encode(content);

interface Locks {
  request(name: string, options: { ifAvailable: true }, use: (lock: unknown) => Promise<void>): Promise<void>;
}

const PATIENCE_MS = 2000;

/** A tab that is being closed may still hold the runs for a moment. */
async function takeTurn(): Promise<() => void> {
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {};
  if (!locks) return () => {};
  for (const until = Date.now() + PATIENCE_MS; ; ) {
    const release = await new Promise<(() => void) | undefined>((got) => {
      const hold = (lock: unknown) =>
        new Promise<void>((done) => {
          if (lock) return got(done);
          got(undefined);
          done();
        });
      void locks.request("layerwise-runs", { ifAvailable: true }, hold);
    });
    if (release) return release;
    if (Date.now() > until) {
      const remedy = "close the other tab, or train there";
      return reject({ who: WHO, needed: "runs that no other tab has open", got: "another tab has them", remedy });
    }
    await new Promise((later) => setTimeout(later, 100));
  }
}

/** A name without folders. */
function plainName(name: string): string {
  check("name", name, text);
  if (/^[^./\\][^/\\]*$/.test(name)) return name;
  return reject({ who: "name", needed: "a name without folders", got: name }, 2);
}

function runNamed(name: string): string {
  if (existsSync(join(plainName(name), "config.yaml"))) return name;
  return reject({ who: name, needed: "a run that the browser keeps", got: "none of that name" }, 2);
}

async function listed(): Promise<RunGlance[]> {
  const names = (await readdir("/runs")).filter((name) => existsSync(join(name, "config.yaml")));
  const glances = await Promise.all(names.map((name) => glanceAt(name)));
  return glances.sort((a, b) => b.changedMs - a.changedMs);
}

/** Files that belong to nobody else: no locks, nothing half-written. */
const belongs = (path: string) => !path.endsWith("/lock") && !path.split("/").some((part) => part.startsWith("."));

async function downloaded(name: string): Promise<Uint8Array> {
  const run = await RunFolder.read(runNamed(name));
  const { corpus } = parseYaml(run.config, `${name}/config.yaml`);
  const folders = [name, `${name}-baseline`].filter((folder) => existsSync(join(folder, "config.yaml")));
  const inner = folders.flatMap((folder) => disk.list(absolute(folder), true).map((file) => join(folder, file)));
  const beside = typeof corpus === "string" && !corpus.includes("/") && existsSync(corpus) ? [corpus] : [];
  const members: Zippable = {};
  for (const path of [...inner.filter((each) => statSync(each).isFile() && belongs(each)), ...beside]) {
    const level = path.endsWith(".safetensors") ? 0 : 6;
    members[path] = [await readFile(path), { level, mtime: statSync(path).mtimeMs }];
  }
  return zipSync(members);
}

/** Unpacks runs where they are to be, and removes them again where one is not whole. */
async function uploaded(bytes: Uint8Array, name: string | undefined): Promise<string[]> {
  const zip = openZip(bytes, name ?? "upload");
  const runs = runsIn(zip, name);
  for (const each of runs.values()) refuseTaken(each);
  const members = [...filesIn(zip, runs)].map(([path, target]) => [target, zip.read(path)] as const);
  const files = members.filter(([target, content]) => isNew(target, content));
  try {
    for (const [target, content] of files) {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    for (const each of runs.values()) await checkRun(each);
  } catch (error) {
    for (const [target] of files) await rm(target, { force: true });
    for (const each of runs.values()) await rm(each, { recursive: true, force: true });
    throw error;
  }
  await disk.keep();
  return [...runs.values()];
}

/** Folders of the archive that hold a run, by what they are to be called. */
function runsIn({ names }: Zip, name: string | undefined): Map<string, string> {
  const folders = names.flatMap((path) => /^(?:(.*)\/)?config\.yaml$/.exec(path)?.slice(1, 2) ?? []);
  const outer = folders.filter(
    (folder, i) => !folders.some((each, j) => j !== i && isWithin(folder ?? "", each ?? "")),
  );
  if (outer.length === 0) {
    const got = names.slice(0, 3).join(", ") || "an empty archive";
    rejectFile({
      who: name ?? "upload",
      needed: "a run folder with its config.yaml",
      got,
      remedy: "zip the folder of a run",
    });
  }
  const only = outer.length === 1;
  const called = (folder: string) =>
    plainName(only && name !== undefined ? name : folder.split("/").at(-1) || "uploaded");
  return new Map(outer.map((folder = "") => [folder, called(folder)]));
}

const isWithin = (folder: string, other: string) => other === "" || folder.startsWith(`${other}/`);

function refuseTaken(name: string): void {
  if (!existsSync(name)) return;
  const remedy = "remove that one, or upload it under another name";
  reject({ who: name, needed: "a name that is free", got: "a run of that name", remedy }, 2);
}

/** A text that is there already may belong to other runs, so it has to be the same. */
function isNew(path: string, content: Uint8Array): boolean {
  if (!existsSync(path)) return true;
  const found = disk.read(absolute(path));
  if (found.length === content.length && found.every((byte, i) => byte === content[i])) return false;
  const remedy = "remove the runs that use it, or rename the text in the archive and in config.yaml";
  return reject({ who: path, needed: "the text of that name that is here already", got: "another", remedy }, 2);
}

/** Members of the archive, and where they go: files of runs, and texts beside them. */
function* filesIn({ names }: Zip, runs: ReadonlyMap<string, string>): Generator<[string, string]> {
  for (const path of names.filter((each) => !each.endsWith("/"))) {
    if (path.startsWith("/") || path.includes("\\") || path.split("/").includes(".."))
      rejectFile({ who: "upload", needed: "names within the archive", got: path });
    const folder = [...runs.keys()].find((each) => each === "" || path.startsWith(`${each}/`));
    if (folder !== undefined)
      yield [path, join(runs.get(folder)!, folder === "" ? path : path.slice(folder.length + 1))];
    else if (belongs(path) && [...runs.keys()].some((each) => dirname(each) === dirname(path)))
      yield [path, path.slice(path.lastIndexOf("/") + 1)];
  }
}

/** Reads all that a run is made of, by the rules of the command line. */
async function checkRun(path: string): Promise<void> {
  const run = await RunFolder.read(path);
  parseYaml(run.config, `${path}/config.yaml`);
  for (const { step } of await run.checkpoints()) await run.readCheckpoint(step);
  await keptTokenizer(path);
}
