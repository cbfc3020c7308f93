"""Compiles that fail: in a lowering, on a size that was to be dynamic, in Dynamo; and an operator of one's own."""

import os

import torch

backend = os.environ.get("BACKEND", "inductor")


def specialised(x):
    return x.view(4, 2) + 1


def unsupported(x):
    return torch.compiler.disable(torch.sin)(x)


@torch.library.custom_op("repro::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


def custom(x):
    return twice(x) + 1


marked = torch.randn(8)
torch._dynamo.mark_dynamic(marked, 0)
for function, x in ((specialised, marked), (unsupported, torch.randn(4))):
    try:
        torch.compile(function, backend=backend, fullgraph=True)(x)
    except Exception as error:
        print(type(error).__name__)
torch.compile(custom, backend=backend)(torch.randn(4))
