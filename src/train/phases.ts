/** Phases of a search in which weights and architecture are trained by turns. */
import { rejectOption } from "../base/errors.ts";

/** How weights and architecture take turns. */
export interface AlternationOptions {
  /** Updates at the start in which the architecture rests. */
  freeze: number;
  /** Updates of one turn: weights first, then the architecture. */
  period: number;
  /** Part of a turn that is the architecture's. Default: a fifth. */
  share?: number;
}

/** Which of weights and architecture are updated at a step. */
export interface Phases {
  /** Whether the weights are updated at a step, counted from 1. */
  weights(step: number): boolean;
  architecture(step: number): boolean;
}

/** Weights alone for a while; then each turn ends with updates of the architecture alone. */
export function alternation({ freeze, period, share = 0.2 }: AlternationOptions): Phases {
  if (!(share > 0 && share < 1) || !(period >= 2) || !(freeze >= 0)) {
    const got = `freeze ${freeze}, period ${period}, share ${share}`;
    rejectOption({ who: "alternation", needed: "freeze from 0, a period from 2, a share between 0 and 1", got });
  }
  const own = Math.min(period - 1, Math.max(1, Math.round(share * period)));
  const architecture = (step: number) => step > freeze && (step - freeze - 1) % period >= period - own;
  return { architecture, weights: (step) => !architecture(step) };
}

/** How long a choice has stood; plain data, for checkpoints. */
export interface Standing {
  readonly choice: string;
  readonly since: number;
}

/** Says when a choice has stood for the given part of a stage. */
export class Settled {
  readonly #from: number;
  readonly #patience: number;
  #standing: Standing;

  constructor({ from, total, part = 0.75 }: { from: number; total: number; part?: number }, standing?: Standing) {
    this.#from = from;
    this.#patience = part * (total - from);
    this.#standing = standing ?? { choice: "", since: 0 };
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** True once the choice has not changed for long enough, counted from the stage's start. */
  see(step: number, choice: string): boolean {
    if (choice !== this.#standing.choice || step <= this.#from)
      this.#standing = { choice, since: Math.max(step, this.#from) };
    return step - this.#standing.since >= this.#patience;
  }
}
