"""How far models that `layerwise export --format huggingface` wrote are from layerwise's own numbers, in PyTorch.

    python scripts/huggingface.py DIR …

Each DIR holds an export and expected.json: `inputs` (integers by argument), `outputs` (numbers by name, `loss` among them) as layerwise
computed them; for networks with memory, `segments` of them; `gradients` by parameter, of the loss in training. Prints the largest difference of each as JSON, and saves the
model again as DIR/saved, so that `layerwise import` can be compared.
"""

import json
import os
import sys

import torch
from transformers import AutoModel, AutoModelForCausalLM


def difference(model, case, **more):
    inputs = {name: torch.tensor(values) for name, values in case["inputs"].items()}
    with torch.no_grad():
        found = model(**inputs, **more)
    found_by_name = {name: found[name] for name in case["outputs"]}
    differences = {}
    for name, values in case["outputs"].items():
        expected = torch.tensor(values, dtype=torch.float32).reshape(found_by_name[name].shape)
        differences[name] = (found_by_name[name].float() - expected).abs().max().item()
    return differences, found


def gradient_difference(model, expected):
    model(**{name: torch.tensor(values) for name, values in expected["inputs"].items()}).loss.backward()
    worst = 0
    for name, parameter in model.named_parameters():
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        values = torch.tensor(expected["gradients"][name]).reshape(parameter.shape)
        worst = max(worst, (found - values).abs().max().item())
    return worst


def check(folder):
    with open(os.path.join(folder, "config.json")) as file:
        kind = json.load(file)["layerwise"]["kind"]
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    auto = AutoModel if kind == "albert" else AutoModelForCausalLM
    model = auto.from_pretrained(folder, trust_remote_code=True)
    model.eval()
    memories, worst = None, {}
    for case in expected.get("segments", [expected]):
        more = {} if memories is None else {"memories": memories}
        differences, found = difference(model, case, **more)
        memories = found.get("memories")
        worst = {name: max(value, worst.get(name, 0)) for name, value in differences.items()}
    if kind != "albert":
        ids = torch.tensor([[1, 2, 3]])
        model.generate(ids, max_new_tokens=2, do_sample=False, pad_token_id=0)
    model.train()
    if "gradients" in expected:
        worst["gradients"] = gradient_difference(model, expected)
    saved = os.path.join(folder, "saved")
    model.save_pretrained(saved)
    return worst


torch.set_num_threads(1)
print(json.dumps({os.path.basename(folder): check(folder) for folder in sys.argv[1:]}))
