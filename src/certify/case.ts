/** A golden case: what its JSON says, the numbers it holds, and how a port's numbers are held to them. */
import { rejectFile } from "../base/errors.ts";
import { formats } from "../index.ts";

/** A golden case: options, inputs and the values expected of them. */
export interface GoldenCase {
  /** Where it was found. */
  readonly folder: string;
  readonly name: string;
  /** Which system it belongs to: `optimisers`, `parameter-sharing`, … */
  readonly system: string;
  /** The whole JSON. */
  readonly about: Readonly<Record<string, unknown>>;
  /** Empty for cases that are JSON only. */
  readonly tensors: ReadonlyMap<string, formats.StoredTensor>;
}

/** One comparison: the port's values of a tensor, and how far they may be off. */
export interface Finding {
  readonly tensor: string;
  readonly error: number;
  readonly tolerance: number;
}

/** README of the golden values: room for another order of summation and nothing else. */
export const TOLERANCE = 1e-5;

/** Whether a parsed file is a golden case. */
export function isCase(about: unknown): about is Record<string, unknown> & { case: string } {
  return typeof about === "object" && about !== null && "case" in about && typeof about.case === "string";
}

/** A case as files hold it: NAME.json, parsed, and perhaps the bytes of NAME.safetensors. */
export interface CaseFiles extends Pick<GoldenCase, "folder" | "name" | "about"> {
  readonly tensors: Uint8Array | undefined;
}

/** Reads the tensors of a case. */
export function openCase({ folder, name, about, tensors }: CaseFiles): GoldenCase {
  const read = tensors && formats.readSafetensors(tensors, `${folder}/${name}.safetensors`).tensors;
  return { folder, name, system: systemOf(about, folder), about, tensors: read ?? new Map() };
}

/** The JSON names the system's folder; the PAR Transformer-XL cases name their kind instead. */
export function systemOf(about: Readonly<Record<string, unknown>>, folder: string): string {
  if (typeof about.folder === "string") return about.folder;
  return typeof about.kind === "string" ? "par-transformer-xl" : (folder.split(/[\\/]/).at(-1) ?? folder);
}

export function floats(golden: GoldenCase, name: string): Float32Array {
  const tensor = golden.tensors.get(name);
  if (tensor?.data instanceof Float32Array) return tensor.data;
  return rejectFile({
    who: `${golden.folder}/${golden.name}`,
    needed: `float32 ${name}`,
    got: tensor?.dtype ?? "nothing",
  });
}

export function integers(golden: GoldenCase, name: string): Int32Array {
  const tensor = golden.tensors.get(name);
  if (tensor) return formats.int32Of(tensor.data, `${golden.folder}/${golden.name} / ${name}`);
  return rejectFile({ who: `${golden.folder}/${golden.name}`, needed: name, got: "nothing" });
}

/** Names that begin with the prefix, without it. */
export function namesUnder(golden: GoldenCase, prefix: string): string[] {
  return [...golden.tensors.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

/** max|a − b| / max|b|: the error of a tensor, in which one bad value shows. Where b is all zero, a must be too. */
export function compare(
  tensor: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance = TOLERANCE,
): Finding {
  let [largest, worst] = [0, actual.length === expected.length ? 0 : Number.POSITIVE_INFINITY];
  for (let i = 0; i < expected.length; i++) {
    largest = Math.max(largest, Math.abs(expected[i]!));
    const off = Math.abs(actual[i]! - expected[i]!);
    worst = off <= worst ? worst : Number.isNaN(off) ? Number.POSITIVE_INFINITY : off;
  }
  return { tensor, error: worst === 0 ? 0 : worst / largest, tolerance };
}

/** A gradient that is zero in exact arithmetic: held to the scale the case gives. */
export function compareZero(tensor: string, actual: ArrayLike<number>, scale: number): Finding {
  let largest = 0;
  for (let i = 0; i < actual.length; i++) largest = Math.max(largest, Math.abs(actual[i]!));
  return { tensor, error: largest / scale, tolerance: TOLERANCE };
}
