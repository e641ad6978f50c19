/** JSON that keeps the numbers which JSON lacks. */

const NUMBERS_WITHOUT_JSON = new Map([NaN, Infinity, -Infinity].map((value) => [String(value), value]));

/** JSON in which NaN and the infinities survive, as "NaN", "Infinity" and "-Infinity". */
export function encodeJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_, inner: unknown) => (typeof inner === "number" && !Number.isFinite(inner) ? String(inner) : inner),
    indent,
  );
}

/** The inverse of `encodeJson`. */
export function decodeJson(text: string): unknown {
  return JSON.parse(text, (_, inner: unknown) =>
    typeof inner === "string" ? (NUMBERS_WITHOUT_JSON.get(inner) ?? inner) : inner,
  );
}
