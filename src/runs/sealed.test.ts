import { expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { readSealed, sealedJson } from "./sealed.ts";

const value = { step: 12, costs: [{ name: "attention", ms: 0.25 }], best: Number.NaN };

it("sealed JSON gives back what it says", () => {
  expect(readSealed(sealedJson(value), "costs.json", "")).toEqual({ value, sealed: true });
});

it("JSON of older versions has no seal", () => {
  expect(readSealed('{ "step": 3 }', "best.json", "")).toEqual({ value: { step: 3 }, sealed: false });
});

it("JSON that has no text form is read like any other", () => {
  const text = '{"step":[{"toString":[3]}]}';
  expect(readSealed(text, "state.json", "")).toEqual({ value: { step: [{ toString: [3] }] }, sealed: false });
});

it("sealed JSON with any one bit turned is refused, or says the same", () => {
  const bytes = Buffer.from(sealedJson(value));
  for (let place = 0; place < 8 * bytes.length; place++) {
    const other = Buffer.from(bytes);
    other[place >> 3]! ^= 1 << (place & 7);
    expect(outcomeOf(other.toString("utf8"))).toEqual(value);
  }
});

/** What is read; for damage that is refused, what was written. */
function outcomeOf(text: string): object {
  try {
    return readSealed(text, "costs.json", "put it back").value;
  } catch (error) {
    expect(error).toBeInstanceOf(LayerwiseError);
    return value;
  }
}
