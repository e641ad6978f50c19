/** What a command leaves behind besides its work, and whom it calls: nothing and nobody. Needs the built package. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = ownFolder("privacy");
const command = [process.execPath, join(root, "dist/cli/main.js")];
const places = { HOME: "home", XDG_CACHE_HOME: "cache", XDG_CONFIG_HOME: "config", TMPDIR: "tmp" };
const traced = existsSync("/usr/bin/strace");

/** Runs a command that loads the runtime, with a home and a temporary folder of its own. */
function run(...before: string[]): void {
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH };
  for (const [name, place] of Object.entries(places)) {
    mkdirSync(join(folder, place), { recursive: true });
    env[name] = join(folder, place);
  }
  const [program, ...args] = [...before, ...command, "certify", join(root, "fixtures/language-model")];
  execFileSync(program!, args, { cwd: folder, env, stdio: "pipe" });
}

describe.skipIf(!existsSync(command[1]!))("a command that loads the runtime", () => {
  it("writes nothing to the home, cache and temporary folders", () => {
    run();
    expect(Object.values(places).flatMap((place) => readdirSync(join(folder, place)))).toEqual([]);
  });

  it.skipIf(!traced)("tries no connection", () => {
    run("strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", join(folder, "calls"));
    expect(readFileSync(join(folder, "calls"), "utf8").match(/AF_INET6?/g)).toBeNull();
  });
});
