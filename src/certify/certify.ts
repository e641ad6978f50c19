/** Golden cases → verdicts: finds the system of a case, runs it, and reports the worst error. */
import { complaint, LayerwiseError, messageOf } from "../base/errors.ts";
import type { Engine } from "../index.ts";
import * as adaptiveDepth from "./adaptive-depth.ts";
import * as adaptiveSoftmax from "./adaptive-softmax.ts";
import { type CaseFiles, type Finding, type GoldenCase, openCase, systemOf } from "./case.ts";
import * as depth from "./depth.ts";
import * as languageModel from "./language-model.ts";
import * as optimisers from "./optimisers.ts";
import * as parTransformerXl from "./par-transformer-xl.ts";
import * as parameterSharing from "./parameter-sharing.ts";

/** One file a system. */
interface System {
  /** False for cases of the system that need what is not built yet. */
  covers(golden: GoldenCase): boolean;
  certify(golden: GoldenCase, engine: Engine): Promise<Finding[]>;
}

const systems: Readonly<Record<string, System>> = {
  optimisers,
  "adaptive-softmax": adaptiveSoftmax,
  "adaptive-depth": adaptiveDepth,
  depth,
  "language-model": languageModel,
  "parameter-sharing": parameterSharing,
  "par-transformer-xl": parTransformerXl,
};

/** What came of a case. */
export interface Verdict {
  readonly folder: string;
  readonly case: string;
  readonly system: string;
  readonly status: "passed" | "failed" | "notCovered";
  /** The tensor that came closest to its tolerance, or went furthest past it. */
  readonly worst: { readonly tensor: string; readonly error: number } | null;
  /** Why a case failed without a comparison. */
  readonly reason?: string;
}

const strain = ({ error, tolerance }: Finding) => error / tolerance;

/** Runs a case and compares. */
export async function certifyCase(golden: GoldenCase, engine: Engine): Promise<Verdict> {
  const about = { folder: golden.folder, case: golden.name, system: golden.system };
  const system = Object.hasOwn(systems, golden.system) ? systems[golden.system] : undefined;
  try {
    if (!system?.covers(golden)) return { ...about, status: "notCovered", worst: null };
    const findings = await system.certify(golden, engine);
    if (findings.length === 0) return { ...about, status: "failed", worst: null, reason: "nothing was compared" };
    const worst = findings.reduce((a, b) => (strain(b) > strain(a) ? b : a));
    const status = strain(worst) <= 1 ? "passed" : "failed";
    return { ...about, status, worst: { tensor: worst.tensor, error: worst.error } };
  } catch (error) {
    const reason = error instanceof LayerwiseError ? error.message : await missingField(golden, engine, system!, error);
    return { ...about, status: "failed", worst: null, reason };
  }
}

/** Runs a case as its files hold it; one with tensors that cannot be read has failed. */
export async function certifyFiles(files: CaseFiles, engine: Engine): Promise<Verdict> {
  const { folder, name, about } = files;
  try {
    return await certifyCase(openCase(files), engine);
  } catch (error) {
    const system = systemOf(about, folder);
    return { folder, case: name, system, status: "failed", worst: null, reason: messageOf(error) };
  }
}

/** Tries a case once more that failed on a field it lacks, and watches which fields are looked for in vain. */
async function missingField(golden: GoldenCase, engine: Engine, system: System, error: unknown): Promise<string> {
  const who = `${golden.folder}/${golden.name}.json`;
  const sought: string[] = [];
  const watched = { ...golden, about: watchedFields(golden.about, "", sought) };
  try {
    if (system.covers(watched)) await system.certify(watched, engine);
  } catch {
    // As the first time.
  }
  const got = sought.length > 0 ? `no ${sought.at(-1)}` : messageOf(error);
  return complaint({ who, needed: `the fields of a case of ${golden.system}`, got });
}

function watchedFields<T extends object>(value: T, path: string, sought: string[]): T {
  return new Proxy(value, {
    get(of, key) {
      const inner: unknown = Reflect.get(of, key);
      if (typeof key === "symbol" || (inner !== undefined && !Object.hasOwn(of, key))) return inner;
      if (inner === undefined) sought.push(`${path}${key}`);
      return typeof inner === "object" && inner !== null ? watchedFields(inner, `${path}${key}.`, sought) : inner;
    },
  });
}
