/** Language models that stop early: greedy generation and evaluation of running tokens only, beside our own fixed depth of the same blocks. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { input, mean, roleOf, simplifyNamed } from "../src/graph/index.ts";
import { type LanguageModel, languageModel } from "../src/model/language/language.ts";
import { initialise, type Parameter } from "../src/nn/index.ts";
import { type Bench, compare, cpuTimed, interleave, type Measurement, timed } from "./measure.ts";

const sizes = { vocabulary: 8000, width: 512, heads: 8, hidden: 2048, length: 256 };
const DEPTH = 12;
const TOKENS = 64;
const BATCH = { batch: 16, length: 128 };

interface Contender {
  readonly name: string;
  readonly depth: string;
  /** The same blocks at fixed depth. */
  readonly fixed: string;
  /** How much less each depth's bias in the router is than that of the one before. Default: 0, which sends tokens to all depths alike. */
  readonly lean?: number;
}

/** Biases are such that tokens run to 0.6 of the depth at most, in generation and in evaluation. */
const contenders: readonly Contender[] = [
  { name: "halting, shared blocks", depth: "2*6 halt(biasInitial=-1.2)", fixed: "2*6" },
  {
    name: "halting, shared blocks, keys of the first visit",
    depth: "2*6 halt(biasInitial=-1.35, keys=first)",
    fixed: "2*6",
  },
  {
    name: "halting, shared blocks, keys of running tokens",
    depth: "2*6 halt(biasInitial=-1.2, keys=running)",
    fixed: "2*6",
  },
  { name: "halting, own blocks", depth: "12 halt(biasInitial=-1.35)", fixed: "12" },
  { name: "routed, shared blocks, keys of the first visit", depth: "2*6 route(token, keys=first)", fixed: "2*6" },
  { name: "routed, own blocks", depth: "12 route(token)", fixed: "12" },
  { name: "routed, own blocks, keys of running tokens", depth: "12 route(token, keys=running)", fixed: "12" },
  { name: "routed less deep, own blocks", depth: "12 route(token)", fixed: "12", lean: 0.0018 },
  { name: "exits, own blocks", depth: "12 exits(gate, biasInitial=-1.75, keys=own)", fixed: "12" },
];

const targets = { generation: 0.7, evaluation: 0.75 };

/** First weights; those of gates and routers are so large that tokens differ. */
function weightsOf({ parameters }: LanguageModel, lean = 0) {
  const drawn = initialise(parameters, 1);
  const decides = (parameter: Parameter, dims: number) =>
    roleOf(parameter) === "halting" && parameter.tensor.shape.length === dims;
  return new Map(
    parameters.map((parameter) => {
      const { tensor } = parameter;
      const [factor, slope] = [decides(parameter, 2) ? 2 : 1, decides(parameter, 1) ? lean : 0];
      return [tensor, drawn.get(tensor)!.map((x, way) => factor * x - slope * way)] as const;
    }),
  );
}

function someIds(count: number): Int32Array {
  const random = new RandomStream(1, "bench prompt");
  return Int32Array.from({ length: count }, () => random.integer(sizes.vocabulary));
}

interface Work {
  /** Does it once. */
  run(): Promise<unknown>;
  /** Of the last run. */
  meanDepth(): number;
  release(): Promise<void>;
}

/** One text, token by token. The text is given: what a model would write itself differs from model to model. */
async function generating(engine: Engine, model: LanguageModel, lean?: number): Promise<Work> {
  const decoder = await model.open(engine, weightsOf(model, lean));
  const ids = someIds(TOKENS + 1);
  let depths = 0;
  return {
    run: async () => {
      [depths] = [0];
      decoder.clear();
      for (const id of ids) {
        await decoder.read([id]);
        depths += decoder.depth ?? DEPTH;
      }
    },
    meanDepth: () => depths / ids.length,
    release: () => decoder.release(),
  };
}

/** A batch's loss. */
async function evaluating(engine: Engine, model: LanguageModel, lean?: number): Promise<Work> {
  const { loss } = model.objective({ ...BATCH, training: false });
  const { probes } = model.deepened(input("ids", [BATCH.batch, BATCH.length], "int"));
  const weights = weightsOf(model, lean);
  const program = await engine.compile({ outputs: simplifyNamed({ loss }), weights });
  const [ids, targets] = [someIds(BATCH.batch * BATCH.length), someIds(BATCH.batch * BATCH.length)];
  const deep = probes.updates
    ? await meanOf(engine, simplifyNamed({ depth: mean(probes.updates) }), weights, ids)
    : DEPTH;
  return {
    run: () => program.run({ ids, targets }),
    meanDepth: () => deep,
    release: () => program.release(),
  };
}

async function meanOf(
  engine: Engine,
  outputs: ReturnType<typeof simplifyNamed>,
  weights: ReturnType<typeof weightsOf>,
  ids: Int32Array,
): Promise<number> {
  const program = await engine.compile({ outputs, weights });
  const { depth } = await program.run({ ids });
  const found = depth!.data[0]!;
  await program.release();
  return found;
}

const kinds = { generation: generating, evaluation: evaluating } as const;
const titles = { generation: "generation, batch 1", evaluation: "evaluation, batch 16" } as const;

export const bench: Bench = async ({ say, rounds, threads, cpu }) => {
  const engine = await ortEngine({ threads });
  const found: Measurement[] = [];
  for (const kind of ["generation", "evaluation"] as const) {
    for (const { name, depth, fixed, lean } of contenders) {
      const ours = await kinds[kind](engine, languageModel({ ...sizes, depth }), lean);
      const peer = await kinds[kind](engine, languageModel({ ...sizes, depth: fixed }));
      const time = cpu ? cpuTimed : timed;
      const both = { ours: () => time(ours.run), peer: () => time(peer.run) };
      await interleave(both, 1); // warm-up
      const times = await interleave(both, rounds);
      const deep = ours.meanDepth();
      say(`${titles[kind]}, ${name}: mean depth ${deep.toFixed(2)} of ${DEPTH}`);
      const title = `${titles[kind]}: ${name}, depth ${deep.toFixed(1)} of ${DEPTH}`;
      found.push(compare(title, targets[kind], times.get("ours")!, `fixed depth ${DEPTH}`, times.get("peer")!));
      await ours.release();
      await peer.release();
    }
  }
  return found;
};
