"""A decoder that is unrolled in the program: a compiled cell, teacher forcing at times, and a beam search at the end."""
import torch

torch.manual_seed(0)


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = torch.nn.Embedding(12, 6), torch.nn.GRUCell(6, 6), torch.nn.Linear(6, 12)

    def forward(self, token, state, temperature=None):
        state = self.cell(self.embed(token), state)
        scores = self.head(state)
        return (scores if temperature is None else scores / temperature).log_softmax(-1), state


cell = torch.compile(Cell(), backend="aot_eager")
for rows, length, forced in ((4, 3, True), (4, 3, False), (3, 2, True)):
    target, loss = torch.randint(0, 12, (rows, length)), 0.0
    state, token = torch.zeros(rows, 6), torch.zeros(rows, dtype=torch.long)
    for step in range(length):
        scores, state = cell(token, state)
        loss = loss + torch.nn.functional.nll_loss(scores, target[:, step])
        token = target[:, step] if forced else scores.argmax(-1)
    loss.backward()
    print(f"{rows} {length} {forced}: {loss.item():.5f}")
with torch.no_grad():
    state, token = torch.zeros(1, 6), torch.zeros(1, dtype=torch.long)
    for step in range(3):
        scores, state = cell(token, state, 0.5 + 0.25 * step)
        best, index = scores.flatten().topk(2)
        token, state = index % 12, state[index // 12]
    print(f"beam: {token.tolist()} {best.sum().item():.5f}")
