/** Writes docs/commands.md: the help of every command, as it prints itself. With --check it only says whether the page is true. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commands } from "../src/cli/commands.ts";

const file = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** What `layerwise … --help` prints, 80 columns wide. */
function help(words: readonly string[]): string {
  const { stdout } = spawnSync(process.execPath, [file("bin/layerwise.js"), ...words, "--help"], { encoding: "utf8" });
  return stdout.trimEnd();
}

/** The commands below a command, as its help lists them. */
function below(text: string): string[] {
  const list = /^Commands:\n((?: {2}.*\n?)+)/m.exec(`${text}\n`)?.[1] ?? "";
  return [...list.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name]) => name!).filter((name) => name !== "help");
}

function section(words: readonly string[], level: number): string {
  const text = help(words);
  const own = `${"#".repeat(level)} layerwise ${words.join(" ")}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
  return [own, ...below(text).map((name) => section([...words, name], level + 1))].join("\n");
}

/** The whole page. */
export function commandPage(): string {
  const sections = Object.keys(commands).map((name) => section([name], 2));
  return `# Commands\n\nMade by \`npm run commands\` from the commands' own help.\n\n${sections.join("\n")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = commandPage();
  if (!process.argv.includes("--check")) writeFileSync(file("docs/commands.md"), page);
  else if (readFileSync(file("docs/commands.md"), "utf8") !== page) {
    process.stderr.write("docs/commands.md is not what the commands say: npm run commands\n");
    process.exitCode = 1;
  }
}
