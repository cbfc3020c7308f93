"""Why two nodes were not fused: torch's reasons, what they mean, and what one can do.

A reason is a fixed sentence, some with values (`WhyNoFuse` in torch/_inductor/scheduler.py, choices.py and codegen/simd.py). What
stands here was read there, in torch 2.13. A reason that is not known stands for itself, with its numbers taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tltui.model.versions.settings import exists_in
from tltui.model.versions.version import TorchVersion

_SETTING = re.compile(r"torch\._inductor\.config(?:\.\w+)+")
_VALUES = re.compile(r"\([^()]*\)|(?<![A-Za-z_])\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Known:
    """A reason of torch."""

    begins: str
    """What its text begins with; the whole text where it has no values."""
    means: str
    """A plain sentence."""
    does: str = ""
    """What one can do, '' where there is nothing that torch offers. It names one setting."""

    @property
    def setting(self) -> str:
        """The setting that it names, '' for none."""
        named = _SETTING.search(self.does)
        return named[0] if named else ""


_ORDER = (
    "The second needs a result that can only be computed after the first is whole: something else stands between the two. Once "
    "that is fused with one of them, the next round may fuse the rest; what remains apart has to."
)
_LOOPS = "The two run over different numbers of elements, so they cannot share one loop."
_LIBRARY = (
    "A call of a library (a matrix product, a convolution, a custom operator) is a kernel of its own: Inductor does not write "
    "its code."
)
_TEMPLATES = (
    "torch._inductor.config.max_autotune_gemm = True has Inductor try matrix products of its own, which can be fused "
    "with what follows."
)
_PROLOGUE = "What stands before a matrix product that Inductor writes is fused only where the product then reads less."
_EPILOGUE = (
    "What follows a matrix product that Inductor writes is fused only if it works element by element and changes nothing in place."
)
_FOREACH = "The many small tensors of a foreach operation are one kernel; one more operation must fit each of them."
_OWN = "What follows a Triton kernel of your own is fused only if"

KNOWN: tuple[Known, ...] = (
    Known("no shared data due to indexing mismatch",
          "Both use the same buffer, but not in the same order of elements: fusing would not save reading it.",
          "torch._inductor.config.loop_ordering_after_fusion = True (the default of newer versions) tries other orders of the "
          "loops on a GPU."),
    Known("no shared data",
          "Torch sees nothing that one kernel would save: they use no buffer in common, or not the same elements of it in the same "
          "order, or they run over different sizes.",
          "torch._inductor.config.aggressive_fusion = True has Inductor try such nodes too, where none of them is a reduction: "
          "fewer kernels to launch, about the same traffic."),
    Known("intermediate nodes between node1 & node2", _ORDER),
    Known("score_fusion_memory_threshold",
          "They have too little in common: fusing would save fewer bytes than the threshold (10), such as a scalar that both read.",
          "torch._inductor.config.score_fusion_memory_threshold sets how many bytes are enough."),
    Known("Nodes are too far away. Fusing them may increase peak memory.",
          "More than 64 nodes stand between them: what the first computes would have to be kept for long."),
    Known("Fusion will increase peak memory",
          "Fusing would keep buffers alive that could be used again otherwise, and save less than that costs."),
    Known("memory deps did not match",
          "The second reads other places of a buffer than the first has just written in the same step of the loop: shifted, "
          "transposed, or all of it.",
          "torch._inductor.config.loop_ordering_after_fusion = True (the default of newer versions) tries other orders of the "
          "loops on a GPU; in the model, .contiguous() at another place may help."),
    Known("exceeds max fusion", "The fused node would hold more operations than the limit (64).",
          "torch._inductor.config.max_fusion_size sets the limit."),
    Known("fusion_prevent_too_many_reads_and_writes", "The kernel would read and write more buffers than the limit that was set.",
          "torch._inductor.config.max_fusion_unique_io_buffers is that limit; None, the default, means none."),
    Known("numel/rnumel mismatch (reduce)", "Two reductions over different sizes cannot share one loop."),
    Known("numel/rnumel mismatch (non-reduce)", _LOOPS),
    Known("numel/rnumel mismatch prologue mismatch", _LOOPS),
    Known("nodes numel/rnumel incompatibility",
          "The one works element by element, the other reduces, and the elements cannot be split the way the reduction needs."),
    Known("nodes numel incompatibility", _LOOPS),
    Known("tiling mismatch", "Each alone would be cut into tiles in another way, and together they cannot.",
          "torch._inductor.config.triton.tiling_prevents_pointwise_fusion = False fuses them all the same; one of them may "
          "then read memory in a worse order."),
    Known("invalid tiling for reduction", "The one would be cut into tiles that the reduction cannot use.",
          "torch._inductor.config.triton.tiling_prevents_reduction_fusion = False fuses them all the same; one of them may "
          "then read memory in a worse order."),
    Known("invalid loop order and tiling for native matmul",
          "A matrix product keeps the order of its loops, and the other node needs another."),
    Known("Split scan cannot fuse with reductions", "A scan that is split over blocks cannot share a kernel with a reduction."),
    Known("device mismatch", "They run on different devices."),
    Known("will create cycle", "Each of them would have to wait for the other, through what stands between them."),
    Known("node1 must go before node2", "The first needs a result of the second."),
    Known("node1 is extern but not a triton kernel", _LIBRARY, _TEMPLATES),
    Known("node2 is extern or nop", _LIBRARY, _TEMPLATES),
    Known("node1 is extern but node2", f"{_OWN} it works element by element."),
    Known("node1's triton kernel doesn't support epilogue fusion",
          "What follows cannot be written into this Triton kernel of your own: switched off, or the kernel has another form."),
    Known("epilogue reads from buffers other than the mutated output", f"{_OWN} it reads nothing but its output."),
    Known("node1 and node2 uses different buf layouts", f"{_OWN} it has the same sizes, strides and device."),
    Known("node1 is nop", "The first computes nothing: it only gives memory another name."),
    Known("grouped node must not be fused with other nodes", "Nodes that Inductor keeps together in their order stay as they are."),
    Known("fusion for buffer explicit disabled", "Inductor keeps this buffer out of fusion."),
    Known("prologue fusion turned off", "Fusing into the input of a matrix product is switched off.",
          "torch._inductor.config.prologue_fusion = True switches it on."),
    Known("prologue fusion", _PROLOGUE),
    Known("template prologue", _PROLOGUE),
    Known("template has no allowed prologue inputs", _PROLOGUE),
    Known("template epilogue not satisfied", _EPILOGUE,
          "It needs torch._inductor.config.epilogue_fusion = True, which is the default."),
    Known("multi-output template epilogue requires ComputedBuffer", _EPILOGUE),
    Known("foreach do not have same length", _FOREACH),
    Known("candidate producer is", _FOREACH),
    Known("candidate consumer", _FOREACH),
    Known("register spilling of", "Tried and timed: the kernel needs more registers than there are.",
          "torch._inductor.config.benchmark_fusion = False fuses without timing."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A reason, without the values in it."""

    template: str
    values: str
    """The values in it, '' for none."""
    known: Known

    def advice(self, version: TorchVersion) -> str:
        """What one can do with this version of torch, '' for nothing."""
        setting = self.known.setting
        return "" if setting and exists_in(version, setting) is False else self.known.does


@lru_cache(maxsize=1 << 12)
def told(reason: str) -> Told:
    """What is known of a reason."""
    text = " ".join(reason.split())
    known = next((known for known in KNOWN if text.startswith(known.begins)), Known("", ""))
    rest = text[len(known.begins) :].strip()
    if not known.begins:
        template = _VALUES.sub("…", text)
        return Told(template, text if template != text else "", known)
    return Told(known.begins, rest, known) if rest.startswith("(") else Told(text, "", known)
