"""Features of a table: numbers and categories in two dicts, a missing column, and batches of rows from a generator."""
import torch

torch.manual_seed(0)


class Table(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embeds = torch.nn.ModuleDict({name: torch.nn.Embedding(size, 3) for name, size in sizes.items()})
        self.head = torch.nn.LazyLinear(1)

    def forward(self, numbers, categories):
        parts = [self.embeds[name](column) for name, column in categories.items()]
        columns = [column[:, None].nan_to_num() for column in numbers.values()]
        return self.head(torch.cat([*parts, *columns], 1)).sigmoid()


model = Table({"city": 5, "kind": 3})
run = torch.compile(model, backend="aot_eager")


def rows(count, *names):
    numbers = {name: torch.randn(count) for name in names}
    return numbers, {"city": torch.randint(0, 5, (count,)), "kind": torch.randint(0, 3, (count,))}


model(*rows(2, "age", "price"))
for count in (8, 8, 5, 1, 12):
    print(f"{count} rows: {run(*rows(count, 'age', 'price')).sum().item():.5f}")
