/** jax-js's side of the blocks benchmark, in Node and on a page: loss, gradients and update in one compiled function. */

/** Opens the step on its wasm device, which has one thread in Node and on pages that are not isolated. */
export async function openStep(jax, { config, tensors, weightNames }) {
  const { defaultDevice, init, jit, nn, numpy: np, tree, valueAndGrad } = jax;
  const { width, heads, batch, length, rate } = config;

  await init("wasm");
  defaultDevice("wasm");

  const arrayOf = (name) => {
    const { data, shape } = tensors.get(name);
    return np.array(data).reshape(shape);
  };

  /** Every use but the last of an array takes a reference: jax-js's functions own what they are given. */
  const linear = (x, w, name) => np.matmul(x, w[`${name}.weight`].transpose()).add(w[`${name}.bias`]);
  const norm = (x, w, name) => nn.standardize(x, -1, { epsilon: 1e-5 }).mul(w[`${name}.weight`]).add(w[`${name}.bias`]);

  /** By matmul: jax-js's own attention goes through einsum, which needs iterator helpers that Node 20 lacks. */
  function attention(x, w, name) {
    const fold = (part) => part.reshape([batch, length, heads, width / heads]).transpose([0, 2, 1, 3]);
    const [q, k, v] = np.split(linear(x, w, `${name}.qkv`), 3, -1).map(fold); // [B, H, T, D]
    const scores = np.matmul(q, k.transpose([0, 1, 3, 2])).mul((width / heads) ** -0.5);
    const mixed = np.matmul(nn.softmax(scores, -1), v).transpose([0, 2, 1, 3]);
    return linear(mixed.reshape([batch * length, width]), w, `${name}.out`);
  }

  function block(x, w, name) {
    const y = x.ref.add(attention(norm(x, w, `${name}.norm1`), w, name));
    return y.ref.add(linear(nn.relu(linear(norm(y, w, `${name}.norm2`), w, `${name}.up`)), w, `${name}.down`));
  }

  function lossOf(w, x, target) {
    const y = block(block(x, w, "blocks.0"), w, "blocks.1");
    return np.mean(np.square(y.sub(target)));
  }

  const update = jit((w, x, target) => {
    const [loss, gradients] = valueAndGrad(lossOf)(tree.ref(w), x, target);
    return [loss, tree.map((weight, gradient) => weight.sub(gradient.mul(rate)), w, gradients)];
  });

  let weights = Object.fromEntries(weightNames.map((name) => [name, arrayOf(name)]));
  const flat = (name) => arrayOf(name).reshape([batch * length, width]);
  const [x, target] = [flat("input.x"), flat("input.target")];

  const step = async () => {
    const [loss, next] = update(weights, x.ref, target.ref);
    weights = next;
    await Promise.all(tree.leaves(next).map((leaf) => leaf.blockUntilReady()));
    return (await loss.data())[0];
  };
  return { about: { backend: "wasm", threads: 1 }, step };
}
