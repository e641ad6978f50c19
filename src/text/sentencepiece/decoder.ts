/** Turns pieces back into text: marks become spaces, byte pieces characters, control pieces nothing. */
import { byteOfPiece, type Model } from "./model.ts";
import { SPACE_MARK, toTextBytewise } from "./utf8.ts";

/** The text of the pieces; an unknown piece that is not the unknown symbol itself stands for its own text. */
export function decodePieces(model: Model, texts: readonly string[], ids: ArrayLike<number>): string {
  const parts = new TextParts(model);
  for (let i = 0; i < texts.length; i++) parts.add(texts[i]!, ids[i]!);
  return parts.finish();
}

/** Text put together piece by piece; only the spaces at its very beginning need memory. */
class TextParts {
  readonly #model: Model;
  readonly #stripsStart: boolean;
  #text: string[] = [];
  #empty = true;
  #bytes: number[] = [];
  #atStart = true;
  #sawFirstSpace = false;

  constructor(model: Model) {
    this.#model = model;
    const { addDummyPrefix, removeExtraWhitespaces } = model.normaliser;
    this.#stripsStart = addDummyPrefix || removeExtraWhitespaces;
  }

  add(text: string, id: number): void {
    const piece = this.#model.pieces[id]!;
    if (piece.kind === "byte") {
      this.#bytes.push(byteOfPiece(text));
      return;
    }
    this.#flushBytes();
    if (this.#sawFirstSpace || !this.#empty) this.#atStart = false;
    this.#sawFirstSpace = false;
    if (piece.kind === "control") return;
    if (piece.kind === "unknown") this.#append(text === piece.text ? this.#model.trainer.unknownSurface : text);
    else this.#append(this.#stripped(text).replaceAll(SPACE_MARK, " "));
  }

  finish(): string {
    this.#flushBytes();
    return this.#text.join("");
  }

  /** The dummy space goes; where extra spaces are removed, all leading ones go. */
  #stripped(text: string): string {
    if (!this.#atStart || !this.#stripsStart || !text.startsWith(SPACE_MARK)) return text;
    this.#sawFirstSpace = !this.#model.normaliser.removeExtraWhitespaces;
    return text.slice(1);
  }

  #append(text: string): void {
    if (text === "") return;
    this.#empty = false;
    this.#text.push(text);
  }

  #flushBytes(): void {
    if (this.#bytes.length === 0) return;
    this.#append(toTextBytewise(Uint8Array.from(this.#bytes)));
    this.#bytes = [];
  }
}
