"""Models of layerwise in PyTorch: language models over any plan, PAR Transformer-XLs and ALBERTs whose tokens halt.

Written by `layerwise export RUN --format huggingface`. It needs torch and transformers only, has the parameter names of layerwise, and
`layerwise import DIR` reads what `model.save_pretrained(DIR)` writes. Shapes: B texts, T tokens, C width, H heads, D head width, M memory.
"""

import math
import os
import shutil
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.utils import ModelOutput

IGNORED = -100
ACTIVATIONS = {
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "silu": F.silu,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
}


class LayerwiseConfig(PretrainedConfig):
    """`layerwise` holds what the model is made of; `layerwise import` reads it, so leave it as it is."""

    model_type = "layerwise"

    def __init__(self, layerwise=None, **kwargs):
        super().__init__(**kwargs)
        self.layerwise = layerwise or {}


@dataclass
class LayerwiseOutput(ModelOutput):
    loss: Optional[torch.FloatTensor] = None
    logits: Optional[torch.FloatTensor] = None
    last_hidden_state: Optional[torch.FloatTensor] = None
    pooler_output: Optional[torch.FloatTensor] = None
    # Of an ALBERT that was pre-trained on sentence order.
    order_logits: Optional[torch.FloatTensor] = None
    # Of a Transformer-XL: what each block remembers, to be given to the next segment.
    memories: Optional[tuple] = None
    # How many blocks each token ran through, where tokens halt.
    depths: Optional[torch.FloatTensor] = None


class LayerwiseModel(PreTrainedModel):
    config_class = LayerwiseConfig
    base_model_prefix = ""
    _no_split_modules = ["Block", "AlbertLayer"]

    def _init_weights(self, layer):
        if isinstance(layer, (nn.Linear, nn.Embedding)):
            nn.init.normal_(layer.weight, std=0.02)
            if getattr(layer, "bias", None) is not None:
                nn.init.zeros_(layer.bias)

    def save_pretrained(self, save_directory, **kwargs):
        """With the tokenizer's model beside the weights: `layerwise import` needs it."""
        super().save_pretrained(save_directory, **kwargs)
        source = getattr(self.config, "_name_or_path", "") or ""
        for name in ("tokenizer.model", "spiece.model", "modeling_layerwise.py"):
            file = os.path.join(source, name)
            target = os.path.join(save_directory, name)
            if os.path.isfile(file) and not os.path.exists(target):
                shutil.copyfile(file, target)


# Layers. `visit` says how often a shared block ran before: relaxed ones have some weights of their own at each visit.


class Linear(nn.Linear):
    def __init__(self, width, out, bias=True, relax=None):
        super().__init__(width, out, bias=bias)
        self.rank = (relax or {}).get("rank")
        self.own_bias = bool(bias and relax and relax.get("biases"))
        for visit in range(relax["visits"] if relax else 0):
            if self.rank:
                self.register_parameter(f"weight_visit{visit}_down", nn.Parameter(torch.zeros(self.rank, width)))
                self.register_parameter(f"weight_visit{visit}_up", nn.Parameter(torch.zeros(out, self.rank)))
            if self.own_bias and visit > 0:
                self.register_parameter(f"bias_visit{visit}", nn.Parameter(torch.zeros(out)))

    def forward(self, x, visit=0):
        weight, bias = self.weight, self.bias
        if self.rank:
            weight = weight + getattr(self, f"weight_visit{visit}_up") @ getattr(self, f"weight_visit{visit}_down")
        if self.own_bias and visit > 0:
            bias = getattr(self, f"bias_visit{visit}")
        return F.linear(x, weight, bias)


class Norm(nn.Module):
    """Layer norm, or the norm by the mean square alone."""

    def __init__(self, kind, width, epsilon, relax=None):
        super().__init__()
        self.kind, self.width, self.epsilon = kind, width, epsilon
        self.weight = nn.Parameter(torch.ones(width))
        if kind == "layer":
            self.bias = nn.Parameter(torch.zeros(width))
        self.own = bool(relax and relax.get("norms"))
        for visit in range(1, relax["visits"] if self.own else 1):
            self.register_parameter(f"weight_visit{visit}", nn.Parameter(torch.ones(width)))
            if kind == "layer":
                self.register_parameter(f"bias_visit{visit}", nn.Parameter(torch.zeros(width)))

    def forward(self, x, visit=0):
        suffix = f"_visit{visit}" if self.own and visit > 0 else ""
        weight = getattr(self, f"weight{suffix}")
        if self.kind == "layer":
            return F.layer_norm(x, (self.width,), weight, getattr(self, f"bias{suffix}"), self.epsilon)
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * weight


