/** The list of commands. Each file in commands/ adds one to the program and loads what it needs only when it runs. */
import type { Command } from "commander";
import { addBench } from "./commands/bench.ts";
import { addCertify } from "./commands/certify.ts";
import { addCompare } from "./commands/compare.ts";
import { addCutoffs } from "./commands/cutoffs.ts";
import { addData } from "./commands/data.ts";
import { addDepth } from "./commands/depth.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEval } from "./commands/eval.ts";
import { addExport } from "./commands/export.ts";
import { addGenerate } from "./commands/generate.ts";
import { addGlue } from "./commands/glue.ts";
import { addImport } from "./commands/import.ts";
import { addPlan } from "./commands/plan.ts";
import { addPretrain } from "./commands/pretrain.ts";
import { addRetrain } from "./commands/retrain.ts";
import { addRuns } from "./commands/runs.ts";
import { addSearch } from "./commands/search.ts";
import { addTokenizer } from "./commands/tokenizer.ts";
import { addResume, addTrain } from "./commands/train.ts";
import { addTranslate } from "./commands/translate.ts";

export const commands: readonly ((program: Command) => void)[] = [
  addTrain,
  addResume,
  addPretrain,
  addDepth,
  addEval,
  addGenerate,
  addExport,
  addImport,
  addGlue,
  addRuns,
  addTranslate,
  addPlan,
  addCompare,
  addBench,
  addCertify,
  addSearch,
  addRetrain,
  addCutoffs,
  addData,
  addTokenizer,
  addDoctor,
];
