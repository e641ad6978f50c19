"""PyTorch's side of the shared encoder's training step: nn.TransformerEncoderLayer objects run in the order of a plan, dropout on, Adam.

`step N` runs N training steps and prints their times in milliseconds; `loss` prints the loss with dropout off; `quit` ends.
Prints `ready` once the model is built.
"""

import argparse
import json
import sys
import time

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F


class SharedEncoder(nn.Module):
    def __init__(self, plan):
        super().__init__()
        self.plan = plan
        layer = lambda: nn.TransformerEncoderLayer(512, 16, 2048, dropout=0.1, activation="relu", batch_first=True)
        self.layers = nn.ModuleList(layer() for _ in range(max(plan) + 1))

    def forward(self, x, target):
        for i in self.plan:
            x = self.layers[i](x)
        return F.mse_loss(x, target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    config = json.loads(args.config)
    tensors = load_file(args.weights)
    x, target = tensors.pop("input.x"), tensors.pop("input.target")
    model = SharedEncoder(config["plan"])
    model.load_state_dict(tensors)
    optimiser = torch.optim.Adam(model.parameters(), lr=config["rate"])

    def step():
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        loss = model(x, target)
        loss.backward()
        optimiser.step()
        loss.item()
        return (time.perf_counter() - start) * 1000

    model.eval()
    with torch.no_grad():
        first_loss = float(model(x, target))
    model.train()
    print("ready", flush=True)
    for line in sys.stdin:
        command = line.split()
        if not command or command[0] == "quit":
            break
        if command[0] == "step":
            print(json.dumps([step() for _ in range(int(command[1]))]), flush=True)
        elif command[0] == "loss":
            print(json.dumps(first_loss), flush=True)


main()
