/** Published datasets: where they are, what they hold, and the SHA-256 of every file that is kept. */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { reject, rejectFile } from "../../base/errors.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { sha256, sha256OfFile } from "../../files/checksum.ts";
import { download } from "../../files/download.ts";
import { openZip } from "../../format/zip.ts";

/** Files by name. */
export type Contents = Record<string, Uint8Array>;

/** Addresses whose contents together give some files of the dataset. */
export interface Source {
  urls: string[];
  /** Paths of the files it gives. */
  files: readonly string[];
  unpack(contents: Uint8Array[]): Contents;
}

/** A dataset that can be fetched. */
export interface Dataset {
  about: string;
  sources: Source[];
  /** Path under the dataset's folder → SHA-256. */
  files: Record<string, string>;
}

const GLUE = "https://dl.fbaipublicfiles.com/glue/data";
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
  glue: {
    about: "GLUE: CoLA, MRPC, RTE, SST-2, STS-B, WNLI (research use; see each task's licence)",
    sources: [
      ...["CoLA", "RTE", "SST-2", "STS-B", "WNLI"].map((task) =>
        fromZip(`${GLUE}/${task}.zip`, {
          [`${task}/train.tsv`]: `${task}/train.tsv`,
          [`${task}/dev.tsv`]: `${task}/dev.tsv`,
        }),
      ),
      {
        urls: [
          "https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_train.txt",
          `${GLUE}/mrpc_dev_ids.tsv`,
        ],
        files: ["MRPC/train.tsv", "MRPC/dev.tsv"],
        unpack: ([pairs, ids]) => splitParaphrases(textOf(pairs!), textOf(ids!)),
      },
    ],
    files: {
      "CoLA/train.tsv": "cb368ebeb9f27d7ad03720d27ddc95687a311bdb100781a2fe59a5f5b1bc0624",
      "CoLA/dev.tsv": "8c013e21dc39957cac37378d87bebe225b694a0d5fe13eded66c2856628833fd",
      "MRPC/train.tsv": "69abcedee3cf738c6ce58d772e43e1b7cdf5b4edee4aceda459c0d9f4e5599f3",
      "MRPC/dev.tsv": "9e8f284788040f7c9ecde2e1b3c07237c756f926bd9ef8548ef5d34b56f69f17",
      "RTE/train.tsv": "41e3a9b063433392343fad9e962cf2f58b681c78d8f71592f4186f0837246c5c",
      "RTE/dev.tsv": "80230dfa1347282e7b532b06a1004a76a710087541189bf874223ddf0e3819fb",
      "SST-2/train.tsv": "48eac26399f8456935f81dd9e3a745c1430adb6c62e233ccfe22db4a0d15d1d1",
      "SST-2/dev.tsv": "54a9c12c77e402fc14d6a66a506f24d999f596b0176eb777c972cccc2f9cc4b0",
      "STS-B/train.tsv": "41c4d978b6162abdcada7e49a982211954cca5459c228db478af333124b257a2",
      "STS-B/dev.tsv": "fe7dc0632a5033562f3cadff991f6e8d9b9b6311861660e78c3c82eb7db67f59",
      "WNLI/train.tsv": "9a88e9d54b6861cc796a088e9acf4f5f65064a9ef65ae6fa7a688b28391e5c9a",
      "WNLI/dev.tsv": "cba00490596dd14be8cf53b4f53bb744abe3a7b89f81ab210528d80225338ed5",
    },
  },
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

/** Members of a zip archive: path here → path in the archive. */
function fromZip(url: string, members: Record<string, string>): Source {
  return {
    urls: [url],
    files: Object.keys(members),
    unpack([archive]) {
      const opened = openZip(archive!, url);
      return Object.fromEntries(Object.entries(members).map(([path, member]) => [path, opened.read(member)]));
    },
  };
}

