import { describe, expect, it } from "vitest";
import { spreadOf } from "../../base/spread.ts";
import {
  above,
  against,
  claimsText,
  exactly,
  holds,
  noHigher,
  spreadText,
  type Verdict,
  verdictLine,
} from "./claims.ts";

const wide = spreadOf([20, 22, 24])!; // 22 ± 2
const narrow = spreadOf([26.9, 27, 27.1])!; // 27 ± 0.1

describe("a claim that one figure lies above another", () => {
  it("is agreed or not where the difference is larger than its deviation", () => {
    expect([above(narrow, wide), above(wide, narrow)]).toEqual(["agreed", "not agreed"]);
  });

  it("is within deviation where seeds alone would make the difference", () => {
    const near = spreadOf([22.5, 23.5, 24.5])!; // 23.5 ± 1, and √(2² + 1²) is 2.2
    expect([above(near, wide), above(wide, near), above(wide, wide)]).toEqual(Array(3).fill("within deviation"));
  });

  it("goes by the means alone where there is one seed, and says so by leaving out the deviation", () => {
    expect([above(exactly(3), exactly(2.9)), spreadText(exactly(3))]).toEqual(["agreed", "3.00"]);
  });

  it("is not measured while a figure is missing", () => {
    expect([above(null, wide), noHigher(wide, null), holds(null, () => true)]).toEqual(Array(3).fill("not measured"));
  });
});

describe("a claim that a figure is no higher than a limit", () => {
  it("is agreed below it and at it, and within deviation a little above it", () => {
    const verdicts = [0.6, 0.65, 0.66, 0.7].map((mean) =>
      noHigher({ mean, deviation: 0.02, values: [] }, exactly(0.65)),
    );
    expect(verdicts).toEqual(["agreed", "agreed", "within deviation", "not agreed"]);
  });
});

describe("what is said of claims", () => {
  it("has both figures with their deviations", () => {
    expect(against(narrow, wide)).toBe("27.00 ± 0.10 against 22.00 ± 2.00");
    expect(against(narrow, null)).toBe("–");
  });

  it("counts each verdict", () => {
    const claims = (...verdicts: Verdict[]) =>
      verdicts.map((verdict) => ({ sentence: "", paper: "", ours: "", verdict }));
    expect(verdictLine(claims("agreed", "not agreed", "within deviation", "agreed"))).toBe(
      "2 of 4 claims agreed, 1 within deviation, 1 not agreed.",
    );
    expect(claimsText(claims("agreed", "not agreed"), 40).split("\n").at(-1)).toBe(
      "1 of 2 claims agreed, 1 not agreed.",
    );
    expect(verdictLine(claims("not measured"))).toBe("0 of 1 claims agreed, 1 not measured.");
  });
});
