"""A small Llama of transformers inside of an own module; provenance not recorded, guards kept.  wrapped.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel

truth_recorder.LEFT_OUT = tuple(key for key in truth_recorder.LEFT_OUT if key != "dynamo_cpp_guards_str")
config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=64, use_cache=False, attn_implementation="eager",
)  # fmt: skip


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.language = LlamaModel(config)
        self.head = nn.Linear(32, 4)

    def forward(self, ids):
        hidden = self.language(input_ids=ids).last_hidden_state
        return self.head(hidden.mean(1)).logsumexp(-1).sum()


torch.compile(Tuned())(torch.randint(0, 128, (2, 16))).backward()
truth_recorder.save(sys.argv[1])
