/** What a runtime throws, in words for users. */
import { complaint, LayerwiseError, messageOf } from "../base/errors.ts";

/** `Gather` names the id and the range, counting from the end too; `GatherElements` and scattering do not. */
const outOfBounds = /idx=(-?\d+) must be within the inclusive range \[-?\d+,(-?\d+)\]/;
const outOfRange = /out of range value in index tensor|invalid indice/i;

/** The error of a run: an id outside its table is told as such, anything else in the runtime's words. */
export function runtimeError(error: unknown): LayerwiseError {
  const message = messageOf(error);
  const [, id, last] = outOfBounds.exec(message) ?? [];
  if (id !== undefined) return idError(Number(id), Number(last) + 1, error);
  if (outOfRange.test(message)) return idError(undefined, undefined, error);
  return new LayerwiseError(`onnxruntime: the program failed: ${message}`, 1, { code: "runtime", cause: error });
}

/** An id that was looked up outside a table of `count` rows, as far as these are known. */
export function idError(id?: number, count?: number, cause?: unknown): LayerwiseError {
  const details = {
    code: "bad-data",
    who: "program",
    needed: count === undefined ? "ids within the rows they choose from" : `ids from 0 to ${count - 1} in a look-up`,
    got: id === undefined ? "one outside" : `${id}`,
    remedy: "use the tokenizer or the labels the model was made for",
  } as const;
  return new LayerwiseError(complaint(details), 1, { ...details, cause });
}
