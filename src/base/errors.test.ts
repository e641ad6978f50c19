import { describe, expect, it } from "vitest";
import { LayerwiseError, reject, rejectFile } from "./errors.ts";

function caught(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("errors", () => {
  const what = { who: "blocks.2", needed: "a width divisible by heads", got: "30", remedy: "set width to 32" };

  it("are data: code, who, needed, got, remedy", () => {
    const error = caught(() => reject(what, 2));
    expect(error).toBeInstanceOf(LayerwiseError);
    expect(error).toMatchObject({ ...what, code: "bad-option", exitCode: 2 });
    expect((error as Error).message).toBe("blocks.2: expected a width divisible by heads, got 30; set width to 32");
  });

  it("have the code they are given, or that of their kind", () => {
    expect(caught(() => reject({ ...what, code: "bad-shape" }))).toMatchObject({ code: "bad-shape", exitCode: 1 });
    expect(caught(() => rejectFile(what))).toMatchObject({ code: "bad-file" });
    expect(caught(() => reject(what))).toMatchObject({ code: "failed" });
  });

  it("of free text have no parts, and keep their cause", () => {
    const cause = new Error("disk full");
    const error = new LayerwiseError("cannot write", 1, { cause, code: "bad-file" });
    expect(error).toMatchObject({ message: "cannot write", cause, code: "bad-file", who: undefined, got: undefined });
  });

  it("become JSON with their message", () => {
    const error = new LayerwiseError("stopped by the signal", 1, { code: "stopped" });
    const { name, message, code, exitCode } = error;
    expect(JSON.parse(JSON.stringify(error))).toEqual({ name, message, code, exitCode });
    expect(message).toBe("stopped by the signal");
  });

  it("answer to the old name", () => {
    expect(LayerwiseError).toBe(LayerwiseError);
  });
});
