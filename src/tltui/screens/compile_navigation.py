"""Ways between compiles: the next error, break, recompile, rank or artifact, and comparing two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tltui.documents.scope import called
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import has_break, has_error, next_artifact, next_compile, next_in_frame, on_next_rank
from tltui.screens.main_screen import MainScreen
from tltui.work.scheduler import Steps

if TYPE_CHECKING:
    from tltui.questions.problems.absent_artifacts import NoCode


class CompileWalk:
    """Where the keys of walking lead from what is selected."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench

    def error(self, back: bool) -> None:
        """To the next error, or function in eager mode."""
        self._walk(has_error, back, "error or function in eager mode")

    def graph_break(self, back: bool) -> None:
        """To the next graph break."""
        self._walk(has_break, back, "graph break")

    def _walk(self, wanted: Callable[[Compile], bool], back: bool, word: str) -> None:
        own = self._bench
        found = next_compile(own.trace, own.current_compile, wanted, back)
        if found is not None:
            self._go_compile(found)
            return
        reading = f" so far: {own.trace.goes_on}" if own.trace.goes_on else ""
        if next_compile(own.trace, None, wanted) is None:
            own.tell(f"no {word} in this run{reading}")
        else:
            own.tell(f"no {'earlier' if back else 'further'} {word}{reading}")

    def _go_compile(self, compile_: Compile) -> None:
        own = self._bench
        own.show_ref(str(compile_.ref))
        own.reveal(compile_)
        self._say()

    def _say(self, remark: str = "") -> None:
        """A remark; and where the tree has the whole screen, in which the cursor moved, how to see the document."""
        own = self._bench
        hidden = "" if own.document_view.display else f"{own.key_of('tree.enter')} shows it"
        if said := " · ".join(filter(None, (remark, hidden))):
            own.tell(said)

    def recompile(self, back: bool) -> None:
        """To the next compile of the frame."""
        own = self._bench
        current = own.current_compile
        if current is None or not current.is_compile:
            found = next_compile(own.trace, None, lambda compile_: compile_.is_recompile, back)
            if found is None:
                own.tell("no frame was compiled again in this run")
            else:
                self._go_compile(found)
            return
        found = next_in_frame(current, back)
        if found is not None:
            self._go_compile(found)
            return
        name = current.frame.code[0] or "the frame"
        if len(current.frame.compiles) == 1:
            own.tell(f"{name} was compiled only once")
        else:
            own.tell(f"{current.label} is the {'first' if back else 'last'} compile of {name}")

    def rank(self, back: bool) -> None:
        """To the same code on the next rank."""
        own = self._bench
        current = own.current_compile
        if current is None or not current.is_compile:
            own.tell("go to a compile first: this key finds the same code on another rank")
            return
        found, remark = on_next_rank(own.trace, current, back)
        if found is not None:
            self._go_compile(found)
        if remark:
            self._say(remark)

    def artifact(self, back: bool) -> None:
        """To the next artifact of the compile."""
        own = self._bench
        compile_ = own.current_compile
        if compile_ is None:
            own.tell("go to a compile first")
            return
        found = next_artifact(compile_, own.current_artifact, back)
        if found is None:
            own.tell(f"no {'earlier' if back else 'further'} artifact in {compile_.label}")
        elif own.arrive(str(found.ref)):
            self._say()


WIDE = 140
"""Columns from which two artifacts are compared side by side."""


