"""PEFT, examples/conditional_generation/peft_lora_seq2seq.ipynb: LoRA on a T5 model; forward passes and generate()."""
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, vocab_size=100,
                  decoder_start_token_id=0, dropout_rate=0.0)
peft_config = LoraConfig(task_type=TaskType.SEQ_2_SEQ_LM, r=4, lora_alpha=8, lora_dropout=0.0)
model = get_peft_model(T5ForConditionalGeneration(config), peft_config)
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step, (source, target) in enumerate(((6, 2), (6, 2), (8, 3), (5, 2))):
    ids, labels = torch.arange(2 * source).reshape(2, source) % 90 + 2, torch.ones(2, target, dtype=torch.long)
    loss = compiled(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.5f}")
model.eval()
with torch.no_grad():
    print(f"eval {compiled(input_ids=ids, labels=labels).loss.item():.5f}")
    with model.disable_adapter():
        print(f"without adapter {compiled(input_ids=ids, labels=labels).loss.item():.5f}")
