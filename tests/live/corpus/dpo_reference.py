"""PEFT as in DPO training: one model, the adapter switched off gives the reference; chosen and rejected answers."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
base = LlamaForCausalLM(LlamaConfig(
    vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
    max_position_embeddings=64))
lora = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
model = get_peft_model(base, lora)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)


@torch.compile(backend="aot_eager")
def log_probs(input_ids, attention_mask, prompt_length):
    logits = model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits[:, :-1]
    labels = input_ids[:, 1:]
    per_token = logits.log_softmax(-1).gather(2, labels.unsqueeze(-1)).squeeze(-1)
    mask = attention_mask[:, 1:].clone()
    mask[:, : prompt_length - 1] = 0
    return (per_token * mask).sum(-1)


def batch(prompt, answer, pairs=2):
    ids = torch.randint(1, 96, (pairs * 2, prompt + answer))
    mask = torch.ones_like(ids)
    mask[pairs:, -1] = 0
    return ids, mask, prompt


for step, (prompt, answer) in enumerate(((4, 8), (6, 8), (5, 11))):
    model.train()
    ids, mask, length = batch(prompt, answer)
    policy = log_probs(ids, mask, length)
    with torch.no_grad(), model.disable_adapter():
        reference = log_probs(ids, mask, length)
    chosen, rejected = (policy - reference).chunk(2)
    loss = -F.logsigmoid(0.1 * (chosen - rejected)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: {loss.item():.4f}")
model.eval()
with torch.no_grad():
    print(f"validation {log_probs(*batch(4, 8, 1)).mean().item():.2f}")
