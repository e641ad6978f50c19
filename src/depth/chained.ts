/** Policies one after the other: a prelude, a core whose tokens halt, a coda. */
import { add, full, type Tensor, within } from "../graph/index.ts";
import { cachesOf, contextsOf } from "./caches.ts";
import { joinedScalars } from "./nested.ts";
import type { Deepened, DepthPolicy } from "./policy.ts";

/**
 * Runs policies one after the other, each once. Penalties add up; exits are those of the last. Probes of policy i are called `part{i}.…`;
 * `updates`, where tokens decide in one of them, is the depth over all.
 */
export function chained(policies: readonly [DepthPolicy, ...DepthPolicy[]]): DepthPolicy {
  if (policies.length === 1) return policies[0];
  const total = (of: (policy: DepthPolicy) => number) => policies.reduce((sum, policy) => sum + of(policy), 0);
  return {
    parameters: policies.flatMap(({ parameters }) => [...parameters]),
    depth: total(({ depth }) => depth),
    unique: total(({ unique, depth }) => unique ?? depth),
    caches: cachesOf(policies),
    scalars: joinedScalars(policies),
    shallower: (depth) => shallowerChain(policies, depth),
    apply: (x, context) => {
      const contexts = contextsOf(context, policies);
      let state = x;
      const parts = policies.map((policy, i) => {
        const part = within(`part ${i}`, () => policy.apply(state, contexts[i]!));
        state = part.hidden;
        return part;
      });
      return joined(parts, policies);
    },
  };
}

/** What is over the depth is taken from the part that is deepest of those that may be shallower; the others stay whole. */
function shallowerChain(policies: readonly [DepthPolicy, ...DepthPolicy[]], depth: number): DepthPolicy | undefined {
  const over = policies.reduce((sum, policy) => sum + policy.depth, 0) - depth;
  const byDepth = [...policies].filter(({ shallower }) => shallower).sort((a, b) => b.depth - a.depth);
  for (const deep of byDepth) {
    const less = deep.shallower!(deep.depth - Math.max(0, over));
    if (!less) continue;
    const [first, ...rest] = policies.map((policy) => (policy === deep ? less : policy));
    return chained([first!, ...rest]);
  }
  return undefined;
}

function joined(parts: readonly Deepened[], policies: readonly DepthPolicy[]): Deepened {
  const { hidden, exits } = parts.at(-1)!;
  const probes = Object.fromEntries(
    parts.flatMap((part, i) => Object.entries(part.probes).map(([name, probe]) => [`part${i}.${name}`, probe])),
  );
  const depths: Tensor[] = parts.map(({ probes: { updates } }, i) => {
    return updates ?? full(policies[i]!.depth, [hidden.shape[0]!]);
  });
  const decided = parts.some(({ probes: { updates } }) => updates);
  const penalties = parts.flatMap(({ penalty }) => (penalty ? [penalty] : []));
  return {
    hidden,
    exits,
    probes: decided ? { ...probes, updates: sumOf(depths) } : probes,
    ...(penalties.length > 0 ? { penalty: sumOf(penalties) } : {}),
  };
}

const sumOf = (terms: readonly Tensor[]) => terms.reduce((a, b) => add(a, b));
