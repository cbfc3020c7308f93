import torch
import torch._dynamo as mark
def attempt(f, *args):
    try: f(*args)
    except Exception as e: print(f.__name__, type(e).__name__, str(e).split("\n")[0][:90])
def compiled(**kw): return torch.compile(backend="eager", **kw)
@compiled()
def one(x): return x * 2
@compiled()
def project(x, w): return x @ w
@compiled()
def checked(x):
    assert x.shape[0] == 6
    return x + 1
@compiled(fullgraph=True)
def chosen(x):
    found = x.nonzero()
    torch._check(found.shape[0] <= 8)
    return found * 2
@compiled()
def batch(x, y, n):
    if x.shape[0] % 2 == 0: x = x + n
    return torch.cat([x, y])
x = torch.randn(1, 4); mark.mark_dynamic(x, 0); attempt(one, x)
x = torch.randn(3, 4); mark.maybe_mark_dynamic(x, 1); attempt(project, x, torch.randn(4, 2))
x = torch.randn(6); mark.mark_dynamic(x, 0); attempt(checked, x)
torch._dynamo.config.capture_dynamic_output_shape_ops = True
attempt(chosen, torch.tensor([0, 1, 2, 0, 3]))
attempt(batch, torch.randn(3, 2), torch.randn(3, 2), 1)
attempt(batch, torch.randn(6, 2), torch.randn(6, 2), 2)
