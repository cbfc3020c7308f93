"""Work for many recompilations of one frame. Work is counted: nothing is timed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_logs import Log
from pages import page
from real import TRACES, fresh
from viewed import text

from tltui.documents.page import Page
from tltui.documents.scope import scope_of
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.recompiles import explanations, guard_requirements, guard_table, recompile_reasons
from tltui.questions.recompiles import page as recompiles_page
from tltui.questions.recompiles.frame_recompiles import FrameRecompiles
from tltui.questions.recompiles.page import Recompiles
from tltui.questions.recompiles.recompile_reasons import FEW_VERSIONS, MANY_RECOMPILES, MOST_VERSIONS, ends_of
from tltui.questions.recompiles.recompile_sections import share_text
from tltui.text.document import Options

HINT = "(HINT: torch.compile considers integer attributes of the nn.Module to be static.)"
TREE = f"""
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor, type=<class 'torch.Tensor'>, tag_safe=(False, False)
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[2], \
stride=[1])  # return x * self.i  # a/f.py:4 in f
| +- GuardManager: source=L['self'].i, accessed_by=DictGetItemGuardAccessor('i'), type=<class 'int'>, tag_safe=(False, False)
| | +- EQUALS_MATCH: L['self'].i == VALUE  # return x * self.i  # a/f.py:4 in f {HINT}
"""
LINES = TREE.count("\n")


def recompiled(path: Path, n: int, older: int = 1_000_000) -> Run:
    """Make a frame that was compiled once for each value of an int, with a reason for each of the `older` newest versions."""
    log = Log(path)
    for number in range(n + 1):
        ids: dict[str, Any] = {"compile_": number}
        log.start(**ids)
        if number:
            versions = range(number - 1, max(number - 1 - older, -1), -1)
            reasons = [f"0/{k}: self.i == {k}  # return x * self.i  # a/f.py:4 in f {HINT}" for k in versions]
            log.artifact("recompile_reasons", json.dumps(reasons), **ids)
        log.add("dynamo_cpp_guards_str", {}, TREE.replace("VALUE", str(number)), **ids).metrics(**ids)
    log.start(frame=1).add("dynamo_cpp_guards_str", {}, TREE.replace("VALUE", "0"), frame=1).metrics(frame=1)
    return log.open()


def frame_of(run: Run) -> FrameRecompiles:
    result = page(run, "@recompiles").data()
    assert isinstance(result, Recompiles)
    return result.frames[0]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is made of guards and reasons."""
    count: Counter[str] = Counter()
    for owner, name in (
        (guard_table, "compared"), (guard_requirements, "requirements_in"), (explanations, "_reason"), (guard_table, "_tree"),
        (explanations, "guard_text"),
    ):  # fmt: skip
        plain = getattr(owner, name)

        def counted(*args: Any, _plain: Any = plain, _name: str = name) -> Any:
            count[_name] += 1
            return _plain(*args)

        monkeypatch.setattr(owner, name, counted)
    guard_requirements.requirements_of_line.cache_clear()
    return count


def most_pairs(n: int) -> int:
    """Return how many older versions all calls may be compared with."""
    return sum(min(number, MOST_VERSIONS if number <= MANY_RECOMPILES else FEW_VERSIONS) for number in range(1, n + 1))


@pytest.mark.parametrize("n", [20, 100, 400])
def test_the_work_is_linear(n: int, work: Counter[str], tmp_path: Path) -> None:
    """Torch writes a reason for each older version: n² of them. Each line of a guard tree is parsed once."""
    frame = frame_of(recompiled(tmp_path / "a.log", n))
    assert frame.recompile_count == n
    assert work["compared"] <= most_pairs(n)
    assert work["_reason"] <= most_pairs(n) + 20
    assert work["requirements_in"] <= LINES + n + 1
    assert work["_tree"] <= n + 1
    assert work["guard_text"] <= 2 * (n + 1)


def test_many_older_versions_leave_the_prediction_as_it_is(tmp_path: Path) -> None:
    """With the newest versions only, 40 versions seemed to remain: the ones that they were merged into were not compared."""
    frame = frame_of(recompiled(tmp_path / "a.log", 300))
    (variation,) = frame.variations
    assert variation.remedy == "dynamic attribute" and variation.prediction is not None
    assert (variation.prediction.before, variation.prediction.fewest, variation.prediction.most) == (300, 1, 300)
    assert variation.count == 300
    assert variation.only_cause_refs == tuple(f"0/{number}" for number in range(1, MOST_VERSIONS + 1))  # the others are not proven


def test_the_number_of_recompiles_with_one_cause_is_not_that_of_the_listed_ones(tmp_path: Path) -> None:
    (variation,) = frame_of(recompiled(tmp_path / "a.log", 4)).variations
    assert variation.only_cause_count == len(variation.only_cause_refs) > 1
    many = replace(variation, count=5000, only_cause_count=4900)
    assert "the only cause of 4,900 of them (" in share_text(many, 5000)


