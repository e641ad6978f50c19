/** Seeded lines of difficult text, for comparing tokenizers: many scripts, marks, spaces, controls, and near-symbols. */
import { RandomStream } from "../src/base/random.ts";

const WORDS = [
  "the",
  "The",
  "THE",
  "of",
  "lobster",
  "Homarus",
  "gammarus",
  "internationalisation",
  "don't",
  "1,000",
  "3.14",
  "2026",
  "@-@",
  "@,@",
  "@.@",
  "<unk>",
  "<s>",
  "</s>",
  "[CLS]",
  "[MASK]",
  "[UNK]",
  "[PAD]",
  "\u2581",
  "\u2581the",
  "a\u2581b",
  "café",
  "cafe\u0301",
  "naïve",
  "Å",
  "A\u030a",
  "ﬁne",
  "ＡＢＣ",
  "ｶﾞ",
  "が",
  "①②",
  "㍿",
  "ß",
  "ẞ",
  "İ",
  "ı",
  "Ω",
  "ς",
  "привет",
  "Ἀθῆναι",
  "שלום",
  "مرحبا",
  "नमस्ते",
  "ไทย",
  "日本語",
  "カタカナ",
  "ひらがな",
  "中文字符",
  "한국어",
  "각",
  "각",
  "😀",
  "👩‍👩‍👧‍👦",
  "🇫🇷",
  "❤️",
  "…",
  "—",
  "“q”",
  "½",
  "x²",
  "№",
  "™",
  "\u00ad",
  "\u200b",
  "\u200d",
  "\ufeff",
  "\ufffd",
  "€5",
  "£",
  "()",
  '""',
  "--",
  "...",
  "http://a.b/c?d=e",
  "aaaaaaaaaaaaaaaaaaaaaaaa",
  "\u0301",
  "\u0308",
  "e\u0301\u0323",
  "=",
  "@",
];
const SPACES = [
  " ",
  " ",
  " ",
  " ",
  "  ",
  "     ",
  "\t",
  "\u00a0",
  "\u3000",
  "\u2003",
  "\u2028",
  "\r",
  "\u0085",
  "\u200b",
  "",
];

/** Ranges of code points from which single characters are drawn; the last ones are controls, unassigned and private. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x20, 0x7e],
  [0xa0, 0x17f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x4ff],
  [0x590, 0x6ff],
  [0x900, 0x97f],
  [0x1100, 0x11ff],
  [0x1e00, 0x1fff],
  [0x2000, 0x206f],
  [0x2070, 0x218f],
  [0x2460, 0x24ff],
  [0x2580, 0x259f],
  [0x3000, 0x30ff],
  [0x3130, 0x33ff],
  [0x4e00, 0x4eff],
  [0xac00, 0xacff],
  [0xf900, 0xfaff],
  [0xfb00, 0xfdff],
  [0xfe00, 0xffef],
  [0x1d400, 0x1d7ff],
  [0x1f1e6, 0x1f1ff],
  [0x1f300, 0x1f64f],
  [0x2f800, 0x2fa1d],
  [0x01, 0x1f],
  [0x7f, 0x9f],
  [0x378, 0x379],
  [0xe000, 0xe0ff],
  [0xfff0, 0xffff],
  [0xe0000, 0xe01ef],
  [0x10fff0, 0x10ffff],
];

function character(random: RandomStream): string {
  const [low, high] = RANGES[random.integer(RANGES.length)]!;
  const code = low + random.integer(high - low + 1);
  return code === 0x0a ? " " : String.fromCodePoint(code);
}

function word(random: RandomStream): string {
  const kind = random.integer(10);
  if (kind < 6) return WORDS[random.integer(WORDS.length)]!;
  if (kind < 7) return WORDS[random.integer(WORDS.length)]! + WORDS[random.integer(WORDS.length)]!;
  let text = "";
  for (let i = 1 + random.integer(6); i > 0; i--) text += character(random);
  return text;
}

function line(random: RandomStream): string {
  let text = random.integer(4) === 0 ? SPACES[random.integer(SPACES.length)]! : "";
  for (let i = random.integer(20); i > 0; i--) text += word(random) + SPACES[random.integer(SPACES.length)]!;
  return text;
}

/** `count` lines without newlines; the same for the same seed. */
export function difficultLines(count: number, seed: number): string[] {
  const random = new RandomStream(seed, "difficult lines");
  return Array.from({ length: count }, () => line(random));
}
