import { describe, expect, it } from "vitest";
import { ALIGNMENT, Arena, arenaBytes } from "./arena.ts";

describe("arena", () => {
  it("lays out zeroed tensors at 64-byte alignment, none at address 0, none overlapping", () => {
    const lengths = [1, 0, 17, 16, 1000, 3];
    const arena = new Arena(arenaBytes(lengths));
    const views = lengths.map((length) => arena.float32(length));
    views.forEach((view, i) => {
      expect(arena.address(view) % ALIGNMENT).toBe(0);
      expect(arena.address(view)).toBeGreaterThan(0);
      expect([...view]).toEqual(Array(lengths[i]).fill(0));
      view.fill(i + 1);
    });
    views.forEach((view, i) => {
      expect(view.every((x) => x === i + 1)).toBe(true);
    });
  });

  it("holds exactly what arenaBytes planned", () => {
    const arena = new Arena(arenaBytes([5, 100]));
    arena.float32(5);
    arena.int32(100);
    expect(arena.used).toBe(arena.capacity);
    expect(() => arena.uint8(1)).toThrow("arena / a tensor: expected 1 bytes, got 0 left of 512");
  });

  it("says what is needed and what is left when it overflows", () => {
    const arena = new Arena(1024);
    arena.float32(100);
    expect(() => arena.float32(200, "gradient of embedding")).toThrow(
      "arena / gradient of embedding: expected 800 bytes, got 576 left of 1024; plan it with arenaBytes over the lengths of all tensors",
    );
  });

  it("gives the address of a part of a view, and refuses other memory", () => {
    const arena = new Arena(arenaBytes([8]));
    const view = arena.float32(8);
    expect(arena.address(view.subarray(3)) - arena.address(view)).toBe(12);
    expect(() => arena.address(new Float32Array(2))).toThrow(
      "arena: expected a view of its memory, got Float32Array(2) elsewhere",
    );
  });

  it("refuses sizes that are no sizes, or beyond 32-bit addresses", () => {
    expect(() => new Arena(-1)).toThrow("arena: expected a size in bytes, got -1");
    expect(() => new Arena(2 ** 33)).toThrow("arena: expected at most 4294967296 bytes");
    expect(() => new Arena(64).float32(1.5)).toThrow("arena / a tensor: expected a length, got 1.5");
  });
});
