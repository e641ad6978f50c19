/** What stands after a command's options: sentences and examples, laid out for the width of the terminal. */
import type { AddHelpTextContext } from "commander";
import { wrapped } from "../base/index.ts";

const widthOf = ({ command }: AddHelpTextContext): number =>
  command.createHelp().helpWidth ?? process.stdout.columns ?? 80;

/** A command that is too long for a line goes on after a backslash, in front of one of its flags. */
function brokenCommand(command: string, width: number): string {
  if (command.length <= width) return command;
  const at = command.lastIndexOf(" --", width - 2);
  if (at <= 0) return command;
  return `${command.slice(0, at)} \\\n${brokenCommand(`    ${command.slice(at + 1)}`, width)}`;
}

/** `  command    remark` on one line where it fits, otherwise with the remark above as a comment. */
function example(line: string, width: number): string {
  if (line.length <= width) return line;
  const indent = /^ */.exec(line)![0];
  if (indent.length > 4) return wrapped(line.trim(), width, indent.slice(0, 20));
  const [, command = line, remark] = /^( {2}\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
  const broken = brokenCommand(command, width);
  return remark === undefined ? broken : `${wrapped(remark, width, "  # ")}\n${broken}`;
}

/** Lines that go on where the one before them ended are one paragraph. */
function laidOut(text: string, width: number): string {
  const laid: string[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) laid.push(wrapped(paragraph.join(" "), width, ""));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    const isProse = /^\S/.test(line) && !line.endsWith(":");
    if (isProse) paragraph.push(line);
    else {
      flush();
      laid.push(example(line, width));
    }
  }
  flush();
  return laid.join("\n");
}

/** Text for `addHelpText`, fitted to the terminal when it is shown. */
export const fitted = (text: string) => (context: AddHelpTextContext) => laidOut(text, widthOf(context));

/** Examples alone, a line each. */
export const exampleHelp = (...lines: readonly string[]) =>
  fitted(`\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
