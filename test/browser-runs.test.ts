/** Runs that travel: begun in Node, continued in Chromium and back, as zip archives of the command line's own run folders. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle, executablePath, inNode, pagesIn, programFolder, root } from "./pages.ts";

const folder = programFolder();

/** The same in Node and on a page: a run that goes on to a step, or to its end, and what it says on the way. */
const PROGRAM = `
import * as tasks from "layerwise/tasks";

export const { browserRuns, Run } = tasks;

export async function run(name, { settings, until = Infinity }) {
  const losses = [];
  const see = async (session) => {
    for await (const event of session) {
      if (event.type === "step") losses.push(event.loss);
      if (event.type === "step" && event.step === until) break;
    }
  };
  if (settings) {
    const schema = await tasks.settingsNamed("language");
    const job = await tasks.openJob(schema.resolve([schema.preset("tiny"), { source: "test", values: settings }]));
    await see(tasks.perform(job, { into: await tasks.Run.create(name) }));
  } else await see(tasks.Run.resume(name));
  return losses;
}

const toText = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

/** On a page: takes a zip in, goes on, and gives a zip back. */
export async function travel(zip, books, name, options) {
  const runs = await browserRuns({ books });
  if (zip) await runs.upload(Uint8Array.from(atob(zip), (c) => c.charCodeAt(0)));
  if (options.text) await runs.writeText("mine.txt", options.text);
  const losses = await run(name, options);
  const bytes = await runs.download(name);
  const [glance] = await runs.list();
  await runs.close();
  return { losses, zip: btoa(toText(bytes)), status: glance.status, step: glance.step };
}

/** On a page: the message with which a zip is refused, and what is kept afterwards. */
export async function refusal(zip) {
  const runs = await browserRuns();
  const bytes = Uint8Array.from(atob(zip), (c) => c.charCodeAt(0));
  const said = await runs.upload(bytes).then(() => "taken", ({ message, code }) => code + " " + message);
  const names = (await runs.list()).map(({ path }) => path);
  await runs.close();
  return { said, names };
}
`;

const books = Object.fromEntries(
  ["train", "valid", "test"].map((split) => [split, readFileSync(join(root, "corpus/books", `${split}.txt`), "utf8")]),
);

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const filesOf = (path: string, name: string) =>
  readdirSync(join(path, name), { recursive: true, encoding: "utf8" }).flatMap((file) => {
    const full = join(path, name, file);
    return statSync(full).isFile() ? [[`${name}/${file}`, new Uint8Array(readFileSync(full))] as const] : [];
  });
const zipped = (path: string, name: string) => zipSync(Object.fromEntries(filesOf(path, name)));

function unzipInto(path: string, zip: string): void {
  for (const [name, bytes] of Object.entries(unzipSync(Buffer.from(zip, "base64")))) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), bytes);
  }
}

const greatest = (a: readonly number[], b: readonly number[]) => Math.max(...a.map((x, i) => Math.abs(x - b[i]!)));

interface Travelled {
  losses: number[];
  zip: string;
  status: string;
  step: number;
}

const settings = { threads: 1, steps: 30, depth: 4, unique: 2, pieces: 300, checkpointEvery: 5, evaluateEvery: 15 };

