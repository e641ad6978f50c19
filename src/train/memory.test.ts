import { expect, it } from "vitest";
import { newParameter, zeros } from "../nn/index.ts";
import { checkMemory } from "./memory.ts";
import { adamw, sgd } from "./optimiser.ts";

it("numbers beyond one memory are refused with the limit and a way out, by what the optimiser keeps", () => {
  const { tensor } = newParameter("w", [268_435_456, 1], zeros); // 1 GiB; nothing is allocated for it
  expect(() => checkMemory([{ parameters: [tensor], optimiser: sgd() }])).not.toThrow();
  expect(() => checkMemory([{ parameters: [tensor], optimiser: adamw() }], true)).toThrow(
    "at most 4294967296 bytes, all that one WebAssembly memory holds, got 5368709120 bytes for 268435456 parameters",
  );
});
