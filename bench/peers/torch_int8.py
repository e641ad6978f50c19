"""PyTorch's side of the int8 benchmark: the model of the generation benchmark with dynamically quantised products (qint8).

Reads commands on standard input, one a line: `forward 1` takes a batch of texts to their logits, `generate 1` continues the prompt; both
print the time in milliseconds. `check` prints the mean size of the logits and how far they are from those in 32 bits, as a fraction of it.
`quit` ends. Prints `ready` once the model is built.
"""

import warnings

import torch
from answers import answer, arguments, timed
from safetensors.torch import load_file
from torch.nn import functional as F
from torch_generation import Cached, generate

warnings.filterwarnings("ignore")


class Whole(Cached):
    """The same functions for whole batches of texts [B, T]."""

    def mix(self, w, x):
        batch, length, _ = x.shape
        qkv = self.multiply(F.layer_norm(x, (self.width,), w["norm1.weight"], w["norm1.bias"]), w, "qkv")
        q, k, v = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.multiply(mixed.transpose(1, 2).reshape(batch, length, self.width), w, "out")

    def forward(self, ids):
        w = self.weights
        x = w["embedding.weight"][ids] + w["positions.weight"][: ids.shape[1]]
        for block in self.blocks:
            x = x + self.mix(block, x)
            x = x + self.feed(block, x)
        return self.multiply(F.layer_norm(x, (self.width,), w["norm.weight"], w["norm.bias"]), w, "embedding")


class Quantised(Whole):
    """With a quantised module for each matrix."""

    def __init__(self, config, weights):
        super().__init__(config, weights)
        self.modules = {}

    def multiply(self, x, w, name):
        weight = w[f"{name}.weight"]
        if weight not in self.modules:
            self.modules[weight] = quantised(weight, w.get(f"{name}.bias"))
        return self.modules[weight](x)


def quantised(weight, bias):
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        linear.weight.copy_(weight)
        if bias is not None:
            linear.bias.copy_(bias)
    return torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(linear), {torch.nn.Linear}, dtype=torch.qint8)


@torch.inference_mode()
def main():
    args = arguments()
    tensors = load_file(args.weights)
    prompt, ids = tensors.pop("input.prompt").long(), tensors.pop("input.ids").long()
    model, exact = Quantised(args.config, tensors), Whole(args.config, tensors)

    def check():
        right, near = exact.forward(ids), model.forward(ids)
        size = right.abs().mean()
        return [float(size), float((near - right).abs().mean() / size)]

    work = lambda: generate(model, prompt, args.config["tokens"])
    work()
    answer(forward=timed(lambda: model.forward(ids)), generate=timed(work), check=check)


main()
