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
from torch_generation import Cached, generate, linear, normed

warnings.filterwarnings("ignore")


class Whole(Cached):
    """The same functions for whole batches of texts [B, T]."""

    def mix(self, w, x):
        batch, length, _ = x.shape
        qkv = linear(normed(x, w, "norm1"), w, "qkv")
        q, k, v = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return linear(mixed.transpose(1, 2).reshape(batch, length, self.width), w, "out")

    def forward(self, ids):
        w = self.weights
        x = w["embedding.weight"][ids] + w["positions.weight"][: ids.shape[1]]
        for block in self.blocks:
            x = x + self.mix(block, x)
            x = x + linear(F.gelu(linear(normed(x, block, "norm2"), block, "up")), block, "down")
        return linear(normed(x, w, "norm"), w, "embedding")


class Quantised(Whole):
    """With a quantised module for each matrix."""

    def __init__(self, config, weights, batch):
        super().__init__(config, dict(weights), batch)
        for w, names in [*[(block, ["qkv", "out", "up", "down"]) for block in self.blocks], (self.weights, ["embedding"])]:
            for name in names:
                w[name] = quantised(w[f"{name}.weight"], w.get(f"{name}.bias"))


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
    model, exact = Quantised(args.config, tensors, 1), Whole(args.config, tensors, 1)

    def check():
        right, near = exact.forward(ids), model.forward(ids)
        size = right.abs().mean()
        return [float(size), float((near - right).abs().mean() / size)]

    work = lambda: generate(model, prompt[None], args.config["tokens"])
    work()
    answer(forward=timed(lambda: model.forward(ids)), generate=timed(work), check=check)


main()
