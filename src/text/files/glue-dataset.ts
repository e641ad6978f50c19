/** GLUE as its publishers keep it: an archive per task, MRPC in three lists, the diagnostic set as a table. */
import { asIs, type Contents, type Dataset, fromZip, type Source } from "./dataset-source.ts";

const GLUE = "https://dl.fbaipublicfiles.com/glue/data";
const SENTEVAL = "https://dl.fbaipublicfiles.com/senteval/senteval_data";

const usual = ["train", "dev", "test"];
const twofold = ["train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched"];

const archived = (task: string, archive: string, sum: string, splits: readonly string[] = usual): Source => {
  const paths = splits.map((split) => `${task}/${split}.tsv`);
  return fromZip(`${GLUE}/${archive}`, Object.fromEntries(paths.map((path) => [path, path])), sum);
};

const paraphrases: Source = {
  urls: [`${SENTEVAL}/msr_paraphrase_train.txt`, `${SENTEVAL}/msr_paraphrase_test.txt`, `${GLUE}/mrpc_dev_ids.tsv`],
  sums: [
    "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89",
    "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784",
    "971d7767d81b997fd9060ade0ec23c4fc31cbb226a55d1bd4a1bac474eb81dc7",
  ],
  files: ["MRPC/train.tsv", "MRPC/dev.tsv", "MRPC/test.tsv"],
  unpack: ([pairs, test, ids]) => ({
    ...splitParaphrases(textOf(pairs!), textOf(ids!)),
    "MRPC/test.tsv": askedParaphrases(textOf(test!)),
  }),
};

/** The checksums of archives are those that other projects publish for the same addresses. */
const sources: Source[] = [
  archived("CoLA", "CoLA.zip", "f212fcd832b8f7b435fb991f101abf89f96b933ab400603bf198960dfc32cbff"),
  archived("SST-2", "SST-2.zip", "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa"),
  paraphrases,
  archived("STS-B", "STS-B.zip", "e60a6393de5a8b5b9bac5020a1554b54e3691f9d600b775bd131e613ac179c85"),
  archived("QQP", "QQP-clean.zip", "40e7c862c04eb26ee04b67fd900e76c45c6ba8e6d8fab4f8f1f8072a1a3fbae0"),
  archived("MNLI", "MNLI.zip", "e7c1d896d26ed6caf700110645df426cc2d8ebf02a5ab743d5a5c68ac1c83633", twofold),
  archived("QNLI", "QNLIv2.zip", "e634e78627a29adaecd4f955359b22bf5e70f2cbd93b493f2d624138a0c0e5f5"),
  archived("RTE", "RTE.zip", "6bf86de103ecd335f3441bd43574d23fef87ecc695977a63b82d5efb206556ee"),
  archived("WNLI", "WNLI.zip", "ae0e8e4d16f4d46d4a0a566ec7ecceccfd3fbfaa4a7a4b4e02848c0f2561ac46"),
  asIs(`${GLUE}/AX.tsv`, "AX/AX.tsv"),
];

const sums: Readonly<Record<string, string>> = {
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
  "AX/AX.tsv": "0e13510b1bb14436ff7e2ee82338f0efb0133ecf2e73507a697dc210db3f05fd",
};

/** All nine tasks and the diagnostic set, test texts included. */
export const glueDataset: Dataset = {
  about: "GLUE: nine tasks and the diagnostic set, test texts included (research use; see each task's licence)",
  sources,
  files: Object.fromEntries(sources.flatMap(({ files }) => files).map((path) => [path, sums[path] ?? null])),
};

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const rowsOf = (text: string) => text.split(/\r?\n/).filter((row) => row !== "");
const fileOf = (rows: readonly string[]) => Buffer.from([...rows, ""].join("\n"));

/** MRPC comes as one list of pairs and a list of those that form the development set. */
export function splitParaphrases(pairs: string, devIds: string): Contents {
  const isDev = new Set(devIds.split(/\r?\n/).map((line) => line.trim()));
  const [header, ...rows] = rowsOf(pairs);
  const idsOf = (row: string) => row.split("\t").slice(1, 3).join("\t");
  const file = (keep: boolean) => fileOf([header!, ...rows.filter((row) => isDev.has(idsOf(row)) === keep)]);
  return { "MRPC/train.tsv": file(false), "MRPC/dev.tsv": file(true) };
}

/** Pairs to be answered: numbered from 0 where their labels stood. */
function askedParaphrases(pairs: string): Uint8Array {
  const rows = rowsOf(pairs).slice(1);
  const asked = rows.map((row, i) => [i, ...row.trim().split("\t").slice(1)].join("\t"));
  return fileOf(["index\t#1 ID\t#2 ID\t#1 String\t#2 String", ...asked]);
}
