/** TensorFlow.js's side of the blocks benchmark, in Node and on a page: on wasm, or on its cpu backend where wasm lacks a kernel. */

/** Opens the step; `tf` has the gradients and the wasm backend. `say` hears why a backend does not serve. */
export async function openStep(tf, { config, tensors, weightNames }, say) {
  const { width, heads, batch, length, rate } = config;

  const linear = (x, w, name) => tf.add(tf.matMul(x, w[`${name}.weight`], false, true), w[`${name}.bias`]);

  function norm(x, w, name) {
    const { mean, variance } = tf.moments(x, -1, true);
    const standard = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
    return tf.add(tf.mul(standard, w[`${name}.weight`]), w[`${name}.bias`]);
  }

  function attention(x, w, name) {
    const fold = (part) => tf.transpose(tf.reshape(part, [batch, length, heads, width / heads]), [0, 2, 1, 3]);
    const [q, k, v] = tf.split(linear(x, w, `${name}.qkv`), 3, -1).map(fold); // [B, H, T, D]
    const weights = tf.softmax(tf.mul(tf.matMul(q, k, false, true), (width / heads) ** -0.5));
    const mixed = tf.transpose(tf.matMul(weights, v), [0, 2, 1, 3]);
    return linear(tf.reshape(mixed, [batch * length, width]), w, `${name}.out`);
  }

  function block(x, w, name) {
    const y = tf.add(x, attention(norm(x, w, `${name}.norm1`), w, name));
    return tf.add(y, linear(tf.relu(linear(norm(y, w, `${name}.norm2`), w, `${name}.up`)), w, `${name}.down`));
  }

  const dataOf = (name) => tf.tensor(tensors.get(name).data, tensors.get(name).shape);

  /** Loss, gradients and update as a function of nothing, on the present backend. */
  function opened() {
    const weights = Object.fromEntries(weightNames.map((name) => [name, tf.variable(dataOf(name), true, name)]));
    const [x, target] = ["input.x", "input.target"].map((name) => tf.reshape(dataOf(name), [batch * length, width]));
    const optimiser = tf.train.sgd(rate);
    const output = () => block(block(x, weights, "blocks.0"), weights, "blocks.1");
    const lossOf = () => tf.mean(tf.square(tf.sub(output(), target)));
    const close = () => tf.dispose(weights);
    const step = async () => {
      const loss = optimiser.minimize(lossOf, true);
      const [value] = await loss.data();
      loss.dispose();
      return value;
    };
    return { step, close };
  }

  /** One trial update, and the weights as they were again; false where a kernel is missing. */
  async function works(backend) {
    await tf.setBackend(backend);
    await tf.ready();
    const { step, close } = opened();
    try {
      return Number.isFinite(await step());
    } catch (error) {
      say(`${backend}: ${error.message}`);
      return false;
    } finally {
      close();
    }
  }

  const backend = (await works("wasm")) ? "wasm" : "cpu";
  await tf.setBackend(backend);
  return { about: { backend, threads: 1 }, step: opened().step };
}
