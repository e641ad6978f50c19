import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { engineContract } from "./engine.contract.ts";
import { ortEngine } from "./ort.ts";

engineContract("ONNX Runtime", () => ortEngine({ threads: 2 }));

/** In a process of its own: what is loaded and set before and after an engine is made. */
function states(env: NodeJS.ProcessEnv = {}): { loaded: boolean; telemetry: string | null }[] {
  const program = `
    const { ortEngine } = await import(${JSON.stringify(new URL("./ort.ts", import.meta.url).href)});
    const state = () => ({
      loaded: process.report.getReport().sharedObjects.some((file) => file.includes("onnxruntime")),
      telemetry: process.env.ORT_DISABLE_TELEMETRY ?? null,
    });
    const before = state();
    await ortEngine();
    console.log(JSON.stringify([before, state()]));`;
  const { ORT_DISABLE_TELEMETRY: _, ...rest } = process.env;
  const [cwd, args] = [
    fileURLToPath(new URL("../..", import.meta.url)),
    ["--import", "tsx", "--input-type=module", "-e"],
  ];
  return JSON.parse(
    execFileSync(process.execPath, [...args, program], { cwd, env: { ...rest, ...env }, encoding: "utf8" }),
  );
}

describe("the runtime", () => {
  it("is loaded when an engine is asked for, with its reports of use switched off", () => {
    const [before, after] = states();
    expect(before).toEqual({ loaded: false, telemetry: null });
    expect(after).toEqual({ loaded: true, telemetry: "1" });
  });

  it("keeps a choice about reports that was made before", () => {
    expect(states({ ORT_DISABLE_TELEMETRY: "true" })[1]!.telemetry).toBe("true");
  });
});
