/** Programs of one model, one per kind of input: each is compiled when it is first asked for. */
import type { Program } from "../engine/engine.ts";

/** Compiled programs by kind; a kind is plain data. */
export class Programs<Kind extends object> {
  readonly #compile: (kind: Kind) => Promise<Program>;
  readonly #compiled = new Map<string, Promise<Program>>();

  constructor(compile: (kind: Kind) => Promise<Program>) {
    this.#compile = compile;
  }

  get(kind: Kind): Promise<Program> {
    const key = JSON.stringify(kind);
    const program = this.#compiled.get(key) ?? this.#compile(kind);
    this.#compiled.set(key, program);
    return program;
  }

  /** Gives the programs' memory back; what is asked for afterwards is compiled again. */
  async release(): Promise<void> {
    const programs = [...this.#compiled.values()];
    this.#compiled.clear();
    for (const program of programs) await (await program).release();
  }
}
