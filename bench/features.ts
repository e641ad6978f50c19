/**
 * How many lines the features of version 0.1.0 take: runs the same command lines in an old checkout and in this one, and counts what ran.
 * `npx tsx bench/features.ts --old CHECKOUT` (3060bbb, after npm ci there). Goes on where it was stopped; takes some minutes.
 *
 * Both sources are compiled by this checkout's compiler without comments and laid out by this checkout's formatter, so that lines compare.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { table } from "../src/base/table.ts";
import { sha256 } from "../src/files/checksum.ts";
import { type Feature, features } from "./features/commands.ts";
import { addRan, codeLines, kindsOf, type Ran, readCoverage } from "./features/coverage.ts";
import { inputs } from "./features/inputs.ts";
import { flagsOf } from "./flags.ts";

const here = fileURLToPath(new URL("..", import.meta.url));
const { values } = flagsOf({
  /** A checkout of the older version, with its node_modules. */
  old: undefined,
  /** The newer one. */
  new: here,
  /** Folder for what is compiled, run and counted; nothing is written elsewhere. */
  out: join(tmpdir(), "layerwise-features"),
  /** Lists files instead of folders. */
  files: false,
  json: false,
});

/** Commands that did not end as they should: no figures are printed then. */
const failures: string[] = [];
const say = (text: string) => void process.stderr.write(`${text}\n`);
const bin = (name: string) => join(here, "node_modules/.bin", name);
const below = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));

/** What is written for each version instead of taken from it. */
const isOwn = new Set(["dist", "biome.json", "work", "cache"]);

