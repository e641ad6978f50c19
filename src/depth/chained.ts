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
