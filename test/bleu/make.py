"""Writes cases.json: corpora made up here, scored by SacreBLEU. Run: python test/bleu/make.py (needs sacrebleu), then npm run format."""
import json
import pathlib
import random

import sacrebleu

LINES = [
    "The boat, painted red, waits at pier 7-B.",
    "Prices rose by 3.5% to 1,024.00 euros; nobody knew why!",
    'She said: "no way" (twice) & left <quickly>.',
    "Ein Mädchen läuft über die Straße, während es regnet.",
    "Zwei Hunde spielen mit einem blau-weißen Ball im Schnee...",
    "well-known facts aren't always true/false",
    "A man in a #12 jersey e-mails bob@example.org at 10:30.",
    "Überall liegen Äpfel; 4-5 davon sind faul.",
    "un café à la crème \u2014 s'il vous plaît",
    "日本語 の 文 は 短い 。",
    "&quot;Entities&quot; &amp; tags: &lt;b&gt; 1 &lt; 2",
    "one",
    "tabs\tand\u00a0odd\u2009spaces  here",
    "x = a[i] * {b} ~ `c` ^ |d| \\ $5 _under_",
    "v1.2.3, 1.,2 .5 5. ,5 5,",
    "emoji \U0001F600. and \U0001F600, too",
]


def change(line, rng, rate):
    words = []
    for word in line.split(" "):
        draw = rng.random()
        if draw < rate / 3:
            continue
        words.append(rng.choice(rng.choice(LINES).split(" ")) if draw < rate else word)
        if rng.random() < rate / 6:
            words.append(word)
    return " ".join(words)


def case(name, system, references, lowercase=False):
    found = sacrebleu.metrics.BLEU(tokenize="13a", lowercase=lowercase).corpus_score(system, references)
    return {
        "name": name,
        "translations": system,
        "references": references,
        "lowercase": lowercase,
        "score": found.score,
        "precisions": found.precisions,
        "brevityPenalty": found.bp,
        "systemLength": found.sys_len,
        "referenceLength": found.ref_len,
    }


def main():
    rng = random.Random(7)
    cases = [case("equal", LINES, [LINES])]
    for i, rate in enumerate([0.05, 0.1, 0.2, 0.3, 0.5, 0.8]):
        cases.append(case(f"changed by {rate}", [change(line, rng, rate) for line in LINES], [LINES]))
        several = [[change(line, rng, 0.2) for line in LINES] for _ in range(1 + i % 3)]
        cases.append(case(f"{len(several) + 1} references, {rate}", [change(line, rng, rate) for line in LINES], [LINES, *several]))
    for line in LINES:
        cases.append(case("one line", [change(line, rng, 0.3)], [[line]]))
    cases.append(case("lower case", [line.upper() for line in LINES], [LINES], lowercase=True))
    cases.append(case("nothing in common", ["a b c d e"], [["v w x y z"]]))
    cases.append(case("empty", [""], [["some words"]]))
    cases.append(case("short", ["the cat"], [["the cat sat"]]))
    cases.append(case("no bigram", ["the sat cat on"], [["on cat the mat sat here"]]))
    out = pathlib.Path(__file__).with_name("cases.json")
    out.write_text(json.dumps({"made_with": f"sacrebleu {sacrebleu.__version__}", "cases": cases}, ensure_ascii=False, indent=1) + "\n")


main()
