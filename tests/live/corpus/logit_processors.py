"""A sampler of tokens: a dataclass of options, an enum for the strategy, processors that are closures, and a progress callback."""
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

import torch


class Strategy(enum.Enum):
    GREEDY = "greedy"
    SAMPLE = "sample"
    CONTRASTIVE = "contrastive"


@dataclass
class SamplingParams:
    strategy: Strategy = Strategy.GREEDY
    temperature: float = 1.0
    top_k: int = 0
    stop_tokens: list[int] = field(default_factory=list)
    min_tokens: int = 0


def repetition_penalty(penalty: float) -> Callable:
    def process(tokens, logits):
        seen = torch.gather(logits, 1, tokens)
        return logits.scatter(1, tokens, torch.where(seen < 0, seen * penalty, seen / penalty))
    return process


def ban(*words: int) -> Callable:
    def process(tokens, logits):
        logits = logits.clone()
        logits[:, list(words)] = -1e9
        return logits
    return process


@torch.compile(backend="aot_eager")
def next_token(tokens, hidden, weight, params, processors=()):
    logits = hidden @ weight
    for process in processors:
        logits = process(tokens, logits)
    if tokens.shape[1] < params.min_tokens and params.stop_tokens:
        logits[:, params.stop_tokens] = float("-inf")
    if params.strategy is Strategy.GREEDY:
        return logits.argmax(-1, keepdim=True)
    logits = logits / params.temperature
    if params.top_k:
        edge = logits.topk(params.top_k).values[:, -1:]
        logits = logits.masked_fill(logits < edge, float("-inf"))
    probabilities = logits.softmax(-1)
    if params.strategy is Strategy.CONTRASTIVE:
        probabilities = probabilities - 0.1 * probabilities.mean(0)
    return (probabilities.cumsum(-1) < 0.5).sum(-1, keepdim=True)


def complete(prompt, params, processors=(), steps=3, on_token=None):
    tokens = prompt
    for step in range(steps):
        token = next_token(tokens, embedding[tokens].mean(1), weight, params, processors)
        tokens = torch.cat([tokens, token], 1)
        if on_token is not None:
            on_token(step, token)
    return tokens


torch.manual_seed(0)
embedding, weight = torch.randn(32, 16), torch.randn(16, 32)
prompt = torch.arange(8).reshape(2, 4)
requests = [
    (prompt, SamplingParams(), ()),
    (prompt, SamplingParams(Strategy.SAMPLE, 0.7, 5), (repetition_penalty(1.2),)),
    (prompt[:1], SamplingParams(Strategy.SAMPLE, 0.9, 8), (repetition_penalty(1.1), ban(3, 4))),
    (prompt, SamplingParams(Strategy.CONTRASTIVE, 0.7, 5, stop_tokens=[2], min_tokens=6), (ban(3),)),
]
for prompt, params, processors in requests:
    done = complete(prompt, params, processors, on_token=lambda step, token: None)
    print(f"{params.strategy.value}: {done[0].tolist()} {done.sum().item()}")
