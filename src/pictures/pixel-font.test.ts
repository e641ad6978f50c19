import { expect, it } from "vitest";
import { eachDot, textWidth } from "./pixel-font.ts";

function drawn(text: string, scale = 1): string[] {
  const rows = Array.from({ length: 9 * scale }, () => Array<string>(textWidth(text, scale)).fill("."));
  eachDot(text, scale, (x, y) => {
    rows[y]![x] = "#";
  });
  return rows.map((row) => row.join("").replace(/\.+$/, ""));
}

it("the font draws letters side by side", () => {
  expect(drawn("1g").slice(0, 9)).toEqual([
    "..#",
    ".##",
    "..#....####",
    "..#...#...#",
    "..#...#...#",
    "..#...#...#",
    ".###...####",
    "..........#",
    ".......###",
  ]);
});

it("letters differ from each other, and those that are missing are question marks", () => {
  const letters = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,-+:/()%=_×π?"];
  expect(new Set(letters.map((letter) => drawn(letter).join("\n"))).size).toBe(letters.length);
  expect(drawn("ß")).toEqual(drawn("?"));
  expect(drawn("1", 2)[1]).toBe("....##");
});
