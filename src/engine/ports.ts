/** What both engines check alike: the names of a program's inputs, and that what is fed fits them. */
import { rejectData, rejectShape } from "../base/errors.ts";
import { checkOptions, didYouMean, meant, printed } from "../base/options.ts";
import {
  evaluateDim,
  is,
  namesIn,
  printShape,
  refuseForeign,
  type Shape,
  type Sizes,
  type Tensor,
  topological,
  weightsOf,
} from "../graph/index.ts";
import type { Feed, Feeds, IdRange, Numbers, Port, ProgramSource } from "./engine.ts";

/** Inputs and unbound parameters, in graph order; two different ones of one name are an error. */
export function inputPorts(source: ProgramSource): Port[] {
  checkOptions("program", source, ["outputs", "weights", "int8", "takesTurns", "threads"]);
  const order = topological(Object.values(source.outputs));
  const byName = new Map<string, Tensor>();
  for (const tensor of order) {
    const leaf = is(tensor, "input") || (is(tensor, "parameter") && !source.weights?.has(tensor));
    if (!leaf) continue;
    const { name } = tensor.attributes as { name: string };
    const other = byName.get(name);
    if (other && other !== tensor) {
      const got = `${other.op} ${printShape(other.shape)} and ${tensor.op} ${printShape(tensor.shape)}, both named ${name}`;
      rejectData({ who: "program", needed: "one input per name", got, remedy: "rename one" });
    }
    byName.set(name, tensor);
  }
  if (source.weights) checkWeights(source.weights, order);
  for (const name of Object.keys(source.outputs)) refuseInputName(name, byName.get(name));
  refuseSharedSizes(order, [...byName.values()]);
  const ranges = idRanges(order);
  return [...byName].map(([name, tensor]) => {
    const ids = ranges.get(tensor);
    return { name, dtype: tensor.dtype, shape: tensor.shape, ...(ids ? { ids } : {}) };
  });
}

/** Weights that are given fit their tensors; parameters that are left out are not another model's. */
function checkWeights(weights: ReadonlyMap<Tensor, Float32Array>, order: readonly Tensor[]): void {
  for (const tensor of order) {
    if (!is(tensor, "parameter")) continue;
    if (weights.has(tensor)) weightsOf([tensor], weights);
    else refuseForeign(tensor, weights);
  }
}

const nameOf = ({ attributes }: Tensor) => (attributes as { readonly name: string }).name;
const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** A size that a condition decides has one condition, and is no dimension of an input. */
function refuseSharedSizes(order: readonly Tensor[], inputs: readonly Tensor[]): void {
  const taken = new Set(inputs.flatMap(({ shape }) => shape.flatMap(namesIn)));
  for (const tensor of order) {
    if (!is(tensor, "which")) continue;
    const { size } = tensor.attributes;
    if (taken.has(size)) {
      rejectData({ who: "program", needed: "one source per size", got: `two of ${size}`, remedy: "rename one" });
    }
    taken.add(size);
  }
}

/** Names are one space in a program: an output may not have the name of an input. */
function refuseInputName(output: string, input: Tensor | undefined): void {
  if (!input) return;
  rejectData({
    who: "program",
    needed: "outputs named apart from inputs",
    got: `${input.op} and output ${output}`,
    remedy: "rename the output",
  });
}

/** Operations that hand on the values of their input. */
const layouts: ReadonlySet<string> = new Set(["reshape", "broadcast", "transpose", "slice", "stopGradient"]);

/** What each int input may hold, where it is looked up as it is. */
function idRanges(order: readonly Tensor[]): Map<Tensor, IdRange[]> {
  const ranges = new Map<Tensor, IdRange[]>();
  for (const node of order) {
    const range = rangeOf(node);
    let ids = node.inputs[1];
    while (ids && layouts.has(ids.op)) ids = ids.inputs[0];
    if (!range || !ids || !is(ids, "input")) continue;
    ranges.set(ids, [...(ranges.get(ids) ?? []), range]);
  }
  return ranges;
}

function rangeOf(node: Tensor): IdRange | undefined {
  const [table] = node.inputs;
  if (is(node, "pick")) return { size: table!.shape.at(-1)!, of: "values per row" };
  if (!is(node, "gather")) return undefined;
  return { size: table!.shape[0]!, of: is(table!, "parameter") ? `rows of ${nameOf(table!)}` : "rows of a table" };
}

export function outputPorts(source: ProgramSource): Port[] {
  return Object.entries(source.outputs).map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
}

/** A feed with its shape, which comes from the port where it is known. */
export function shaped(port: Port, value: Numbers | Feed): Feed {
  if (!ArrayBuffer.isView(value)) {
    if (ArrayBuffer.isView(value.data)) return value;
    return rejectShape({ who: `input ${port.name}`, needed: arrays[port.dtype], got: printed(value) });
  }
  if (port.shape.some((dim) => typeof dim === "string")) {
    rejectShape({
      who: `input ${port.name}`,
      needed: `data with its shape, for ${printShape(port.shape)}`,
      got: `${value.length} values`,
      remedy: "pass { data, shape }",
    });
  }
  return { data: value, shape: port.shape as readonly number[] };
}

