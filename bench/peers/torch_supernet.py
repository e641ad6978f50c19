"""PyTorch's side of the supernet benchmark: the default PAR Transformer-XL, one Adam step at a time, memory carried on.

Reads commands on standard input, one a line: `step N` runs N training steps and prints their times in milliseconds as a JSON
list; `loss` prints the loss of the batch without memory, dropout and noise; `quit` ends. Prints `ready` once the model is built.
"""

import math

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from answers import answer, arguments, timed, training_step


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.norm = nn.LayerNorm(width)
        self.qvk = nn.Linear(width, 3 * width)
        self.position = nn.Linear(width, width, bias=False)
        self.u, self.v = nn.Parameter(torch.zeros(heads, self.each)), nn.Parameter(torch.zeros(heads, self.each))
        self.output = nn.Linear(width, width)

    def forward(self, x, memory, table, mask):
        batch, length, width = x.shape
        whole = torch.cat([memory, x], dim=1)
        keys = whole.shape[1]
        q, v, k = self.qvk(self.norm(whole)).view(batch, keys, 3, self.heads, self.each).permute(2, 0, 3, 1, 4)
        q = q[:, :, -length:]
        r = self.position(table).view(keys, self.heads, self.each).transpose(0, 1)
        content = (q + self.u[:, None]) @ k.transpose(-1, -2)
        place = (q + self.v[:, None]) @ r.transpose(-1, -2)
        place = F.pad(place, (1, 0)).view(batch, self.heads, keys + 1, length)[:, :, 1:].reshape(content.shape)
        weights = torch.softmax(((content + place) * self.each**-0.5).masked_fill(mask, float("-inf")), dim=-1)
        return self.output((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Dense(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.relu(self.up(self.norm(x))))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention, self.dense = Attention(c["width"], c["heads"]), Dense(c["width"], c["hidden"])
        self.pi = nn.Parameter(torch.zeros(3))

    def forward(self, x, memory, table, mask, p):
        w = F.gumbel_softmax(self.pi, tau=1.0) if self.training else torch.softmax(self.pi, dim=-1)
        return x + w[0] * F.dropout(self.attention(x, memory, table, mask), p) + w[1] * F.dropout(self.dense(x), p)


class Tail(nn.Module):
    def __init__(self, width, size, count):
        super().__init__()
        self.projection, self.output = nn.Linear(width, size), nn.Linear(size, count)

    def forward(self, x):
        return self.output(self.projection(x))


class AdaptiveSoftmax(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ends = [*c["cutoffs"], c["vocabulary"]]
        tails = len(c["cutoffs"])
        self.head = nn.Linear(c["width"], self.ends[0] + tails)
        sizes = [max(1, int(c["width"] / c["projectionFactor"] ** (k + 1))) for k in range(tails)]
        self.tails = nn.ModuleList(Tail(c["width"], sizes[k], self.ends[k + 1] - self.ends[k]) for k in range(tails))

    def forward(self, x, targets):
        slots, total = targets, 0.0
        for k, tail in enumerate(self.tails):
            inside = (targets >= self.ends[k]) & (targets < self.ends[k + 1])
            slots = torch.where(inside, self.ends[0] + k, slots)
            rows = inside.nonzero().squeeze(1)
            total = total + F.cross_entropy(tail(x[rows]), targets[rows] - self.ends[k], reduction="sum")
        return (total + F.cross_entropy(self.head(x), slots, reduction="sum")) / len(targets)


class Supernet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embedding = nn.Embedding(c["vocabulary"], c["width"])
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["blocks"]))
        self.norm = nn.LayerNorm(c["width"])
        self.softmax = AdaptiveSoftmax(c)

    def forward(self, ids, targets, memories):
        p = self.c["dropout"] if self.training else 0.0
        x = F.dropout(self.embedding(ids) * math.sqrt(self.c["width"]), p)
        length, keys = ids.shape[1], ids.shape[1] + memories[0].shape[1]
        table = sinusoids(keys, self.c["width"])
        mask = torch.ones(length, keys, dtype=torch.bool).triu(1 + keys - length)
        kept = []
        for block, memory in zip(self.blocks, memories):
            kept.append(torch.cat([memory, x.detach()], dim=1)[:, -self.c["memory"] :])
            x = block(x, memory, table, mask, p)
        return self.softmax(self.norm(x).flatten(0, 1), targets.flatten()), kept


def sinusoids(keys, width):
    """Rows for distances keys - 1 … 0; even features hold cos, odd ones sin."""
    features = torch.arange(width)
    angles = torch.arange(keys - 1, -1, -1)[:, None] * 1e-4 ** (2 * (features // 2) / width)
    return torch.where(features % 2 == 0, torch.cos(angles), torch.sin(angles))


def main():
    args = arguments(compile={"action": "store_true"})
    config = args.config
    model = Supernet(config)
    tensors = load_file(args.weights)
    ids, targets = tensors.pop("input.ids").long(), tensors.pop("input.targets").long()
    model.load_state_dict(tensors)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    forward = torch.compile(model, dynamic=False) if args.compile else model
    empty = [torch.zeros(config["batch"], 0, config["width"])] * config["blocks"]
    memories = [torch.zeros(config["batch"], config["memory"], config["width"])] * config["blocks"]

    def loss_of():
        nonlocal memories
        loss, memories = forward(ids, targets, memories)
        return loss

    model.eval()
    with torch.no_grad():
        first_loss = float(model(ids, targets, empty)[0])
    model.train()
    step = training_step(loss_of, optimiser)
    if args.compile:
        step()
    answer(step=timed(step), loss=lambda: first_loss)


if __name__ == "__main__":
    main()
