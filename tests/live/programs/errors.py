"""A frame that fails in Dynamo and one that fails in its backend; both are caught."""
import torch


@torch.compile(backend="eager", fullgraph=True)
def perplexity(losses):
    print("not in a full graph")
    return losses.mean()


def broken(graph, inputs):
    raise RuntimeError("backend [red]boom[/red]")


@torch.compile(backend=broken)
def quantize(x):
    return x.round()


for function in (perplexity, quantize):
    try:
        function(torch.randn(4))
    except Exception as error:
        print(type(error).__name__)
    else:
        raise SystemExit(f"{function.__name__} did not fail")
