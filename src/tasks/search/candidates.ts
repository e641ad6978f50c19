/** What a block may be, from the text of the settings; apart from them, since it takes the model's code. */
import { reject } from "../../base/errors.ts";
import { kinds } from "../../depth/pattern.ts";
import { choiceOf } from "../../model/par/candidates.ts";
import type { CandidateChoice } from "../../model/par/par.ts";
import { candidateForm } from "./fields.ts";

/** `s,f,f:1024,i` → what a block may be. */
export function parseCandidates(given: string): CandidateChoice[] {
  const { pattern, needed } = candidateForm;
  if (!pattern.test(given)) reject({ who: "candidates", needed, got: JSON.stringify(given) }, 2);
  return given.split(",").map((part) => {
    const [letter, size] = part.trim().split(":");
    return choiceOf({ kind: kinds[letter as keyof typeof kinds], size: size === undefined ? undefined : Number(size) });
  });
}
