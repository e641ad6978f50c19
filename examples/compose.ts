/** The three lines of research in one model: weights shared across depths, blocks searched for, tokens that halt by themselves. */
import {
  chooseTokenizer,
  cycle,
  graph,
  halting,
  languageModel,
  nested,
  nn,
  openBatches,
  openCorpus,
  ortEngine,
  pictures,
  searched,
  train,
} from "layerwise";

const [PIECES, WIDTH, LENGTH, WARMUP] = [500, 48, 32, 20];

/** Search: each of two stacks has two blocks, each of them attention, feed-forward or nothing; draws get colder, down to 0.2. */
function stack(name: string) {
  const sizes = { width: WIDTH, heads: 4, hidden: 4 * WIDTH, dropout: 0.1, activation: "gelu" } as const;
  const blocks = [0, 1].map((i) => [
    nn.selfAttentionCandidate(`${name}.${i}.attention`, sizes),
    nn.feedForwardCandidate(`${name}.${i}.dense`, sizes),
    nn.identity,
  ]);
  return searched(name, blocks, { finalTemperature: 0.2 });
}

export async function example(steps = 100) {
  const stacks = [stack("stacks.0"), stack("stacks.1")];
  // Share: two stacks own weights, six run. Adapt: every token passes through as many of the six as it needs.
  const plan = cycle({ unique: 2, depth: 6 });
  const policy = nested(stacks, plan, (blocks, order) =>
    halting(blocks, order, { width: WIDTH, ponder: 0.01, ponderWarmup: WARMUP, biasInitial: -3 }),
  );
  const model = languageModel({ vocabulary: PIECES, width: WIDTH, length: LENGTH, dropout: 0.1, depth: policy });

  const corpus = await openCorpus("books");
  const tokenizer = await chooseTokenizer(undefined, corpus, { pieces: PIECES });
  const batches = await openBatches(corpus, "train", tokenizer, { batch: 8, length: LENGTH });
  const engine = await ortEngine({ threads: 1 });
  const losses: number[] = [];
  let weights = nn.initialise(model.parameters, 1);
  for await (const event of train(model, {
    engine,
    data: { train: batches },
    steps,
    rate: 0.0015,
    seed: 1,
  })) {
    if (event.type === "step") losses.push(event.loss);
    if (event.type === "checkpoint") {
      const stored = event.state.weights;
      weights = new Map([...weights.keys()].map((key) => [key, stored.get(key.attributes.name)!.data.slice()]));
    }
  }

  const ids = graph.input("ids", [8, LENGTH], "int");
  const { updates } = model.deepened(ids).probes;
  const program = await engine.compile({ outputs: { updates: updates! }, weights });
  const depths = Array.from((await program.run({ ids: batches.at(0).ids })).updates!.data);
  await program.release();
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return {
    plan: pictures.drawPlan(plan),
    probabilities: stacks.map((each) => each.probabilities(weights)),
    patterns: stacks.map((each) => each.pattern(weights)),
    meanDepth: mean(depths),
    depths: [...new Set(depths)].sort(),
    first: mean(losses.slice(0, 10)),
    last: mean(losses.slice(-10)),
  };
}

if (process.argv[1]?.includes("examples")) {
  const { plan, probabilities, patterns, meanDepth, depths, first, last } = await example();
  console.log(plan);
  for (const [i, blocks] of probabilities.entries()) {
    const rows = blocks.map((shares) => shares.map((share) => share.toFixed(2)).join(" "));
    console.log(`stack ${i}: ${patterns[i]}   π (attention, feed-forward, identity) ${rows.join(" | ")}`);
  }
  console.log(`mean depth ${meanDepth.toFixed(2)} of 6 (tokens ran ${depths.join(", ")})`);
  console.log(`loss ${first.toFixed(2)} → ${last.toFixed(2)}`);
}
