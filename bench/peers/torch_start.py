"""PyTorch's side of the start benchmark: import, load cached token ids, build the model, make one training step, say so."""

import argparse
import json
import sys

import numpy
import torch

from torch_language_model import LanguageModel

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--tokens", required=True)
parser.add_argument("--threads", type=int, default=2)
args = parser.parse_args()
config = json.loads(args.config)
torch.set_num_threads(args.threads)
torch.manual_seed(1)
batch, window = config["batch"], config["length"] + 1
tokens = torch.from_numpy(numpy.fromfile(args.tokens, dtype=numpy.uint16)[: batch * window].astype(numpy.int64))
rows = tokens.view(batch, window)
model = LanguageModel(config)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
loss = model(rows[:, :-1], rows[:, 1:])
loss.backward()
optimiser.step()
print(json.dumps(loss.item()), flush=True)
sys.stdin.readline()
