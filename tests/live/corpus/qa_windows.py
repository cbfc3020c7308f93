"""transformers, docs tasks/question_answering: DistilBERT on windows of documents; answers are given in training only."""
import torch
from transformers import DistilBertConfig, DistilBertForQuestionAnswering

torch.manual_seed(0)
config = DistilBertConfig(vocab_size=120, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=96, dropout=0.0,
                          attention_dropout=0.0, qa_dropout=0.0)
model = DistilBertForQuestionAnswering(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


@torch.compile(backend="aot_eager")
def step(ids, mask, starts=None, ends=None):
    return model(input_ids=ids, attention_mask=mask, start_positions=starts, end_positions=ends)


def windows(count, length):
    ids = torch.arange(count * length).reshape(count, length) % 119 + 1
    mask = torch.ones_like(ids)
    mask[-1, length // 2 :] = 0
    return ids, mask


for number, (count, length) in enumerate(((4, 48), (4, 48), (3, 40), (2, 64))):
    ids, mask = windows(count, length)
    loss = step(ids, mask, torch.arange(count) + 1, torch.arange(count) + 3).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"train {number} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    for count, length in ((4, 48), (1, 33), (5, 48)):
        ids, mask = windows(count, length)
        found = step(ids, mask)
        print(f"eval {count} {length} start {found.start_logits.argmax(-1).float().mean().item():.3f}")
