"""The real SentencePiece's side of the tokenizer benchmark.

Reads commands on standard input, one a line: `encode MODEL` encodes the lines of the text given as the first argument, which
are in memory, on one thread, and prints {"ms", "pieces"}; `train PREFIX THREADS` trains 12,000 pieces on the text given as the
second argument and prints {"ms"}; `quit` ends. Prints `ready` at the start.
"""

import json
import sys
import time

import sentencepiece

OPTIONS = dict(
    vocab_size=12000,
    normalization_rule_name="nfkc_cf",
    user_defined_symbols=["@-@"],
    pad_id=0,
    bos_id=1,
    eos_id=2,
    unk_id=3,
    pad_piece="[PAD]",
    bos_piece="[BOS]",
    eos_piece="[EOS]",
    unk_piece="[UNK]",
    minloglevel=2,
)


def main():
    encode_path, train_path = sys.argv[1:3]
    with open(encode_path, "rb") as file:
        lines = file.read().decode("utf-8").split("\n")
    models = {}
    print("ready", flush=True)
    for command in sys.stdin:
        name, *arguments = command.split()
        if name == "quit":
            return
        if name == "encode" and arguments[0] not in models:
            models[arguments[0]] = sentencepiece.SentencePieceProcessor(arguments[0])
        start = time.perf_counter()
        if name == "encode":
            encode = models[arguments[0]].encode
            answer = {"pieces": sum([len(encode(line)) for line in lines])}
        else:
            prefix, threads = arguments
            sentencepiece.SentencePieceTrainer.train(
                input=train_path, model_prefix=prefix, num_threads=int(threads), **OPTIONS
            )
            answer = {}
        answer["ms"] = (time.perf_counter() - start) * 1000
        print(json.dumps(answer), flush=True)


main()
