/** What a package's declaration files (.d.ts) export, read as the compiler prints them: a statement starts at the margin. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A name of a declaration file. */
export interface Place {
  readonly file: string;
  readonly name: string;
}

/** A declared name: its text without comments, and whether a doc comment stands above it. */
interface Declaration {
  readonly text: string;
  readonly documented: boolean;
}

interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Local name → where it comes from; `*` is the whole module. */
  readonly imports: ReadonlyMap<string, Place>;
  /** Exported name → where it comes from, or a local name. */
  readonly exports: ReadonlyMap<string, Place>;
  /** Modules whose every export is this module's. */
  readonly everythingOf: readonly string[];
}

const modules = new Map<string, Module>();

/** Every public name below an entry point, namespaces included: `train`, `graph.add`. */
export function publicNames(file: string, prefix = ""): Map<string, Place> {
  const found = new Map<string, Place>();
  for (const [name, place] of exportsOf(file)) {
    if (place.name !== "*") found.set(prefix + name, place);
    else for (const [inner, at] of publicNames(place.file, `${prefix}${name}.`)) found.set(inner, at);
  }
  return found;
}

/** The declaration behind a place. */
export const declared = ({ file, name }: Place): Declaration | undefined => moduleOf(file).declarations.get(name);

/** The types of ours that a declaration's text names. */
export function typesIn(place: Place): Place[] {
  const { text } = declared(place)!;
  const names = new Set(text.match(/\b[A-Z]\w*/g));
  return [...names]
    .map((name) => resolve(place.file, name))
    .filter((at) => at !== undefined && at.name !== "*") as Place[];
}

function exportsOf(file: string): Map<string, Place> {
  const { exports, everythingOf } = moduleOf(file);
  const found = new Map(everythingOf.flatMap((other) => [...exportsOf(other)]));
  for (const [name, place] of exports) {
    const at =
      place.name === "*"
        ? place
        : place.file === file
          ? resolve(file, place.name)
          : exportsOf(place.file).get(place.name);
    if (at) found.set(name, at);
  }
  return found;
}

/** Where a local name is declared; undefined for globals and names of other packages. */
function resolve(file: string, name: string): Place | undefined {
  const { declarations, imports } = moduleOf(file);
  if (declarations.has(name)) return { file, name };
  const from = imports.get(name);
  return from && (from.name === "*" ? from : exportsOf(from.file).get(from.name));
}

function moduleOf(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const made = read(file);
  modules.set(file, made);
  return made;
}

function read(file: string): Module {
  const declarations = new Map<string, Declaration>();
  const [imports, exports, everythingOf] = [new Map<string, Place>(), new Map<string, Place>(), [] as string[]];
  for (const { text, documented } of statements(readFileSync(file, "utf8"))) {
    const from = /from "(\.[^"]+)"/.exec(text)?.[1];
    const other = from && join(dirname(file), from.replace(/\.(ts|js)$/, ".d.ts"));
    const whole = /^(import|export)(?: type)? \*(?: as (\w+))? from/.exec(text);
    if (whole) {
      if (!other) continue;
      if (whole[2]) (whole[1] === "import" ? imports : exports).set(whole[2], { file: other, name: "*" });
      else everythingOf.push(other);
      continue;
    }
    const list = /^(import|export)(?: type)? \{([^}]*)\}/.exec(text);
    if (list) {
      if (list[1] === "import" && !other) continue;
      for (const [name, alias] of listed(list[2]!)) {
        (list[1] === "import" ? imports : exports).set(alias, { file: other ?? file, name });
      }
      continue;
    }
    const [, exported, name] =
      /^(export )?(?:declare )?(?:abstract )?(?:function|const|let|class|interface|type|enum) (\w+)/.exec(text) ?? [];
    if (!name) continue;
    const before = declarations.get(name);
    declarations.set(name, {
      text: `${before?.text ?? ""}${text}`,
      documented: documented || (before?.documented ?? false),
    });
    if (exported) exports.set(name, { file, name });
  }
  return { declarations, imports, exports, everythingOf };
}

/** `type A, B as C` → pairs of name and alias. */
const listed = (text: string): [string, string][] =>
  text
    .split(",")
    .filter((each) => each.trim())
    .map((each) => {
      const [name, alias] = each
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      return [name!, alias ?? name!];
    });

/** Statements of a file without comments, and whether one ended right above each. */
function statements(source: string): { text: string; documented: boolean }[] {
  const found: { text: string; documented: boolean }[] = [];
  let documented = false;
  for (const part of source.split(/(^\/\*\*[\s\S]*?\*\/\n)/m)) {
    if (part.startsWith("/**")) {
      documented = true;
      continue;
    }
    for (const line of part.replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, "").split("\n")) {
      if (/^(import|export|declare|interface|type|class)\b/.test(line)) {
        found.push({ text: "", documented });
        documented = false;
      }
      if (found.length > 0) found.at(-1)!.text += `${line}\n`;
    }
  }
  return found.map(({ text, documented }) => ({ text: text.replace(/^\s*(private |#).*$/gm, ""), documented }));
}
