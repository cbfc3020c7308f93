"""transformers: Trainer with torch_compile=True and batches of different lengths."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100)
model = BertForSequenceClassification(config)
data = [{"input_ids": torch.arange(5 + n % 4) % 100, "labels": torch.tensor(n % 2)} for n in range(12)]


def collate(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.stack([torch.nn.functional.pad(row["input_ids"], (0, longest - len(row["input_ids"]))) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.stack([row["labels"] for row in rows])}


with tempfile.TemporaryDirectory() as place:
    arguments = TrainingArguments(place, per_device_train_batch_size=2, max_steps=6, torch_compile=True,
                                  torch_compile_backend="aot_eager", report_to=[], use_cpu=True, logging_steps=1,
                                  save_strategy="no", seed=0)
    result = Trainer(model, arguments, train_dataset=data, data_collator=collate).train()
    print(f"loss {result.training_loss:.5f}")
