"""Whose a source file is, by its path: the user's own, a library's, Python's or torch's. The one place that decides it."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache


class Owner(Enum):
    """Who wrote a file, the one whose line is most worth seeing first."""

    USER = "your"
    LIBRARY = "a library's"
    PYTHON = "Python's own"
    TORCH = "torch's own"

    @property
    def rank(self) -> int:
        """0 for the user's own; the higher the less it tells."""
        return _RANKS[self]

    @property
    def word(self) -> str:
        """As JSON has it: one of `WORDS`."""
        return WORDS[self.rank]


_RANKS = {owner: number for number, owner in enumerate(Owner)}
WORDS = ("own", "library", "python", "torch")
"""What JSON calls the owners, in the same order."""
_TORCH = re.compile(
    r"/(?:site|dist)-packages/(?:torch|functorch|torchgen)/|^<eval_with_key>|/torchinductor_[^/]+/"
    # a checkout, or a packaged program; the second: as torch shortens its own paths in the comments of guards
    r"|(?:^|/)torch/(?:_|(?:nn|optim|fx|utils|autograd|distributed|distributions|export|jit|cuda|amp|func|ao|testing|compiler"
    r"|library|linalg|fft|special|sparse|nested|masked|profiler|multiprocessing|onnx|package|backends|futures|mps|xpu"
    r"|accelerator|quantization|signal|functional\.py|overrides\.py|library\.py|random\.py|serialization\.py|storage\.py)(?:/|$))"
    r"|^_(?:dynamo|inductor|functorch|subclasses|prims|prims_common|refs|higher_order_ops|decomp|export|library|logging)/"
    r"|^_(?:ops|tensor|compile|guards|utils|utils_internal)\.py$|^nn/(?:modules/|parallel/|functional\.py$)|^fx/experimental/"
)
_LIBRARY = re.compile(r"/(?:site|dist)-packages/")
_PYTHON = re.compile(r"^<frozen|^<string>|/lib(?:64)?/python3[.\d]*/|/Python3\d+/Lib/")


@lru_cache(maxsize=8192)
def owner_of(path: str) -> Owner:
    """Who wrote a source file."""
    path = path.replace("\\", "/")
    if _TORCH.search(path):
        return Owner.TORCH
    if _LIBRARY.search(path):
        return Owner.LIBRARY
    return Owner.PYTHON if _PYTHON.search(path) else Owner.USER


def is_framework(path: str) -> bool:
    """Whether a file is none of the user's own."""
    return owner_of(path) is not Owner.USER
