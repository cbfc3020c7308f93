"""PEFT: IA3 on a BERT classifier; trained, merged for inference, unmerged for further training; batches by length."""
import torch
from peft import IA3Config, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
base = BertForSequenceClassification(BertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, num_labels=3))
model = get_peft_model(base, IA3Config(task_type="SEQ_CLS", target_modules=["key", "value", "output.dense"],
                                       feedforward_modules=["output.dense"]))
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)


def batch(size, length):
    ids = torch.arange(size * length).reshape(size, length) % 100
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


for stage, length in enumerate((8, 11)):
    model.train()
    for step in range(2):
        inputs = batch(4, length + step)
        loss = compiled(**inputs, labels=torch.tensor([0, 1, 2, 0])).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"stage {stage} step {step}: {loss.item():.4f}")
    model.eval()
    model.merge_adapter()
    with torch.no_grad():
        print(f"stage {stage}: {compiled(**batch(6, length)).logits.argmax(1).tolist()}")
    model.unmerge_adapter()
