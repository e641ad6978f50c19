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
    ids = torch.tensor([piece for line in file for piece in tokenizer.encode(line.rstrip())])
length = model.config.layerwise["model"]["length"]
# Each row of each process reads a stretch of the text of its own, segment after segment, so that networks with memory have one.
streams = options.batch * ranks
stretch = len(ids) // streams
if stretch <= length:
    raise SystemExit(f"{options.text}: expected at least {streams * (length + 1)} tokens, got {len(ids)}")
rows = ids[: streams * stretch].reshape(streams, stretch)[rank * options.batch : (rank + 1) * options.batch]
segments = (stretch - 1) // length

memories = None
for step in range(options.steps):
    start = step % segments * length
    batch = rows[:, start : start + length + 1].to(device)
    told = {} if memories is None or start == 0 else {"memories": memories}
    output = parallel(input_ids=batch[:, :-1], targets=batch[:, 1:], **told)
    loss, memories = output.loss, output.get("memories")
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
