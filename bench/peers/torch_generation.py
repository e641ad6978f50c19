"""PyTorch's side of the generation benchmark: the same model and weights, greedy, with cached keys and values.

Reads commands on standard input, one a line: `generate 1` continues the prompt and prints the time in milliseconds; `tokens` prints
the ids of its continuation; `quit` ends. Prints `ready` once the model is built. The cache is allocated once and
written in place, which is faster than concatenating.
"""

import torch
from answers import answer, arguments, timed
from safetensors.torch import load_file
from torch.nn import functional as F


class Cached:
    """A language model as plain functions of its weights, for one text at a time."""

    def __init__(self, config, weights):
        self.heads, self.width, self.depth = config["heads"], config["width"], config["depth"]
        self.weights = weights
        self.blocks = [
            {name: weights[f"blocks.{i}.{name}"] for name in (
                "norm1.weight", "norm1.bias", "qkv.weight", "qkv.bias", "out.weight", "out.bias",
                "norm2.weight", "norm2.bias", "up.weight", "up.bias", "down.weight", "down.bias",
            )}
            for i in range(self.depth)
        ]
        shape = (self.depth, self.heads, config["length"], self.width // self.heads)
        self.keys, self.values = torch.zeros(shape), torch.zeros(shape)

    def attend(self, w, x, depth, past):
        new = x.shape[0]
        qkv = self.multiply(F.layer_norm(x, (self.width,), w["norm1.weight"], w["norm1.bias"]), w, "qkv")
        q, k, v = qkv.view(new, 3, self.heads, -1).permute(1, 2, 0, 3)
        self.keys[depth, :, past : past + new] = k
        self.values[depth, :, past : past + new] = v
        keys, values = self.keys[depth, :, : past + new], self.values[depth, :, : past + new]
        mixed = F.scaled_dot_product_attention(q[None], keys[None], values[None], is_causal=new > 1)[0]
        return self.multiply(mixed.transpose(0, 1).reshape(new, self.width), w, "out")

    def multiply(self, x, w, name):
        return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))

    def feed(self, w, x):
        x = F.layer_norm(x, (self.width,), w["norm2.weight"], w["norm2.bias"])
        return self.multiply(F.gelu(self.multiply(x, w, "up")), w, "down")

    def __call__(self, ids, past):
        """Logits after the last of `ids` [T], the first of which stands at position `past`."""
        w = self.weights
        x = w["embedding.weight"][ids] + w["positions.weight"][past : past + len(ids)]
        for depth, block in enumerate(self.blocks):
            x = x + self.attend(block, x, depth, past)
            x = x + self.feed(block, x)
        last = F.layer_norm(x[-1:], (self.width,), w["norm.weight"], w["norm.bias"])
        return self.multiply(last, w, "embedding")[0]


@torch.inference_mode()
def generate(model, prompt, count):
    logits = model(prompt, 0)
    ids = [int(logits.argmax())]
    while len(ids) < count:
        logits = model(torch.tensor(ids[-1:]), len(prompt) + len(ids) - 1)
        ids.append(int(logits.argmax()))
    return ids


@torch.inference_mode()
def main():
    args = arguments()
    tensors = load_file(args.weights)
    prompt = tensors.pop("input.prompt").long()
    model = Cached(args.config, tensors)
    work = lambda: generate(model, prompt, args.config["tokens"])
    work()
    answer(generate=timed(work), tokens=work)


if __name__ == "__main__":
    main()
