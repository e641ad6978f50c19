/** jax-js's side of the blocks benchmark in Node. */
import { answer, load, problem } from "./blocks.mjs";
import { openStep } from "./jax_step.mjs";

const { about, step } = await openStep(load("@jax-js/jax"), problem);
await answer(about, step);
