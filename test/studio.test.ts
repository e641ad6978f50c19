import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  ClassifyAnswer,
  CompareAnswer,
  DepthAnswer,
  DepthTables,
  DryRun,
  FillAnswer,
  GenerateLine,
  RunDetail,
  RunList,
  RunRow,
  SearchData,
  SeriesAnswer,
  SharingAnswer,
  Started,
  TaskList,
  TranslateAnswer,
  Update,
} from "../src/studio/api.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-studio-"));
const runs = join(folder, "runs");
const env: NodeJS.ProcessEnv = {
  ...process.env,
  LAYERWISE_CACHE: join(folder, "cache"),
  XDG_CACHE_HOME: join(folder, "user"),
};
delete env.npm_lifecycle_event; // commands are shown as one types them without npm
let server: ChildProcess;
let address: URL;
let cookie: string;

function layerwise(...args: string[]): string {
  const options = { env, encoding: "utf8", maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["dist/cli/main.js", ...args], options);
  expect(status, stderr).toBe(0);
  return stdout;
}
const at = (name: string) => join(runs, name);

async function serve(): Promise<void> {
  server = spawn(process.execPath, ["dist/cli/main.js", "studio", runs, "--port", "0"], { env });
  const url = await new Promise<string>((resolve) => {
    server.stdout!.once("data", (text: Buffer) => resolve(`${text}`.trim()));
  });
  address = new URL(url);
  const { headers } = await fetch(url, { redirect: "manual" });
  cookie = headers.get("set-cookie")!.split(";")[0]!;
  while ((await ask<RunList>("runs")).loading);
}

