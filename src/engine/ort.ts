/** ONNX Runtime for Node behind the engine interface: the only file that imports it, and only when an engine is asked for. */
import { readFileSync } from "node:fs";
import os from "node:os";
import type ort from "onnxruntime-node";
import { reject } from "../base/errors.ts";
import { check, checkOptions, oneOf, whole } from "../base/options.ts";
import { add, input } from "../graph/index.ts";
import type { Engine, Program, ProgramSource } from "./engine.ts";
import { compileWith, onDevice, sessionBasics } from "./ort-program.ts";
import { DeviceResidence, type DeviceRuntime } from "./residence.ts";

/** Where programs may run, by the names of ONNX Runtime. */
export const devices = ["cpu", "cuda", "webgpu", "dml"] as const;
/** One of `devices`. */
export type Device = (typeof devices)[number];

/** How programs run on ONNX Runtime. */
export interface OrtOptions {
  /** Threads a program may use. Default: the cores this process may run on. */
  threads?: number;
  /** Where programs run. Default: cpu. */
  device?: Device;
  /** Programs with weights of their own multiply by them in 8-bit integers: faster, a quarter of the size, a little less exact. Default: false. */
  int8?: boolean;
  /** Writes a profile of every operator under this file name prefix. */
  profile?: string;
  /** Refuse programs of which a node would run on the processor instead of the device. Default: no. */
  strict?: boolean;
}

/** Physical cores, within what this process may use: two hardware threads of one core share the units that products need. */
export function defaultThreads(): number {
  const available = os.availableParallelism();
  return Math.max(1, Math.min(available, physicalCores() ?? available));
}

/** Distinct sets of sibling threads, where the system tells. */
export function physicalCores(): number | undefined {
  try {
    const siblings = os.cpus().map((_, i) => {
      return readFileSync(`/sys/devices/system/cpu/cpu${i}/topology/thread_siblings_list`, "utf8").trim();
    });
    return new Set(siblings).size;
  } catch {
    return undefined;
  }
}

type Runtime = typeof import("onnxruntime-node");
let runtime: Promise<Runtime> | undefined;

/** The runtime, loaded by the first call. */
function loadRuntime(): Promise<Runtime> {
  runtime ??= importRuntime();
  return runtime;
}

async function importRuntime(): Promise<Runtime> {
  // Since 1.29 the native library reports its use over the network and writes files about it; the only switch is a variable
  // that it reads while it is loaded. Whoever has set the variable keeps their choice.
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
  const loaded = await import("onnxruntime-node");
  // What the runtime has to say comes back as errors; its own lines would stand between ours.
  loaded.env.logLevel = "fatal";
  return loaded;
}

/** The version of ONNX Runtime. */
export async function runtimeVersion(): Promise<string> {
  return (await loadRuntime()).env.versions.node ?? "unknown";
}

/** The devices on which a trial program ran. */
export async function presentDevices(): Promise<Device[]> {
  const found: Device[] = [];
  for (const device of devices) {
    if (await runsOn(device)) found.push(device);
  }
  return found;
}

async function runsOn(device: Device): Promise<boolean> {
  try {
    const x = input("x", [1]);
    const program = await compile({ outputs: { y: add(x, x) } }, { threads: 1, device });
    const { y } = await program.run({ x: Float32Array.of(2) });
    await program.release();
    return y?.data[0] === 4;
  } catch {
    return false;
  }
}

/** An engine on ONNX Runtime. Fails with the devices that are present when the wanted one is not. */
export async function ortEngine(options: OrtOptions = {}): Promise<Engine> {
  const { threads = defaultThreads(), device = "cpu", int8 = false } = options;
  checkOptions("engine", options, ["threads", "device", "int8", "profile", "strict"]);
  check("threads", threads, whole(1));
  check("device", device, oneOf(devices));
  if (int8 && device !== "cpu")
    reject({ who: "engine / int8", needed: "the device cpu", got: device, remedy: "leave one of them out" }, 2);
  if (device !== "cpu" && !(await runsOn(device))) {
    const present = (await presentDevices()).join(", ");
    reject(
      { who: "device", needed: `one that is present (${present})`, got: device, remedy: "choose one of these" },
      2,
    );
  }
  const loaded = await loadRuntime();
  return {
    name: "onnxruntime",
    threads,
    device,
    ...(int8 ? { int8 } : {}),
    compile: (source) => compile({ ...source, int8 }, { ...options, threads, device }),
    // The binding keeps tensors on WebGPU only: on others every run would copy weights and moments there and back.
    ...(device === "webgpu" ? { residence: () => new DeviceResidence(deviceRuntime(loaded, options)) } : {}),
  };
}

function deviceRuntime({ InferenceSession, Tensor }: Runtime, options: OrtOptions): DeviceRuntime<ort.Tensor> {
  const settings = sessionOptions(options, false);
  const open = async (model: Uint8Array, stay: readonly string[]) => {
    const preferredOutputLocation = Object.fromEntries(stay.map((name) => [name, "gpu-buffer" as const]));
    const session = await InferenceSession.create(model, { ...settings, preferredOutputLocation });
    return { run: (feeds: Record<string, ort.Tensor>) => session.run(feeds), release: () => session.release() };
  };
  return { Tensor, open };
}

/**
 * A thread that waits busily for longer takes half of a core, or all of it, from what goes on meanwhile: JavaScript between two runs, other
 * processes. Small training steps are slower where it goes to sleep between two products (docs/log.md).
 */
const waiting = { intra_op: { spin_duration_us: "2000" } };

/** Each session has threads of its own; those that wait busily after a run take the cores from another's. Within a run they go on doing so. */
const sleeping = { force_spinning_stop: "1" };

function sessionOptions(
  { threads, device, profile, strict }: OrtOptions,
  takesTurns: boolean,
): ort.InferenceSession.SessionOptions {
  return {
    ...sessionBasics,
    executionProviders: [device ?? "cpu"],
    intraOpNumThreads: threads ?? 1,
    interOpNumThreads: 1,
    extra: { session: { ...(takesTurns ? sleeping : waiting), ...(strict && onDevice) } },
    ...(profile ? { enableProfiling: true, profileFilePrefix: profile } : {}),
  };
}

const targetOf = ({ device = "cpu" }: OrtOptions) => (device === "cpu" ? "cpu" : "gpu");

async function compile(source: ProgramSource, options: OrtOptions): Promise<Program> {
  const { InferenceSession, Tensor } = await loadRuntime();
  const threads = source.threads ?? options.threads ?? 1;
  const settings = sessionOptions({ ...options, threads }, source.takesTurns ?? false);
  const open = (model: Uint8Array) => InferenceSession.create(model, settings);
  return compileWith(source, { Tensor, open, writesInto: true, target: targetOf(options) });
}
