"""Sizes in bytes as polynomials, and the storages of a wrapper's statements."""

import pytest

from tltui.questions.memory.wrapper_allocations import (
    UNREADABLE,
    Allocations,
    Amount,
    UnreadableWrapper,
    allocations_of,
    constant,
    highest_level,
    size_of_text,
    storage_amount,
    tensor_type,
)
from tltui.questions.provenance.generated_code import parse_code


@pytest.mark.parametrize(("text", "formula", "count"), [
    ("f32[8, 16][16, 1]cpu", "", 512), ("bf16[8][1]cuda:0", "", 16), ("b8[3][1]cpu", "", 3), ("f32[][]cpu", "", 4),
    ("f8e4m3fn[16][1]cuda:0", "", 16), ("f32[4, 0][1, 1]cpu", "", 0), ("f32[4, 4][1, 8]cpu", "", 112), ("f32[2, 3]", "", 24),
    ("f32[s77, 32][32, 1]cpu", "128*s77", 1280), ("f32[s77, s77][s77, 1]cpu", "4*s77*s77", 400),
    ("i64[s77 + 1][1]cpu", "8*s77 + 8", 88), ("f32[(s77//2), 4][4, 1]cpu", "16*(s77 // 2)", 80),
])  # fmt: skip
def test_bytes_of_a_type(text: str, formula: str, count: int) -> None:
    tensor = tensor_type(text)
    assert tensor is not None and tensor.amount is not None
    assert (tensor.amount.formula, tensor.amount.value({"s77": 10})) == (formula, count)


def test_what_is_no_size() -> None:
    assert tensor_type("Sym(s77)") is None and tensor_type("") is None
    assert size_of_text("8 if x else 9") is None and size_of_text("(" * 300) is None and size_of_text("1" * 50) is None
    assert storage_amount(("8",), ("x.y",), "f32") is None
    missing = storage_amount(("s0",), ("1",), "f32")
    assert missing is not None and missing.value({}) is None
    huge = Amount({("a", "b"): 1 << 70})
    assert huge.value({"a": 1 << 70, "b": 2}) is None
    assert constant(3).plus(constant(-3)) == Amount()


def walked(body: str, partition: str = "") -> Allocations:
    lines = [*partition.splitlines(), "def call(self, args):", *(f"    {line}" for line in body.splitlines()), ""]
    return allocations_of(parse_code(lines), lambda line, operator: {})


def peak(allocations: Allocations, *arguments: str) -> int:
    storages = [storage for name, storage in allocations.given if name in arguments]
    for storage in storages:
        storage.amount = constant(1000)
    level = highest_level(allocations, [*storages, *allocations.storages], {})
    assert level is not None
    return level.bytes


BODY = """\
a_1, b_1 = args
args.clear()
buf0 = empty_strided_cpu((10, ), (1, ), torch.float32)
{first}
buf1 = empty_strided_cpu((10, ), (1, ), torch.float32)
del buf0
return (buf1, )"""


def test_a_freed_storage_counts_no_more() -> None:
    assert peak(walked(BODY.format(first="pass"))) == 80
    assert peak(walked(BODY.format(first="buf9 = buf0; del buf0  # reuse").replace("\ndel buf0\n", "\ndel buf9\n"))) == 80
    freed = BODY.format(first="del buf0").replace("\ndel buf0\nreturn", "\nreturn")
    assert peak(walked(freed)) == 40


def test_a_view_holds_its_storage() -> None:
    held = BODY.format(first="buf9 = reinterpret_tensor(buf0, (5, ), (1, ), 0)\ndel buf0").replace("\ndel buf0\nreturn", "\nreturn")
    assert peak(walked(held)) == 80


def test_an_argument_is_freed_by_its_last_name() -> None:
    assert peak(walked(BODY.format(first="del a_1")), "a_1") == 1040
    assert peak(walked(BODY.format(first="buf9 = a_1; del a_1  # reuse")), "a_1") == 1080


def test_results_are_storages_in_order() -> None:
    returned = "return (reinterpret_tensor(buf1, (2, 5), (5, 1), 0), a_1, None, buf1, )"
    result = walked(BODY.format(first="pass").replace("return (buf1, )", returned))
    first, given, nothing, again = result.returned
    assert first is again and given is not None and given.is_argument and nothing is None


def test_partitions_free_what_they_are_given() -> None:
    partition = """\
def partition_0(args):
    arg0_1, = args
    args.clear()
    buf5 = empty_strided_cpu((10, ), (1, ), torch.float32)
    del arg0_1
    buf6 = empty_strided_cpu((10, ), (1, ), torch.float32)
    return (buf6, )
"""
    first = "partition0_args = [buf0]\ndel buf0\n(buf2,) = self.partitions[0](partition0_args)\ndel partition0_args"
    body = BODY.format(first=first).replace("\ndel buf0\nreturn (buf1", "\nreturn (buf2, buf1")
    assert peak(walked(body, partition)) == 80, "two at a time: the argument goes, then the first buffer"


def test_a_wrapper_of_another_form_is_not_read() -> None:
    with pytest.raises(UnreadableWrapper, match=UNREADABLE):
        walked("a_1, = args")
