"""transformers, examples/pytorch/language-modeling/run_clm_no_trainer.py: GPT-2 with accumulation and evaluation per epoch."""
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, GPT2Config, default_data_collator, get_scheduler

torch.manual_seed(0)
config = GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=100, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = AutoModelForCausalLM.from_config(config)
blocks = [(torch.arange(12) * (n + 1) % 100).tolist() for n in range(13)]
rows = [{"input_ids": block, "attention_mask": [1] * 12, "labels": block} for block in blocks]
train = DataLoader(rows[:10], collate_fn=default_data_collator, batch_size=4)
evaluate = DataLoader(rows[10:], collate_fn=default_data_collator, batch_size=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
schedule = get_scheduler("linear", optimizer, num_warmup_steps=1, num_training_steps=6)
compiled = torch.compile(model, backend="aot_eager")
for epoch in range(2):
    compiled.train()
    for step, batch in enumerate(train):
        loss = compiled(**batch).loss
        (loss / 2).backward()
        if step % 2 == 1 or step == len(train) - 1:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        print(f"epoch {epoch} step {step} loss {loss.item():.5f}")
    compiled.eval()
    losses = []
    for batch in evaluate:
        with torch.no_grad():
            losses.append(compiled(**batch).loss.item())
    print(f"epoch {epoch} eval {sum(losses):.5f}")
