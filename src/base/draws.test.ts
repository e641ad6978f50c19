import { describe, expect, it } from "vitest";
import { drawNormal, drawUniform } from "./draws.ts";
import { RandomStream } from "./random.ts";

const LENGTHS = [1, 2, 15, 16, 17, 33, 16_352, 16_353, 40_000];
/** At the start, inside a block (draws begin with the next), and where the index of a block passes 2^32. */
const POSITIONS = [0, 5, 4 * (2 ** 32 - 3)];
const PLACES = LENGTHS.flatMap((length) => POSITIONS.map((position) => [length, position] as const));

const streamAt = (position: number) => new RandomStream(3, "draws", position);
/** The same words, one number after another. */
const plainAt = (position: number) => streamAt(4 * Math.ceil(position / 4));

describe.each(PLACES)("%i numbers from word %i", (length, position) => {
  it("are uniform like the plain loop, to the bit", () => {
    const [out, plain] = [new Float32Array(length), plainAt(position)];
    drawUniform(streamAt(position), out, 0.3);
    expect(out).toEqual(Float32Array.from(out, () => 0.3 * (2 * plain.uniform() - 1)));
  });

  it("are normal like the plain loop, within a rounding of float32", () => {
    const [out, plain] = [new Float32Array(length), plainAt(position)];
    drawNormal(streamAt(position), out, 0.02);
    const exact = Array.from({ length: Math.ceil(length / 2) }, () => {
      const radius = 0.02 * Math.sqrt(-2 * Math.log(1 - plain.uniform()));
      const angle = 2 * Math.PI * plain.uniform();
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    }).flat();
    const excess = Array.from(out, (value, i) => Math.abs(value - exact[i]!) - 2 ** -24 * Math.abs(value));
    expect(Math.max(...excess)).toBeLessThanOrEqual(1e-15);
  });

  it("leave the stream behind the blocks they took", () => {
    const stream = streamAt(position);
    drawUniform(stream, new Float32Array(length), 1);
    expect(stream.state.position).toBe(4 * (Math.ceil(position / 4) + Math.ceil(length / 2)));
  });
});
