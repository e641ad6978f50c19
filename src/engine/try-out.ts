/** Whether a page's runtime runs at all. */
import { complaint, LayerwiseError, messageOf } from "../base/errors.ts";
import { add, input } from "../graph/index.ts";
import type { Engine } from "./engine.ts";

/** Loads the WebAssembly and runs one addition, so that what is not there shows here; `about` says who needs what. */
export async function tryOut(
  compile: Engine["compile"],
  about: { readonly who: string; readonly needed: string; readonly remedy: string },
): Promise<void> {
  try {
    const x = input("x", [1]);
    const program = await compile({ outputs: { y: add(x, x) } });
    await program.run({ x: Float32Array.of(2) });
    await program.release();
  } catch (cause) {
    const details = { code: "runtime", ...about, got: messageOf(cause) } as const;
    throw new LayerwiseError(complaint(details), 1, { ...details, cause });
  }
}
