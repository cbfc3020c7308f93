"""transformers: Llama generate() with a compiled forward and growing cache."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
                     vocab_size=100)
model = LlamaForCausalLM(config).eval()
model.forward = torch.compile(model.forward, backend="aot_eager")
for length in (4, 6):
    ids = torch.arange(length)[None] % 100
    out = model.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
    print(f"prompt {length} tokens {out.sum().item()}")
