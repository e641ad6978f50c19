"""PyTorch's side of the encoder benchmark: nn.TransformerEncoder with the weights that a plan gives each of its layers.

`forward N` runs N forward passes and prints their times in milliseconds; `checksum` prints the mean absolute output and the first eight
numbers; `quit` ends. Prints `ready` once the model is built.
"""

import torch
from safetensors.torch import load_file
from torch import nn

from answers import answer, arguments, timed


def main():
    args = arguments()
    plan = args.config["plan"]
    tensors = load_file(args.weights)
    x = tensors.pop("input.x")
    layer = nn.TransformerEncoderLayer(512, 16, 2048, dropout=0.1, activation="relu", batch_first=True)
    model = nn.TransformerEncoder(layer, len(plan)).eval()
    for depth, unique in enumerate(plan):
        prefix = f"layers.{unique}."
        own = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        model.layers[depth].load_state_dict(own)

    def checksum():
        y = model(x)
        return [y.abs().mean().item(), *y.flatten()[:8].tolist()]

    with torch.inference_mode():
        answer(forward=timed(lambda: model(x)), checksum=checksum)


main()
