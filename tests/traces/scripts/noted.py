"""An exception of torch with notes (PEP 678) that another one follows, and both in a group, as Python 3.11 prints them.

    python noted.py 2>chained.txt; python noted.py group 2>group.txt
"""

import sys

import torch


def branch(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def epoch(number):
    try:
        torch.compile(branch, backend="eager", fullgraph=True)(torch.ones(3))
    except Exception as error:
        error.add_note(f"batch 3 of epoch {number}")
        error.add_note("The loader has 8 workers.")
        raise RuntimeError("the epoch is incomplete") from error


try:
    epoch(1)
except Exception as error:
    if sys.argv[1:]:
        raise ExceptionGroup("two loaders", [error, ValueError("no batch")]) from None
    raise
