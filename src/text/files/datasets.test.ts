import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { zip } from "../../../test/zip.ts";
import { sha256 } from "../../files/checksum.ts";
import { glueTasks } from "../labelled/glue-tasks.ts";
import { DATASETS, fetchDataset, holdsDataset } from "./datasets.ts";
import { hasGlueFile } from "./glue.ts";
import { splitParaphrases } from "./glue-dataset.ts";

const SHARED = "../shared/data";
const root = mkdtempSync(join(tmpdir(), "layerwise-datasets-"));
const served = new Map<string, Uint8Array>();
let asked: string[] = [];
let base = "";

const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  const content = served.get(request.url ?? "");
  if (content) response.writeHead(200, { "content-length": content.length }).end(content);
  else response.writeHead(404).end();
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(root, { recursive: true, force: true });
});

const wikitext = (train: string | Uint8Array, valid: string | Uint8Array, test: string | Uint8Array) =>
  zip({
    "wikitext-2/wiki.train.tokens": train,
    "wikitext-2/wiki.valid.tokens": valid,
    "wikitext-2/wiki.test.tokens": test,
  });

const glueFiles = (task: string, splits = ["train", "dev", "test"]) => splits.map((split) => `${task}/${split}.tsv`);

/** GLUE as it is published, every file with its own path for content. */
function serveGlue(): void {
  const archive = (paths: readonly string[]) => zip(Object.fromEntries(paths.map((path) => [path, path])));
  for (const task of ["CoLA", "SST-2", "STS-B", "RTE", "WNLI"]) served.set(`/${task}.zip`, archive(glueFiles(task)));
  served.set("/QQP-clean.zip", archive(glueFiles("QQP")));
  served.set("/QNLIv2.zip", archive(glueFiles("QNLI")));
  const dev = ["dev_matched", "dev_mismatched", "test_matched", "test_mismatched"];
  served.set("/MNLI.zip", archive(glueFiles("MNLI", ["train", ...dev])));
  const pairs = (...rows: string[]) => Buffer.from(["Quality\t#1 ID\t#2 ID\ta\tb", ...rows, ""].join("\r\n"));
  served.set("/msr_paraphrase_train.txt", pairs("1\t1\t2\ta\tb", "0\t3\t4\tc\td"));
  served.set("/msr_paraphrase_test.txt", pairs("1\t5\t6\te\tf"));
  served.set("/mrpc_dev_ids.tsv", Buffer.from("3\t4\n"));
  served.set("/AX.tsv", Buffer.from("index\tsentence1\tsentence2\n"));
}

