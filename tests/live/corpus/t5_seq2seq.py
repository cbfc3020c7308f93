"""transformers: T5 with encoder and decoder lengths that change."""
import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, vocab_size=100, decoder_start_token_id=0)
model = torch.compile(T5ForConditionalGeneration(config).eval(), backend="aot_eager")
with torch.no_grad():
    for source, target in ((5, 3), (7, 3), (7, 6), (9, 2)):
        out = model(input_ids=torch.arange(source)[None], labels=torch.arange(target)[None])
        print(f"{source} -> {target}: loss {out.loss.item():.5f}")
