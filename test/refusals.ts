/** Texts that are refused, in tests of what reads them. */
import { expect, it } from "vitest";

/** A test per row: reading the text fails with the message. */
export const refused = (read: (text: string) => unknown, rows: readonly (readonly [string, string])[]): void =>
  it.each(rows)("%j is refused", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
