/** The one kind of error a user is meant to read: who complains, what was needed, what came, and a way out. */

export interface Complaint {
  /** Who complains: a scope (`blocks.2 / attention`), a command, a file. */
  who: string;
  /** What was needed, as a noun phrase: `a width divisible by heads`. */
  needed: string;
  /** What came, with the offending value. */
  got: string;
  /** A way out, as an imperative: `set width to 32`. */
  remedy?: string | undefined;
}

/** An error whose message is for the user: printed without a stack trace, exit code 1 (the work failed) or 2 (the request is wrong). */
export class UserError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "UserError";
    this.exitCode = exitCode;
  }
}

/** `who: expected needed, got what came; remedy`. */
export function complaint({ who, needed, got, remedy }: Complaint): string {
  return `${who}: expected ${needed}, got ${got}${remedy ? `; ${remedy}` : ""}`;
}

/** Throws a `UserError` in the house wording. */
export function reject(what: Complaint, exitCode: 1 | 2 = 1): never {
  throw new UserError(complaint(what), exitCode);
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
