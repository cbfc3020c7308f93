"""accelerate, examples/nlp_example.py: a sequence classifier prepared by Accelerator with a dynamo backend; padded batches."""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(42)
accelerator = Accelerator(cpu=True, dynamo_backend="aot_eager")


def collate(rows):
    longest = max(map(len, rows))
    ids = torch.stack([torch.nn.functional.pad(row, (0, longest - len(row))) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.arange(len(rows)) % 2}


config = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(config)
rows = [torch.arange(1, 6 + n * 3 % 7) for n in range(14)]
train, evaluate = DataLoader(rows[:8], batch_size=4, collate_fn=collate), DataLoader(rows[8:], batch_size=4, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 1, 8)
model, optimizer, train, evaluate, schedule = accelerator.prepare(model, optimizer, train, evaluate, schedule)
for epoch in range(2):
    model.train()
    for batch in train:
        outputs = model(**batch)
        accelerator.backward(outputs.loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        print(f"epoch {epoch} loss {outputs.loss.item():.5f}")
    model.eval()
    for batch in evaluate:
        with torch.no_grad():
            outputs = model(**batch)
        predictions = accelerator.gather_for_metrics(outputs.logits)
        print(f"epoch {epoch} test {predictions.mean().item():.5f}")
