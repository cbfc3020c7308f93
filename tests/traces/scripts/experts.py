"""A Mixtral of transformers with two layers of experts, forward and backward, recorded, with guards.  experts.py TRUTH"""

import sys

import truth_recorder
import torch
from transformers import MixtralConfig, MixtralForCausalLM

config = MixtralConfig(
    vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
    num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=32, use_cache=False, attn_implementation="eager",
)  # fmt: skip
truth_recorder.with_guards()
model = torch.compile(MixtralForCausalLM(config).train())
ids = torch.randint(0, 64, (2, 8))
model(input_ids=ids, labels=ids).loss.backward()
truth_recorder.save(sys.argv[1])
