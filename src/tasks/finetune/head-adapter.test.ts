import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder, printedBy } from "../../../test/command.ts";
import { addExport } from "../../cli/commands/export.ts";
import { addFinetune } from "../../cli/commands/finetune.ts";
import { addPredict } from "../../cli/commands/predict.ts";
import { Run } from "../run.ts";
import { withAdapter, withHeadAdapter } from "./adapted.ts";
import { sentences } from "./made-heads.contract.ts";

const folder = ownFolder("head-adapter");
const at = (name: string) => join(folder, name);
const albert = "fixtures/runs/albert";
const inputs = [{ words: ["alice", "went", "to", "rome"], tags: [] }];

beforeAll(async () => {
  writeFileSync(at("t.conll"), sentences(0, 24));
  const settings = "--task tagging --lora 4 --epochs 1 --batch 8 --rate 0.01 --threads 1 --json".split(" ");
  const files = ["--train", at("t.conll"), "--dev", at("t.conll"), "--out", at("run")];
  await printedBy(addFinetune, "finetune", albert, ...files, ...settings);
  await printedBy(addExport, "export", at("run"), "--format", "adapter", "--out", at("small"));
}, 60_000);

describe("adapters of a head that tags", () => {
  it("say on the same model what the run says", async () => {
    const run = await Run.open(at("run"), "head");
    const adapted = await withHeadAdapter(await Run.open(albert, "pretrain"), at("small"));
    expect(adapted.spec).toEqual(run.spec);
    expect(await adapted.answered(inputs)).toEqual(await run.answered(inputs));
    expect(await adapted.answered([])).toEqual([]);
    const text = ["--text", "alice went to rome", "--json"];
    const printed = await printedBy(addPredict, "predict", albert, "--adapter", at("small"), ...text);
    expect(printed).toBe(await printedBy(addPredict, "predict", at("run"), ...text));
  });

  it("are refused where labels are asked for, and by name", async () => {
    const base = await Run.open(albert, "pretrain");
    await expect(withAdapter(base, at("small"))).rejects.toThrow("an adapter of labelled texts, got one of tagging");
    const whole = printedBy(addExport, "export", at("run"), "--out", at("whole"));
    await expect(whole).resolves.toMatch(/model\.onnx/);
  });
});
