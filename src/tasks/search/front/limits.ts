/** What networks of a front may hold at most: parameters, and memory in use. */
import { reject } from "../../../base/errors.ts";
import type { ParModel } from "../../../model/par/par.ts";
import { countParameters } from "../../../model/report.ts";
import type { Path } from "../../../train/path-program.ts";
import type { SearchConfig } from "../settings.ts";

/** Sizes of a network. */
export interface NetworkSize {
  readonly parameters: number;
  /** Float32 weights, and what attention blocks remember at the shape of the latency. */
  readonly bytes: number;
}

interface Sized {
  readonly model: ParModel;
  readonly settings: Pick<SearchConfig, "latency" | "mostParameters" | "mostMemory">;
}

/** The size of the network that a path is. */
export function sizeOfPath({ model, settings }: Sized, path: Path): NetworkSize {
  const { batch, memory } = settings.latency;
  const { embedding, head } = model.outer;
  const remembered = 4 * batch * memory * model.options.width;
  const taken = path.map((place, i) => model.policy.blocks[i]![place]!);
  const attending = taken.filter(({ kind }) => kind !== "identity" && kind !== "feed-forward").length;
  const all = [...embedding, ...head, ...taken.flatMap((candidate) => candidate.parameters)];
  const parameters = countParameters(all);
  return { parameters, bytes: 4 * parameters + attending * remembered };
}

const MEGABYTE = 1e6;

/** Whether a network keeps to the limits of the settings. */
export function fitsLimits(parts: Sized, path: Path): boolean {
  const { mostParameters, mostMemory } = parts.settings;
  if (mostParameters === null && mostMemory === null) return true;
  const { parameters, bytes } = sizeOfPath(parts, path);
  return parameters <= (mostParameters ?? Infinity) && bytes <= MEGABYTE * (mostMemory ?? Infinity);
}

/** The path of the fewest parameters, from which others are bred; refuses limits that not even it keeps to. */
export function smallestPath(parts: Sized): number[] {
  const { model, settings } = parts;
  const path = model.policy.blocks.map((candidates) => {
    const sizes = candidates.map(({ parameters }) => countParameters(parameters));
    return sizes.indexOf(Math.min(...sizes));
  });
  if (fitsLimits(parts, path)) return path;
  const { parameters, bytes } = sizeOfPath(parts, path);
  const isMany = parameters > (settings.mostParameters ?? Infinity);
  return reject(
    {
      who: isMany ? "most parameters" : "most memory",
      needed: isMany ? `at least ${parameters}, the smallest network's` : `at least ${bytes / MEGABYTE} MB`,
      got: `${isMany ? settings.mostParameters : settings.mostMemory}`,
      remedy: "give it more",
    },
    2,
  );
}