/** Compiles a checkout's source into a folder that stands for it: its other files are links. */
function compile(checkout: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(checkout)) {
    if (!isOwn.has(name)) symlinkSync(join(checkout, name), join(folder, name));
  }
  const plain = ["--removeComments", "--declaration", "false", "--sourceMap", "false"];
  const project = join(checkout, "tsconfig.build.json");
  execFileSync(bin("tsc"), ["-p", project, "--outDir", join(folder, "dist"), ...plain], { stdio: "inherit" });
  const config = { formatter: { indentStyle: "space", lineWidth: 120 }, files: { maxSize: 10_000_000 } };
  writeFileSync(join(folder, "biome.json"), JSON.stringify(config));
  const format = ["format", "--write", "--config-path", folder, join(folder, "dist")];
  execFileSync(bin("biome"), format, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

/** The folder of one version's work, named by its compiled source: another source begins anew. */
function prepare(checkout: string, side: string): string {
  const fresh = join(values.out, `${side}-compiled`);
  compile(checkout, fresh);
  const name = sha256(
    below(join(fresh, "dist"), ".js")
      .sort()
      .map((file) => readFileSync(join(fresh, "dist", file), "utf8"))
      .join("\n"),
  );
  const folder = join(values.out, `${side}-${name.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  cpSync(fresh, folder, { recursive: true, verbatimSymlinks: true });
  const work = join(folder, "work");
  for (const [path, text] of Object.entries(inputs)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  symlinkSync(join(here, "fixtures"), join(work, "fixtures"));
  cpSync(join(here, "fixtures/runs"), join(work, "stopped"), { recursive: true });
  return folder;
}

const wordsOf = (line: string) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);

/** Runs one command line and returns what ran; what it came to is kept, so that it runs once. */
function ranBy({ line, input = "", isRefused = false }: Feature, folder: string): Record<string, Ran> {
  const kept = join(folder, `${sha256(line).slice(0, 12)}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8"));
  const counts = join(folder, "counts");
  rmSync(counts, { recursive: true, force: true });
  const env = { ...process.env, NODE_V8_COVERAGE: counts, LAYERWISE_CACHE: join(folder, "cache") };
  const program = join(folder, "dist/cli/main.js");
  const { status, stderr } = spawnSync(process.execPath, [program, ...wordsOf(line)], {
    cwd: join(folder, "work"),
    env,
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (!(isRefused ? [1, 2] : [0]).includes(status!)) {
    failures.push(`${folder}: exit code ${status} from\n  layerwise ${line}\n${stderr.trimEnd()}`);
    return {};
  }
  const ran = Object.fromEntries(readCoverage(counts, join(folder, "dist")));
  writeFileSync(kept, JSON.stringify(ran));
  return ran;
}

/**
 * What a file comes to: lines that ran, of which some import and others stand in functions; all lines of functions that were called
 * and of the top level; all lines of the source, with types.
 */
const measures = ["executed", "imports", "in functions", "called", "loaded"] as const;
type Size = Record<(typeof measures)[number], number>;
const none: Size = { executed: 0, imports: 0, "in functions": 0, called: 0, loaded: 0 };

const git = (checkout: string, ...args: string[]) =>
  execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8" }).trim();

function sizeOf(checkout: string, folder: string, file: string, { lines, inFunctions }: Ran): Size {
  const { imports, functions } = kindsOf(readFileSync(join(folder, "dist", file), "utf8"));
  return {
    executed: lines.length,
    imports: lines.filter((line) => imports.has(line)).length,
    "in functions": lines.filter((line) => functions.has(line)).length,
    called: inFunctions.length,
    loaded: codeLines(readFileSync(join(checkout, "src", sourceOf(file)), "utf8")),
  };
}

const sourceOf = (file: string) => file.replace(/\.js$/, ".ts");

/** Sizes of what the features ran, by file; files that a script writes are left out. */
function measure(checkout: string, side: string): Map<string, Size> {
  const folder = prepare(checkout, side);
  const all = new Map<string, Ran>();
  features.forEach((feature, place) => {
    say(`${side} ${place + 1}/${features.length}: ${feature.line.slice(0, 100)}`);
    for (const [file, ran] of Object.entries(ranBy(feature, folder))) addRan(all, file, ran);
  });
  const kept = new Set(git(checkout, "ls-files", "src").split("\n"));
  const own = [...all].filter(([file]) => kept.has(`src/${sourceOf(file)}`));
  return new Map(own.map(([file, ran]) => [file, sizeOf(checkout, folder, file, ran)]));
}

/** Sums by folder below src, or by file. */
function grouped(sizes: ReadonlyMap<string, Size>): Map<string, Size> {
  const groups = new Map<string, Size>();
  for (const [file, size] of sizes) {
    const name = values.files ? file : file.includes("/") ? file.split("/")[0]! : "(entry points)";
    for (const key of [name, "all"]) {
      const sum = groups.get(key) ?? none;
      groups.set(key, Object.fromEntries(measures.map((each) => [each, sum[each] + size[each]])) as Size);
    }
  }
  return groups;
}

if (values.old === undefined) throw new Error("bench/features: name a checkout of the older version with --old");
const checkouts = { before: resolve(values.old), after: resolve(values.new) };
const before = grouped(measure(checkouts.before, "old"));
const after = grouped(measure(checkouts.after, "new"));
if (failures.length > 0) throw new Error(`bench/features: ${failures.length} commands failed\n${failures.join("\n")}`);
const rows = [...new Set([...before.keys(), ...after.keys()])]
  .sort((a, b) => Number(a === "all") - Number(b === "all") || (a < b ? -1 : 1))
  .map((name) => ({ name, before: before.get(name) ?? none, after: after.get(name) ?? none }));

/** A row a folder: each measure before and now. */
function textOf(): string {
  const columns = measures.flatMap((each) => [
    { key: `${each} before`, title: each },
    { key: `${each} after`, title: "now" },
  ]);
  const cells = rows.map(({ name, ...sizes }) => {
    const figures = measures.flatMap((each) =>
      (["before", "after"] as const).map((when) => [`${each} ${when}`, sizes[when][each]] as const),
    );
    return { name, ...Object.fromEntries(figures) };
  });
  const [old, now] = Object.values(checkouts).map((checkout) => git(checkout, "describe", "--always", "--dirty"));
  const title = `${features.length} commands at ${old} and at ${now}`;
  return `${title}\n${table(cells, [{ key: "name", title: values.files ? "file" : "folder" }, ...columns])}`;
}

console.log(values.json ? JSON.stringify(rows) : textOf());
