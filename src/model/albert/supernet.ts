/** A searched encoder: with its heads, narrowed as candidates are cut, and the network that is found in it. */
import { reject } from "../../base/errors.ts";
import { patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Budget, Searched } from "../../depth/searched.ts";
import { takenWeights } from "../par/found.ts";
import { allProbabilities, chosenPlaces, type Supernet } from "../supernet.ts";
import type { Weights } from "../weights.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "./description.ts";

/** An encoder with its heads whose blocks still have choices. */
export class EncoderSupernet implements Supernet {
  readonly options: { readonly budget?: Budget | undefined };
  readonly choices: Supernet["choices"];
  readonly alive: Supernet["alive"];
  readonly policy: Searched;
  readonly parameters: DescribedAlbert["parameters"];
  readonly described: DescribedAlbert;
  readonly #description: AlbertDescription;

  constructor(description: AlbertDescription) {
    this.#description = description;
    this.described = describedAlbert(description);
    const { blocks } = this.described.model;
    const { choices, alive, policy } =
      blocks ?? reject({ who: "encoder", needed: "blocks to choose", got: "a layer that is shared" }, 2);
    [this.choices, this.alive, this.policy] = [choices, alive, policy];
    this.options = { budget: description.model.searched?.budget };
    this.parameters = this.described.parameters;
  }

  probabilities(values: Weights): number[][] {
    return allProbabilities(this, values);
  }

  chosen(values: Weights): number[] {
    return chosenPlaces(this, values);
  }

  /** The same encoder with fewer candidates. */
  narrowed(alive: Supernet["alive"]): EncoderSupernet {
    const { model, heads } = this.#description;
    return new EncoderSupernet({ model: { ...model, searched: { ...model.searched, alive } }, heads });
  }

  /** The network of a pattern, with the weights that its blocks have here; nothing is left to choose in it. */
  found(weights: Weights, pattern: string): FoundEncoder {
    const { model, heads } = this.#description;
    const { searched: _, ...sizes } = model;
    const description = { model: { ...sizes, blocks: printPattern(patternBlocks(pattern)) }, heads };
    const described = describedAlbert(description);
    const network = { policy: described.model.blocks!.policy, parameters: described.parameters };
    return { description, described, weights: takenWeights(this, weights, network, patternBlocks(pattern)) };
  }
}

/** An encoder of one candidate per block, cut out of a supernet. */
export interface FoundEncoder {
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  readonly weights: Weights;
}