describe.skipIf(executablePath === undefined)("a run that travels", () => {
  const open = pagesIn(folder);
  beforeAll(() => bundle(folder, "page", PROGRAM));

  const go = async (...given: unknown[]) => {
    const call = given.map((each) => JSON.stringify(each)).join(", ");
    const { values, said } = await open("page", [`program.travel(${call})`]);
    expect(said.filter((line) => !line.includes("one thread"))).toEqual([]);
    return values[0] as Travelled;
  };

  it("from Node into Chromium and back makes the steps that Node makes alone", async () => {
    const whole = inNode(folder, PROGRAM, "whole", { settings }) as number[];
    const first = inNode(folder, PROGRAM, "trip", { settings, until: 10 }) as number[];
    const there = await go(base64(zipped(folder, "trip")), books, "trip", { until: 20 });
    expect(there).toMatchObject({ status: "stopped", step: 20 });
    const home = mkdtempSync(join(folder, "home-"));
    unzipInto(home, there.zip);
    const last = inNode(folder, PROGRAM, join(home, "trip"), {}) as number[];
    expect([first.length, there.losses.length, last.length]).toEqual([10, 10, 10]);
    expect(first).toEqual(whole.slice(0, 10));
    expect(greatest([...first, ...there.losses, ...last], whole)).toBeLessThan(1e-4);
    expect(whole.at(-1)!).toBeLessThan(whole[0]! - 0.2);
    const events = readFileSync(join(home, "trip", "events.jsonl"), "utf8")
      .trim()
      .split("\n");
    expect(events.filter((line) => line.startsWith('{"type":"step"'))).toHaveLength(30);
  });

  it("that began in Chromium on a text of its own is resumed, used and exported by the command", async () => {
    const text = books.valid!.slice(0, 20_000);
    const own = { ...settings, corpus: "mine.txt", steps: 12, halt: true };
    const { zip, losses } = await go(null, {}, "born", { settings: own, text, until: 8 });
    const home = mkdtempSync(join(folder, "own-"));
    unzipInto(home, zip);
    const command = (...args: string[]) =>
      execFileSync(process.execPath, [join(root, "bin/layerwise.js"), ...args], { cwd: home, encoding: "utf8" });
    command("resume", "born");
    expect(command("generate", "born", "--prompt", "The", "--tokens", "5")).toContain("The");
    command("export", "born", "--out", "exported");
    expect(readdirSync(join(home, "exported"))).toContain("model.onnx");
    writeFileSync(join(home, "mine.txt"), text);
    const alone = inNode(
      home,
      PROGRAM.replace('"layerwise/tasks"', JSON.stringify(join(root, "dist/tasks/index.js"))),
      "alone",
      { settings: own },
    ) as number[];
    expect(greatest(losses, alone)).toBeLessThan(1e-4);
  });

  it("is refused where it is damaged, in the words of the command, and nothing of it is kept", async () => {
    inNode(folder, PROGRAM, "sound", { settings: { ...settings, steps: 5 } });
    const members = Object.fromEntries(filesOf(folder, "sound"));
    const weights = Object.keys(members).find((name) => name.endsWith("weights.safetensors"))!;
    const turned = (name: string, at: number) => {
      const bytes = Uint8Array.from(members[name]!);
      bytes[at < 0 ? bytes.length + at : at]! ^= 1;
      return zipSync({ ...members, [name]: bytes });
    };
    const { "sound/config.yaml": config, ...without } = members;
    const other = zipSync({
      ...members,
      "sound/config.yaml": Buffer.from(Buffer.from(config!).toString().replace("width: 32", "width: 64")),
    });
    const bad = {
      "no zip": new TextEncoder().encode("hello"),
      "no run": zipSync(without),
      weights: turned(weights, -1),
      state: turned(Object.keys(members).find((name) => name.endsWith("state.json"))!, 40),
      tokenizer: turned("sound/tokenizer.model", 500),
      settings: other,
      outside: zipSync({ ...members, "sound/../../evil.txt": new Uint8Array(3) }),
    };
    const { values } = await open(
      "page",
      Object.values(bad).map((zip) => `program.refusal(${JSON.stringify(base64(zip))})`),
    );
    const said = values.map((value) => (value as { said: string }).said);
    expect(values.map((value) => (value as { names: string[] }).names)).toEqual(values.map(() => []));
    expect(said).toEqual([
      expect.stringContaining("expected a zip archive, which ends with its directory"),
      expect.stringContaining("expected a run folder with its config.yaml"),
      expect.stringMatching(/^bad-file sound\/checkpoints\/step-00000005\/weights.safetensors: expected SHA-256/),
      expect.stringMatching(/^bad-file sound\/checkpoints\/step-00000005\/state.json: expected/),
      expect.stringMatching(/^bad-file sound\/tokenizer.model: expected SHA-256 .*it is damaged: put back a copy/),
      expect.stringMatching(
        /^bad-file sound\/config.yaml: expected settings as the run has them, got width 64 instead of 32/,
      ),
      expect.stringContaining("expected names within the archive"),
    ]);
  });

  it("is open in one tab at a time, and outlives its tab", async () => {
    const { values } = await open("page", [
      `(async () => {
        const runs = await program.browserRuns();
        const second = await program.browserRuns().then(() => "opened", ({ message }) => message);
        await runs.upload(Uint8Array.from(atob(${JSON.stringify(base64(zipped(folder, "sound")))}), (c) => c.charCodeAt(0)), { name: "mine" });
        const again = await runs.upload(Uint8Array.from(atob(${JSON.stringify(base64(zipped(folder, "sound")))}), (c) => c.charCodeAt(0)), { name: "mine" }).catch(({ message }) => message);
        return { second, again };
      })()`,
      `(async () => {
        const runs = await program.browserRuns();
        const names = (await runs.list()).map(({ path, step, status }) => ({ path, step, status }));
        const opened = await program.Run.open("mine");
        const kind = opened.kind;
        await runs.remove("mine");
        return { names, kind, left: (await runs.list()).length };
      })()`,
    ]);
    expect(values[0]).toEqual({
      second:
        "browserRuns: expected runs that no other tab has open, got another tab has them; close the other tab, or train there",
      again:
        "mine: expected a name that is free, got a run of that name; remove that one, or upload it under another name",
    });
    expect(values[1]).toEqual({ names: [{ path: "mine", step: 5, status: "finished" }], kind: "language", left: 0 });
  });
});
