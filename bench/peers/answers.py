"""What the PyTorch peers share: their arguments, timed work, and answers to lines on standard input."""

import argparse
import json
import sys
import time

import torch


def arguments(**extra):
    """--config (JSON), --weights, --threads and what is asked for besides; sets threads and seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=json.loads)
    parser.add_argument("--weights")
    parser.add_argument("--threads", type=int, default=2)
    for name, options in extra.items():
        parser.add_argument(f"--{name}", **options)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    return args


def timed(work):
    """A command that does the work as often as it is told, and gives the times in milliseconds."""

    def run(count):
        times = []
        for _ in range(int(count)):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) * 1000)
        return times

    return run


def training_step(loss_of, optimiser):
    """One update, down to the number of its loss."""

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def answer(**commands):
    """Prints `ready`, then a line of JSON to each line: a command and its arguments; `quit` ends."""
    print("ready", flush=True)
    for line in sys.stdin:
        name, *rest = line.split() or ["quit"]
        if name == "quit":
            break
        print(json.dumps(commands[name](*rest)), flush=True)