const arrays = { float: "Float32Array", int: "Int32Array", bool: "Uint8Array" };

function fitsType(port: Port, data: Numbers, wide: boolean): boolean {
  if (port.dtype === "float") return data instanceof Float32Array || (wide && data instanceof Float64Array);
  return port.dtype === "int" ? data instanceof Int32Array : data instanceof Uint8Array;
}

/** Checks the feeds against the ports and learns the named sizes from them. `wide` admits double precision. */
export function bindFeeds(
  ports: readonly Port[],
  feeds: Feeds,
  wide: boolean,
): { bound: Map<string, Feed>; sizes: Map<string, number> } {
  const sizes = new Map<string, number>();
  const bound = new Map<string, Feed>();
  for (const port of ports) {
    const value = feeds[port.name];
    if (value === undefined) return rejectMissing(port, ports, feeds);
    const feed = shaped(port, value);
    if (!fitsType(port, feed.data, wide)) {
      rejectShape({ who: `input ${port.name}`, needed: arrays[port.dtype], got: feed.data.constructor.name });
    }
    learn(port, feed, sizes);
    bound.set(port.name, feed);
  }
  if (Object.keys(feeds).length > bound.size) refuseUnknown("input", ports, feeds);
  for (const port of ports) {
    const feed = bound.get(port.name)!;
    checkShape(port, feed, sizes);
    if (port.ids) checkIds(port, port.ids, feed.data, sizes);
  }
  return { bound, sizes };
}

/** Names of feeds that an error writes out. */
const MOST_LISTED = 12;

function rejectMissing(port: Port, ports: readonly Port[], feeds: Feeds): never {
  const names = Object.keys(feeds);
  const near = meant(port.name, unknownIn(ports, feeds));
  const listed = names.slice(0, MOST_LISTED).join(", ") || "nothing";
  rejectShape({
    who: `input ${port.name}`,
    needed: `${port.dtype} ${printShape(port.shape)}`,
    got: names.length > MOST_LISTED ? `${listed}, …` : listed,
    remedy: near && `rename ${near} to ${port.name}`,
  });
}

function unknownIn(ports: readonly Port[], given: Feeds): string[] {
  const known = new Set(ports.map(({ name }) => name));
  return Object.keys(given).filter((name) => given[name] !== undefined && !known.has(name));
}

/** Refuses targets for outputs that the program does not have. */
export function checkTargets(ports: readonly Port[], into: Feeds): void {
  let known = 0;
  for (const { name } of ports) if (into[name] !== undefined) known++;
  if (Object.keys(into).length > known) refuseUnknown("output", ports, into);
}

function refuseUnknown(what: "input" | "output", ports: readonly Port[], given: Feeds): void {
  const [unknown] = unknownIn(ports, given);
  if (unknown === undefined) return;
  const remedy = didYouMean(
    unknown,
    ports.map(({ name }) => name),
  );
  rejectData({
    who: `${what} ${unknown}`,
    needed: `an ${what} of the program`,
    got: "none of that name",
    remedy: remedy ?? "leave it out",
  });
}

/** Dimensions that are a bare name take their size from the feed. */
function learn(port: Port, feed: Feed, sizes: Map<string, number>): void {
  port.shape.forEach((dim, i) => {
    const size = feed.shape[i];
    if (typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim) && size !== undefined && !sizes.has(dim))
      sizes.set(dim, size);
  });
}

/** Sums and products of named sizes are kept among them: many inputs have the same. */
function sizesOf(shape: Shape, sizes: Map<string, number>): number[] {
  return shape.map((dim) => {
    if (typeof dim === "number") return dim;
    const size = sizes.get(dim) ?? evaluateDim(dim, sizes);
    sizes.set(dim, size);
    return size;
  });
}

function checkShape(port: Port, feed: Feed, sizes: Map<string, number>): void {
  const needed = sizesOf(port.shape, sizes);
  const fits = needed.length === feed.shape.length && needed.every((dim, i) => dim === feed.shape[i]);
  if (fits && feed.data.length === sizeOf(needed)) return;
  const named = printShape(port.shape) === printShape(needed) ? "" : ` (${printShape(port.shape)})`;
  const got = `${printShape(feed.shape)} with ${feed.data.length} values`;
  rejectShape({ who: `input ${port.name}`, needed: `${printShape(needed)}${named}`, got });
}

/** An id outside its table would be another row, or an error in the runtime's own words. */
function checkIds({ name }: Port, ranges: readonly IdRange[], data: Numbers, sizes: Sizes): void {
  for (const { size, of } of ranges) {
    if (!namesIn(size).every((each) => sizes.has(each))) continue;
    const count = evaluateDim(size, sizes);
    const at = firstOutside(data, count);
    if (at === undefined) continue;
    rejectData({
      who: `input ${name}`,
      needed: `ids from 0 to ${count - 1} for ${count} ${of}`,
      got: `${data[at]} at index ${at}`,
      remedy: "use the tokenizer or the labels the model was made for",
    });
  }
}

function firstOutside(ids: Numbers, count: number): number | undefined {
  for (let i = 0; i < ids.length; i++) if (ids[i]! < 0 || ids[i]! >= count) return i;
  return undefined;
}
