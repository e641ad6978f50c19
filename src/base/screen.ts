/** A terminal with lines that stay and, below them, lines that are drawn again in place; elsewhere only lines that stay. */

/** What a screen needs of an output: `process.stderr` fits. */
export interface ScreenOutput {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const REDRAW_MS = 120;

/** Characters that take room on a line: those outside escape sequences. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
export const visibleLength = (line: string) => [...line.replace(/\x1b\[[\d;]*m/g, "")].length;

/** Lines that stay and lines that move. */
export class Screen {
  readonly live: boolean;
  readonly colours: boolean;
  readonly #output: ScreenOutput;
  #drawn = 0;
  #due = 0;

  constructor(output: ScreenOutput, environment: Readonly<Record<string, string | undefined>>) {
    this.#output = output;
    this.live = output.isTTY === true;
    this.colours = this.live && !environment.NO_COLOR && environment.TERM !== "dumb";
  }

  /** Columns that lines may take. */
  get width(): number {
    return Math.max(40, this.#output.columns ?? 80);
  }

  /** Lines that stay. */
  say(text: string): void {
    this.#output.write(`${this.#wiped()}${text}\n`);
  }

  /** Lines in the place of those drawn before, unless it is too soon; lines that do not fit are left out. */
  draw(lines: readonly string[], now = performance.now()): void {
    if (!this.live || now < this.#due) return;
    this.#due = now + REDRAW_MS;
    const fitting = lines.filter((line) => visibleLength(line) < this.width);
    this.#output.write(`${this.#wiped()}${fitting.map((line) => `${line}\n`).join("")}`);
    this.#drawn = fitting.length;
  }

  /** Takes away what was drawn. */
  wipe(): void {
    this.#output.write(this.#wiped());
  }

  /** In colour, where there are colours: a number of SGR, such as 1 for bold. */
  paint(text: string, ...codes: readonly number[]): string {
    return this.colours ? `\x1b[${codes.join(";")}m${text}\x1b[0m` : text;
  }

  #wiped(): string {
    const lines = this.#drawn;
    this.#drawn = 0;
    return lines === 0 ? "" : `\x1b[${lines}A\r\x1b[J`;
  }
}
