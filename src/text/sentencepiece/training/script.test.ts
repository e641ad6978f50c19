import { expect, it } from "vitest";
import { scriptOf } from "./script.ts";

it.each([
  ["a", "Latin"],
  ["ж", "Cyrillic"],
  ["1", "Common"],
  ["\u0301", "Inherited"],
  ["ひ", "Han"],
  ["ー", "Han"],
  ["日", "Han"],
  ["\ue000", "Other"],
])("%s belongs to %s", (character, script) => expect(scriptOf(character)).toBe(script));
