/** Lints the files of the repository and new ones in its folders of code, not what else lies in a clone; outside a repository all files. Further words go to biome. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const biome = createRequire(import.meta.url).resolve("@biomejs/biome/bin/biome");

const CODE = ["bench", "examples", "kernels", "scripts", "src", "test", "tools", "web"];

function listed(words) {
  const output = execFileSync("git", ["ls-files", "-z", ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return output.split("\0").filter((file) => file !== "" && existsSync(file));
}

/** Files that git knows and that are still there, and those that it is yet to be told of. */
function ownFiles() {
  try {
    return [...listed([]), ...listed(["--others", "--exclude-standard", "--", ...CODE])];
  } catch {
    return ["."];
  }
}

/** Command lines have a limit. */
const AT_ONCE = 400;
const files = ownFiles();
let failed = false;
for (let from = 0; from < files.length; from += AT_ONCE) {
  const words = ["check", "--error-on-warnings", "--no-errors-on-unmatched", ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, [biome, ...words, ...files.slice(from, from + AT_ONCE)], {
    stdio: "inherit",
  });
  failed ||= status !== 0;
}
process.exitCode = failed ? 1 : 0;
