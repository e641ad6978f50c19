"""PyTorch's side of the generation benchmark: the same model and weights, greedy, with cached keys and values.

Reads commands on standard input, one a line: `generate 1` continues the prompts [B, T] and prints the time in milliseconds; `first 1`
the time to the first token of each; `tokens` prints the ids of the continuations; `quit` ends. Prints `ready` once the model is
built. Caches are allocated once and written in place, which is faster than concatenating.
"""

import math

import torch
from answers import answer, arguments, timed
from safetensors.torch import load_file
from torch.nn import functional as F


def linear(x, w, name):
    """A product with a matrix, or with a module that stands for it, such as a quantised one."""
    if name in w:
        return w[name](x)
    return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))


def normed(x, w, name):
    return F.layer_norm(x, (x.shape[-1],), w[f"{name}.weight"], w[f"{name}.bias"])


def parts_of(weights, prefix):
    return {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}


class Cached:
    """A language model as plain functions of its weights, for texts of equal length."""

    def __init__(self, config, weights, batch):
        self.heads, self.width = config["heads"], config["width"]
        self.weights = weights
        self.blocks = [parts_of(weights, f"blocks.{i}.") for i in range(config["depth"])]
        shape = (config["depth"], batch, self.heads, config["length"], self.width // self.heads)
        self.keys, self.values = torch.zeros(shape), torch.zeros(shape)

    def begin(self):
        pass

    def attend(self, w, x, depth, past):
        batch, new, _ = x.shape
        qkv = linear(normed(x, w, "norm1"), w, "qkv")
        q, k, v = qkv.view(batch, new, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys[depth, :, :, past : past + new] = k
        self.values[depth, :, :, past : past + new] = v
        keys, values = self.keys[depth, :, :, : past + new], self.values[depth, :, :, : past + new]
        mixed = F.scaled_dot_product_attention(q, keys, values, is_causal=new > 1)
        return linear(mixed.transpose(1, 2).reshape(batch, new, self.width), w, "out")

    def __call__(self, ids, past):
        """Logits after the last of `ids` [B, T], the first of which stand at position `past`."""
        w = self.weights
        x = w["embedding.weight"][ids] + w["positions.weight"][past : past + ids.shape[1]]
        for depth, block in enumerate(self.blocks):
            x = x + self.attend(block, x, depth, past)
            x = x + linear(F.gelu(linear(normed(x, block, "norm2"), block, "up")), block, "down")
        return linear(normed(x[:, -1], w, "norm"), w, "embedding")


class Remembering:
    """A Transformer-XL: relative attention over a memory, of which keys and values are kept."""

    def __init__(self, config, weights, batch):
        self.heads, self.width, self.memory = config["heads"], config["width"], config["memory"]
        self.each, self.batch, self.weights = self.width // self.heads, batch, weights
        self.blocks = []
        for i, kind in enumerate(config["blocks"]):
            name = "attention" if kind == "s" else "dense"
            self.blocks.append((kind, parts_of(weights, f"blocks.{i}.{name}.")))
        features = torch.arange(self.width)
        angles = torch.arange(self.memory, -1, -1)[:, None] * 1e-4 ** (2 * (features // 2) / self.width)
        table = torch.where(features % 2 == 0, torch.cos(angles), torch.sin(angles))
        for kind, w in self.blocks:
            if kind == "s":  # distances are the same for every token: their projections are worked out once
                w["r"] = linear(table, w, "position").view(-1, self.heads, self.each).permute(1, 2, 0).contiguous()

    def begin(self):
        empty = torch.zeros(self.batch, self.heads, 0, self.each)
        self.kept = [(empty, empty)] * len(self.blocks)

    def attend(self, w, x, depth):
        batch, new, _ = x.shape
        q, v, k = linear(normed(x, w, "norm"), w, "qvk").view(batch, new, 3, self.heads, self.each).permute(2, 0, 3, 1, 4)
        keys = torch.cat([self.kept[depth][0], k], dim=2)
        values = torch.cat([self.kept[depth][1], v], dim=2)
        self.kept[depth] = (keys[:, :, -self.memory :], values[:, :, -self.memory :])
        count = keys.shape[2]
        content = (q + w["u"][:, None]) @ keys.transpose(-1, -2)
        place = (q + w["v"][:, None]) @ w["r"][:, :, -count:]
        if new > 1:
            place = F.pad(place, (1, 0)).view(batch, self.heads, count + 1, new)[:, :, 1:].reshape(content.shape)
            later = torch.ones(new, count, dtype=torch.bool).triu(1 + count - new)
            content = content.masked_fill(later, float("-inf"))
        weights = torch.softmax((content + place) * self.each**-0.5, dim=-1)
        return linear((weights @ values).transpose(1, 2).reshape(batch, new, self.width), w, "output")

    def __call__(self, ids, past):
        w = self.weights
        x = w["embedding.weight"][ids] * math.sqrt(self.width)
        for depth, (kind, block) in enumerate(self.blocks):
            if kind == "s":
                x = x + self.attend(block, x, depth)
            else:
                x = x + linear(F.relu(linear(normed(x, block, "norm"), block, "up")), block, "down")
        return F.log_softmax(linear(normed(x[:, -1], w, "norm"), w, "softmax"), dim=-1)


@torch.inference_mode()
def generate(model, prompts, count):
    model.begin()
    ids = [model(prompts, 0).argmax(-1)]
    while len(ids) < count:
        ids.append(model(ids[-1][:, None], prompts.shape[1] + len(ids) - 1).argmax(-1))
    return torch.stack(ids, dim=1).tolist()


@torch.inference_mode()
def main():
    args = arguments()
    tensors = load_file(args.weights)
    prompts = tensors.pop("input.prompts").long()
    kind = Remembering if "memory" in args.config else Cached
    model = kind(args.config, tensors, prompts.shape[0])
    work = lambda: generate(model, prompts, args.config["tokens"])
    first = lambda: generate(model, prompts, 1)
    work()
    answer(generate=timed(work), first=timed(first), tokens=work)


if __name__ == "__main__":
    main()
