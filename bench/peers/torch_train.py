"""PyTorch's side of the training race: the same model, recipe and data, trained in slices.

`run SECONDS` trains for that many seconds of its own clock and prints {"step", "total", "loss", "done"}; `evaluate` prints the mean
validation loss; `quit` ends. Prints `ready` once the model is built.
"""

import argparse
import json
import math
import sys
import time

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from torch_language_model import LanguageModel

WARM_STEPS, PACE_STEPS = 3, 20


def batches_of(tokens, batch, length):
    """Row b of batch t is window b·S + t."""
    window = length + 1
    stride = len(tokens) // (batch * window)
    rows = tokens[: batch * stride * window].view(batch, stride, window)
    return rows.transpose(0, 1).contiguous().long()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    c = json.loads(args.config)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    tensors = load_file(args.data)
    train = batches_of(tensors.pop("data.train"), c["batch"], c["length"])
    valid = batches_of(tensors.pop("data.valid"), c["batch"], c["length"])
    model = LanguageModel(c)
    model.load_state_dict(tensors)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": c["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, 0.99),
    )
    total, step, order, elapsed, warm_at, loss = None, 0, [], 0.0, 0.0, float("nan")

    def rate():
        if step < c["warmup"]:
            return c["rate"] * (step + 1) / c["warmup"]
        if total is None:
            return c["rate"]
        part = min(1, (step - c["warmup"]) / max(1, total - c["warmup"]))
        return c["rate"] * (c["floor"] + (1 - c["floor"]) * 0.5 * (1 + math.cos(math.pi * part)))

    model.train()
    print("ready", flush=True)
    for line in sys.stdin:
        command = line.split()
        if not command or command[0] == "quit":
            break
        if command[0] == "run":
            until = elapsed + float(command[1])
            while elapsed < until and (total is None or step < total):
                start = time.perf_counter()
                if not order:
                    order = torch.randperm(len(train)).tolist()
                window = train[order.pop()]
                for group in optimiser.param_groups:
                    group["lr"] = rate()
                optimiser.zero_grad(set_to_none=True)
                value = model(window[:, :-1], window[:, 1:].contiguous())
                value.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), c["clipNorm"])
                optimiser.step()
                loss = value.item()
                step += 1
                elapsed += time.perf_counter() - start
                if step == WARM_STEPS:
                    warm_at = elapsed
                if total is None and step == PACE_STEPS:
                    each = (elapsed - warm_at) / (step - WARM_STEPS)
                    total = step + int((args.minutes * 60 - elapsed) / each)
            done = total is not None and step >= total
            print(json.dumps({"step": step, "total": total, "loss": loss, "done": done}), flush=True)
        if command[0] == "evaluate":
            model.eval()
            with torch.no_grad():
                losses = [model(w[:, :-1], w[:, 1:].contiguous()).item() for w in valid]
            model.train()
            print(json.dumps(sum(losses) / len(losses)), flush=True)


main()
