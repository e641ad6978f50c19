/** The few ONNX messages we write: model, graph, node, attribute, tensor, value info. */
import { ProtoWriter } from "../format/protobuf.ts";
import type { DType, Shape } from "../graph/index.ts";

const IR_VERSION = 9;
const OPSET = 20;
export const MICROSOFT = "com.microsoft";

export type AttributeValue = number | readonly number[] | string | { float: number } | { graph: OnnxGraph };

export interface OnnxNode {
  readonly op: string;
  readonly domain?: string;
  readonly inputs: readonly string[];
  readonly outputs: string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

export type ElementType = DType | "int64" | "uint8";

export interface OnnxTensor {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Little-endian bytes of the values. */
  readonly bytes: Uint8Array;
}

export interface OnnxValue {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly tensors: readonly OnnxTensor[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

const elementTypes: Record<ElementType, number> = { float: 1, uint8: 2, int: 6, int64: 7, bool: 9 };

function writeAttribute(writer: ProtoWriter, name: string, value: AttributeValue): void {
  writer.string(1, name);
  if (typeof value === "number") writer.integer(3, value).integer(20, 2);
  else if (typeof value === "string") writer.string(4, value).integer(20, 3);
  else if ("float" in value) writer.float(2, value.float).integer(20, 1);
  else if ("graph" in value) writer.message(6, (inner) => writeGraph(inner, value.graph)).integer(20, 5);
  else {
    for (const each of value) writer.integer(8, each);
    writer.integer(20, 7);
  }
}

function writeNode(writer: ProtoWriter, node: OnnxNode, name: string): void {
  for (const input of node.inputs) writer.string(1, input);
  for (const output of node.outputs) writer.string(2, output);
  writer.string(3, name).string(4, node.op);
  for (const [key, value] of Object.entries(node.attributes)) {
    writer.message(5, (attribute) => writeAttribute(attribute, key, value));
  }
  if (node.domain) writer.string(7, node.domain);
}

function writeTensor(writer: ProtoWriter, tensor: OnnxTensor): void {
  for (const dim of tensor.shape) writer.integer(1, dim);
  writer.integer(2, elementTypes[tensor.type]).string(8, tensor.name).bytes(9, tensor.bytes);
}

function writeValue(writer: ProtoWriter, value: OnnxValue): void {
  writer.string(1, value.name).message(2, (type) =>
    type.message(1, (tensor) => {
      tensor.integer(1, elementTypes[value.type]).message(2, (shape) => {
        for (const dim of value.shape) {
          shape.message(1, (d) => (typeof dim === "number" ? d.integer(1, dim) : d.string(2, dim)));
        }
      });
    }),
  );
}

function writeGraph(writer: ProtoWriter, graph: OnnxGraph): void {
  graph.nodes.forEach((node, i) => {
    writer.message(1, (inner) => writeNode(inner, node, `${node.op}_${i}`));
  });
  writer.string(2, "layerwise");
  for (const tensor of graph.tensors) writer.message(5, (inner) => writeTensor(inner, tensor));
  for (const value of graph.inputs) writer.message(11, (inner) => writeValue(inner, value));
  for (const value of graph.outputs) writer.message(12, (inner) => writeValue(inner, value));
}

/** The bytes of an ONNX model. */
export function encodeModel(graph: OnnxGraph): Uint8Array<ArrayBuffer> {
  return new ProtoWriter()
    .integer(1, IR_VERSION)
    .string(2, "layerwise")
    .message(7, (writer) => writeGraph(writer, graph))
    .message(8, (opset) => opset.string(1, "").integer(2, OPSET))
    .message(8, (opset) => opset.string(1, MICROSOFT).integer(2, 1))
    .finish();
}
