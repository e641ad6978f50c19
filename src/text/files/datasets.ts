/** Published datasets: where they are, what they hold, and the SHA-256 of every file that is kept. */
import { existsSync } from "node:fs";
import { readFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { reject, rejectFile } from "../../base/errors.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { sha256, sha256OfFile } from "../../files/checksum.ts";
import { download } from "../../files/download.ts";
import { asIs, type Contents, type Dataset, fromZip, lastPart, type Source } from "./dataset-source.ts";
import { glueDataset } from "./glue-dataset.ts";

export type { Contents, Dataset, Source } from "./dataset-source.ts";

const MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw";

/** The datasets that can be fetched, by name. */
export const DATASETS: Record<string, Dataset> = {
  "wikitext-2": {
    about: "WikiText-2, word level: 2.1 million training tokens (CC BY-SA 3.0)",
    sources: [
      fromZip("https://wikitext.smerity.com/wikitext-2-v1.zip", {
        "train.txt": "wikitext-2/wiki.train.tokens",
        "valid.txt": "wikitext-2/wiki.valid.tokens",
        "test.txt": "wikitext-2/wiki.test.tokens",
      }),
    ],
    files: {
      "train.txt": "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
      "valid.txt": "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
      "test.txt": "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
    },
  },
  glue: glueDataset,
  multi30k: {
    about: "Multi30k: 29,000 English and German sentence pairs (research use)",
    sources: ["train", "val", "test_2016_flickr"].flatMap((part) =>
      ["en", "de"].map((language) => asIs(`${MULTI30K}/${part}.${language}.gz`)),
    ),
    files: {
      "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
      "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
      "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
      "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
      "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
      "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    },
  },
};

/** Where a dataset comes from and goes to. */
export interface FetchOptions {
  /** Folder to put the dataset's folder in. */
  data: string;
  /** Base address instead of the publishers': the same file names are asked of it. */
  from?: string | undefined;
  /** Keep files whose checksum is not the known one, and report theirs. */
  unverified?: boolean | undefined;
  /** Fetch even if the files are there. */
  force?: boolean | undefined;
  /** Of a dataset of tasks only these, such as CoLA of glue. Default: all. */
  tasks?: readonly string[] | undefined;
  onProgress?: (file: string, done: number, total: number | undefined) => void;
}

/** A file of a dataset, as it is now on disk. */
export interface FetchedFile {
  path: string;
  bytes: number;
  sha256: string;
  verified: boolean;
}

/** Files without a checksum of their own that came out of a genuine archive, in the form of `sha256sum`. */
const SUMS_FILE = "SHA256SUMS";

/** Fetches a dataset; its files appear only after all of them were received and checked. */
export async function fetchDataset(name: string, options: FetchOptions): Promise<FetchedFile[]> {
  const dataset = partOf(name, options.tasks);
  const folder = join(options.data, name);
  const known = await knownSums(dataset, folder);
  if (!options.force && (await holds(known, folder))) return describe(known, folder, await readAll(known, folder));
  const isNew = !existsSync(options.data);
  try {
    return await fetchAll(name, dataset, folder, options);
  } catch (error) {
    for (const each of [folder, ...(isNew ? [options.data] : [])]) await removeEmpty(each);
    throw error;
  }
}

async function fetchAll(name: string, dataset: Dataset, folder: string, options: FetchOptions) {
  const received = join(folder, ".download");
  const fetched: Received[] = [];
  try {
    for (const source of dataset.sources) fetched.push(await fetchSource(source, received, options));
  } finally {
    await removeEmpty(received);
  }
  await rm(received, { recursive: true, force: true });
  const contents: Contents = Object.assign({}, ...fetched.map((each) => each.contents));
  const sums = Object.assign({}, dataset.files, ...fetched.map((each) => vouchedFor(each, dataset)));
  const files = describe(sums, folder, contents);
  if (!options.unverified) refuseUnverified(name, files, dataset, fetched);
  for (const [path, content] of Object.entries(contents)) await writeAtomically(join(folder, path), content);
  await keepSums(sums, dataset, folder);
  return files;
}

/** A folder that nothing is in says nothing. */
const removeEmpty = (folder: string) => rmdir(folder).catch(() => {});

/** SHA-256 by path, null where none is known. */
type Sums = Readonly<Record<string, string | null>>;

/** Checksums of files that have none of their own, out of a source that is what it should be. */
function vouchedFor({ contents, stranger }: Received, { files }: Dataset): Sums {
  const bare = Object.entries(contents).filter(([path]) => stranger === undefined && files[path] === null);
  return Object.fromEntries(bare.map(([path, content]) => [path, sha256(content)]));
}

/** The checksums of a dataset's files, and those that were written down when they were fetched. */
async function knownSums({ files }: Dataset, folder: string): Promise<Sums> {
  const kept = await sumsIn(folder);
  return Object.fromEntries(Object.entries(files).map(([path, sum]) => [path, sum ?? kept[path] ?? null]));
}

async function sumsIn(folder: string): Promise<Sums> {
  const file = join(folder, SUMS_FILE);
  if (!existsSync(file)) return {};
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

async function keepSums(sums: Sums, { files }: Dataset, folder: string): Promise<void> {
  const found = Object.entries(sums).filter(([path, sum]) => sum !== null && files[path] === null);
  if (found.length === 0) return;
  const all = Object.entries({ ...(await sumsIn(folder)), ...Object.fromEntries(found) });
  await writeAtomically(join(folder, SUMS_FILE), all.map(([path, sum]) => `${sum}  ${path}\n`).join(""));
}

function datasetNamed(name: string): Dataset {
  const dataset = Object.hasOwn(DATASETS, name) ? DATASETS[name] : undefined;
  if (dataset) return dataset;
  return reject({ who: "download", needed: `one of ${Object.keys(DATASETS).join(", ")}`, got: name }, 2);
}

/** A dataset, or those of its tasks that are asked for. */
function partOf(name: string, tasks: readonly string[] | undefined): Dataset {
  const dataset = datasetNamed(name);
  if (!tasks) return dataset;
  const taskOf = (path: string) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : undefined);
  const known = [...new Set(Object.keys(dataset.files).flatMap((path) => taskOf(path) ?? []))];
  const wanted = tasks.map((task) => known.find((each) => each.toLowerCase() === task.toLowerCase()));
  const stranger = tasks.find((_, i) => wanted[i] === undefined);
  if (stranger !== undefined || tasks.length === 0) {
    const needed = known.length > 0 ? `tasks of ${known.join(", ")}` : "no tasks: it is one text";
    reject({ who: `download / ${name}`, needed, got: stranger ?? "none" }, 2);
  }
  const has = (path: string) => wanted.includes(taskOf(path));
  return {
    ...dataset,
    sources: dataset.sources.filter(({ files }) => files.some(has)),
    files: Object.fromEntries(Object.entries(dataset.files).filter(([path]) => has(path))),
  };
}

/** Whether all files of a dataset are in a folder, with the known checksums. */
export const holdsDataset = async (name: string, folder: string): Promise<boolean> =>
  holds(await knownSums(datasetNamed(name), folder), folder);

async function holds(sums: Sums, folder: string): Promise<boolean> {
  for (const [path, known] of Object.entries(sums)) {
    if (!existsSync(join(folder, path)) || (await sha256OfFile(join(folder, path))) !== known) return false;
  }
  return true;
}

async function readAll(sums: Sums, folder: string): Promise<Contents> {
  const contents: Contents = {};
  for (const path of Object.keys(sums)) contents[path] = await readFile(join(folder, path));
  return contents;
}

/** What came of a source. */
interface Received {
  readonly contents: Contents;
  /** Of what was received, the first that is not what it should be, or that nothing is known of. */
  readonly stranger: { readonly name: string; readonly needed: string; readonly got: string } | undefined;
}

async function fetchSource(source: Source, folder: string, { from, onProgress }: FetchOptions): Promise<Received> {
  const parts: Uint8Array[] = [];
  for (const url of source.urls) {
    const path = join(folder, lastPart(url));
    const report = (done: number, total: number | undefined) => onProgress?.(lastPart(url), done, total);
    if (!existsSync(path)) await download(from ? otherAddress(url, from) : url, path, { onProgress: report });
    parts.push(await readFile(path));
  }
  try {
    return { contents: source.unpack(parts), stranger: strangerIn(source, parts) };
  } catch (error) {
    // What cannot be unpacked would fail again next time.
    for (const url of source.urls) await rm(join(folder, lastPart(url)), { force: true });
    throw error;
  }
}

function strangerIn({ urls, sums = [] }: Source, parts: readonly Uint8Array[]): Received["stranger"] {
  const got = parts.map((part) => sha256(part));
  const i = got.findIndex((sum, k) => sum !== sums[k]);
  return i < 0 ? undefined : { name: lastPart(urls[i]!), needed: sums[i] ?? "unknown", got: got[i]! };
}

function otherAddress(url: string, from: string): string {
  return from.endsWith(`/${lastPart(url)}`) ? from : `${from.replace(/\/+$/, "")}/${lastPart(url)}`;
}

function describe(sums: Sums, folder: string, contents: Contents): FetchedFile[] {
  return Object.entries(contents).map(([path, content]) => {
    const sum = sha256(content);
    return { path: join(folder, path), bytes: content.length, sha256: sum, verified: sum === sums[path] };
  });
}

function refuseUnverified(
  name: string,
  files: readonly FetchedFile[],
  dataset: Dataset,
  fetched: readonly Received[],
): void {
  const bad = files.find(({ verified }) => !verified);
  if (!bad) return;
  const path = Object.keys(dataset.files).find((file) => bad.path.endsWith(join(name, file)))!;
  const stranger = fetched.find(({ contents }) => path in contents)?.stranger;
  const own = dataset.files[path] ?? null;
  rejectFile({
    who: bad.path,
    needed: own === null ? `${stranger?.name} with SHA-256 ${stranger?.needed}` : `content with SHA-256 ${own}`,
    got: own === null ? `${stranger?.got}` : bad.sha256,
    remedy: "nothing was kept; name another source with --from URL, or accept it with --unverified",
  });
}
