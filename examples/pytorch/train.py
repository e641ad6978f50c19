"""Trains a model that `layerwise export RUN --format huggingface` wrote, on as many processes as torchrun starts.

    layerwise export runs/found --format huggingface --out found
    torchrun --nproc-per-node 2 examples/pytorch/train.py found text.txt trained --steps 2
    layerwise import trained --out runs/back

The tokenizer is the run's own: `pip install torch transformers sentencepiece`. On GPUs each process takes one, and gradients go over nccl.
"""

import argparse
import os

import sentencepiece
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("model", help="an exported folder")
parser.add_argument("text", help="a text file")
parser.add_argument("out", help="the folder to write")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--batch", type=int, default=8, help="rows per process")
parser.add_argument("--rate", type=float, default=1e-3)
options = parser.parse_args()

on_gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if on_gpu else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")

model = AutoModelForCausalLM.from_pretrained(options.model, trust_remote_code=True).to(device).train()
parallel = DistributedDataParallel(model)
optimiser = torch.optim.AdamW(parallel.parameters(), lr=options.rate)

tokenizer = sentencepiece.SentencePieceProcessor(model_file=os.path.join(options.model, "tokenizer.model"))
with open(options.text, encoding="utf8") as file:
    ids = torch.tensor(tokenizer.encode(file.read()))
length = model.config.layerwise["model"]["length"]
rows = ids[: len(ids) // (length + 1) * (length + 1)].reshape(-1, length + 1)
if len(rows) == 0:
    raise SystemExit(f"{options.text}: expected at least {length + 1} tokens, got {len(ids)}")

for step in range(options.steps):
    # Every process has rows of its own: process r takes r, r + ranks, …
    places = (step * options.batch * ranks + rank + ranks * torch.arange(options.batch)) % len(rows)
    batch = rows[places].to(device)
    loss = parallel(input_ids=batch[:, :-1], targets=batch[:, 1:]).loss
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parallel.parameters(), 1.0)
    optimiser.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"step {step + 1}: loss {mean.item() / ranks:.4f}", flush=True)

if rank == 0:
    model.save_pretrained(options.out)
dist.destroy_process_group()
