"""PyTorch's side of the adaptive-depth benchmark: the original's dense loop, in which every token passes through the layer until all have halted.

`forward N` runs N passes and prints their times in milliseconds; `checksum` prints mean |state|, the first eight numbers and the mean
depth; `quit` ends. Prints `ready` once the model is built. Attention and the tanh form of GELU are PyTorch's fused ones, which
are faster than the original's own.
"""

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from answers import answer, arguments, timed

LAYER = "encoder.albert_layer_groups.0.albert_layers.0."


class Albert:
    """One ALBERT layer, run again and again, as plain functions of its weights."""

    def __init__(self, config, weights):
        self.c, self.w = config, weights

    def linear(self, name, x):
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.w[f"{name}.weight"], self.w[f"{name}.bias"], self.c["epsilon"])

    def embed(self, ids):
        tables = [self.w[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "token_type", "position")]
        x = tables[0][ids] + tables[1][0] + tables[2][: ids.shape[1]]
        return self.linear("encoder.embedding_hidden_mapping_in", self.norm("embeddings.LayerNorm", x))

    def layer(self, x, mask):
        batch, length, width = x.shape
        split = lambda t: t.view(batch, length, self.c["heads"], -1).transpose(1, 2)
        q, k, v = (split(self.linear(f"{LAYER}attention.{part}", x)) for part in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, length, width)
        a = self.norm(f"{LAYER}attention.LayerNorm", self.linear(f"{LAYER}attention.dense", mixed) + x)
        fed = self.linear(f"{LAYER}ffn_output", F.gelu(self.linear(f"{LAYER}ffn", a), approximate="tanh"))
        return self.norm(f"{LAYER}full_layer_layer_norm", fed + a)

    def __call__(self, ids, caps):
        state = self.embed(ids)
        mask = torch.zeros(ids.shape[0], 1, 1, ids.shape[1])
        halting, updates = torch.zeros(ids.shape), torch.zeros(ids.shape)
        depth = 0
        while bool((halting < 1).any()):
            depth += 1
            running = halting < 1
            y = self.layer(state, mask)
            p = torch.sigmoid(self.linear("encoder.halting.unit", y)).squeeze(-1)
            ends = running & ((halting + p > 0.99) | (caps <= depth) | (depth == self.c["depth"]))
            weight = torch.where(ends, 1 - halting, p * running)
            halting = torch.where(ends, 1.0, halting + p * running)
            updates = updates + running
            state = weight[..., None] * y + (1 - weight[..., None]) * state
        pooled = torch.tanh(self.linear("pooler", state[:, 0]))
        return state, pooled, updates


def main():
    args = arguments()
    tensors = load_file(args.weights)
    ids, caps = tensors.pop("input.ids").long(), tensors.pop("input.caps").long()
    model = Albert(args.config, tensors)

    def checksum():
        state, _, updates = model(ids, caps)
        first = state.flatten()[:8].tolist()
        return {"mean": state.abs().mean().item(), "first": first, "depth": updates.mean().item()}

    with torch.inference_mode():
        answer(forward=timed(lambda: model(ids, caps)), checksum=checksum)


main()
