"""A small Llama of transformers inside of an own module, forward and a backward that is compiled lazily; recorded.  llama.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=64, use_cache=False, attn_implementation="eager",
)  # fmt: skip


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.language = LlamaForCausalLM(config)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, ids):
        logits = self.language(input_ids=ids).logits
        return nn.functional.cross_entropy(logits.view(-1, 128), ids.view(-1)) * self.scale


torch.compile(Tuned())(torch.randint(0, 128, (2, 16))).backward()
truth_recorder.save(sys.argv[1])
