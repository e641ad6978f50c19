/** The one kind of error a user is meant to read, as data: a code, who complains, what was needed, what came, and a way out. */

/**
 * What went wrong, for programs. `bad-option`: an option is unknown or out of range. `bad-shape`: a tensor of another shape or type.
 * `bad-data`: numbers, weights or texts that do not fit. `bad-file`: a file that is damaged or not what it should be. `diverged`: loss
 * or gradients are not finite. `stopped`: work ended by request. `runtime`: the engine failed. `failed`: anything else.
 */
export type ErrorCode =
  | "bad-option"
  | "bad-shape"
  | "bad-data"
  | "bad-file"
  | "diverged"
  | "stopped"
  | "runtime"
  | "failed";

/** 1: the work failed. 2: the request is wrong. */
export type ExitCode = 1 | 2;

/** An error in four parts. */
export interface Complaint {
  /** Default: `bad-option` where the request is wrong (exit code 2), else `failed`. */
  code?: ErrorCode;
  /** Who complains: a scope (`blocks.2 / attention`), a command, a file. */
  who: string;
  /** What was needed, as a noun phrase: `a width divisible by heads`. */
  needed: string;
  /** What came, with the offending value. */
  got: string;
  /** A way out, as an imperative: `set width to 32`. */
  remedy?: string | undefined;
}

/** What an error may be told besides its message. */
export interface ErrorDetails extends ErrorOptions, Partial<Complaint> {}

/** An error whose message is for the user: a command prints it without a stack trace and ends with its exit code. */
export class LayerwiseError extends Error {
  readonly code: ErrorCode;
  /** The four parts of the message; undefined where it is free text. */
  readonly who: string | undefined;
  readonly needed: string | undefined;
  readonly got: string | undefined;
  readonly remedy: string | undefined;
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = 1, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.name = "LayerwiseError";
    this.code = details.code ?? (exitCode === 2 ? "bad-option" : "failed");
    this.who = details.who;
    this.needed = details.needed;
    this.got = details.got;
    this.remedy = details.remedy;
    this.exitCode = exitCode;
  }

  /** The error as plain data, message included. */
  toJSON(): Record<string, unknown> {
    return Object.fromEntries([["message", this.message], ...Object.entries(this)]);
  }
}

/** `who: expected needed, got what came; remedy`. */
export function complaint({ who, needed, got, remedy }: Complaint): string {
  return `${who}: expected ${needed}, got ${got}${remedy ? `; ${remedy}` : ""}`;
}

/** Throws a `LayerwiseError` in the house wording. */
export function reject(what: Complaint, exitCode: ExitCode = 1): never {
  throw new LayerwiseError(complaint(what), exitCode, what);
}

/** As `reject`, for options that are unknown or out of range. */
export const rejectOption: typeof reject = (what, exitCode) => reject({ code: "bad-option", ...what }, exitCode);

/** As `reject`, for tensors of another shape or type. */
export const rejectShape: typeof reject = (what, exitCode) => reject({ code: "bad-shape", ...what }, exitCode);

/** As `reject`, for numbers, weights or texts that do not fit. */
export const rejectData: typeof reject = (what, exitCode) => reject({ code: "bad-data", ...what }, exitCode);

/** As `reject`, for files that are damaged or not what they should be. */
export const rejectFile: typeof reject = (what, exitCode) => reject({ code: "bad-file", ...what }, exitCode);

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
