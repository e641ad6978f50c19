/** Relaxed sharing: one block at several depths, with a few weights of its own at each: low-rank additions, norms, biases, scales. */
import { rejectOption } from "../base/errors.ts";
import { check, checkOptions, type Rules, truth, whole } from "../base/options.ts";
import { add, matmul, multiply, roleOf, substituting, subtract, type Tensor } from "../graph/index.ts";
import {
  type Block,
  type Context,
  isRowwise,
  kaimingUniform,
  newParameter,
  ones,
  type Parameter,
  type Role,
  type RowwiseBlock,
  zeros,
} from "../nn/index.ts";

/** What a shared block has of its own at each of its visits. */
export interface RelaxOptions {
  /** Rank of what is added to every matrix: W + B·A with A [rank, in] and B [out, rank], at first 0. Default: none. */
  rank?: number | undefined;
  /** Norms of its own. Default: false. */
  norms?: boolean | undefined;
  /** Biases of its own. Default: false. */
  biases?: boolean | undefined;
  /** A factor for every column of what the block adds to its input, at first 1. Default: false. */
  scales?: boolean | undefined;
}

/** Rules for those who take relaxed sharing as an option. */
export const relaxRules: Rules<RelaxOptions> = { rank: whole(1), norms: truth, biases: truth, scales: truth };

/** The low-rank addition to a matrix at one visit. */
interface Addition {
  /** A: [rank, in] */
  readonly down: Parameter;
  /** B: [out, rank] */
  readonly up: Parameter;
}

/** The name that a parameter has at a visit: of its own copy (at the first visit itself), or of a factor of what is added to it. */
export function nameAt(name: string, visit: number, factor?: "down" | "up"): string {
  if (factor) return `${name}.visit${visit}.${factor}`;
  return visit === 0 ? name : `${name}.visit${visit}`;
}

/** A block for as many visits, each a little different: `fixed([relaxed(block, 4, { width, rank: 8 })], [0, 0, 0, 0])`. */
export function relaxed(block: Block, visits: number, options: RelaxOptions & { width: number }): Block {
  checkOptions("relaxed", options, { ...relaxRules, width: { ...whole(1), required: true } });
  check("relaxed / visits", visits, whole(1));
  return new Relaxed(block, visits, options);
}

class Relaxed implements Block {
  /** Other weights make other keys and values of the same state. */
  readonly differs = true;
  readonly #visits: number;
  readonly caches: number | undefined;
  readonly parameters: readonly Parameter[];
  readonly #block: Block;
  readonly #own = new Map<Parameter, readonly Parameter[]>();
  readonly #additions = new Map<Parameter, readonly Addition[]>();
  readonly #scales: readonly Parameter[];

  constructor(block: Block, visits: number, options: RelaxOptions & { width: number }) {
    this.#block = block;
    this.#visits = visits;
    this.caches = block.caches;
    const { rank, norms, biases, scales, width } = options;
    const each = <T>(make: (visit: number) => T) => Array.from({ length: visits }, (_, visit) => make(visit));
    const isOwn = (role: Role) => (role === "norm" && norms === true) || (role === "bias" && biases === true);
    for (const parameter of block.parameters) {
      const role = roleOf(parameter);
      if (isOwn(role))
        this.#own.set(
          parameter,
          each((visit) => (visit === 0 ? parameter : copyOf(parameter, visit))),
        );
      if (role === "matrix" && rank)
        this.#additions.set(
          parameter,
          each((visit) => additionTo(parameter, visit, rank)),
        );
    }
    const name = commonName(block);
    this.#scales = scales ? each((visit) => newParameter(`${name}.scale.visit${visit}`, [width], ones, "norm")) : [];
    this.parameters = [
      ...block.parameters.flatMap((parameter) => this.#own.get(parameter) ?? [parameter]),
      ...[...this.#additions.values()].flat().flatMap(({ down, up }) => [down, up]),
      ...this.#scales,
    ];
    if (isRowwise(block)) this.#openRows(block);
  }

  apply(x: Tensor, context: Context): Tensor {
    return this.#scaled(x, context, () => this.#block.apply(x, context));
  }

  keyValues?: RowwiseBlock["keyValues"];
  applyRows?: RowwiseBlock["applyRows"];

  #openRows(block: RowwiseBlock): void {
    if (block.keyValues) {
      this.keyValues = (x, rows, context) => this.#relaxed(context, () => block.keyValues!(x, rows, context));
    }
    this.applyRows = (x, all, rows, context) => this.#scaled(x, context, () => block.applyRows(x, all, rows, context));
  }

  /** What is made with the weights of a visit. */
  #relaxed<T>(context: Context, make: () => T): T {
    const visit = this.#checked(context.visit);
    const others = new Map<Tensor, Tensor>();
    for (const parameter of this.#block.parameters) {
      const [own, added] = [this.#own.get(parameter)?.[visit], this.#additions.get(parameter)?.[visit]];
      if (own) others.set(parameter.tensor, own.tensor);
      if (added) others.set(parameter.tensor, add(parameter.tensor, matmul(added.up.tensor, added.down.tensor)));
    }
    return substituting(others, make);
  }

  #scaled(x: Tensor, context: Context, make: () => Tensor): Tensor {
    const y = this.#relaxed(context, make);
    const scale = this.#scales[this.#checked(context.visit)];
    return scale ? add(x, multiply(scale.tensor, subtract(y, x))) : y;
  }

  #checked(visit: number | undefined): number {
    if (visit !== undefined && visit < this.#visits) return visit;
    const who = `${commonName(this.#block)} / relaxed`;
    if (visit === undefined) {
      const remedy = "let the policy give every block a context of contextsOf";
      return rejectOption({ who, needed: "context.visit, how often the block ran before", got: "nothing", remedy });
    }
    const remedy = "relax it for more visits, or loop less";
    return rejectOption({ who, needed: `at most ${this.#visits} visits`, got: `visit ${visit + 1}`, remedy });
  }
}

const copyOf = ({ name, tensor, initial, role }: Parameter, visit: number) =>
  newParameter(nameAt(name, visit), tensor.attributes.shape, initial, role ?? undefined);

function additionTo({ name, tensor }: Parameter, visit: number, rank: number): Addition {
  const [out, width] = tensor.attributes.shape as [number, number];
  return {
    down: newParameter(nameAt(name, visit, "down"), [rank, width], kaimingUniform, "matrix"),
    up: newParameter(nameAt(name, visit, "up"), [out, rank], zeros, "matrix"),
  };
}

/** What the names of a block's parameters begin with. */
function commonName({ parameters }: Block): string {
  const names = parameters.map(({ name }) => name.split("."));
  const first = names[0] ?? ["block"];
  const differs = first.findIndex((part, i) => names.some((each) => each[i] !== part));
  return first.slice(0, differs < 0 ? undefined : differs).join(".") || "block";
}
