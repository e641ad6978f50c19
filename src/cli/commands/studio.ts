/** `layerwise studio`: a page in the browser over the runs of a folder. */
import type { StudioOptions } from "../../studio/index.ts";
import type { Command } from "../command.ts";
import { wholeFrom } from "../flags.ts";
import { commandName, print, say } from "../output.ts";

const examples = `
The address holds a token that stays the same for a folder; open it once, and the browser remembers it. Only this machine can reach the
page unless --host names an address of it. Jobs that are started from the page are processes of their own: they go on when it ends.

Examples:
  layerwise studio                       the runs under runs/
  layerwise studio experiments --open
  layerwise studio --port 8080 --host gpu-1.lan`;

interface StudioFlags extends Pick<StudioOptions, "port" | "host" | "token"> {
  open?: boolean;
}

/** Adds `studio`. */
export function addStudio(program: Command): void {
  program
    .command("studio")
    .argument("[dir]", "folder of the runs", "runs")
    .option("--port <n>", "port to listen at; 0: any that is free (default: 4700, or one that is free)", wholeFrom(0))
    .option("--host <name>", "a name of this machine, under which others reach the page; they need the token")
    .option("--open", "open the page in the browser")
    .option("--no-token", "let everybody on this machine use the page")
    .explain(examples)
    .action(run);
}

async function run(folder: string, { port, host, open, token }: StudioFlags): Promise<void> {
  const { openInBrowser, serveStudio } = await import("../../studio/index.ts");
  const served = await serveStudio({ folder, port, host, token, command: commandName(), say });
  say(`runs of ${folder}; Ctrl-C ends the studio, not the jobs it started`);
  print(served.url);
  if (open) openInBrowser(served.url, say);
  await new Promise((resolve) => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, resolve);
  });
  await served.close();
}
