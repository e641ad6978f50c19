/** The engine that a task takes where none is given: ONNX Runtime on this machine. */
import type { Engine } from "../engine/engine.ts";
import type { Device } from "../engine/ort.ts";

/** Threads and device of an engine. */
export interface EngineSettings {
  /** Null: as many as there are physical cores. */
  readonly threads?: number | null | undefined;
  readonly device?: Device | undefined;
}

/** The best engine there is here. */
export async function defaultEngine({ threads, device = "cpu" }: EngineSettings = {}): Promise<Engine> {
  const { ortEngine } = await import("../engine/ort.ts");
  return ortEngine({ device, ...(threads === null || threads === undefined ? {} : { threads }) });
}

/** Threads of an engine that is not told how many. */
export const usualThreads = async (): Promise<number> => (await import("../engine/ort.ts")).defaultThreads();

/** As many threads as when a run began, so that its numbers stay its own; one that began in a browser goes on here on the CPU. */
export function engineAsBegun({ threads, device }: Readonly<Record<string, unknown>>): Promise<Engine> {
  return defaultEngine({
    device: typeof device === "string" && device !== "wasm" ? (device as Device) : undefined,
    threads: typeof threads === "number" ? threads : null,
  });
}
