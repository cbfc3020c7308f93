"""A small GPT-2 of transformers with dropout, forward and backward; provenance not recorded.  gpt2.py TRUTH"""

import sys

import truth_recorder
import torch
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(
    vocab_size=128, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False, attn_implementation="eager",
)  # fmt: skip
model = torch.compile(GPT2LMHeadModel(config).train())
ids = torch.randint(0, 128, (2, 16))
model(input_ids=ids, labels=ids).loss.backward()
truth_recorder.save(sys.argv[1])
