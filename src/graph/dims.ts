/** Dimensions: numbers, or polynomials over named sizes in canonical text (`B*T`, `M+T`), so that equal sizes are equal strings. */

export type Dim = number | string;
/** Sizes of the axes. */
export type Shape = readonly Dim[];
/** Values of named dimensions. */
export type Sizes = ReadonlyMap<string, number>;

/** Monomial (`B*T`, or empty for the constant) → coefficient. */
type Terms = Map<string, number>;

function termsOf(dim: Dim): Terms {
  if (typeof dim === "number") return new Map(dim === 0 ? [] : [["", dim]]);
  const terms: Terms = new Map();
  for (const part of dim.split("+")) {
    const factors = part.split("*");
    const names = factors.filter((factor) => !/^\d+$/.test(factor)).sort();
    const coefficient = factors.filter((factor) => /^\d+$/.test(factor)).reduce((a, b) => a * Number(b), 1);
    accumulate(terms, names.join("*"), coefficient);
  }
  return terms;
}

function accumulate(terms: Terms, monomial: string, coefficient: number): void {
  terms.set(monomial, (terms.get(monomial) ?? 0) + coefficient);
}

function dimOf(terms: Terms): Dim {
  const parts = [...terms].filter(([, coefficient]) => coefficient !== 0);
  if (parts.every(([monomial]) => monomial === "")) return parts[0]?.[1] ?? 0;
  // Names first, the constant last: `M+T+1`.
  parts.sort(([a], [b]) => (a === "" ? 1 : b === "" ? -1 : a < b ? -1 : 1));
  return parts.map(([monomial, c]) => (monomial === "" ? `${c}` : c === 1 ? monomial : `${c}*${monomial}`)).join("+");
}

/** a + b; of named dimensions as text, such as `T+1`. */
export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return a + b;
  const sum = termsOf(a);
  for (const [monomial, coefficient] of termsOf(b)) accumulate(sum, monomial, coefficient);
  return dimOf(sum);
}

/** a − b where that has no negative term, else undefined. */
export function subtractDims(a: Dim, b: Dim): Dim | undefined {
  const rest = termsOf(a);
  for (const [monomial, coefficient] of termsOf(b)) accumulate(rest, monomial, -coefficient);
  return [...rest.values()].some((coefficient) => coefficient < 0) ? undefined : dimOf(rest);
}

/** a · b; of named dimensions as text, such as `B*T`. */
export function multiplyDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return a * b;
  const product: Terms = new Map();
  for (const [monomialA, x] of termsOf(a)) {
    for (const [monomialB, y] of termsOf(b)) {
      const names = [...monomialA.split("*"), ...monomialB.split("*")].filter(Boolean).sort();
      accumulate(product, names.join("*"), x * y);
    }
  }
  return dimOf(product);
}

/** Number of elements. */
export function sizeOf(shape: Shape): Dim {
  return shape.reduce<Dim>(multiplyDims, 1);
}

/** The value of a dimension once its names are known. */
export function evaluateDim(dim: Dim, sizes: Sizes): number {
  if (typeof dim === "number") return dim;
  let total = 0;
  for (const [monomial, coefficient] of termsOf(dim)) {
    total += monomial
      .split("*")
      .filter(Boolean)
      .reduce((product, name) => product * sizeNamed(name, sizes), coefficient);
  }
  return total;
}

function sizeNamed(name: string, sizes: Sizes): number {
  const size = sizes.get(name);
  if (size === undefined) throw new Error(`dimension ${name} has no size; known: ${[...sizes.keys()].join(", ")}`);
  return size;
}

/** A shape with numbers for its named dimensions. */
export function evaluateShape(shape: Shape, sizes: Sizes): number[] {
  return shape.map((dim) => evaluateDim(dim, sizes));
}

/** The named sizes in a dimension: `2*B*T+1` → B, T. */
export function namesIn(dim: Dim): string[] {
  return typeof dim === "number" ? [] : [...termsOf(dim).keys()].flatMap((key) => key.split("*").filter(Boolean));
}

/** Terms of a polynomial as plain data, for lowering. */
export function dimTerms(dim: Dim): { names: string[]; coefficient: number }[] {
  return [...termsOf(dim)].map(([key, coefficient]) => ({ names: key.split("*").filter(Boolean), coefficient }));
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/** `[B,T,64]`. */
export function printShape(shape: Shape): string {
  return `[${shape.join(",")}]`;
}

/** The shape two shapes broadcast to, or undefined. */
export function broadcastShapes(a: Shape, b: Shape): Dim[] | undefined {
  const rank = Math.max(a.length, b.length);
  const result: Dim[] = [];
  for (let i = 0; i < rank; i++) {
    const x = a[i - rank + a.length] ?? 1;
    const y = b[i - rank + b.length] ?? 1;
    if (x !== y && x !== 1 && y !== 1) return undefined;
    result.push(x === 1 ? y : x);
  }
  return result;
}