async function ask<T>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST"): Promise<T> {
  const send = () =>
    fetch(new URL(`/api/${path}`, address), {
      method,
      headers: { cookie, ...(method === "GET" ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const answer = await send().catch(send); // a command that blocked this process may have cost the connection
  const text = await answer.text();
  expect(answer.status, text).toBeLessThan(300);
  return (
    answer.headers.get("content-type")?.includes("ndjson")
      ? text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : JSON.parse(text)
  ) as T;
}

const rowOf = async (path: string): Promise<RunRow> => {
  const row = (await ask<RunList>("runs")).runs.find((each) => each.path === path);
  return row ?? ({ status: "absent" } as never);
};
const idOf = async (path: string) => (await rowOf(path)).id;

async function until(path: string, holds: (row: RunRow) => boolean): Promise<RunRow> {
  for (let i = 0; i < 900; i++) {
    const row = await rowOf(path);
    if (holds(row)) return row;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${path} did not come to that: ${JSON.stringify((await ask<RunList>("runs")).jobs)}`);
}

beforeAll(async () => {
  layerwise("train", "--preset", "tiny", "--halt", "--steps", "12", "--evaluate-every", "6", "--out", at("halting"));
  layerwise("pretrain", "--preset", "trial", "--steps", "4", "--out", at("albert"));
  const short = ["--preset", "quick", "--steps", "12", "--seeds", "2"];
  layerwise("search", ...short, "--out", at("seeds"));
  await serve();
});
afterAll(() => {
  server?.kill();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

describe.skipIf(!existsSync("dist/cli/main.js"))("the studio's table", () => {
  it("has a row for every run, with the figures that `layerwise runs` gives", async () => {
    const { runs: rows } = await ask<RunList>("runs");
    expect(rows.map(({ path, kind }) => [path, kind])).toEqual([
      ["albert", "pretrain"],
      ["halting", "language"],
      ["seeds", "seeds"],
      ["seeds/seed-1", "search"],
      ["seeds/seed-2", "search"],
    ]);
    const shown = JSON.parse(layerwise("runs", "show", at("halting"), "--json"));
    const row = rows[1]!;
    expect(row).toMatchObject({ status: "finished", step: shown.step, lastLoss: shown.lastLoss, totalSteps: 12 });
    expect(row.best).toMatchObject({ name: "perplexity", value: shown.best.perplexity, step: shown.best.step });
    expect(row.uses.toSorted()).toEqual(["depth", "generate"]);
  });

  it("knows parameters, blocks and FLOPs as a dry run does", async () => {
    const row = await until("halting", ({ flopsPerToken }) => flopsPerToken !== null);
    expect(row).toMatchObject({ uniqueBlocks: 2, executedDepth: 2 });
    const facts = JSON.parse(layerwise("train", "--preset", "tiny", "--halt", "--dry-run", "--json"));
    expect(JSON.stringify(facts)).toContain(`${(row.parameters! / 1e6).toFixed(2)} M`);
    expect(JSON.stringify(facts)).toContain(`${(row.flopsPerToken! / 1e6).toFixed(2)} M`);
    expect((await ask<RunDetail>(`runs/${row.id}`)).plan).toEqual([0, 1]);
  });

  it("gives every run's details, series and what to type next", async () => {
    for (const { id, path } of (await ask<RunList>("runs")).runs) {
      const found = await ask<RunDetail>(`runs/${id}`);
      expect(found.next.at(-1)).toBe(`layerwise runs show ${join(runs, path)}`);
      if (found.kind !== "seeds") expect([found.checkpoints.length > 0, found.log !== ""]).toEqual([true, true]);
    }
  });

  it("gives series by step, minutes and tokens", async () => {
    const id = await idOf("halting");
    const events = readFileSync(join(at("halting"), "events.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const losses = events.filter(({ type }) => type === "step").map(({ loss }) => loss);
    const { series, axes } = await ask<SeriesAnswer>(`runs/${id}/series?metrics=loss,valid/loss&x=tokens`);
    expect(series.loss!.y).toEqual(losses);
    expect(series.loss!.x).toEqual(losses.map((_, i) => (i + 1) * 8 * 32));
    expect(series["valid/loss"]!.x).toEqual([6 * 256, 12 * 256]);
    expect(axes).toContain("minutes");
  });

  it("compares settings, and lists tasks with their schemas", async () => {
    const ids = [await idOf("seeds/seed-1"), await idOf("seeds/seed-2")];
    expect((await ask<CompareAnswer>(`compare?ids=${ids}`)).differences).toEqual({ seed: [1, 2] });
    const { tasks } = await ask<TaskList>("tasks");
    const schema = JSON.parse(layerwise("schema", "language"));
    expect(tasks.find(({ task }) => task === "language")).toMatchObject({ command: "train", schema });
  });
});

describe.skipIf(!existsSync("dist/cli/main.js"))("a search in the studio", () => {
  it("has π at every evaluation, the patterns, seeds side by side and the front", async () => {
    const data = await ask<SearchData>(`runs/${await idOf("seeds")}/search`);
    const found = JSON.parse(readFileSync(join(at("seeds"), "architecture.json"), "utf8"));
    expect(data.found?.pattern).toBe(found.pattern);
    expect(data.frames.at(-1)!.step).toBe(12);
    for (const { probabilities } of data.frames) {
      expect(probabilities).toHaveLength(data.candidates.length);
      for (const block of probabilities) expect(block.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    }
    expect(data.seeds.map(({ seed, pattern }) => ({ seed, pattern }))).toEqual(
      found.seeds.map(({ seed, pattern }: { seed: number; pattern: string }) => ({ seed, pattern })),
    );
    expect(data.seeds.filter(({ chosen }) => chosen)).toHaveLength(1);
    expect(new Set(data.front.map(({ source }) => source))).toEqual(new Set(["search", "published"]));
  });
});

describe.skipIf(!existsSync("dist/cli/main.js"))("models in the studio", () => {
  const text = "the cat sat on the mat";

  it.each(["halting", "albert"])("show the depths of %s that `layerwise depth --json` gives", async (name) => {
    const found = await ask<DepthAnswer>(`runs/${await idOf(name)}/depth`, { text });
    const told = JSON.parse(layerwise("depth", at(name), "--text", text, "--json"));
    expect(found.tokens.map(({ piece, depth }) => ({ piece, depth }))).toMatchObject(
      told.tokens.map(({ piece, depth }: { piece: string; depth: number }) => ({ piece, depth })),
    );
    expect([found.cap, found.step, found.causal]).toEqual([told.cap, told.step, name === "halting"]);
    for (const { depth, halting } of found.tokens) expect(halting).toHaveLength(depth);
  });

  it("tabulate depth by kind, and by tags of a treebank", async () => {
    const id = await idOf("albert");
    const { tables } = await ask<DepthTables>(`runs/${id}/depth/table`, { texts: 16 });
    expect(tables.kinds!.length).toBeGreaterThan(2);
    const conllu = "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n";
    const tagged = await ask<DepthTables>(`runs/${id}/depth/table`, { conllu });
    expect(tagged.tables.upos!.map(({ name }) => name).sort()).toEqual(["DET", "NOUN"]);
  });

  it.each(["halting", "seeds"])("continue a text with %s as `layerwise generate` does", async (name) => {
    const request = { prompt: "it was", tokens: 12, temperature: 0.9, topK: 50, seed: 5 };
    const lines = await ask<GenerateLine[]>(`runs/${await idOf(name)}/generate`, request);
    const flags = ["--tokens", "12", "--temperature", "0.9", "--top-k", "50", "--seed", "5", "--json"];
    const told = JSON.parse(layerwise("generate", at(name), "--prompt", "it was", ...flags));
    const end = lines.find((line) => line.type === "end")!;
    expect(end.text).toBe(told.text);
    const tokens = lines.filter((line) => line.type === "token");
    expect(tokens).toHaveLength(12);
    expect(tokens.every(({ probability }) => probability > 0 && probability < 1)).toBe(true);
    expect(tokens.every(({ depth, memory }) => (name === "halting" ? depth! >= 1 : memory! >= 1))).toBe(true);
  });

  it("keep a Transformer-XL's memory where asked", async () => {
    const id = await idOf("seeds");
    const write = (keepMemory: boolean) =>
      ask<GenerateLine[]>(`runs/${id}/generate`, { prompt: "it", tokens: 3, seed: 2, keepMemory });
    const first = (lines: GenerateLine[]) => lines.find((line) => line.type === "token")!.memory!;
    const [fresh, kept, again] = [first(await write(false)), first(await write(true)), first(await write(false))];
    expect(kept).toBeGreaterThan(fresh);
    expect(again).toBe(fresh);
  });

  it("guess masks, and say what they cannot do", async () => {
    const { masks } = await ask<FillAnswer>(`runs/${await idOf("albert")}/fill`, {
      text: "the [MASK] sat on the [MASK]",
      top: 5,
    });
    expect(masks.map(({ guesses }) => guesses.length)).toEqual([5, 5]);
    expect(masks[0]!.guesses[0]!.probability).toBeGreaterThanOrEqual(masks[0]!.guesses[4]!.probability);
    await expect(ask<TranslateAnswer>(`runs/${await idOf("albert")}/translate`, { lines: ["x"] })).rejects.toThrow(
      "409",
    );
    await expect(ask<ClassifyAnswer>(`runs/${await idOf("albert")}/classify`, { text })).rejects.toThrow("pretrain");
  });
});

describe.skipIf(!existsSync("dist/cli/main.js"))("jobs of the studio", () => {
  const settings = { steps: 800, checkpointEvery: 200, evaluateEvery: 200, threads: 1 };
  const order = { task: "language", preset: "tiny", settings, name: "made" };

  it("try what would be started, and say the command for it", async () => {
    const { command, facts } = await ask<DryRun>("dry-run", order);
    const flags = "--steps 800 --checkpoint-every 200 --evaluate-every 200 --threads 1";
    expect(command).toBe(`layerwise train --preset tiny ${flags} --out ${at("made")}`);
    expect(facts.map(({ what }) => what)).toContain("estimated time");
    expect(existsSync(at("made"))).toBe(false);
  });

  it("start, stop and resume a run to the weights of the command, seen live", async () => {
    const { job } = await ask<Started>("start", order);
    expect(job.state).toBe("opening");
    const { id } = await until("made", ({ status, step }) => status === "running" && step >= 2);
    const seen = await updates(`run=${id}&runs=1&metrics=loss&log=1`, async (all) => {
      await ask(`runs/${id}/stop`, {}, "POST");
      await ask(`runs/${id}/stop`, {}, "POST").catch(() => {}); // no second signal, which would kill it
      const stopped = await until("made", ({ status }) => status !== "running");
      expect(stopped.status).toBe("stopped");
      expect(stopped.uses).toContain("resume");
      await ask<Started>(`runs/${id}/resume`, {}, "POST");
      await until("made", ({ status }) => status === "finished");
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return all;
    });
    const points = seen.flatMap((update) => update.points?.[id]?.loss?.x ?? []);
    expect(points.at(-1)).toBe(800);
    expect(seen.flatMap((update) => update.runs ?? []).at(-1)).toMatchObject({ path: "made", status: "finished" });
    expect(seen.map((update) => update.log?.[id] ?? "").join("")).toContain("resumed after step");
    const flags = ["--steps", "800", "--checkpoint-every", "200", "--evaluate-every", "200", "--threads", "1"];
    layerwise("train", "--preset", "tiny", ...flags, "--out", join(folder, "twin"));
    const hash = (path: string) => JSON.parse(layerwise("runs", "show", path, "--json")).weightsHash;
    expect(hash(at("made"))).toBe(hash(join(folder, "twin")));
  });

  it("fill the table of sharing, and go on when the studio ends", async () => {
    const only = ["vanilla 3/3", "universal 1/6"];
    const small = { steps: 6, evaluateEvery: 6, threads: 1 };
    const compare = {
      task: "compare",
      of: "language",
      seeds: 1,
      only,
      preset: "tiny",
      settings: small,
      name: "sharing",
    };
    await ask<Started>("start", compare);
    server.kill();
    await serve();
    await until(
      "sharing/universal-1-6/seed-1",
      ({ status, flopsPerToken }) => status === "finished" && flopsPerToken !== null,
    );
    const { comparisons } = await ask<SharingAnswer>("sharing");
    expect(comparisons).toMatchObject([{ path: "sharing", task: "language", rows: only.map((name) => ({ name })) }]);
    const [vanilla, universal] = comparisons[0]!.rows;
    expect([vanilla!.executedDepth, universal!.executedDepth]).toEqual([3, 6]);
    expect(universal!.parameters).toBeLessThan(vanilla!.parameters!);
    expect(universal!.perplexity!.values).toHaveLength(1);
  });
});

/** The updates that came while `work` was done; never more than four in a second. */
async function updates(query: string, work: (all: Update[]) => Promise<Update[]>): Promise<Update[]> {
  const stop = new AbortController();
  const answer = await fetch(new URL(`/api/events?${query}`, address), { headers: { cookie }, signal: stop.signal });
  const [all, times]: [Update[], number[]] = [[], []];
  const reading = (async () => {
    let text = "";
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const data = /^event: update\ndata: (.*)$/s.exec(text.slice(0, end))?.[1];
        if (data !== undefined) [all[all.length], times[times.length]] = [JSON.parse(data), performance.now()];
        text = text.slice(end + 2);
      }
    }
  })().catch(() => {});
  await work(all);
  stop.abort();
  await reading;
  for (const [i, time] of times.entries())
    expect(times.filter((each) => each >= time && each < time + 900).length, `${i}`).toBeLessThanOrEqual(5);
  return all;
}
