"""A tagger with a line that logs, between an encoder and a decoder: sentences of several lengths, dropout in training only."""
import torch

torch.manual_seed(0)


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.dropout, self.head = torch.nn.Embedding(20, 8), torch.nn.Dropout(0.0), torch.nn.Linear(8, 4)
        self.steps = 0

    def forward(self, words, tags=None):
        x = self.dropout(self.embed(words))
        if tags is not None and self.steps % 2 == 0:
            print(f"step {self.steps}: {x.shape[1]} words")
        self.steps += 1
        scores = self.head(x).log_softmax(-1)
        return scores.argmax(-1) if tags is None else torch.nn.functional.nll_loss(scores.flatten(0, 1), tags.flatten())


tagger = Tagger()
run = torch.compile(tagger, backend="aot_eager")
for rows, length in ((2, 5), (2, 7), (3, 7)):
    loss = run(torch.randint(0, 20, (rows, length)), torch.randint(0, 4, (rows, length)))
    loss.backward()
    print(f"loss {loss.item():.5f}")
tagger.eval()
with torch.no_grad():
    print(f"tags {run(torch.randint(0, 20, (1, 6))).sum().item()}")
