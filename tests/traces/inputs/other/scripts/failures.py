"""Failures of compiles, and other ends; the argument says which."""

import faulthandler
import os
import signal
import sys
import threading
import traceback

import torch


def printed() -> None:
    """Unsupported and a backend's failure, caught and printed; the third reaches the caller."""

    @torch.compile(fullgraph=True, backend="eager")
    def whole(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x + 1

    def bad(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> None:
        raise ValueError("this backend has no\nkernel for sin")

    @torch.compile(backend=bad)
    def sine(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    @torch.compile(backend="eager")
    def sizes(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(5, 2)

    for function in (whole, sine):
        try:
            function(torch.ones(3))
        except Exception:
            traceback.print_exc()
    sizes(torch.ones(2, 3))


def group() -> None:
    """A group of exceptions."""
    found: list[Exception] = []
    for text in ("1", "two"):
        try:
            int(text)
        except ValueError as error:
            found.append(error)
    found.append(OSError("disk is full"))
    raise ExceptionGroup("two shards", found)  # noqa: F821 (Python 3.11)


def chained() -> None:
    """One exception while another is handled."""
    try:
        {}["lr"]
    except KeyError:
        raise RuntimeError("settings are\nincomplete")  # noqa: B904


def interrupt() -> None:
    """As ctrl+c."""
    os.kill(os.getpid(), signal.SIGINT)


def thread() -> None:
    """The loader's thread fails, the program goes on."""
    worker = threading.Thread(target=chained, name="loader")
    worker.start()
    worker.join()
    torch.compile(torch.sin, backend="eager")(torch.ones(3))
    print("epoch 1 done", file=sys.stderr)


def fatal() -> None:
    """A fault that faulthandler tells of."""
    faulthandler.enable()
    os.kill(os.getpid(), signal.SIGSEGV)


globals()[sys.argv[1]]()
