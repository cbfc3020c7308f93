"""transformers: Gemma 3 in a chat, one cache for all turns; a sliding window and global layers, greedy and sampled answers."""
import torch
from transformers import DynamicCache, Gemma3ForCausalLM, Gemma3TextConfig

torch.manual_seed(0)
config = Gemma3TextConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
    head_dim=16, sliding_window=8, max_position_embeddings=128, layer_types=["sliding_attention", "sliding_attention",
                                                                            "full_attention"])
model = Gemma3ForCausalLM(config).eval()
model.generation_config.eos_token_id = None
model.generation_config.pad_token_id = 0
model.forward = torch.compile(model.forward, backend="aot_eager")

history = torch.randint(3, 128, (1, 4))
cache = DynamicCache(config=config)
for turn, (length, sample) in enumerate(((3, False), (5, False), (2, True))):
    question = torch.randint(3, 128, (1, length))
    history = torch.cat([history, question], dim=1)
    torch.manual_seed(turn)
    history = model.generate(history, attention_mask=torch.ones_like(history), past_key_values=cache, max_new_tokens=4,
                             do_sample=sample, top_k=20)
    print(f"turn {turn}: {history.shape[1]} tokens, the last is {history[0, -1].item()}")
