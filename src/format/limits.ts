/** How much memory a file may ask for: a small file that unpacks to gigabytes is damaged or hostile, until somebody says otherwise. */
import { rejectFile } from "../base/errors.ts";

/** What readers of files from elsewhere may be told. */
export interface ReadLimits {
  /** Bytes of memory that the content may take. Default: 8 times the file and 32 MB. */
  maxBytes?: number | undefined;
}

/** Adds up what content takes, and refuses what goes beyond. */
export class Allowance {
  readonly limit: number;
  readonly #who: string;
  #taken = 0;

  constructor(who: string, fileBytes: number, { maxBytes = 8 * fileBytes + 2 ** 25 }: ReadLimits = {}) {
    this.#who = who;
    this.limit = maxBytes;
  }

  /** Limits for a reader of a part. */
  get rest(): ReadLimits {
    return { maxBytes: this.limit - this.#taken };
  }

  take(bytes: number, what: string): void {
    this.#taken += bytes;
    if (this.#taken <= this.limit) return;
    rejectFile({
      who: this.#who,
      needed: `content that takes at most ${this.limit} bytes of memory`,
      got: `${this.#taken} with ${what}`,
      remedy: "if you trust the file, raise maxBytes",
    });
  }
}
