/** Settings as a form: fields out of a JSON Schema, and what was typed as values. */

/** A property of a schema, as far as a form needs it. */
interface Property {
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly "x-group"?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Property[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly examples?: readonly unknown[];
}

/** A control of the form. */
export interface FormField {
  readonly key: string;
  readonly group: string;
  readonly description: string;
  /** `json`: whatever has no control of its own, as JSON. */
  readonly type: "integer" | "number" | "text" | "yes-no" | "choice" | "json";
  readonly choices: readonly string[];
  /** Empty means null. */
  readonly nullable: boolean;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly example: string;
}

/** The fields of a task's schema by heading, in the schema's order. */
export function fieldsOf(schema: Readonly<Record<string, unknown>>): Map<string, FormField[]> {
  const groups = new Map<string, FormField[]>();
  for (const [key, property] of Object.entries((schema.properties ?? {}) as Record<string, Property>)) {
    if ("const" in property) continue;
    const field = fieldOf(key, property);
    groups.set(field.group, [...(groups.get(field.group) ?? []), field]);
  }
  return groups;
}

function fieldOf(key: string, property: Property): FormField {
  const parts = property.anyOf ?? [property];
  const inner = parts.filter(({ type }) => type !== "null");
  const list = oneList(inner);
  const only: Property = inner.length === 1 ? inner[0]! : list ? { enum: list } : {};
  return {
    key,
    group: property["x-group"] ?? "Other",
    description: property.description ?? "",
    type: typeOf(only),
    choices: (only.enum ?? []).map(String),
    nullable: inner.length < parts.length,
    minimum: only.minimum ?? only.exclusiveMinimum,
    maximum: only.maximum ?? only.exclusiveMaximum,
    example: property.examples?.[0] === undefined ? "" : String(property.examples[0]),
  };
}

/** Several lists of strings are one. */
const oneList = (parts: readonly Property[]) =>
  parts.every((part) => part.enum || "const" in part) ? parts.flatMap((part) => part.enum ?? [part.const]) : undefined;

function typeOf({ type, enum: list }: Property): FormField["type"] {
  if (list?.every((each) => typeof each === "string")) return "choice";
  if (type === "integer" || type === "number") return type;
  if (type === "boolean") return "yes-no";
  return type === "string" ? "text" : "json";
}

/** What stands in a control for a value. */
export function textOf(value: unknown, { type }: FormField): string {
  if (value === undefined || value === null) return "";
  return type === "json" ? JSON.stringify(value) : String(value);
}

/** The value that was typed: null for nothing; what is not understood stays text, and the server says so. */
export function valueFrom(text: string, { type, nullable }: FormField): unknown {
  if (text === "" && nullable) return null;
  if (type === "yes-no") return text === "true";
  if (type === "integer" || type === "number")
    return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
  if (type !== "json") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Settings that differ from preset and defaults. */
export function changedFrom(base: Readonly<Record<string, unknown>>, given: Readonly<Record<string, unknown>>) {
  const same = (key: string) => JSON.stringify(base[key] ?? null) === JSON.stringify(given[key] ?? null);
  return Object.fromEntries(Object.entries(given).filter(([key]) => !same(key)));
}
