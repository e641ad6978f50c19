"""PyTorch's side of the encoder benchmark: nn.TransformerEncoder with the weights that a plan gives each of its layers.

`forward N` runs N forward passes and prints their times in milliseconds; `checksum` prints the mean absolute output and the first eight
numbers; `quit` ends. Prints `ready` once the model is built.
"""

import argparse
import json
import sys
import time

import torch
from safetensors.torch import load_file
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--plan", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    plan = json.loads(args.plan)
    tensors = load_file(args.weights)
    x = tensors.pop("input.x")
    layer = nn.TransformerEncoderLayer(512, 16, 2048, dropout=0.1, activation="relu", batch_first=True)
    model = nn.TransformerEncoder(layer, len(plan)).eval()
    for depth, unique in enumerate(plan):
        prefix = f"layers.{unique}."
        own = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        model.layers[depth].load_state_dict(own)
    print("ready", flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            command = line.split()
            if not command or command[0] == "quit":
                break
            if command[0] == "checksum":
                y = model(x)
                print(json.dumps([y.abs().mean().item(), *y.flatten()[:8].tolist()]), flush=True)
            if command[0] == "forward":
                times = []
                for _ in range(int(command[1])):
                    start = time.perf_counter()
                    model(x)
                    times.append((time.perf_counter() - start) * 1000)
                print(json.dumps(times), flush=True)


main()
