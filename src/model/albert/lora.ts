/** Low-rank adapters of an ALBERT: which of its weights they are, and how they become part of the others. */
import type { Tensor, Weights } from "../../graph/index.ts";
import type { Parameter } from "../../nn/index.ts";
import { type FloatRecord, stateDict } from "../state-dict.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "./description.ts";

const FACTOR = /\.lora_[AB]\.weight$/;

/** Whether a parameter is a factor of what is added to a weight. */
export const isAdapter = ({ name }: Pick<Parameter, "name">): boolean => FACTOR.test(name);

/** What LoRA trains (adapters and heads), and what rests: the encoder. */
export function adapterParts({ model, parameters }: Pick<DescribedAlbert, "model" | "parameters">): {
  readonly trained: readonly Parameter[];
  readonly frozen: readonly Parameter[];
} {
  const base = new Set(model.parameters.filter((each) => !isAdapter(each)).map(({ tensor }) => tensor));
  return {
    trained: parameters.filter(({ tensor }) => !base.has(tensor)),
    frozen: parameters.filter(({ tensor }) => base.has(tensor)),
  };
}

/** The same model with its adapters added to the weights they belong to; one without adapters is given back as it is. */
export function mergedAlbert<T extends DescribedAlbert & { description: AlbertDescription; weights: Weights }>(
  albert: T,
): T {
  const { lora, ...model } = albert.description.model;
  if (!lora) return albert;
  const description = { ...albert.description, model };
  const described = describedAlbert(description);
  const known = stateDict(albert.parameters, albert.weights);
  const { rank, alpha = 2 * rank } = lora;
  const merged = new Map<Tensor<"parameter">, Float32Array>(
    described.parameters.map(({ name, tensor }) => [tensor, addedUp(name, known, alpha / rank)]),
  );
  return { ...albert, ...described, description, weights: merged };
}

/** W + scale · B·A, in single precision as the model itself adds them. */
function addedUp(name: string, known: ReadonlyMap<string, FloatRecord>, scale: number): Float32Array {
  const values = known.get(name)!.data;
  const [down, up] = ["A", "B"].map((factor) => known.get(name.replace(/weight$/, `lora_${factor}.weight`)));
  if (!name.endsWith(".weight") || !down || !up) return values;
  const [rank, width] = down.shape as [number, number];
  return values.map((value, i) => {
    const [row, column] = [Math.floor(i / width), i % width];
    let sum = 0;
    for (let k = 0; k < rank; k++) sum += up.data[row * rank + k]! * down.data[k * width + column]!;
    return value + scale * sum;
  });
}
