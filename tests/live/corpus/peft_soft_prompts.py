"""PEFT: prompt tuning of a GPT-2 classifier of reviews, padded per batch; the base model answers without the prompt too."""
import torch
from peft import PromptTuningConfig, TaskType, get_peft_model
from transformers import GPT2Config, GPT2ForSequenceClassification

torch.manual_seed(0)
config = GPT2Config(vocab_size=90, n_embd=32, n_layer=2, n_head=2, n_positions=64, num_labels=3, pad_token_id=0, resid_pdrop=0.0,
                    embd_pdrop=0.0, attn_pdrop=0.0)
base = GPT2ForSequenceClassification(config)
model = get_peft_model(base, PromptTuningConfig(task_type=TaskType.SEQ_CLS, num_virtual_tokens=4))
model.compile(backend="aot_eager")
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for number, (batch, length) in enumerate(((4, 12), (4, 17), (4, 9), (2, 12))):
    ids = torch.arange(batch * length).reshape(batch, length) % 89 + 1
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.arange(batch) % 3)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {number} loss {out.loss.item():.4f}")
model.eval()
with torch.no_grad():
    ids = torch.arange(30).reshape(3, 10) + 1
    print(f"with prompt {model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.mean().item():.4f}")
    print(f"without {base(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.mean().item():.4f}")
