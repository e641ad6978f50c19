"""PyTorch's side of the shared encoder's training step: nn.TransformerEncoderLayer objects run in the order of a plan, dropout on, Adam.

`step N` runs N training steps and prints their times in milliseconds; `loss` prints the loss with dropout off; `quit` ends.
Prints `ready` once the model is built.
"""

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from answers import answer, arguments, timed, training_step


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
    args = arguments()
    tensors = load_file(args.weights)
    x, target = tensors.pop("input.x"), tensors.pop("input.target")
    model = SharedEncoder(args.config["plan"])
    model.load_state_dict(tensors)
    optimiser = torch.optim.Adam(model.parameters(), lr=args.config["rate"])
    model.eval()
    with torch.no_grad():
        first_loss = float(model(x, target))
    model.train()
    answer(step=timed(training_step(lambda: model(x, target), optimiser)), loss=lambda: first_loss)


main()
