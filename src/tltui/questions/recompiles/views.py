"""Arguments that are views of another tensor in some calls: with dynamic=True torch guards on the sizes of that tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of
from tltui.questions.recompiles.failed_guard_text import strip_local

_TENSOR, _SOURCE = "describe_tensor", "describe_source"
MOST_COMPILES = 64
"""Compiles of a frame whose arguments are read."""


@part
def views_in(compile_: Compile, reader: Reader) -> Mapping[str, bool]:
    """Return the tensors that a compile was given, each with whether it is a view; empty without their descriptions."""
    views: dict[tuple[object, object], bool] = {}
    results: dict[str, bool] = {}
    for record, event in records_of(compile_, (_TENSOR, _SOURCE)):
        fields = reader.event(record)
        if not isinstance(fields, dict):
            continue
        key = (fields.get("describer_id"), fields.get("id"))
        if not all(isinstance(number, int) for number in key):
            continue
        if event == _TENSOR:
            views[key] = fields.get("is_view") is True
        elif isinstance(source := fields.get("source"), str):
            results[strip_local(source)] = views.get(key, False)
    return results


def varying_views(compiles: Sequence[Compile]) -> list[frozenset[str]]:
    """Return of each compile the tensors that are views in it, and none in another compile."""
    if len(compiles) > MOST_COMPILES:
        return [frozenset()] * len(compiles)
    described = [views_in(compile_) for compile_ in compiles]
    plain = {source for views in described for source, is_view in views.items() if not is_view}
    return [frozenset(source for source, is_view in views.items() if is_view and source in plain) for views in described]
