import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { command, ownFolder } from "../../../test/command.ts";
import type { SweepEvent } from "../launcher.ts";
import { estimateReproduction, type PaperName, type ReproduceOptions, reproduce } from "./index.ts";

const folder = ownFolder("reproduce");
const at = (name: string, ...names: string[]) => join(folder, name, ...names);
const tiny = (name: string, more: ReproduceOptions = {}): ReproduceOptions => {
  return { preset: "tiny", seeds: 1, threads: 1, out: at(name), ...more };
};
const reportOf = (name: string) => readFileSync(at(name, "report.md"), "utf8");

/** Runs a paper until an event comes. */
async function stoppedAt<P extends PaperName>(
  paper: P,
  options: ReproduceOptions,
  isIt: (event: SweepEvent) => boolean,
) {
  const session = reproduce(paper, options);
  for await (const event of session) if (isIt(event)) break;
  return session.result;
}

/** Runs the command until a file is there, and kills it. */
async function killedAt(file: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, command("reproduce", ...args), { stdio: "ignore" });
  const ended = once(child, "exit");
  while (child.exitCode === null && !existsSync(file)) await setTimeout(5);
  child.kill("SIGKILL");
  await ended;
}

const isStep = (event: SweepEvent) => event.type === "event" && event.event.type === "step";

describe("reproduce share", () => {
  it("trains both tables, scores the test text and puts the paper's figures beside it", {
    timeout: 120_000,
  }, async () => {
    const { figures, claims, reason, report, times } = await reproduce("share", tiny("share")).result;
    expect([reason, times.map(({ trainings }) => trainings)]).toEqual(["finished", [5, 5]]);
    const names = ["vanilla 2/2", "vanilla 4/4", "sequence 2/4", "cycle 2/4", "cycle_rev 2/4"];
    for (const rows of [figures.translation, figures.language]) {
      expect(rows.map(({ name }) => name)).toEqual(names);
      expect(rows[2]!.parameters).toBe(rows[0]!.parameters);
      expect(rows.every(({ score, perplexity }) => score && perplexity)).toBe(true);
    }
    expect(claims).toHaveLength(8);
    expect(claims.map(({ verdict }) => verdict)).not.toContain("not measured");
    expect(readFileSync(report.markdown, "utf8")).toMatch(
      /\| cycle 2\/4 \|.*\| cycle 6\/12, 61 M \| 0\.63× \| 27\.04 \|/,
    );
    expect(readFileSync(report.html, "utf8")).toContain("prefers-color-scheme:dark");
    expect(readFileSync(at("share", "figures", "share-language.svg"), "utf8")).toContain("paper");
  });

  it("refuses another paper or size in the folder, and names missing texts before anything is trained", async () => {
    const data = at("empty");
    await expect(reproduce("adapt", tiny("share")).result).rejects.toThrow(/got reproduce share --preset tiny/);
    await expect(reproduce("share", { data, out: at("none") }).result).rejects.toThrow(
      `expected multi30k and wikitext-2 in ${data}, got no multi30k/train.en and no wikitext-2/train.txt; layerwise data download multi30k --data ${data}`,
    );
    await expect(reproduce("adapt", { data, out: at("none") }).result).rejects.toThrow(/data download glue/);
    expect(existsSync(at("none"))).toBe(false);
    expect(() => reproduce("sharing" as "share")).toThrow(/expected .*share/);
  });
});

describe("reproduce search", () => {
  it("trains what the front has within the budget beside the baseline, and times them", {
    timeout: 120_000,
  }, async () => {
    const { figures, claims, reason } = await reproduce("search", tiny("search", { seeds: 2 })).result;
    const baseline = figures.networks.find(({ names }) => names.includes("baseline"))!;
    expect([reason, baseline.pattern, baseline.ratio?.mean]).toEqual(["finished", "(sf)x2", 1]);
    expect(figures.networks.some(({ names }) => names.includes("front 0.65"))).toBe(true);
    expect(figures.networks.every(({ perplexity }) => perplexity?.values.length === 2)).toBe(true);
    expect(claims.map(({ verdict }) => verdict)).not.toContain("not measured");
    expect(reportOf("search")).toContain("| 22.7 |");
  });
});

describe("reproduce adapt", () => {
  it("stopped in a training it goes on to the figures of one that was not, and does nothing twice", {
    timeout: 120_000,
  }, async () => {
    const whole = await reproduce("adapt", tiny("whole")).result;
    expect([whole.reason, whole.figures.cap, whole.claims.length]).toEqual(["finished", 4, 5]);
    expect(whole.figures.finetuned.depth).not.toBeNull();
    const stopped = await stoppedAt("adapt", tiny("parts"), isStep);
    expect([stopped.reason, stopped.figures.depths.all]).toEqual(["stopped", null]);
    expect(stopped.claims.every(({ verdict }) => verdict === "not measured")).toBe(true);
    expect(reportOf("parts")).toContain("It was stopped");
    const again = await reproduce("adapt", { out: at("parts") }).result; // size and seeds are the folder's
    expect(again.figures).toEqual(whole.figures);
    expect(again.claims).toEqual(whole.claims);
    const events = at("parts", "pretraining", "seed-1", "events.jsonl");
    const before = statSync(events).mtimeMs;
    const more = await reproduce("adapt", { out: at("parts"), seeds: 2 }).result;
    expect([statSync(events).mtimeMs, more.figures.depths.all?.values.length]).toEqual([before, 2]);
    expect(more.figures.depths.all?.values[0]).toBe(whole.figures.depths.all?.mean);
  });

  it("killed while it trains, it goes on to the same figures", { timeout: 120_000 }, async () => {
    const args = ["adapt", "--preset", "tiny", "--seeds", "1", "--threads", "1", "--out", at("killed")];
    await killedAt(at("killed", "pretraining", "seed-1", "config.yaml"), ...args);
    expect(existsSync(at("killed", "result.json"))).toBe(false);
    const { figures, reason } = await reproduce("adapt", { out: at("killed") }).result;
    expect(reason).toBe("finished");
    expect(figures).toEqual(JSON.parse(readFileSync(at("whole", "result.json"), "utf8")).figures);
  });

  it("says how long it would take, without a folder", { timeout: 60_000 }, async () => {
    const { seconds, preset } = await estimateReproduction("adapt", tiny("estimate"));
    expect([seconds > 0, preset, existsSync(at("estimate"))]).toEqual([true, "tiny", false]);
  });
});
