/** The engine that a task takes where none is given: ONNX Runtime on this machine. */
import type { Engine } from "../engine/engine.ts";
import type { Device } from "../engine/ort.ts";
import { rowsEach } from "../train/world.ts";
import { joinWorld, threadsEach } from "./mpi.ts";

/** Threads and device of an engine. */
export interface EngineSettings {
  /** Null: as many as there are physical cores. */
  readonly threads?: number | null | undefined;
  readonly device?: Device | undefined;
  /** Models that are used, not trained, multiply in 8-bit integers. Default: false. */
  readonly int8?: boolean | undefined;
  /** Under mpirun: updates between averages of the processes' weights. Default: 1, gradients are summed at every update. */
  readonly localSteps?: number | undefined;
  /** Rows that processes share, where it is known: refused at once where they cannot share them evenly. */
  readonly batch?: number | undefined;
}

/** The best engine there is here. */
export async function defaultEngine(settings: EngineSettings = {}): Promise<Engine> {
  const { threads, device = "cpu", int8 = false, localSteps, batch } = settings;
  const { defaultThreads, ortEngine } = await import("../engine/ort.ts");
  const world = await joinWorld(localSteps);
  if (world && batch !== undefined) rowsEach(batch, world);
  const engine = await ortEngine({ device, int8, threads: threads ?? threadsEach(defaultThreads()) });
  return world ? Object.assign(engine, { world }) : engine;
}

/** Threads of an engine that is not told how many. */
export const usualThreads = async (): Promise<number> => (await import("../engine/ort.ts")).defaultThreads();

/** As many threads as when a run began, so that its numbers stay its own; one that began in a browser goes on here on the CPU. */
export function engineAsBegun({ threads, device, localSteps }: Readonly<Record<string, unknown>>): Promise<Engine> {
  return defaultEngine({
    localSteps: typeof localSteps === "number" ? localSteps : undefined,
    device: typeof device === "string" && device !== "wasm" ? (device as Device) : undefined,
    threads: typeof threads === "number" ? threads : null,
  });
}

/** The engine on which a run is used: as it began, but on the processor where WebGPU trained it. Generation there has sizes that change. */
export function engineForUse({ device, ...environment }: Readonly<Record<string, unknown>>): Promise<Engine> {
  return engineAsBegun({ ...environment, device: device === "webgpu" ? "cpu" : device });
}