/** A file kept under its own name. */
function asIs(url: string): Source {
  return { urls: [url], files: [lastPart(url)], unpack: ([content]) => ({ [lastPart(url)]: content! }) };
}

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
/** Hoisted, for the table above uses it. */
function lastPart(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

/** MRPC comes as one list of pairs and a list of those that form the development set. */
export function splitParaphrases(pairs: string, devIds: string): Contents {
  const isDev = new Set(devIds.split(/\r?\n/).map((line) => line.trim()));
  const [header, ...rows] = pairs.split(/\r?\n/).filter((row) => row !== "");
  const idsOf = (row: string) => row.split("\t").slice(1, 3).join("\t");
  const file = (keep: boolean) =>
    Buffer.from([header, ...rows.filter((row) => isDev.has(idsOf(row)) === keep), ""].join("\n"));
  return { "MRPC/train.tsv": file(false), "MRPC/dev.tsv": file(true) };
}

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

/** Fetches a dataset; its files appear only after all of them were received and checked. */
export async function fetchDataset(name: string, options: FetchOptions): Promise<FetchedFile[]> {
  const dataset = partOf(name, options.tasks);
  const folder = join(options.data, name);
  if (!options.force && (await holds(dataset, folder)))
    return describe(dataset, folder, await readAll(dataset, folder));
  const received = join(folder, ".download");
  const contents: Contents = {};
  for (const source of dataset.sources) Object.assign(contents, await fetchSource(source, received, options));
  await rm(received, { recursive: true, force: true });
  const files = describe(dataset, folder, contents);
  if (!options.unverified) refuseUnverified(name, files, dataset);
  for (const [path, content] of Object.entries(contents)) await writeAtomically(join(folder, path), content);
  return files;
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
export const holdsDataset = (name: string, folder: string): Promise<boolean> => holds(datasetNamed(name), folder);

async function holds({ files }: Dataset, folder: string): Promise<boolean> {
  for (const [path, known] of Object.entries(files)) {
    if (!existsSync(join(folder, path)) || (await sha256OfFile(join(folder, path))) !== known) return false;
  }
  return true;
}

async function readAll(dataset: Dataset, folder: string): Promise<Contents> {
  const contents: Contents = {};
  for (const path of Object.keys(dataset.files)) contents[path] = await readFile(join(folder, path));
  return contents;
}

async function fetchSource(source: Source, folder: string, { from, onProgress }: FetchOptions): Promise<Contents> {
  const parts: Uint8Array[] = [];
  for (const url of source.urls) {
    const path = join(folder, lastPart(url));
    const report = (done: number, total: number | undefined) => onProgress?.(lastPart(url), done, total);
    if (!existsSync(path)) await download(from ? otherAddress(url, from) : url, path, { onProgress: report });
    parts.push(await readFile(path));
  }
  try {
    return source.unpack(parts);
  } catch (error) {
    // What cannot be unpacked would fail again next time.
    for (const url of source.urls) await rm(join(folder, lastPart(url)), { force: true });
    throw error;
  }
}

function otherAddress(url: string, from: string): string {
  return from.endsWith(`/${lastPart(url)}`) ? from : `${from.replace(/\/+$/, "")}/${lastPart(url)}`;
}

function describe(dataset: Dataset, folder: string, contents: Contents): FetchedFile[] {
  return Object.entries(contents).map(([path, content]) => {
    const sum = sha256(content);
    return { path: join(folder, path), bytes: content.length, sha256: sum, verified: sum === dataset.files[path] };
  });
}

function refuseUnverified(name: string, files: readonly FetchedFile[], dataset: Dataset): void {
  const bad = files.find(({ verified }) => !verified);
  if (!bad) return;
  const path = Object.keys(dataset.files).find((file) => bad.path.endsWith(join(name, file)));
  rejectFile({
    who: bad.path,
    needed: `content with SHA-256 ${path ? dataset.files[path] : "unknown"}`,
    got: bad.sha256,
    remedy: "nothing was kept; name another source with --from URL, or accept it with --unverified",
  });
}