describe("datasets", () => {
  it.runIf(existsSync(SHARED))("are unpacked, checked file by file, and not fetched twice", async () => {
    const parts = ["train", "valid", "test"].map((split) => readFileSync(`${SHARED}/wikitext-2/${split}.txt`));
    served.set("/wikitext-2-v1.zip", wikitext(parts[0]!, parts[1]!, parts[2]!));
    const data = join(root, "good");
    const files = await fetchDataset("wikitext-2", { data, from: base });
    expect(files.map(({ verified }) => verified)).toEqual([true, true, true]);
    expect(readdirSync(join(data, "wikitext-2")).sort()).toEqual(["test.txt", "train.txt", "valid.txt"]);
    asked = [];
    expect(await fetchDataset("wikitext-2", { data, from: base })).toEqual(files);
    expect(asked).toEqual([]);
  });

  it.runIf(existsSync(SHARED))("of single files are kept under their names", async () => {
    for (const name of readdirSync(`${SHARED}/multi30k`))
      served.set(`/${name}`, readFileSync(`${SHARED}/multi30k/${name}`));
    await fetchDataset("multi30k", { data: root, from: `${base}/` });
    expect(await holdsDataset("multi30k", join(root, "multi30k"))).toBe(true);
  });

  it("with other contents are refused and leave nothing, unless accepted", async () => {
    served.set("/wikitext-2-v1.zip", wikitext("a", "b", "c"));
    const data = join(root, "other");
    const refused = fetchDataset("wikitext-2", { data, from: base });
    await expect(refused).rejects.toThrow(/train\.txt: expected content with SHA-256 9e9fa1ad.*--unverified/);
    expect(existsSync(data)).toBe(false);
    const files = await fetchDataset("wikitext-2", { data, from: `${base}/wikitext-2-v1.zip`, unverified: true });
    expect(files[0]).toMatchObject({ bytes: 1, verified: false });
    expect(readFileSync(join(data, "wikitext-2/test.txt"), "utf8")).toBe("c");
  });

  it("that are no archive are refused and fetched anew next time", async () => {
    served.set("/wikitext-2-v1.zip", Buffer.from("<html>"));
    const data = join(root, "broken");
    for (let i = 0; i < 2; i++) {
      asked = [];
      await expect(fetchDataset("wikitext-2", { data, from: base })).rejects.toThrow("expected a zip archive");
      expect(asked).toHaveLength(1);
    }
  });

  it("without a known name are refused with the names", async () => {
    await expect(fetchDataset("toString", { data: root })).rejects.toThrow(
      "one of wikitext-2, glue, multi30k, got toString",
    );
  });

  it.runIf(existsSync(SHARED))("MRPC is split as the published development ids say", () => {
    const read = (part: string) => readFileSync(`${SHARED}/glue/MRPC/${part}.tsv`, "utf8");
    const [header, ...dev] = read("dev").trimEnd().split("\n");
    const ids = dev.map((row) => row.split("\t").slice(1, 3).join("\t"));
    const [, ...train] = read("train").trimEnd().split("\n");
    // The published list mixes both parts; put the development rows first and keep each part's order.
    const split = splitParaphrases([header, ...dev, ...train, ""].join("\r\n"), ids.join("\n"));
    expect(Buffer.from(split["MRPC/dev.tsv"]!).toString()).toBe(read("dev"));
    expect(Buffer.from(split["MRPC/train.tsv"]!).toString()).toBe(read("train"));
  });

  it("of tasks are fetched for some of them only", async () => {
    serveGlue();
    const data = join(root, "some");
    asked = [];
    const files = await fetchDataset("glue", { data, from: base, tasks: ["cola", "MNLI", "ax"], unverified: true });
    expect(asked).toEqual(["/CoLA.zip", "/MNLI.zip", "/AX.tsv"]);
    const mnli = ["train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched"];
    expect(files.map(({ path }) => path)).toEqual(
      [...glueFiles("CoLA"), ...mnli.map((split) => `MNLI/${split}.tsv`), "AX/AX.tsv"].map((path) =>
        join(data, "glue", path),
      ),
    );
    await expect(fetchDataset("glue", { data, from: base, tasks: ["XYZ"] })).rejects.toThrow(
      /download \/ glue: expected tasks of CoLA, .*, got XYZ/,
    );
    await expect(fetchDataset("wikitext-2", { data, from: base, tasks: ["a"] })).rejects.toThrow(/it is one text/);
  });

  it("of GLUE are all nine tasks and the diagnostic set, with test texts, and are read by their tasks", async () => {
    serveGlue();
    const data = join(root, "glue-all");
    const files = await fetchDataset("glue", { data, from: base, unverified: true });
    expect(files).toHaveLength(8 * 3 + 5 + 1);
    for (const task of glueTasks.values()) {
      for (const split of Object.keys(task.files)) expect(hasGlueFile(task, split, join(data, "glue"))).toBe(true);
    }
    expect(readFileSync(join(data, "glue/MRPC/test.tsv"), "utf8")).toBe(
      "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t5\t6\te\tf\n",
    );
  });

  it("of files whose own checksum is not known are vouched for by their archive's", async () => {
    serveGlue();
    const data = join(root, "vouched");
    const refused = fetchDataset("glue", { data, from: base, tasks: ["QNLI"] });
    await expect(refused).rejects.toThrow(/QNLI\/train\.tsv: expected QNLIv2\.zip with SHA-256 e634e786.*--unverified/);
    expect(existsSync(data)).toBe(false);
    const source = DATASETS.glue!.sources.find(({ urls }) => urls[0]!.endsWith("/QNLIv2.zip"))!;
    const published = source.sums!;
    source.sums = [sha256(served.get("/QNLIv2.zip")!)];
    try {
      const files = await fetchDataset("glue", { data, from: base, tasks: ["QNLI"] });
      expect(files.map(({ verified }) => verified)).toEqual([true, true, true]);
      asked = [];
      expect(await fetchDataset("glue", { data, from: base, tasks: ["QNLI"] })).toEqual(files);
      expect(asked).toEqual([]);
      writeFileSync(join(data, "glue/QNLI/dev.tsv"), "damaged");
      await fetchDataset("glue", { data, from: base, tasks: ["QNLI"] });
      expect([asked, readFileSync(join(data, "glue/QNLI/dev.tsv"), "utf8")]).toEqual([["/QNLIv2.zip"], "QNLI/dev.tsv"]);
    } finally {
      source.sums = published;
    }
  });

  it("that are not there leave nothing behind", async () => {
    served.delete("/RTE.zip");
    const data = join(root, "absent");
    await expect(fetchDataset("glue", { data, from: base, tasks: ["RTE"] })).rejects.toThrow("HTTP status 404");
    expect(existsSync(data)).toBe(false);
  });
});
