/** Prints the time of each kernel in nanoseconds a value, at 3 million values: median of interleaved rounds. */
import { Arena, arenaBytes } from "../src/engine/arena.ts";
import type { AdamSettings } from "../src/engine/updates.ts";

const VALUES = 3_000_000;
const ROWS = 23_437;
const COLUMNS = 128;
const VOCABULARY = 8_000;
const ROUNDS = 31;
const KEY = [1, 2] as const;

const arena = new Arena(arenaBytes([VALUES, VALUES, VALUES, VALUES, ROWS, VOCABULARY * COLUMNS]));
const [w, g, m, v] = [arena.float32(VALUES), arena.float32(VALUES), arena.float32(VALUES), arena.float32(VALUES)];
const ids = arena.int32(ROWS);
ids.forEach((_, i) => {
  ids[i] = (i * 7919) % VOCABULARY;
});
const table = arena.float32(VOCABULARY * COLUMNS);
const { kernels } = arena;
const adam: AdamSettings = {
  rate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  step: 9,
  correction: "exact",
  weightDecay: 0.01,
  decoupled: true,
};
const rows = g.subarray(0, ROWS * COLUMNS);

const BENCHES: Record<string, () => void> = {
  adam: () => kernels.adam(w, g, m, v, adam),
  lamb: () => kernels.lamb(w, g, m, v, { ...adam, adapt: true }),
  sgd: () => kernels.sgd(w, g, m, { rate: 1e-3, momentum: 0.9 }),
  sumOfSquares: () => kernels.sumOfSquares(g),
  scaleInPlace: () => kernels.scaleInPlace(g, 1),
  clipByValue: () => kernels.clipByValue(g, 10),
  addScaled: () => kernels.addScaled(w, g, 1e-6),
  firstNonFinite: () => kernels.firstNonFinite(g),
  fill: () => kernels.fill(m, 0),
  "addRows (23,437 × 128)": () => kernels.addRows(table, ids, rows, COLUMNS, 1),
  "addRows, clipped": () => kernels.addRows(table, ids, rows, COLUMNS, 1, 0.25),
  dropoutMask: () => kernels.dropoutMask(v, KEY, 0, 0.9),
  uniform: () => kernels.uniform(v, KEY, 0),
  gumbel: () => kernels.gumbel(v, KEY, 0),
  normal: () => kernels.normal(v, KEY, 0),
};

const times = new Map(Object.keys(BENCHES).map((name) => [name, [] as number[]]));

/** Fresh values before each round, so that no kernel meets what another left behind. */
function refill(): void {
  kernels.normal(w, KEY, 1);
  kernels.normal(g, KEY, 2);
  kernels.normal(m, KEY, 3);
}

for (let round = 0; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(BENCHES)) {
    refill();
    kernels.uniform(v, KEY, 4);
    const start = performance.now();
    run();
    times.get(name)!.push(performance.now() - start);
  }
}

for (const [name, list] of times) {
  const median = list.sort((a, b) => a - b)[ROUNDS >> 1]!;
  console.log(`${name.padEnd(24)} ${((median * 1e6) / VALUES).toFixed(3)} ns/value  ${median.toFixed(2)} ms`);
}