def test_the_limit_is_on_the_page_and_in_json(tmp_path: Path) -> None:
    run = recompiled(tmp_path / "a.log", 300)
    frame = frame_of(run)
    assert frame.guards is not None and frame.guards.limit == FEW_VERSIONS
    last = frame.recompiles[-1]
    assert len(last.reasons) == FEW_VERSIONS and last.other_reasons == 300 - FEW_VERSIONS
    assert (last.reasons[0].earlier, last.reasons[-1].earlier) == ("0/299", "0/0")
    assert f"Some calls were compared with only {FEW_VERSIONS} older versions." in text(page(run, "@recompiles"))
    alone = text(page(run, "@recompiles:0/300"))
    assert "the same cause against 299 older compiles" in alone and f"and {300 - FEW_VERSIONS} more older compiles" in alone


def test_a_reason_for_another_cause_is_never_left_out(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    log.start().metrics()
    reasons = [f"0/{k}: self.i == {k}" for k in range(99, -1, -1)]
    reasons[50] = "0/49: tensor 'L['x']' dtype mismatch. expected Float, actual Half"
    log.start(compile_=100).artifact("recompile_reasons", json.dumps(reasons), compile_=100).metrics(compile_=100)
    (recompile,) = frame_of(log.open()).recompiles
    assert {reason.cause for reason in recompile.reasons} == {"int value", "tensor dtype"}
    assert len(recompile.reasons) == MOST_VERSIONS + 1 and recompile.other_reasons == 99 - MOST_VERSIONS


@pytest.mark.parametrize("name", ["torch-2.13/recompiles", "planted"])
def test_fewer_compared_versions_claim_less(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two versions for most calls: the same causes, and no remedy or only cause beside those of all versions."""
    every = page(fresh(TRACES / name), "@recompiles").data()
    monkeypatch.setattr(recompile_reasons, "MANY_RECOMPILES", 1)
    monkeypatch.setattr(recompile_reasons, "FEW_VERSIONS", 2)
    few = page(fresh(TRACES / name), "@recompiles").data()
    assert isinstance(every, Recompiles) and isinstance(few, Recompiles)
    assert few.causes == every.causes
    limited = 0
    for frame, other in zip(every.frames, few.frames, strict=True):
        wanted = {(v.cause, v.source, v.dim): v for v in frame.variations}
        assert {(v.cause, v.source, v.dim) for v in other.variations} == set(wanted)
        for variation in other.variations:
            full = wanted[(variation.cause, variation.source, variation.dim)]
            assert variation.remedy in ("", full.remedy) and variation.count <= full.count
            assert set(variation.only_cause_refs) <= set(full.only_cause_refs)
        skipped = {recompile.ref for recompile in other.recompiles if recompile.other_reasons}
        limited += len(skipped)
        assert not any(causes.is_complete for causes in other.causes if causes.ref in skipped)
    assert limited, "some reasons were left out"


def test_the_first_screen_reads_no_guards(work: Counter[str], tmp_path: Path) -> None:
    run = recompiled(tmp_path / "a.log", 5)
    scope = scope_of(run, Ref(view="recompiles"))
    lines = Page("@recompiles", "recompiles", Options())
    pieces = recompiles_page._View(run, scope).fill(lines)
    next(pieces)
    assert "5 recompiles of 1 frame" in "\n".join(lines.document().text())
    assert not work


def test_guards_of_other_frames_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    for owner, name in ((guard_table, "_tree"), (explanations, "guard_text")):
        plain = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda c, reader, plain=plain: read.add(str(c.ref)) or plain(c, reader))
    frame_of(recompiled(tmp_path / "a.log", 3))
    assert read == {"0/0", "0/1", "0/2", "0/3"}


def test_equal_guards_are_one_version(tmp_path: Path, work: Counter[str]) -> None:
    log = Log(tmp_path / "a.log")
    for number in range(40):
        ids: dict[str, Any] = {"compile_": number}
        log.start(**ids).add("dynamo_cpp_guards_str", {}, TREE.replace("VALUE", str(number % 2)), **ids)
        log.metrics(**({"recompile_reason": f"0/0: self.i == {number % 2}"} if number else {}), **ids)
    frame = frame_of(log.open())
    assert frame.guards is not None and frame.guards.different == 2
    assert work["compared"] <= 3 * 40


@pytest.mark.parametrize(("items", "most", "ends"), [
    ("abcde", 5, "abcde"), ("abcde", 4, "abde"), ("abcde", 3, "abe"), ("ab", 6, "ab"),
])  # fmt: skip
def test_ends(items: str, most: int, ends: str) -> None:
    shown, others = ends_of(items, most)
    assert "".join(shown) == ends and sorted((*shown, *others)) == sorted(items)


