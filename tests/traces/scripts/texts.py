"""What torch 2.13 writes in words, and what it names functions by. True answers:

- `with_block` [0/0]: a graph break in a context manager that torch can't resume in: all of it runs in eager mode, because of the
  manager (gb0066), not for want of a reason. `in_loop` [1/0]: the same for a loop (gb7000).
- `wronglinear` [2/0]: fails inside of torch's nn/modules/linear.py; the line of the program is `return lin(x.sin())`.
- `fixed` [3/0]: the line with "# FIXES s" fixes dim 0 of x to 8; [3/1] is for another size, and failed a guard of that line.
- [4/0] is `forward` of `Net`, [4/1] that of `Other`; [5/0] `wrapper` wraps `Decorated.forward`, [6/0] `wrapper` runs `scaled`.
- [7/0] `plain`: a function whose argument is a Net: no method of it.
"""
import torch
torch.manual_seed(0)


class Odd:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


@torch.compile(backend="eager")
def with_block(x):
    with Odd():
        x = x.sin()
        torch._dynamo.graph_break()
        x = x.cos()
    return x + 1


@torch.compile(backend="eager")
def in_loop(x):
    for i in range(2):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


lin = torch.nn.Linear(3, 4)


@torch.compile(backend="eager")
def wronglinear(x):
    return lin(x.sin())


@torch.compile(backend="eager", dynamic=True)
def fixed(x):
    if x.shape[0] == 8:  # FIXES s
        return x.sin()
    return x.cos()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale


class Other(Net):
    pass


def keeps(fn):
    def wrapper(self, *args):
        return fn(self, *args)
    return wrapper


def doubled(fn):
    def wrapper(*args):
        return fn(*args) * 2
    return wrapper


class Decorated(Net):
    @keeps
    def forward(self, x):
        return x + self.scale


@doubled
def scaled(x):
    return x * 3


@torch.compile(backend="eager")
def plain(model, x):
    return x.cos() + model.scale.detach()


def attempt(fn, *args):
    try:
        fn(*args)
    except Exception as e:
        print("raised", type(e).__name__)


attempt(with_block, torch.randn(3))
attempt(in_loop, torch.randn(3))
attempt(wronglinear, torch.randn(2, 5))
attempt(fixed, torch.randn(8))
attempt(fixed, torch.randn(9))
attempt(torch.compile(Net(), backend="eager"), torch.randn(3))
attempt(torch.compile(Other(), backend="eager"), torch.randn(3))
attempt(torch.compile(Decorated(), backend="eager"), torch.randn(3))
attempt(torch.compile(scaled, backend="eager"), torch.randn(3))
attempt(plain, Net(), torch.randn(3))
