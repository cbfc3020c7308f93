"""What the lines of torch that ask about sizes are about. A function is told by its file too: two are called infer_size."""

from __future__ import annotations

BROADCAST = "broadcasting: sizes that meet in one operation have to be equal"
MATMUL = "a matrix product: the inner sizes have to be equal"
RESHAPE = "a view or reshape: the number of elements has to fit the new shape"
DIVISIBLE = "a view or reshape with -1: the number of elements has to be divisible"
PROGRAM, ASSERT, LIBRARY = "your code decides by it", "the assert in your code", "code of a library decides by it"
INDUCTOR = "Inductor chose its code by it"
CONTIGUOUS = "whether the tensor lies in memory without gaps"
_BY_NAME = {
    "_broadcast_shapes": BROADCAST, "broadcast_shapes": BROADCAST, "_broadcast_in_dim_meta": BROADCAST,
    "meta_mm": MATMUL, "meta_bmm": MATMUL, "common_meta_baddbmm_bmm": MATMUL,
    "check_contiguous_sizes_strides": CONTIGUOUS, "is_contiguous": CONTIGUOUS,
}  # fmt: skip
_BY_FILE = {("_prims_common/__init__.py", "infer_size"): RESHAPE, ("_subclasses/fake_impls.py", "infer_size"): BROADCAST}


def meaning_of(file: str, name: str, expression: str, code: str, framework: bool) -> str:
    """What the line of torch that asked is about; '' where that is not known. `code` is the line that was being traced,
    `framework` whether that is none of the user's."""
    path = "/" + file.replace("\\", "/")
    if "/_dynamo/symbolic_convert.py" in path or name == "evaluate_expr":
        return LIBRARY if framework else ASSERT if code.strip().startswith("assert") else PROGRAM
    if "/_inductor/" in path:
        return INDUCTOR
    for (ending, function), what in _BY_FILE.items():
        if name == function and path.endswith("/" + ending):
            return DIVISIBLE if what == RESHAPE and ("Mod(" in expression or "%" in expression) else what
    return _BY_NAME.get(name, "")
