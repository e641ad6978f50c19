/** JSON that carries the SHA-256 of what it says, so that a turned bit shows when it is read. */
import { messageOf, rejectFile } from "../base/errors.ts";
import { sha256 } from "../files/checksum.ts";
import { decodeJson, encodeJson } from "./event-log.ts";

const sealOf = (value: object) => sha256(encodeJson(value));

/** The text of a file: the value and, last in it, its seal. */
export const sealedJson = (value: object): string => `${encodeJson({ ...value, sha256: sealOf(value) }, 2)}\n`;

/** What a file says, and whether it has a seal: older versions wrote none. Damage is refused, with `remedy` as the way out. */
export function readSealed(text: string, who: string, remedy: string): { value: object; sealed: boolean } {
  const { sha256: seal, ...value } = parsed(text, who, remedy);
  const sealed = typeof seal === "string";
  if (!sealed && endsInHash(value)) rejectFile({ who, needed: "a seal, last in it", got: "a damaged one", remedy });
  if (!sealed) return { value, sealed };
  const found = sealOf(value);
  if (found !== seal) rejectFile({ who, needed: `content of SHA-256 ${seal}`, got: `${found}: it is damaged`, remedy });
  return { value, sealed };
}

/** No older version wrote a file that ends in a hash: the name of its seal is damaged. */
function endsInHash(value: object): boolean {
  const last: unknown = Object.values(value).at(-1);
  return typeof last === "string" && /^[0-9a-f]{64}$/.test(last);
}

function parsed(text: string, who: string, remedy: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = decodeJson(text);
  } catch (error) {
    rejectFile({ who, needed: "JSON", got: messageOf(error), remedy });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  return rejectFile({ who, needed: "a JSON object", got: "other JSON", remedy });
}