class CompareCommands:
    """The keys `p`, `d` and `D`."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._compared: str | None = None
        self._offered: tuple[Compile, str] | None = None
        """The compile without code that provenance was asked for last, and the address of the one that was offered instead."""

    def provenance(self) -> None:
        """Graphs and code side by side."""
        from tltui.questions.problems.absent_artifacts import has_lowered

        own = self._bench
        compile_ = own.current_compile
        if compile_ is not None and has_lowered(compile_):
            self._offered = None
            self._side_by_side(compile_, own.current_artifact)
        elif self._offered is not None and self._offered[0] is compile_:
            (_, ref), self._offered = self._offered, None
            self._to_offered(ref)
        else:
            own.scheduler.do(self._offering(compile_), owner=self)

    def _side_by_side(self, compile_: Compile, start: Artifact | None) -> None:
        from tltui.screens.provenance import ProvenanceScreen

        own = self._bench
        view = own.document_view
        line = view.current_line() if start is not None and view.document.ref == str(start.ref) else None
        own.app.push_screen(ProvenanceScreen(own.around, compile_, start, line))

    def _to_offered(self, ref: str) -> None:
        own = self._bench
        if own.arrive(ref) and (found := own.current_compile) is not None:
            self._side_by_side(found, None)

    def _offering(self, compile_: Compile | None) -> Steps:
        """Find out why a compile has no code, and which one near it has."""
        from tltui.questions.problems.absent_artifacts import no_code

        found = yield from no_code(self._bench.trace, compile_)
        self._bench.answer(partial(self._offer, compile_, found))

    def _offer(self, compile_: Compile | None, found: NoCode) -> None:
        own = self._bench
        if own.current_compile is not compile_:
            return  # somebody went on
        if found.nearest is None:
            of = "generated code" if compile_ is None else f"any generated code; of {called(compile_)}: {found.why}"
            own.tell(f"nothing in this run has {of}")
            return
        if compile_ is None:  # what is shown belongs to no compile, so that none is left
            self._to_offered(found.nearest.ref)
            return
        self._offered = compile_, found.nearest.ref
        why = f"{called(compile_)} has none: {found.why}"
        own.tell(f"{own.key_of('app.provenance')} again goes to [{found.nearest.ref}], {found.nearest.what} · {why}")

    def mark_or_compare(self) -> None:
        """Mark what is shown, or compare it with what was marked."""
        from tltui.questions.compare.artifacts_page import diff_ref
        from tltui.questions.compare.page import are_alike

        own = self._bench
        ref = own.current_node.ref
        if not ref or parse_ref(ref).view:
            own.tell("artifacts, compiles, frames and ranks can be compared: go to one in the tree")
        elif self._compared is None or self._compared == ref:
            self._compared = ref
            again, before = own.key_of("app.compare"), own.key_of("app.compare_previous")
            own.tell(f"marked {ref}: go to another one, {again} compares them; {before}: with the previous compile")
        elif not are_alike(own.trace, self._compared, ref):
            before, self._compared = self._compared, ref
            own.tell(f"marked {ref}, and no longer {before}: they are not of one kind and cannot be compared")
        else:
            left, self._compared = self._compared, None
            self.open(diff_ref(left, ref))

    def with_previous(self) -> None:
        """With the compile of the frame before: the same artifact if one is shown; without one, a graph with what it was made
        from."""
        from tltui.questions.compare.artifacts_page import diff_ref
        from tltui.questions.passes.page import beside

        own = self._bench
        compile_ = own.current_compile
        if compile_ is None or not compile_.is_compile:
            own.tell("go to a compile first")
            return
        before = next_in_frame(compile_, back=True)
        artifact = own.current_artifact
        if before is None and artifact is not None and (graph := beside(artifact)) is not None:
            first, second = sorted((graph, artifact), key=lambda own: own.record)
            self.open(diff_ref(str(first.ref), str(second.ref)))
            return
        if before is None:
            own.tell(f"{compile_.label} is the first compile of {compile_.frame.code[0] or 'its frame'}")
            return
        left, right = before.ref, compile_.ref
        if artifact is not None:
            other = replace(before.ref, artifact=artifact.name, n=artifact.ref.n)
            try:
                own.trace.resolve(other)
            except BadAddress:
                own.tell(f"{before.ref} has no {artifact.name}")
                return
            left, right = other, artifact.ref
        self.open(diff_ref(left, right))

    def open(self, ref: str) -> None:
        """Two artifacts on a wide screen side by side, everything else as a page."""
        own = self._bench
        if own.reads_first(parse_ref(ref), partial(self.open, ref)):
            return
        sides = self._two_artifacts(ref) if own.size.width >= WIDE else None
        if sides is None:
            own.show_ref(ref)
            own.document_view.focus()
            return
        from tltui.screens.compare import CompareScreen

        def left(page: str | None) -> None:
            if page:  # the screen became too narrow for two halves
                own.show_ref(page)
                own.document_view.focus()

        own.app.push_screen(CompareScreen(own.around, *sides, WIDE), left)

    def _two_artifacts(self, ref: str) -> tuple[Artifact, Artifact] | None:
        from tltui.questions.compare.page import sides_of

        try:
            left, right = (self._bench.trace.resolve(name) for name in sides_of(parse_ref(ref)))
        except BadAddress:
            return None  # the page says so
        return (left, right) if isinstance(left, Artifact) and isinstance(right, Artifact) else None
