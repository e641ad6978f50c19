/** What stands after a command's options: sentences and examples, laid out for the width of the terminal. */
import type { AddHelpTextContext } from "commander";
import { laidOut } from "../base/index.ts";

const widthOf = ({ command }: AddHelpTextContext): number =>
  command.createHelp().helpWidth ?? process.stdout.columns ?? 80;

/** Text for `addHelpText`, fitted to the terminal when it is shown. */
export const fitted = (text: string) => (context: AddHelpTextContext) => laidOut(text, widthOf(context));

/** Examples alone, a line each. */
export const exampleHelp = (...lines: readonly string[]) =>
  fitted(`\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
