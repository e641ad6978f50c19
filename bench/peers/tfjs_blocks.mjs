/** TensorFlow.js's side of the blocks benchmark in Node, where it has one thread. */
import { answer, load, problem } from "./blocks.mjs";
import { openStep } from "./tfjs_step.mjs";

const tf = load("@tensorflow/tfjs"); // brings the gradients and the cpu backend
load("@tensorflow/tfjs-backend-wasm");
const { about, step } = await openStep(tf, problem, (text) => process.stderr.write(`${text}\n`));
await answer(about, step);
