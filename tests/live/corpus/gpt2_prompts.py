"""transformers: a GPT-2 forward pass over prompts of different lengths."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64)).eval()
compiled = torch.compile(model, backend="aot_eager")
with torch.no_grad():
    for length in (5, 9, 12, 7, 1, 16):
        logits = compiled(input_ids=torch.arange(length)[None] % 100).logits
        print(f"length {length} logits {logits.float().mean().item():.6f}")
