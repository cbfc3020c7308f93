"""A Llama of transformers with one layer and random weights: forward and backward."""
import sys

import counting
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)
torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=256,
    max_position_embeddings=64, use_cache=False,
)  # fmt: skip
model = LlamaForCausalLM(config)
compiled = torch.compile(model)
tokens = torch.randint(0, 256, (2, 32))


def step():
    compiled(input_ids=tokens, labels=tokens).loss.backward()
    model.zero_grad()


for _ in range(2):
    step()
with counting.window(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])) as profiler:
    for number in range(3):
        with counting.step(f"step {number}"):
            step()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json")
