/** What a parameter is in its network: layers say it, optimiser groups follow it. */
import type { Tensor } from "./vocabulary.ts";

/** All roles. */
export const roles = ["matrix", "head", "table", "bias", "norm", "architecture", "halting"] as const;

/**
 * `matrix`: a product inside a block, which is what Muon is for. `head`: a product outside blocks (scores, poolers, maps between tables and
 * blocks). `table`: vectors that are looked up, also where they are scores too. `architecture`: π and temperatures of a search.
 * `halting`: what decides how deep a token goes.
 */
export type Role = (typeof roles)[number];

/** A parameter's role; one without is a matrix where it has two axes, otherwise a bias. */
export function roleOf({ tensor, role }: { tensor: Tensor<"parameter">; role?: Role | undefined }): Role {
  return role ?? (tensor.attributes.shape.length === 2 ? "matrix" : "bias");
}
