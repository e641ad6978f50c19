import { describe, expect, it } from "vitest";
import { parseAgreement, parseProbe } from "./probing.ts";

describe("probing texts", () => {
  it("read SentEval's lines, with and without a masked word", () => {
    const [plain, masked] = parseProbe("tr\tPAST\tHe went .\nte\tPRES\tShe goes\t1\n", "probe.txt");
    expect(plain).toEqual({ line: 1, split: "tr", label: "PAST", words: ["He", "went", "."] });
    expect(masked).toMatchObject({ line: 2, label: "PRES", masked: [1] });
  });

  it("read agreement with its distance, also from quoted columns", () => {
    const heading = "split,orig_sentence,n_intervening,distance,verb_pos,verb_index";
    const [row] = parseAgreement(`${heading}\ntest,"the keys , he said , are here",1,4,VBP,7\n`, "probe.txt");
    expect(row).toMatchObject({ label: "VBP", masked: [6], distance: 4, intervening: 1 });
    expect(row!.words[6]).toBe("are");
  });

  it("read control sets, in which one to four other words are masked", () => {
    const common = "split,orig_sentence,n_intervening,distance,verb_pos,verb_index";
    const sentence = 'tr,"the keys to the cabinet are here",1,4,VBP,6';
    const [one] = parseAgreement(`${common},POS_TARGET_IDX,POS_TARGET\n${sentence},1,NOUN\n`, "linzen_random_pos.txt");
    expect(one).toMatchObject({ label: "NOUN", masked: [1], distance: 4, intervening: 1 });
    const two = "POS_TARGET_IDX,POS_TARGET,POS_TARGET_IDX_2,POS_TARGET_2,POS_TARGET_ALL";
    const [both] = parseAgreement(`${common},${two}\n${sentence},1,NOUN,2,ADP,NOUN_ADP\n`, "linzen_random_pos_2.txt");
    expect(both).toMatchObject({ label: "NOUN_ADP", masked: [1, 2] });
    expect(() => parseAgreement(`${common},POS_TARGET_IDX\n${sentence},1\n`, "x")).toThrow(
      /x:1: expected a heading with .*POS_TARGET, POS_TARGET_IDX, got/,
    );
    expect(() => parseAgreement(`${common},POS_TARGETS\n${sentence},1\n`, "x")).toThrow(
      /x:1: expected POS_TARGET_IDX, .*, got POS_TARGETS/,
    );
    expect(() => parseAgreement(`${common},POS_TARGET_IDX,POS_TARGET\n${sentence},7,NOUN\n`, "x")).toThrow(
      /x:2: expected a word's place in a sentence of 7, got 7/,
    );
  });

  it("name file and line of what is wrong", () => {
    expect(() => parseProbe("tr\tonly two", "probe.txt")).toThrow(/probe\.txt:1: expected split, label, text/);
    expect(() => parseProbe("tr\tA\tone two\t2", "probe.txt")).toThrow(/a word's place in a sentence of 2, got 2/);
    expect(() => parseAgreement("a,b\n1,2", "probe.txt")).toThrow(/probe\.txt:1: expected a heading with split/);
    const heading = "split\torig_sentence\tn_intervening\tdistance\tverb_pos\tverb_index";
    expect(() => parseAgreement(`${heading}\ntr\ta b\t0\tfar\tVB\t1`, "probe.txt")).toThrow(
      /:2: .*as distance, got far/,
    );
  });
});
