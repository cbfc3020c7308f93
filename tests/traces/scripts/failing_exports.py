import sys, torch
@torch.library.custom_op("demo::no_fake", mutates_args=())
def no_fake(x: torch.Tensor) -> torch.Tensor: return x.sin()
@torch.library.custom_op("demo::wrong_fake", mutates_args=())
def wrong_fake(x: torch.Tensor) -> torch.Tensor: return torch.cat([x, x])
@wrong_fake.register_fake
def _(x): return torch.empty_like(x)
class Guessed(torch.nn.Module):
    def forward(self, x, y, n):
        count = n.item()
        half = count // 2 + count
        if half > 2:
            y = y + half
        if x.shape[0] == 4:
            x = x * 2
        a = torch.ops.demo.no_fake(x)
        b = torch.ops.demo.wrong_fake(x)
        return y, a, b[: half + 1]
class Undecided(torch.nn.Module):
    def forward(self, x, n):
        size = n.item()
        if size * 2 > x.shape[0]:
            return x + 1
        return x - 1
if sys.argv[1] == "draft":
    rows = {"x": {0: torch.export.Dim("rows")}, "y": None, "n": None}
    torch.export.draft_export(Guessed(), (torch.randn(4, 3), torch.randn(3), torch.tensor(5)), dynamic_shapes=rows)
else:
    try: torch.export.export(Undecided(), (torch.randn(4), torch.tensor(3)))
    except Exception as error: print(type(error).__name__)
