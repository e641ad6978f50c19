/** What both engines check alike: the names of a program's inputs, and that what is fed fits them. */
import { reject } from "../base/errors.ts";
import { evaluateShape, is, namesIn, printShape, type Sizes, type Tensor, topological } from "../graph/index.ts";
import type { Feed, Numbers, Port, ProgramSource } from "./engine.ts";

/** Inputs and unbound parameters, in graph order; two different ones of one name are an error. */
export function inputPorts(source: ProgramSource): Port[] {
  const byName = new Map<string, Tensor>();
  for (const tensor of topological(Object.values(source.outputs))) {
    const leaf = is(tensor, "input") || (is(tensor, "parameter") && !source.weights?.has(tensor));
    if (!leaf) continue;
    const { name } = tensor.attributes as { name: string };
    const other = byName.get(name);
    if (other && other !== tensor) {
      const got = `${other.op} ${printShape(other.shape)} and ${tensor.op} ${printShape(tensor.shape)}, both named ${name}`;
      reject({ who: "program", needed: "one input a name", got, remedy: "rename one" });
    }
    byName.set(name, tensor);
  }
  for (const name of Object.keys(source.outputs)) refuseInputName(name, byName.get(name));
  refuseSharedSizes(source, [...byName.values()]);
  return [...byName].map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
}

/** A size that a condition decides has one condition, and is no dimension of an input. */
function refuseSharedSizes({ outputs }: ProgramSource, inputs: readonly Tensor[]): void {
  const taken = new Set(inputs.flatMap(({ shape }) => shape.flatMap(namesIn)));
  for (const tensor of topological(Object.values(outputs))) {
    if (!is(tensor, "which")) continue;
    const { size } = tensor.attributes;
    if (taken.has(size))
      reject({ who: "program", needed: "one source a size", got: `two of ${size}`, remedy: "rename one" });
    taken.add(size);
  }
}

/** Names are one space in a program: an output may not have the name of an input. */
function refuseInputName(output: string, input: Tensor | undefined): void {
  if (!input) return;
  reject({
    who: "program",
    needed: "outputs named apart from inputs",
    got: `${input.op} and output ${output}`,
    remedy: "rename the output",
  });
}

export function outputPorts(source: ProgramSource): Port[] {
  return Object.entries(source.outputs).map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
}

function isFeed(value: Numbers | Feed): value is Feed {
  return !ArrayBuffer.isView(value);
}

/** A feed with its shape, which comes from the port where it is known. */
export function shaped(port: Port, value: Numbers | Feed): Feed {
  if (isFeed(value)) return value;
  if (port.shape.some((dim) => typeof dim === "string")) {
    reject({
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
  feeds: Readonly<Record<string, Numbers | Feed>>,
  wide: boolean,
): { bound: Map<string, Feed>; sizes: Map<string, number> } {
  const sizes = new Map<string, number>();
  const bound = new Map<string, Feed>();
  for (const port of ports) {
    const value = feeds[port.name];
    if (value === undefined) {
      const got = Object.keys(feeds).join(", ") || "nothing";
      return reject({ who: `input ${port.name}`, needed: `${port.dtype} ${printShape(port.shape)}`, got });
    }
    const feed = shaped(port, value);
    if (!fitsType(port, feed.data, wide)) {
      reject({ who: `input ${port.name}`, needed: arrays[port.dtype], got: feed.data.constructor.name });
    }
    learn(port, feed, sizes);
    bound.set(port.name, feed);
  }
  for (const port of ports) checkShape(port, bound.get(port.name)!, sizes);
  return { bound, sizes };
}

/** Dimensions that are a bare name take their size from the feed. */
function learn(port: Port, feed: Feed, sizes: Map<string, number>): void {
  port.shape.forEach((dim, i) => {
    const size = feed.shape[i];
    if (typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim) && size !== undefined && !sizes.has(dim))
      sizes.set(dim, size);
  });
}

function checkShape(port: Port, feed: Feed, sizes: Sizes): void {
  const needed = evaluateShape(port.shape, sizes);
  const fits = needed.length === feed.shape.length && needed.every((dim, i) => dim === feed.shape[i]);
  if (fits && feed.data.length === needed.reduce((a, b) => a * b, 1)) return;
  const named = printShape(port.shape) === printShape(needed) ? "" : ` (${printShape(port.shape)})`;
  const got = `${printShape(feed.shape)} with ${feed.data.length} values`;
  reject({ who: `input ${port.name}`, needed: `${printShape(needed)}${named}`, got });
}
