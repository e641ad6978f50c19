/** `--import FILE`, which any command takes wherever it stands: modules of users, loaded before other flags are read. */
import { reject } from "../base/index.ts";

/** The files among arguments, and the arguments without them. */
export function splitImports(args: readonly string[]): { files: string[]; rest: string[] } {
  const [files, rest]: [string[], string[]] = [[], []];
  for (let i = 0; i < args.length; i++) {
    const [flag, joined] = args[i]!.split(/=(.*)/s);
    if (flag !== "--import") rest.push(args[i]!);
    else files.push((joined ?? args[++i]) || reject({ who: "--import", needed: "a file", got: "nothing" }, 2));
  }
  return { files, rest };
}

/** The flags again, for a command that goes on with what this one made: ` --import my-policy.mjs`, or nothing. */
export function importFlags(args: readonly string[]): string {
  return splitImports(args)
    .files.map((file) => ` --import ${/^[\w./~@:+-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`)
    .join("");
}
