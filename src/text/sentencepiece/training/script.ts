/** Which substrings may become pieces: Unicode scripts, digits and spaces decide. */
import { SPACE_MARK } from "../utf8.ts";
import type { TrainingOptions } from "./options.ts";

/** The scripts in use; any other character counts as one more script. */
const SCRIPTS = (
  "Common Inherited Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya " +
  "Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal " +
  "Ogham Runic Khmer Mongolian Hiragana Katakana Bopomofo Han Yi Old_Italic Gothic Deseret Tagalog Hanunoo Buhid Tagbanwa " +
  "Limbu Tai_Le Linear_B Ugaritic Shavian Osmanya Cypriot Braille Buginese Coptic New_Tai_Lue Glagolitic Tifinagh " +
  "Syloti_Nagri Old_Persian Kharoshthi Balinese Cuneiform Phoenician Phags_Pa Nko Sundanese Lepcha Ol_Chiki Vai Saurashtra " +
  "Kayah_Li Rejang Cham Tai_Tham Tai_Viet Javanese Meetei_Mayek Egyptian_Hieroglyphs Samaritan Lisu Bamum Batak Brahmi Mandaic"
).split(" ");

const patterns = SCRIPTS.map((script) => [script, new RegExp(`\\p{Script=${script}}`, "u")] as const);
const INHERITED = "Inherited";
/** Japanese words mix these freely. */
const JAPANESE = new Set(["Hiragana", "Katakana", "Han"]);
const LONG_VOWEL = "\u30fc";

/** The script of a character, Japanese scripts being one. */
export function scriptOf(character: string): string {
  if (character === LONG_VOWEL) return "Han";
  const script = patterns.find(([, pattern]) => pattern.test(character))?.[0] ?? "Other";
  return JAPANESE.has(script) ? "Han" : script;
}

/** A test on symbols[begin, end): whether it may be a piece. Symbol s is characters[s - 1]. */
export function pieceTest(characters: readonly string[], options: TrainingOptions) {
  const scripts = ["", ...characters.map(scriptOf)];
  const isDigit = [false, ...characters.map((character) => /\p{Nd}/u.test(character))];
  const mark = characters.indexOf(SPACE_MARK) + 1;
  return (symbols: Int32Array, begin: number, end: number): boolean => {
    let script = "";
    for (let i = begin; i < end; i++) {
      const symbol = symbols[i]!;
      if (symbol === mark && mark > 0) {
        if (i > begin && (options.splitByWhitespace || i === end - 1)) return false;
        continue;
      }
      if (isDigit[symbol] && options.splitDigits && end - begin > 1) return false;
      let own = scripts[symbol]!;
      if (own === INHERITED) own = script;
      if (isDigit[symbol] && !options.splitByNumber) own = "";
      if (options.splitByScript && own !== "" && script !== "" && own !== script) return false;
      script = own;
    }
    return true;
  };
}