def hidden_mask(hidden, dtype):
    """True where a key may not be seen -> what is added to scores."""
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill(hidden, torch.finfo(dtype).min)


def by_head(x, heads):
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2)  # [B, H, T, D]


def turned(x, base):
    """Rotary positions of heads [B, H, T, D]: pairs (x[i], x[i + D/2]) turn by place * base^(-2i/D)."""
    length, half = x.shape[2], x.shape[3] // 2
    places = torch.arange(length, device=x.device, dtype=torch.float64)
    speeds = base ** (-torch.arange(half, device=x.device, dtype=torch.float64) / half)
    angles = places[:, None] * speeds
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


class Layers(nn.Module):
    """What blocks of language models are made of; parameters stand in the block itself, as layerwise names them."""

    def __init__(self, spec, relax=None):
        super().__init__()
        self.spec, self.dropout = spec, spec["dropout"]
        self.scaled = bool(relax and relax.get("scales"))
        if self.scaled:
            shapes = {f"visit{i}": nn.Parameter(torch.ones(spec["width"])) for i in range(relax["visits"])}
            self.scale = nn.ParameterDict(shapes)

    def norm_of(self, relax):
        return Norm(self.spec["norm"], self.spec["width"], self.spec["epsilon"], relax)

    def add_attention(self, heads, relax):
        width, bias = self.spec["width"], self.spec["bias"]
        self.heads, self.key_heads, size = heads, self.spec["key_heads"] or heads, width // heads
        self.qkv = Linear(width, width + 2 * self.key_heads * size, bias, relax)
        self.out = Linear(width, width, bias, relax)
        if self.spec["query_key_norm"]:
            self.query_norm = Norm("rms", size, 1e-5, relax)
            self.key_norm = Norm("rms", size, 1e-5, relax)

    def attended(self, x, mask, visit):
        width = self.spec["width"]
        narrow = self.key_heads * (width // self.heads)
        q, k, v = self.qkv(x, visit).split([width, narrow, narrow], -1)
        q, k, v = by_head(q, self.heads), by_head(k, self.key_heads), by_head(v, self.key_heads)
        if self.spec["query_key_norm"]:
            q, k = self.query_norm(q, visit), self.key_norm(k, visit)
        if self.spec["rotary_base"]:
            q, k = turned(q, self.spec["rotary_base"]), turned(k, self.spec["rotary_base"])
        if self.key_heads < self.heads:
            k, v = (each.repeat_interleave(self.heads // self.key_heads, 1) for each in (k, v))
        rate = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=rate)
        return self.out(mixed.transpose(1, 2).flatten(2), visit)

    def add_feed_forward(self, hidden, relax):
        width, bias = self.spec["width"], self.spec["bias"]
        if self.spec["gated"]:
            self.gate = Linear(width, hidden, bias, relax)
        self.up = Linear(width, hidden, bias, relax)
        self.down = Linear(hidden, width, bias, relax)

    def fed(self, x, visit):
        activate = ACTIVATIONS[self.spec["activation"]]
        up = self.up(x, visit)
        return self.down(activate(self.gate(x, visit)) * up if self.spec["gated"] else activate(up), visit)

    def dropped(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x, mask, visit=0):
        y = self.changed(x, mask, visit)
        return x + self.scale[f"visit{visit}"] * (y - x) if self.scaled else y


class Block(Layers):
    """x + attention(norm x), then x + feed-forward(norm x)."""

    def __init__(self, spec, block):
        relax = block.get("relax")
        super().__init__(spec, relax)
        self.norm1, self.norm2 = self.norm_of(relax), self.norm_of(relax)
        self.add_attention(spec["heads"], relax)
        self.add_feed_forward(spec["hidden"], relax)

    def changed(self, x, mask, visit):
        x = x + self.dropped(self.attended(self.norm1(x, visit), mask, visit))
        return x + self.dropped(self.fed(self.norm2(x, visit), visit))


class AttentionBlock(Layers):
    def __init__(self, spec, block):
        relax = block.get("relax")
        super().__init__(spec, relax)
        self.norm = self.norm_of(relax)
        self.add_attention(block["size"] or spec["heads"], relax)

    def changed(self, x, mask, visit):
        return x + self.dropped(self.attended(self.norm(x, visit), mask, visit))


class FeedForwardBlock(Layers):
    def __init__(self, spec, block):
        relax = block.get("relax")
        super().__init__(spec, relax)
        self.norm = self.norm_of(relax)
        self.add_feed_forward(block["size"] or spec["hidden"], relax)

    def changed(self, x, mask, visit):
        return x + self.dropped(self.fed(self.norm(x, visit), visit))


class IdentityBlock(nn.Module):
    def __init__(self, spec, block):
        super().__init__()

    def forward(self, x, mask, visit=0):
        return x


BLOCKS = {"block": Block, "attention": AttentionBlock, "feed-forward": FeedForwardBlock, "identity": IdentityBlock}


# Depth policies: how blocks become depth.


class HaltingUnit(nn.Module):
    def __init__(self, width, options, depth):
        super().__init__()
        self.unit = nn.Linear(width, 1)
        self.options, self.depth = options, depth
        if options["stepEmbedding"]:
            self.steps = nn.Embedding(depth, width)

    def forward(self, x, blocks, real=None):
        """x [B, T, C] through `blocks`, one a depth -> state, penalty, depths of each token [B, T]."""
        blend = self.options["accumulate"] == "blend"
        halting = torch.zeros_like(x[..., :1])
        if real is not None and self.options["pads"] == "skip":
            halting = (~real)[..., None].to(x.dtype)
        remainders, updates = torch.zeros_like(halting), torch.zeros_like(halting)
        state, total = x, torch.zeros_like(x)
        for depth, block in enumerate(blocks):
            y = block(state + self.steps.weight[depth] if self.options["stepEmbedding"] else state)
            p = torch.sigmoid(self.unit(y))
            running, summed, left = halting < 1, halting + p, 1 - halting
            halts = summed > 1 - self.options["epsilon"]
            if self.options["haltAtCap"] and depth == self.depth - 1:
                halts = torch.ones_like(halts)
            weight = torch.where(halts, left, p)
            halting = torch.where(halts, torch.ones_like(summed), summed)
            remainders = remainders + torch.where(halts, left, torch.zeros_like(left))
            updates = updates + running.to(x.dtype)
            if blend:
                state = weight * y + (1 - weight) * state
            else:
                total = total + weight * y
                state = torch.where(running, y, state) if self.options["halted"] == "frozen" else y
        each = (updates + remainders)[..., 0]
        counted = torch.ones_like(each) if real is None else real.to(each.dtype)
        count = counted.sum() if self.options["ponderReduce"] == "mean" else each.shape[0]
        penalty = self.options["ponder"] * (each * counted).sum() / count
        return state if blend else total, penalty, updates[..., 0] * counted


class Loop(nn.Module):
    """How the state that enters a loop joins the loop's own."""

    def __init__(self, width, injection):
        super().__init__()
        self.injection = injection
        if injection == "linear":
            self.adapter = nn.Linear(2 * width, width)
        if injection == "diagonal":
            self.decay, self.step = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
            self.entry = nn.Parameter(torch.ones(width))

    def forward(self, state, entered):
        if self.injection == "none":
            return state
        if self.injection == "add":
            return state + entered
        if self.injection == "linear":
            return self.adapter(torch.cat([state, entered], -1))
        size = F.softplus(self.step)
        return torch.exp(-size * self.decay.exp()) * state + size * self.entry * entered


def policies_in(parts):
    for part in parts:
        if "group" in part:
            yield from policies_in(part["group"])
        if part["policy"]["kind"] != "fixed":
            yield part["policy"], len(part["plan"])


def blocks_in(parts):
    for part in parts:
        yield from blocks_in(part["group"]) if "group" in part else part["blocks"]


class Pass:
    """One pass of a batch through all parts: what blocks are told, and what halting adds up."""

    def __init__(self, model, mask, real):
        self.model, self.mask, self.real = model, mask, real

    def chain(self, parts, x, outer=0):
        """-> state, penalty (or None), depths of tokens (a number where all are the same), whether any token decides."""
        penalty, depths, decided = None, 0, False
        for part in parts:
            x, added, depth, decides = self.part(part, x, outer)
            penalty = added if penalty is None else penalty if added is None else penalty + added
            depths, decided = depths + depth, decided or decides
        return x, penalty, depths, decided

    def part(self, part, x, outer):
        plan, policy, penalties = part["plan"], part["policy"], []
        inner = []

        def run(position):
            before = plan[:position].count(plan[position])
            visit = before if outer == 0 else outer * plan.count(plan[position]) + before
            if "group" not in part:
                block = self.model.blocks[part["blocks"][plan[position]]["name"]]
                return lambda state: block(state, self.mask, visit)

            def nested(state):
                state, penalty, depth, _ = self.chain(part["group"], state, visit)
                inner.append(depth)
                penalties.extend([] if penalty is None else [penalty])
                return state

            return nested

        blocks = [run(position) for position in range(len(plan))]
        if policy["kind"] == "halt":
            unit = getattr(self.model, policy["name"])
            x, penalty, depths = unit(x, blocks, self.real)
            depths = depths * part["size"]
            decides = True
            penalty = penalty if policy["options"]["ponder"] else None
        else:
            x = self.looped(policy, blocks, part, x) if policy["kind"] == "loop" else self.fixed(blocks, x)
            penalty, decides = None, any(torch.is_tensor(each) for each in inner)
            depths = sum(inner) if inner else len(plan)
        if penalties:
            mean = sum(penalties) / len(plan)
            penalty = mean if penalty is None else penalty + mean
        return x, penalty, depths, decides

    @staticmethod
    def fixed(blocks, x):
        for block in blocks:
            x = block(x)
        return x

    def looped(self, policy, blocks, part, entered):
        join, size = getattr(self.model, policy["name"]), len(part["blocks"]) if "blocks" in part else 1
        loops = len(blocks) // size
        state = entered if policy["injection"] == "none" else torch.zeros_like(entered)
        for loop in range(loops):
            if self.model.training and policy["gradientLoops"] and loop and loop == loops - policy["gradientLoops"]:
                state = state.detach()
            state = self.fixed(blocks[loop * size : (loop + 1) * size], join(state, entered))
        return state


class LayerwiseForCausalLM(LayerwiseModel, GenerationMixin):
    """A causal language model over a plan of blocks, some of which may be shared, relaxed, looped or halting."""

    _tied_weights_keys = {}

    def __init__(self, config):
        super().__init__(config)
        spec = config.layerwise["model"]
        self.spec, self.parts = spec, spec["parts"]
        self.embedding = nn.Embedding(spec["vocabulary"], spec["width"])
        if not spec["rotary_base"]:
            self.positions = nn.Embedding(spec["length"], spec["width"])
        blocks = {block["name"]: BLOCKS[block["kind"]](spec, block) for block in blocks_in(self.parts)}
        self.blocks = nn.ModuleDict(blocks)
        for policy, depth in policies_in(self.parts):
            halts = policy["kind"] == "halt"
            unit = HaltingUnit(spec["width"], policy["options"], depth) if halts else Loop(spec["width"], policy["injection"])
            self.add_module(policy["name"], unit)
        self.norm = Norm(spec["norm"], spec["width"], spec["epsilon"])
        if not spec["tied"]:
            self.head = nn.Linear(spec["width"], spec["vocabulary"], bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.embedding

    def set_input_embeddings(self, value):
        self.embedding = value

    def forward(self, input_ids, attention_mask=None, labels=None, targets=None, **ignored):
        """`labels` as usual in transformers: the ids themselves, -100 where they do not count. `targets`: the tokens that follow."""
        length = input_ids.shape[1]
        if length > self.spec["length"]:
            raise ValueError(f"input_ids: expected at most {self.spec['length']} tokens, got {length}")
        x = self.embedding(input_ids)
        if not self.spec["rotary_base"]:
            x = x + self.positions.weight[:length]
        x = F.dropout(x, self.spec["dropout"], self.training)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        real = None if attention_mask is None else attention_mask.bool()
        if real is not None:
            later = later | ~real[:, None, None, :]
        hidden, penalty, depths, decided = Pass(self, hidden_mask(later, x.dtype), real).chain(self.parts, x)
        hidden = self.norm(hidden)
        logits = self.head(hidden) if not self.spec["tied"] else F.linear(hidden, self.embedding.weight)
        loss = causal_loss(logits, labels, targets)
        if loss is not None and penalty is not None and self.training:
            loss = loss + penalty
        return LayerwiseOutput(loss=loss, logits=logits, depths=depths if decided else None)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **ignored):
        length = self.spec["length"]
        mask = None if attention_mask is None else attention_mask[:, -length:]
        return {"input_ids": input_ids[:, -length:], "attention_mask": mask}


def causal_loss(logits, labels, targets):
    if targets is None and labels is not None:
        targets = F.pad(labels[:, 1:], (0, 1), value=IGNORED)
    if targets is None:
        return None
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)


# The PAR Transformer-XL.


class RelativeAttention(nn.Module):
    """x + attention(norm x) with the logits ((q + u)k + (q + v)r) / sqrt(D), r the projected sinusoids of the distance."""

    def __init__(self, spec, block):
        super().__init__()
        width, heads = spec["width"], block["size"] or spec["heads"]
        self.heads, self.dropout, self.clamp = heads, spec["dropout"], spec["clamp_length"]
        self.qvk, self.position = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)
        self.u, self.v = (nn.Parameter(torch.zeros(heads, width // heads)) for _ in range(2))
        self.output, self.norm = nn.Linear(width, width), Norm("layer", width, 1e-5)

    def forward(self, x, memory, hidden):
        """x [B, T, C], memory [B, M, C]; hidden [T, M + T] is true where a key may not be seen."""
        width, length, past = x.shape[2], x.shape[1], memory.shape[1]
        q, v, k = self.qvk(self.norm(torch.cat([memory, x], 1))).split(width, -1)
        q, k, v = by_head(q[:, past:], self.heads), by_head(k, self.heads), by_head(v, self.heads)
        distances = torch.arange(past + length, device=x.device)
        r = by_head(self.position(self.sinusoids(distances, width).to(x.dtype))[None], self.heads)  # [1, H, K, D]
        by_distance = (q + self.v[:, None]) @ r.transpose(2, 3)  # [B, H, T, K]
        own = torch.arange(length, device=x.device)[:, None] + past - distances
        index = own.clamp(min=0).expand(*by_distance.shape)
        scores = (q + self.u[:, None]) @ k.transpose(2, 3) + by_distance.gather(3, index)
        weights = (scores * (width // self.heads) ** -0.5 + hidden_mask(hidden, x.dtype)).softmax(-1)
        changed = self.output((weights @ v).transpose(1, 2).flatten(2))
        return x + F.dropout(changed, self.dropout, self.training)

    def sinusoids(self, distances, width):
        reached = distances.clamp(max=self.clamp) if self.clamp else distances
        j = torch.arange(width, device=distances.device)
        angles = reached[:, None].double() * 1e-4 ** (2 * (j // 2).double() / width)
        return torch.where(j % 2 == 0, angles.cos(), angles.sin())


class SegmentFeedForward(nn.Module):
    def __init__(self, spec, block):
        super().__init__()
        width, hidden = spec["width"], block["size"] or spec["hidden"]
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm = Norm("layer", width, 1e-5)
        self.activation, self.dropout = ACTIVATIONS[spec["activation"]], spec["dropout"]

    def forward(self, x, memory, hidden):
        return x + F.dropout(self.down(self.activation(self.up(self.norm(x)))), self.dropout, self.training)


class EmbeddingTail(nn.Module):
    def __init__(self, width, tail):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(tail["end"] - tail["start"], tail["size"]) * 0.02)
        self.projection = nn.Parameter(torch.randn(width, tail["size"]) * tail["size"] ** -0.5)


class AdaptiveEmbedding(nn.Module):
    """Rare words have shorter vectors, brought to the model's width by one matrix per tail."""

    def __init__(self, width, tails):
        super().__init__()
        self.spec = tails
        self.head = nn.Embedding(tails[0]["start"], width)
        self.tails = nn.ModuleList(EmbeddingTail(width, tail) for tail in tails)

    def forward(self, ids):
        first = self.spec[0]["start"]
        x = self.head(ids.clamp(max=first - 1)) * (ids < first)[..., None]
        for tail, words in zip(self.spec, self.tails):
            inside = (ids >= tail["start"]) & (ids < tail["end"])
            local = (ids - tail["start"]).clamp(0, tail["end"] - tail["start"] - 1)
            x = x + (F.embedding(local, words.weight) * inside[..., None]) @ words.projection.T
        return x


class SoftmaxTail(nn.Module):
    def __init__(self, width, tail):
        super().__init__()
        self.projection = nn.Linear(width, tail["size"])
        self.output = nn.Linear(tail["size"], tail["end"] - tail["start"])

    def forward(self, x):
        return self.output(self.projection(x))


class AdaptiveSoftmax(nn.Module):
    def __init__(self, width, tails):
        super().__init__()
        self.words = tails[0]["start"]
        self.head = nn.Linear(width, self.words + len(tails))
        self.tails = nn.ModuleList(SoftmaxTail(width, tail) for tail in tails)

    def forward(self, x):
        head = self.head(x).log_softmax(-1)
        tails = [
            tail(x).log_softmax(-1) + head[..., self.words + k : self.words + k + 1] for k, tail in enumerate(self.tails)
        ]
        return torch.cat([head[..., : self.words], *tails], -1)


class PlainSoftmax(nn.Linear):
    def forward(self, x):
        return super().forward(x).log_softmax(-1)


class SegmentBlock(nn.Module):
    """One block of a found network; its only child has the name of its kind."""

    def __init__(self, spec, block):
        super().__init__()
        self.kind = block["kind"]
        if self.kind == "attention":
            self.attention = RelativeAttention(spec, block)
        if self.kind == "feed-forward":
            self.dense = SegmentFeedForward(spec, block)

    def forward(self, x, memory, hidden):
        if self.kind == "identity":
            return x
        return (self.attention if self.kind == "attention" else self.dense)(x, memory, hidden)


class LayerwiseParForCausalLM(LayerwiseModel, GenerationMixin):
    """A found network with memory. `logits` are log-probabilities by the tokenizer's ids; the model's own ids are places by frequency."""

    _tied_weights_keys = {}

    def __init__(self, config):
        super().__init__(config)
        spec = config.layerwise["model"]
        self.spec = spec
        width, tails = spec["width"], spec["tails"]
        self.embedding = AdaptiveEmbedding(width, tails) if spec["adaptive_input"] else nn.Embedding(spec["vocabulary"], width)
        self.blocks = nn.ModuleList(SegmentBlock(spec, block) for block in spec["blocks"])
        self.norm = Norm("layer", width, 1e-5)
        self.softmax = AdaptiveSoftmax(width, tails) if tails else PlainSoftmax(width, spec["vocabulary"])
        self.register_buffer("ranks", torch.arange(spec["vocabulary"], dtype=torch.int32))
        self.post_init()

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, input_ids, attention_mask=None, labels=None, targets=None, memories=None, **ignored):
        """`memories` are those of the segment before; `targets` are the tokens that follow, `labels` the ids themselves."""
        ranks = self.ranks.long()
        x = self.embedding(ranks[input_ids]) * math.sqrt(self.spec["width"])
        x = F.dropout(x, self.spec["dropout"], self.training)
        steps = self.spec["memory"]
        memories = memories or tuple(x[:, :0] for _ in self.blocks)
        past, length = memories[0].shape[1], x.shape[1]
        distances = torch.arange(length, device=x.device)[:, None] + past - torch.arange(past + length, device=x.device)
        hidden = distances < 0
        if self.spec["same_length"] and steps > 0:
            hidden = hidden | (distances >= steps)
        kept = []
        for block, memory in zip(self.blocks, memories):
            kept.append(torch.cat([memory, x], 1)[:, max(0, past + length - steps) :].detach())
            x = block(x, memory, hidden)
        logits = self.softmax(self.norm(x))[..., ranks]
        loss = causal_loss(logits, labels, targets)
        return LayerwiseOutput(loss=loss, logits=logits, memories=tuple(kept) if steps > 0 else None)

    def prepare_inputs_for_generation(self, input_ids, **ignored):
        reach = max(1, self.spec["memory"]) + self.spec["length"]
        return {"input_ids": input_ids[:, -reach:]}


# ALBERT, of fixed depth or with tokens that halt.


class AlbertAttention(nn.Module):
    def __init__(self, spec):
        super().__init__()
        width = spec["width"]
        self.query, self.key, self.value, self.dense = (nn.Linear(width, width) for _ in range(4))
        self.LayerNorm = nn.LayerNorm(width, eps=spec["epsilon"])
        self.heads, self.dropout, self.rate = spec["heads"], spec["dropout"], spec["attentionDropout"]

    def forward(self, x, mask):
        q, k, v = (by_head(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        rate = self.rate if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=rate)
        changed = F.dropout(self.dense(mixed.transpose(1, 2).flatten(2)), self.dropout, self.training)
        return self.LayerNorm(changed + x)


class AlbertLayer(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.attention = AlbertAttention(spec)
        self.ffn, self.ffn_output = nn.Linear(spec["width"], spec["hidden"]), nn.Linear(spec["hidden"], spec["width"])
        self.full_layer_layer_norm = nn.LayerNorm(spec["width"], eps=spec["epsilon"])
        self.activation, self.dropout = ACTIVATIONS[spec["activation"]], spec["dropout"]

    def forward(self, x, mask):
        a = self.attention(x, mask)
        fed = self.ffn_output(self.activation(self.ffn(a)))
        return self.full_layer_layer_norm(F.dropout(fed, self.dropout, self.training) + a)


class AlbertGroup(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.albert_layers = nn.ModuleList(AlbertLayer(spec) for _ in range(spec["inner"]))


class AlbertEncoder(nn.Module):
    def __init__(self, spec, plan):
        super().__init__()
        self.spec, self.plan = spec, plan
        self.embedding_hidden_mapping_in = nn.Linear(spec["embedding"], spec["width"])
        self.albert_layer_groups = nn.ModuleList(AlbertGroup(spec) for _ in range(spec["groups"]))
        if spec.get("halting"):
            self.halting = HaltingUnit(spec["width"], spec["halting"], len(plan))

    def forward(self, embedded, mask, real):
        x = self.embedding_hidden_mapping_in(embedded)
        layers = [layer for group in self.albert_layer_groups for layer in group.albert_layers]
        blocks = [lambda state, layer=layers[i]: layer(state, mask) for i in self.plan]
        if self.spec.get("halting"):
            return self.halting(x, blocks, real)
        return Pass.fixed(blocks, x), None, None


class AlbertEmbeddings(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.word_embeddings = nn.Embedding(spec["vocabulary"], spec["embedding"])
        self.position_embeddings = nn.Embedding(spec["length"], spec["embedding"])
        self.token_type_embeddings = nn.Embedding(spec["types"], spec["embedding"])
        self.LayerNorm = nn.LayerNorm(spec["embedding"], eps=spec["epsilon"])
        self.pairs = spec.get("pairs", 0)
        if self.pairs:
            self.pair_embeddings = nn.Embedding(self.pairs, spec["embedding"])
        self.dropout = spec["dropout"]

    def pair_means(self, ids, mask):
        """The mean vector of each text's distinct pairs of neighbours."""
        factor = round(2 * self.pairs / (1 + 5**0.5))
        rows, real = (ids[:, :-1] * factor + ids[:, 1:]) % self.pairs, mask[:, 1:].to(self.LayerNorm.weight.dtype)
        often = ((rows[:, :, None] == rows[:, None, :]) * real[:, None, :]).sum(2).clamp(min=1)
        shares = real / often
        shares = shares / shares.sum(1, keepdim=True).clamp(min=1)
        return (self.pair_embeddings(rows) * shares[..., None]).sum(1)

    def forward(self, ids, types):
        x = self.word_embeddings(ids) + self.token_type_embeddings(types) + self.position_embeddings.weight[: ids.shape[1]]
        return F.dropout(self.LayerNorm(x), self.dropout, self.training)


class MaskedLanguageHead(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.dense = nn.Linear(spec["width"], spec["embedding"])
        self.LayerNorm = nn.LayerNorm(spec["embedding"], eps=spec["epsilon"])
        self.bias = nn.Parameter(torch.zeros(spec["vocabulary"]))
        self.activation = ACTIVATIONS[spec["activation"]]

    def forward(self, x, words):
        return F.linear(self.LayerNorm(self.activation(self.dense(x))), words, self.bias)


class SentenceOrderHead(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.classifier = nn.Linear(spec["width"], 2)

    def forward(self, pooled):
        return self.classifier(pooled)


class LayerwiseAlbert(LayerwiseModel):
    """An ALBERT with the heads that it was exported with; `logits` and `loss` are those of its heads."""

    _tied_weights_keys = {}

    def __init__(self, config):
        super().__init__(config)
        spec, heads = config.layerwise["model"], config.layerwise["heads"]
        self.spec, self.head_options = spec, heads
        self.embeddings = AlbertEmbeddings(spec)
        self.encoder = AlbertEncoder(spec, config.layerwise["plan"])
        if spec["pooler"]:
            self.pooler = nn.Linear(spec["width"], spec["width"])
        if "maskedLanguage" in heads:
            self.predictions = MaskedLanguageHead(spec)
        if "sentenceOrder" in heads:
            self.sop_classifier = SentenceOrderHead(spec)
        if "questionAnswering" in heads:
            self.qa_outputs = nn.Linear(spec["width"], 2)
        for name in ("classification", "tokenClassification"):
            if name in heads:
                beside = spec["embedding"] if heads[name].get("pooling") == "pairs" else 0
                self.classifier = nn.Linear(spec["width"] + beside, heads[name]["labels"])
        self.post_init()

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None, sentence_order_label=None, **ignored):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        embedded = self.embeddings(input_ids, types)
        hidden = hidden_mask(mask.eq(0)[:, None, None, :], embedded.dtype)
        sequence, penalty, depths = self.encoder(embedded, hidden, mask.bool())
        pooled = torch.tanh(self.pooler(sequence[:, 0])) if self.spec["pooler"] else None
        logits, losses = self.predicted(input_ids, sequence, pooled, mask, labels)
        order = self.sop_classifier(pooled) if "sentenceOrder" in self.head_options else None
        if order is not None and sentence_order_label is not None:
            losses.append(F.cross_entropy(order, sentence_order_label))
        if losses and penalty is not None:
            losses.append(penalty)
        loss = sum(losses) if losses else None
        return LayerwiseOutput(
            loss=loss, logits=logits, last_hidden_state=sequence, pooler_output=pooled, order_logits=order, depths=depths
        )

    def predicted(self, input_ids, sequence, pooled, mask, labels):
        heads, losses, logits = self.head_options, [], None
        if "maskedLanguage" in heads:
            logits = self.predictions(sequence, self.embeddings.word_embeddings.weight)
        if "tokenClassification" in heads:
            logits = self.classifier(self.dropped(sequence, heads["tokenClassification"]))
        if "questionAnswering" in heads:
            logits = self.qa_outputs(sequence)
        if "classification" in heads:
            return self.classified(input_ids, sequence, pooled, mask, labels, heads["classification"])
        if logits is not None and labels is not None:
            # A question's labels are the places where the answer begins and ends, [B, 2].
            rows = logits.transpose(1, 2).flatten(0, 1) if "questionAnswering" in heads else logits.flatten(0, 1)
            losses.append(F.cross_entropy(rows, labels.flatten(), ignore_index=IGNORED))
        return logits, losses

    def classified(self, input_ids, sequence, pooled, mask, labels, options):
        weights = mask[..., None].to(sequence.dtype)
        pooling = options.get("pooling", "first")
        if pooling in ("distinct", "pairs"):
            # A piece that stands n times in a text counts 1/n each time.
            weights = weights / (input_ids[:, :, None] == input_ids[:, None, :]).sum(2, keepdim=True)
        vector = pooled if pooling == "first" else (sequence * weights).sum(1) / weights.sum(1)
        if pooling == "pairs":
            vector = torch.cat([vector, self.embeddings.pair_means(input_ids, mask)], 1)
        logits = self.classifier(self.dropped(vector, options))
        if labels is None:
            return logits, []
        losses = {"multiple": F.binary_cross_entropy_with_logits, "regression": F.mse_loss}
        return logits, [losses.get(options.get("kind"), F.cross_entropy)(logits, labels)]

    def dropped(self, x, options):
        return F.dropout(x, options.get("dropout", 0.1), self.training)
