"""Ways between compiles: the next error, break, recompile, rank or artifact, and comparing two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tltui.documents.scope import called
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, diff_ref, parse_ref
from tltui.model.run import has_break, has_error, next_artifact, next_compile, next_in_frame, on_next_rank
from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.work.scheduler import Steps

if TYPE_CHECKING:
    from tltui.questions.problems.absent_artifacts import NoCode


class CompileWalk:
    """Where the keys of walking lead from what is selected."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench

    def error(self, back: bool) -> None:
        """Go to the next error, or function that fell back to eager mode."""
        self._walk(has_error, back, "error or fallback to eager mode")

    def graph_break(self, back: bool) -> None:
        """Go to the next graph break."""
        self._walk(has_break, back, "graph break")

    def _walk(self, wanted: Callable[[Compile], bool], back: bool, word: str) -> None:
        bench = self._bench
        target = next_compile(bench.trace, bench.current_compile, wanted, back)
        if target is not None:
            self._go_compile(target)
            return
        reading = f" yet: {bench.trace.goes_on}" if bench.trace.goes_on else ""
        if next_compile(bench.trace, None, wanted) is None:
            bench.show_message(f"no {word} in this run{reading}")
        else:
            bench.show_message(f"no {'earlier' if back else 'later'} {word}{reading}")

    def _go_compile(self, compile_: Compile) -> None:
        bench = self._bench
        bench.show_ref(str(compile_.ref))
        bench.reveal(compile_)
        self._say()

    def _say(self, remark: str = "") -> None:
        """Show a remark and, if the tree has the whole screen, the key that shows the document."""
        bench = self._bench
        hidden = "" if bench.document_view.display else f"{bench.key_of('tree.enter')} shows it"
        if sentence := " · ".join(filter(None, (remark, hidden))):
            bench.show_message(sentence)

    def recompile(self, back: bool) -> None:
        """Go to the next compile of the frame."""
        bench = self._bench
        current = bench.current_compile
        if current is None or not current.is_compile:
            target = next_compile(bench.trace, None, lambda compile_: compile_.is_recompile, back)
            if target is None:
                bench.show_message("no recompilations in this run")
            else:
                self._go_compile(target)
            return
        target = next_in_frame(current, back)
        if target is not None:
            self._go_compile(target)
            return
        name = current.frame.code[0] or "the frame"
        if len(current.frame.compiles) == 1:
            bench.show_message(f"{name} was compiled only once")
        else:
            bench.show_message(f"{current.label} is the {'first' if back else 'last'} compile of {name}")

    def rank(self, back: bool) -> None:
        """Go to the same code on the next rank."""
        bench = self._bench
        current = bench.current_compile
        if current is None or not current.is_compile:
            bench.show_message("select a compile first; this key finds the same code on another rank")
            return
        target, remark = on_next_rank(bench.trace, current, back)
        if target is not None:
            self._go_compile(target)
        if remark:
            self._say(remark)

    def artifact(self, back: bool) -> None:
        """Go to the next artifact of the compile."""
        bench = self._bench
        compile_ = bench.current_compile
        if compile_ is None:
            bench.show_message("select a compile first")
            return
        target = next_artifact(compile_, bench.current_artifact, back)
        if target is None:
            bench.show_message(f"no {'earlier' if back else 'later'} artifact in {compile_.label}")
        elif bench.arrive(str(target.ref)):
            self._say()

    def generated_code(self) -> None:
        """Go to the generated code of the compile, from there to that of its next unit."""
        from tltui.questions.problems.absent_artifacts import CODE_ARTIFACTS

        bench = self._bench
        compile_, shown = bench.current_compile, bench.current_artifact
        if compile_ is None:
            bench.scheduler.do(self._seeking_code(), owner=self)
            return
        codes = [artifact for artifact in artifacts_of(compile_) if artifact.name in CODE_ARTIFACTS]
        if not codes:
            bench.show_message(f"{called(compile_)} has no generated code. The page 'absent' lists the reason")
            return
        records = [artifact.record for artifact in codes]
        place = (records.index(shown.record) + 1) % len(codes) if shown is not None and shown.record in records else 0
        if bench.arrive(str(codes[place].ref)):
            self._say(f"code {place + 1} of {len(codes)}" if len(codes) > 1 else "")

    def _seeking_code(self) -> Steps:
        """Find the first compile with generated code; nothing that belongs to a compile is shown."""
        from tltui.questions.problems.absent_artifacts import no_code

        no_code_reason = yield from no_code(self._bench.trace, None)
        self._bench.answer(partial(self._to_code, no_code_reason))

    def _to_code(self, no_code: NoCode) -> None:
        bench = self._bench
        if bench.current_compile is not None:
            return  # somebody went on
        if no_code.nearest is None:
            bench.show_message("no compile in this run has generated code")
        elif bench.arrive(no_code.nearest.ref):
            self.generated_code()


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
        """Show graphs and code side by side."""
        from tltui.questions.problems.absent_artifacts import has_lowered

        bench = self._bench
        compile_ = bench.current_compile
        if compile_ is not None and has_lowered(compile_):
            self._offered = None
            self._side_by_side(compile_, bench.current_artifact)
        elif self._offered is not None and self._offered[0] is compile_:
            (_, ref), self._offered = self._offered, None
            self._to_offered(ref)
        else:
            bench.scheduler.do(self._offering(compile_), owner=self)

    def _side_by_side(self, compile_: Compile, start: Artifact | None) -> None:
        from tltui.screens.provenance import ProvenanceScreen

        bench = self._bench
        view = bench.document_view
        line = view.current_line() if start is not None and view.document.ref == str(start.ref) else None
        bench.app.push_screen(ProvenanceScreen(bench.around, compile_, start, line))

    def _to_offered(self, ref: str) -> None:
        bench = self._bench
        if bench.arrive(ref) and (compile_ := bench.current_compile) is not None:
            self._side_by_side(compile_, None)

    def _offering(self, compile_: Compile | None) -> Steps:
        """Find out why a compile has no code, and which one near it has."""
        from tltui.questions.problems.absent_artifacts import no_code

        no_code_reason = yield from no_code(self._bench.trace, compile_)
        self._bench.answer(partial(self._offer, compile_, no_code_reason))

    def _offer(self, compile_: Compile | None, no_code: NoCode) -> None:
        bench = self._bench
        if bench.current_compile is not compile_:
            return  # somebody went on
        if no_code.nearest is None:
            of = "generated code" if compile_ is None else f"generated code. {called(compile_)}: {no_code.why}"
            bench.show_message(f"no compile in this run has {of}")
            return
        if compile_ is None:  # what is shown belongs to no compile, so that none is left
            self._to_offered(no_code.nearest.ref)
            return
        self._offered = compile_, no_code.nearest.ref
        why = f"{called(compile_)} has no code: {no_code.why}"
        key, nearest = bench.key_of("app.provenance"), no_code.nearest
        bench.show_message(f"press {key} again for [{nearest.ref}], {nearest.relation} · {why}")

    def mark_or_compare(self) -> None:
        """Mark what is shown, or compare it with what was marked."""
        from tltui.questions.compare.page import are_alike

        bench = self._bench
        ref = bench.current_node.ref
        if not ref or parse_ref(ref).view:
            bench.show_message("cannot compare this page. Select an artifact, compile, frame or rank in the tree")
        elif self._compared is None or self._compared == ref:
            self._mark_for_comparing(ref)
            again, before = bench.key_of("app.compare"), bench.key_of("app.compare_previous")
            bench.show_message(f"marked {ref}. Press {again} on another item to compare ({before}: with the previous compile)")
        elif not are_alike(bench.trace, self._compared, ref):
            before = self._compared
            self._mark_for_comparing(ref)
            bench.show_message(f"marked {ref} instead of {before}: different kinds cannot be compared")
        else:
            left = self._compared
            self._mark_for_comparing(None)
            self.open(diff_ref(left, ref))

    def _mark_for_comparing(self, ref: str | None) -> None:
        """Remember the first of two addresses, and show it in the line above."""
        self._compared = ref
        self._bench.say_run()

    @property
    def sign(self) -> list[Piece]:
        """What the line above says of an address that is marked for comparing."""
        if self._compared is None:
            return []
        key = self._bench.key_of("app.compare")
        mark = "*" if self._bench.ascii_only else "◆"
        return [(f" {mark} {self._compared}{f' ({key}: compare)' if key else ''} ", tokens.WARN)]

    def with_previous(self) -> None:
        """Compare with the previous compile of the frame, by artifact if one is shown.

        Without a previous compile, compare a graph with the one it was made from.
        """
        from tltui.questions.passes.page import counterpart

        bench = self._bench
        compile_ = bench.current_compile
        if compile_ is None or not compile_.is_compile:
            bench.show_message("select a compile first")
            return
        before = next_in_frame(compile_, back=True)
        artifact = bench.current_artifact
        if before is None and artifact is not None and (graph := counterpart(artifact)) is not None:
            first, second = sorted((graph, artifact), key=lambda bench: bench.record)
            self.open(diff_ref(str(first.ref), str(second.ref)))
            return
        if before is None:
            bench.show_message(f"{compile_.label} is the first compile of {compile_.frame.code[0] or 'its frame'}")
            return
        left, right = before.ref, compile_.ref
        if artifact is not None:
            other = replace(before.ref, artifact=artifact.name, n=artifact.ref.n)
            try:
                bench.trace.resolve(other)
            except BadAddress:
                bench.show_message(f"{before.ref} has no {artifact.name}")
                return
            left, right = other, artifact.ref
        self.open(diff_ref(left, right))

    def open(self, ref: str) -> None:
        """Compare two artifacts side by side on a wide screen, everything else as a page."""
        bench = self._bench
        if bench.reads_first(parse_ref(ref), partial(self.open, ref)):
            return
        sides = self._two_artifacts(ref) if bench.size.width >= WIDE else None
        if sides is None:
            bench.show_ref(ref)
            bench.document_view.focus()
            return
        from tltui.screens.compare import CompareScreen

        def left(page: str | None) -> None:
            if page:  # the screen became too narrow for two halves
                bench.show_ref(page)
                bench.document_view.focus()

        bench.app.push_screen(CompareScreen(bench.around, *sides, WIDE), left)

    def _two_artifacts(self, ref: str) -> tuple[Artifact, Artifact] | None:
        from tltui.questions.compare.page import sides_of

        try:
            left, right = (self._bench.trace.resolve(name) for name in sides_of(parse_ref(ref)))
        except BadAddress:
            return None  # the page says so
        return (left, right) if isinstance(left, Artifact) and isinstance(right, Artifact) else None
