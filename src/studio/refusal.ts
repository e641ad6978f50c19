/** Refused requests: a status, a code, a sentence. */
import { LayerwiseError, messageOf } from "../base/errors.ts";
import type { ApiError } from "./api.ts";

/** Statuses that the server refuses with. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 422 | 500;

/** Ends a request. */
export class Refusal extends Error {
  readonly status: RefusalStatus;
  readonly code: string;

  constructor(status: RefusalStatus, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** What is answered to anything that was thrown: a wrong request is 400, work that failed 422, a fault of ours 500. */
export function refusalOf(error: unknown): { status: RefusalStatus; body: ApiError } {
  if (error instanceof Refusal) return answer(error.status, error.code, error.message);
  if (error instanceof LayerwiseError) {
    return answer(error.exitCode === 2 ? 400 : 422, error.code, error.message, error.remedy);
  }
  return answer(500, "failed", messageOf(error));
}

function answer(status: RefusalStatus, code: string, message: string, remedy?: string) {
  return { status, body: { error: { code, message, ...(remedy === undefined ? {} : { remedy }) } } };
}
