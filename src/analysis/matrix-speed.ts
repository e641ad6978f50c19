/** How fast an engine multiplies matrices. */
import { median } from "../base/median.ts";
import type { Engine } from "../engine/engine.ts";
import { input, matmul, slice } from "../graph/index.ts";

/** Products whose speed is measured: [rows, inner] · [inner, columns]. */
const PRODUCTS = [
  [2048, 256, 1024],
  [1024, 512, 2048],
] as const;
const BUDGET_MS = 400;
const MIN_RUNS = 5;

/** The median speed of one product. */
export interface MatrixSpeed {
  product: string;
  threads: number;
  gflops: number;
}

/** Times a few products: about half a second each. */
export async function matrixSpeeds(engine: Engine): Promise<MatrixSpeed[]> {
  const speeds: MatrixSpeed[] = [];
  for (const [m, k, n] of PRODUCTS) speeds.push(await matrixSpeed(engine, m, k, n));
  return speeds;
}

/** Only one number of the product leaves the program, so that copying it out is not timed. */
async function matrixSpeed(engine: Engine, m: number, k: number, n: number): Promise<MatrixSpeed> {
  const product = matmul(input("a", [m, k]), input("b", [k, n]));
  const corner = slice(slice(product, 0, 0, 1), 1, 0, 1);
  const program = await engine.compile({ outputs: { corner } });
  const feeds = { a: new Float32Array(m * k).fill(0.5), b: new Float32Array(k * n).fill(0.25) };
  await program.run(feeds); // warm-up
  const times: number[] = [];
  for (const start = performance.now(); times.length < MIN_RUNS || performance.now() - start < BUDGET_MS; ) {
    const before = performance.now();
    await program.run(feeds);
    times.push(performance.now() - before);
  }
  await program.release();
  return {
    product: `[${m},${k}] · [${k},${n}]`,
    threads: engine.threads,
    gflops: (2 * m * k * n) / median(times) / 1e6,
  };
}
