/**
 * A policy of your own as a word of `--depth`, for every command:
 * `layerwise train --import examples/own-word.mjs --depth "2*3 damped(0.5)" --preset tiny`.
 */
export default (lw) => {
  lw.depth.defineWord("damped", {
    first: "factor",
    options: { factor: "number" },
    /** h ← h + factor · (block(h) − h), at each depth of the plan. */
    policy: (blocks, plan, { factor = 1 }) => {
      const order = plan.map((i) => blocks[i]);
      const { add, multiply, subtract } = lw.graph;
      return {
        parameters: blocks.flatMap(({ parameters }) => [...parameters]),
        depth: plan.length,
        unique: blocks.length,
        caches: lw.depth.cachesOf(order),
        apply: (x, context) => {
          const contexts = lw.depth.contextsOf(context, order);
          const hidden = order.reduce((state, block, i) => {
            const change = subtract(block.apply(state, contexts[i]), state);
            return add(state, multiply(change, factor));
          }, x);
          return { hidden, probes: {} };
        },
      };
    },
  });
};
