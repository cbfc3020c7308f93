"""A mixture of experts: a compiled expert gets the tokens that a router gave it; one expert is wider, some get no token."""
import torch

torch.manual_seed(0)


class Expert(torch.nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.up, self.down = torch.nn.Linear(6, wide, bias=False), torch.nn.Linear(wide, 6, bias=False)

    @torch.compile(backend="aot_eager")
    def forward(self, tokens, weight):
        return self.down(torch.nn.functional.gelu(self.up(tokens))) * weight[:, None]


experts = torch.nn.ModuleList([Expert(12), Expert(12), Expert(24)])
router = torch.nn.Linear(6, 3)
for count in (9, 14, 5):
    tokens = torch.randn(count, 6)
    weights, chosen = router(tokens).softmax(-1).max(-1)
    result = torch.zeros_like(tokens)
    for number, expert in enumerate(experts):
        index = (chosen == number).nonzero()[:, 0]
        if len(index):
            result = result.index_add(0, index, expert(tokens[index], weights[index]))
    print(f"{count} tokens: {result.sum().item():.5f}")
