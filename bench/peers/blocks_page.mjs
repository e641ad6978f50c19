/** The blocks benchmark on a page: ours, jax-js and TensorFlow.js beside each other, each on WebAssembly with one thread. */
import * as jax from "@jax-js/jax";
import * as tf from "@tensorflow/tfjs";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { ortWebEngine } from "../../src/engine/ort-web.ts";
import { pageConfig as config, drawn, openOurs, problem, shapeOf } from "../two-blocks.ts";
import { openStep as openJax } from "./jax_step.mjs";
import { openStep as openTensorflow } from "./tfjs_step.mjs";

function shared() {
  const weights = [...problem(config).initial].map(([{ attributes }, data]) => {
    return [attributes.name, { data, shape: attributes.shape }];
  });
  const inputs = ["x", "target"].map((name) => [
    `input.${name}`,
    { data: drawn(name, config), shape: shapeOf(config) },
  ]);
  return { config, tensors: new Map([...weights, ...inputs]), weightNames: weights.map(([name]) => name) };
}

const openers = {
  ours: async () => {
    const engine = await ortWebEngine({ threads: 1 });
    const { run } = await openOurs(engine, config);
    return { about: { backend: "wasm", threads: engine.threads }, step: async () => (await run()).loss };
  },
  "jax-js": () => openJax(jax, shared()),
  "TensorFlow.js": () => {
    setWasmPaths("/tfjs/");
    return openTensorflow(tf, shared(), console.warn);
  },
};

const sides = {};

/** Opens a side; what it says of itself. */
export async function open(name) {
  sides[name] = await openers[name]();
  return sides[name].about;
}

/** Updates: their losses and times in milliseconds. */
export async function steps(name, count) {
  const [losses, times] = [[], []];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    losses.push(await sides[name].step());
    times.push(performance.now() - start);
  }
  return { losses, times };
}
