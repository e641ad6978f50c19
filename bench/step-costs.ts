/** What a training step should cost on this machine: its products, the memory it moves and its operations, at speeds that are measured alone. */
import { matrixSpeeds } from "../src/analysis/matrix-speed.ts";
import type { Engine } from "../src/engine/engine.ts";
import { add, costOf, input, is, slice, type Tensor, topological } from "../src/graph/index.ts";
import { lowerGraph } from "../src/onnx/lower.ts";
import { median, timed } from "./measure.ts";

/** What an engine does at best. */
export interface Speeds {
  /** Of large products. */
  readonly gflops: number;
  /** Of elementwise operations on arrays of 4 MB. */
  readonly gigabytesPerSecond: number;
  /** Of an operation that has almost nothing to do. */
  readonly microsecondsPerOperation: number;
}

/** Milliseconds of a step. */
export interface StepParts {
  readonly products: number;
  readonly memory: number;
  readonly operations: number;
  readonly update: number;
}

const CHAIN = 64;
const RUNS = 9;
/** AdamW reads weight, gradient and two moments, and writes three of them. */
const ARRAYS_OF_UPDATE = 7;
const FLOAT = Float32Array.BYTES_PER_ELEMENT;

/** Milliseconds of one addition of so many numbers, out of a chain of them. */
async function additionMs(engine: Engine, count: number): Promise<number> {
  const [x, y] = [input("x", [count]), input("y", [count])];
  const sum = Array.from({ length: CHAIN }).reduce<Tensor>((total, _, i) => add(total, i % 2 ? x : y), x);
  const program = await engine.compile({ outputs: { sum: slice(sum, 0, 0, 1) } });
  const feeds = { x: new Float32Array(count).fill(1), y: new Float32Array(count).fill(2) };
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) times.push(await timed(() => program.run(feeds)));
  await program.release();
  return median(times) / CHAIN;
}

export async function speedsOf(engine: Engine): Promise<Speeds> {
  const count = 2 ** 20;
  const products = await matrixSpeeds(engine);
  const [small, large] = [await additionMs(engine, 16), await additionMs(engine, count)];
  return {
    gflops: Math.max(...products.map(({ gflops }) => gflops)),
    gigabytesPerSecond: (3 * FLOAT * count) / large / 1e6,
    microsecondsPerOperation: 1000 * small,
  };
}

/** The parts of a step that computes these outputs and updates so many parameters. */
export function partsOf(outputs: Readonly<Record<string, Tensor>>, parameters: number, speeds: Speeds): StepParts {
  const nodes = topological(Object.values(outputs));
  const total = (each: (node: Tensor) => number) => nodes.reduce((sum, node) => sum + each(node), 0);
  const flops = total((node) => (is(node, "matmul") ? costOf(node).flops : 0));
  const bytes = total((node) => (is(node, "matmul") ? 0 : costOf(node).bytes));
  const perByte = 1 / speeds.gigabytesPerSecond / 1e6;
  return {
    products: flops / speeds.gflops / 1e6,
    memory: bytes * perByte,
    operations: (lowerGraph({ outputs }).nodes.length * speeds.microsecondsPerOperation) / 1000,
    update: ARRAYS_OF_UPDATE * FLOAT * parameters * perByte,
  };
}

/** A step that has them one after the other. */
export const expectedMs = ({ products, memory, operations, update }: StepParts) =>
  products + memory + operations + update;
