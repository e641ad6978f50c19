/** Fields of settings: zod types, each with a default, a range, a description, and a form as text for flags. */
import * as z from "zod/mini";
import type { Bounds } from "../base/options.ts";

/** One setting: a zod type with its default; what is said about it is kept in a registry beside it. */
export type Field<T = unknown> = z.ZodMiniDefault<z.ZodMiniType<T>>;
/** Settings by name. */
export type Fields = Readonly<Record<string, Field>>;
/** The values that fields describe. */
export type ValuesOf<F extends Fields> = { -readonly [K in keyof F]: z.output<F[K]> };

interface Note {
  readonly description: string;
  /** For optional fields, which have no default to show. */
  readonly examples?: readonly unknown[];
  /** Heading under which help and forms list the field. */
  readonly "x-group"?: string;
}

/** How a structured value is written as one word: `1x64+640`. */
export interface TextForm<T> {
  read(text: string): unknown;
  show(value: T): string;
}

const notes = z.registry<Note>();
const forms = new WeakMap<object, TextForm<never>>();

function field<T>(type: z.ZodMiniType<T>, value: T, note: Note): Field<T> {
  const made: Field<T> = z._default(type, value as z.core.util.NoUndefined<T>);
  notes.add(made, note);
  return made;
}

const typeOf = <T>(of: Field<T>): z.ZodMiniType<T> => of.def.innerType;
const defaultOf = <T>(of: Field<T>): T => of.def.defaultValue as T;
const noteOf = (of: Field): Note => notes.get(of) ?? { description: "" };

function rangeWords({ from, above, to, below }: Bounds): string {
  const low = from !== undefined ? ` from ${from}` : above !== undefined ? ` above ${above}` : "";
  const high = to !== undefined ? ` to ${to}` : below !== undefined ? ` to below ${below}` : "";
  return `a number${low}${high}`;
}

/** A whole number, by default from 1. */
export function whole(value: number, description: string, from = 1, to?: number): Field<number> {
  const needed = `a whole number from ${from}${to === undefined ? "" : ` to ${to}`}`;
  const limits = [z.minimum(from, needed), ...(to === undefined ? [] : [z.maximum(to, needed)])];
  return field(z.int(needed).check(...limits), value, { description });
}

/** A number, by default from 0. */
export function real(value: number, description: string, range: Bounds = { from: 0 }): Field<number> {
  const needed = rangeWords(range);
  const { from, above, to, below } = range;
  const limits = [
    from === undefined ? [] : z.gte(from, needed),
    above === undefined ? [] : z.gt(above, needed),
    to === undefined ? [] : z.lte(to, needed),
    below === undefined ? [] : z.lt(below, needed),
  ];
  return field(z.number(needed).check(...limits.flat()), value, { description });
}

/** A part of a whole: a number from 0 to 1. */
export const fraction = (value: number, description: string): Field<number> =>
  real(value, description, { from: 0, to: 1 });

/** A text that is not empty. */
export function text(value: string, description: string): Field<string> {
  return field(z.string("a text").check(z.minLength(1, "a text")), value, { description });
}

/** A text of a certain form, which `needed` says in words; `fits` says what a pattern cannot. */
export function textLike(
  value: string,
  description: string,
  form: { pattern: RegExp; needed: string; fits?: (text: string) => boolean },
): Field<string> {
  const { pattern, needed, fits = () => true } = form;
  return field(z.string(needed).check(z.regex(pattern, needed), z.refine(fits, needed)), value, { description });
}

/** A number or a text, whichever of the two fields accepts it. */
export function either(a: Field<number>, b: Field<string>, description: string, needed: string) {
  return field<number | string>(z.union([typeOf(a), typeOf(b)], needed), defaultOf(a), { description });
}

/** Off unless given. One that is on by default is turned off with `--no-…`. */
export const flag = (description: string, value = false): Field<boolean> =>
  field(z.boolean("true or false"), value, { description });

/** One of several words. */
export function choice<const T extends string>(choices: readonly T[], value: T, description: string): Field<T> {
  return field<T>(z.enum(choices as readonly [T, ...T[]], `one of ${choices.join(", ")}`), value, { description });
}

/** A list of values, each as the field says. */
export function list<T>(of: Field<T>, value: T[], description: string, needed: string): Field<T[]> {
  return field(z.array(typeOf(of), needed), value, { description });
}

/** A list that may be left open (null), for what follows to fill in; `none` is the empty one. */
export function openList<T>(of: Field<T>, value: T[], description: string, needed: string): Field<T[] | null> {
  const made = optional(list(of, value, description, needed));
  const read = (given: string) => {
    const values = given === NONE ? [] : given.split(",").map(numberOr);
    return fits(made, values) ? values : given;
  };
  forms.set(made, { read, show: (shown: readonly unknown[]) => shown.join(",") || NONE });
  return made;
}

/** Two values, each as the field says. */
export function pair<T>(of: Field<T>, value: [T, T], description: string, needed: string): Field<[T, T]> {
  return field<[T, T]>(z.tuple([typeOf(of), typeOf(of)], needed), value, { description });
}

