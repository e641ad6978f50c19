/** Texts laid out for the width of a terminal: paragraphs, and examples of commands. */

/** Words of a paragraph in lines of at most `width` characters, each after `indent`. */
export function wrapped(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines.join("\n");
}

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

/**
 * Prose wrapped, lines that go on where the one before ended being one paragraph; indented lines are commands with remarks, which are
 * broken before flags and stand below their remark where both do not fit.
 */
export function laidOut(text: string, width: number): string {
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
