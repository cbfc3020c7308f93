"""transformers, docs llm_optims.md: decoding one token at a time with a StaticCache and a compiled function."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

torch.manual_seed(0)
config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
                     vocab_size=100)
model = LlamaForCausalLM(config).eval()


def decode_one_tokens(model, cur_token, position_ids, past_key_values):
    logits = model(cur_token, position_ids=position_ids, past_key_values=past_key_values, return_dict=False, use_cache=True)[0]
    return torch.argmax(logits[:, -1], dim=-1)[:, None]


decode = torch.compile(decode_one_tokens, backend="aot_eager", fullgraph=False)
for batch, prompt in ((1, 4), (2, 6)):
    ids = torch.arange(batch * prompt).reshape(batch, prompt) % 100
    cache = StaticCache(config=config, max_cache_len=16)
    with torch.no_grad():
        logits = model(ids, past_key_values=cache, return_dict=False, use_cache=True)[0]
        token = torch.argmax(logits[:, -1], dim=-1)[:, None]
        total = token.sum().item()
        for position in range(prompt, prompt + 5):
            token = decode(model, token.clone(), torch.full((batch, 1), position), cache)
            total += token.sum().item()
    print(f"batch {batch} prompt {prompt} tokens {total}")
