"""PyTorch's side of the language-model benchmark: the same model, weights and batch, one optimiser step at a time.

Reads commands on standard input, one a line: `step N` runs N training steps and prints their times in milliseconds as a JSON
list; `loss` prints the loss of the batch with dropout off; `memory` prints the most megabytes that were resident; `quit` ends.
Prints `ready` once the model is built.
"""

import resource

import torch
from torch import nn
from torch.nn import functional as F

from answers import answer, arguments, timed, training_step


class Block(nn.Module):
    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        batch, time_, width = x.shape
        split = lambda t: t.view(batch, time_, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = map(split, self.qkv(self.norm1(x)).chunk(3, dim=-1))
        p = self.dropout if self.training else 0.0
        a = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        x = x + F.dropout(self.out(a.transpose(1, 2).reshape(batch, time_, width)), p)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), p)


class LanguageModel(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.dropout, self.plan = c["dropout"], c.get("plan") or list(range(c["depth"]))
        self.embedding = nn.Embedding(c["vocabulary"], c["width"])
        self.positions = nn.Embedding(c["length"], c["width"])
        self.blocks = nn.ModuleList(
            Block(c["width"], c["heads"], c["hidden"], c["dropout"]) for _ in range(max(self.plan) + 1)
        )
        self.norm = nn.LayerNorm(c["width"])

    def forward(self, ids, targets):
        p = self.dropout if self.training else 0.0
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        x = F.dropout(x, p)
        for block in self.plan:
            x = self.blocks[block](x)
        logits = self.norm(x) @ self.embedding.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    args = arguments(compile={"action": "store_true"})
    config = args.config
    model = LanguageModel(config)
    if args.weights:
        from safetensors.torch import load_file  # here, so that the start benchmark need not load it

        tensors = load_file(args.weights)
        ids, targets = tensors.pop("input.ids").long(), tensors.pop("input.targets").long()
        model.load_state_dict(tensors)
    else:
        shape = (config["batch"], config["length"])
        ids, targets = torch.randint(config["vocabulary"], shape), torch.randint(config["vocabulary"], shape)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    forward = torch.compile(model) if args.compile else model
    model.eval()
    with torch.no_grad():
        first_loss = float(model(ids, targets))
    model.train()
    step = training_step(lambda: forward(ids, targets), optimiser)
    if args.compile:
        step()
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer(step=timed(step), loss=lambda: first_loss, memory=peak)


if __name__ == "__main__":
    main()