/** Several values under names of their own. */
export function shape<F extends Fields>(of: F, description: string, needed: string, form: TextForm<ValuesOf<F>>) {
  const types = Object.fromEntries(Object.entries(of).map(([key, each]) => [key, typeOf(each)]));
  const made = field(z.strictObject(types, needed), defaultsOf(of), { description }) as Field as Field<ValuesOf<F>>;
  forms.set(made, form as TextForm<never>);
  return made;
}

/** Keys with values that another schema checks. */
export const options = (description: string): Field<Record<string, unknown>> =>
  field(z.record(z.string(), z.unknown(), "keys with values"), {}, { description });

/** A setting that may be left out (null), and is unless a value is given; its own default is an example then. */
export function optional<T>(of: Field<T>, value: T | null = null): Field<T | null> {
  const { examples: _, ...note } = noteOf(of);
  const example = defaultOf(of);
  const shown = value === null && example !== "" ? { examples: [example] } : {};
  return formedAs(of, field<T | null>(z.nullable(typeOf(of)), value, { ...note, ...shown }));
}

/** Gives a field the text form of another. */
function formedAs<F extends Field>(of: Field, made: F): F {
  const form = forms.get(of);
  if (form) forms.set(made, form);
  return made;
}

/** The same fields, which help and forms list under a heading. */
export function group<F extends Fields>(heading: string, fields: F): F {
  for (const each of Object.values(fields)) notes.add(each, { ...noteOf(each), "x-group": heading });
  return fields;
}

/** The same fields with other defaults. */
export function withDefaults<F extends Fields>(fields: F, values: Partial<ValuesOf<F>>): F {
  const copyOf = (of: Field, value: unknown) => formedAs(of, field(typeOf(of), value, noteOf(of)));
  const changed = Object.entries(values).map(([key, value]) => [key, copyOf(fields[key]!, value)] as const);
  return { ...fields, ...Object.fromEntries(changed) };
}

/** The default of every field, copied. */
export function defaultsOf<F extends Fields>(fields: F): ValuesOf<F> {
  const values = Object.entries(fields).map(([key, each]) => [key, structuredClone(defaultOf(each))]);
  return Object.fromEntries(values) as ValuesOf<F>;
}

/** What a value lacks: where in it, what was needed there, and what it is. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly needed: string;
  readonly got: unknown;
}

/** The value, checked and copied, or what is wrong with it. */
export function checkValue(of: Field, value: unknown): { value: unknown } | { fault: Fault } {
  const found = of.safeParse(value);
  if (found.success) return { value: found.data };
  const { path, message } = found.error.issues[0]!;
  const got = path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
  return { fault: { path, needed: message, got } };
}

const fits = (of: Field, value: unknown) => of.safeParse(value).success;

/** What help, flags and forms need to know about a field. */
export interface FieldInfo {
  readonly key: string;
  readonly description: string;
  readonly group: string | undefined;
  /** What a flag does: it turns on or off, it has choices, or it takes a text. */
  readonly kind: "switch" | "choice" | "text";
  readonly choices: readonly string[];
  /** Whether null is a value. */
  readonly optional: boolean;
  readonly value: unknown;
  /** The value that a text stands for; what it does not understand is returned as it is, for `check` to refuse. */
  read(text: string): unknown;
  /** A value as text. */
  show(value: unknown): string;
}

/** How a flag says null, or an empty list. */
const NONE = "none";

/** What help, flags and forms need to know about one field. */
export function infoOf(key: string, of: Field): FieldInfo {
  const outer = typeOf(of);
  const inner = outer instanceof z.ZodMiniNullable ? outer.def.innerType : outer;
  const kind = inner instanceof z.ZodMiniBoolean ? "switch" : inner instanceof z.ZodMiniEnum ? "choice" : "text";
  const { description, "x-group": heading } = noteOf(of);
  return {
    key,
    description,
    kind,
    group: heading,
    choices: inner instanceof z.ZodMiniEnum ? inner.options.map(String) : [],
    optional: outer instanceof z.ZodMiniNullable,
    value: defaultOf(of),
    read: (given) => readText(of, given),
    show: (value) => (forms.get(of)?.show as TextForm<unknown>["show"] | undefined)?.(value) ?? `${value}`,
  };
}

function readText(of: Field, given: string): unknown {
  const form = forms.get(of);
  if (form) return form.read(given);
  if (given === NONE && fits(of, null)) return null;
  if (given === NONE && fits(of, [])) return [];
  const number = numberOr(given);
  const readings = [number, given, given.split(",").map(numberOr)];
  return readings.find((each) => fits(of, each)) ?? number;
}

const numberOr = (given: string): number | string =>
  given.trim() === "" || Number.isNaN(Number(given)) ? given : Number(given);

/** A JSON Schema, as zod writes it. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** JSON Schema (draft 2020-12) of an object of these fields, none of them required. */
export function jsonSchemaOf(fields: Fields): JsonSchema {
  return z.toJSONSchema(z.strictObject(fields), {
    io: "input",
    metadata: notes,
    override: ({ jsonSchema }) => {
      // Zod's own limits of whole numbers say nothing to a reader.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}
