"""transformers: a mixture of experts over changing batches."""
import torch
from transformers import MixtralConfig, MixtralForCausalLM

torch.manual_seed(0)
config = MixtralConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
                       vocab_size=100, num_local_experts=4, num_experts_per_tok=2)
model = torch.compile(MixtralForCausalLM(config).eval(), backend="aot_eager")
with torch.no_grad():
    for batch, length in ((1, 4), (2, 4), (2, 8), (3, 5)):
        out = model(input_ids=torch.arange(batch * length).reshape(batch, length) % 100, use_cache=False).logits
        print(f"batch {batch} x {length}: {out.mean().item():.6f}")
