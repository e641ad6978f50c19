import { describe, expect, it } from "vitest";
import { clock, progressLine, startProgress } from "./progress.ts";

function watched(isTTY: boolean) {
  const written: string[] = [];
  let ms = 0;
  const output = { isTTY, write: (text: string) => written.push(text) };
  const progress = startProgress("encode", { output, total: 100, unit: "lines", now: () => ms });
  return { written, progress, pass: (by: number) => (ms += by) };
}

describe("progress", () => {
  it("stays silent for two seconds, then draws and wipes one line", () => {
    const { written, progress, pass } = watched(true);
    pass(1999);
    progress.at(10);
    expect(written).toEqual([]);
    pass(1);
    progress.at(20);
    progress.at(21);
    progress.end();
    expect(written).toEqual(["\r\x1b[2Kencode  ━━━━················  20 %  10 lines/s  0:08 left", "\r\x1b[2K"]);
  });

  it("draws a bar once the work says how much there is", () => {
    const written: string[] = [];
    let ms = 0;
    const output = { isTTY: true, write: (text: string) => written.push(text) };
    const progress = startProgress("evaluating", { output, unit: "batches", now: () => ms });
    ms = 4000;
    progress.at(30, 40);
    expect(written).toEqual(["\r\x1b[2Kevaluating  ━━━━━━━━━━━━━━━·····  75 %  7.5 batches/s  0:01 left"]);
  });

  it("writes nothing when the output is not a terminal", () => {
    const { written, progress, pass } = watched(false);
    pass(5000);
    progress.at(50);
    progress.end();
    expect(written).toEqual([]);
  });

  it("counts without a total", () => {
    expect(progressLine("read", 5000, 2000, { unit: "lines" })).toBe("read  5,000 lines  2,500 lines/s  0:02");
  });

  it("writes long times with hours", () => {
    expect([clock(5), clock(65), clock(3723)]).toEqual(["0:05", "1:05", "1:02:03"]);
  });
});
