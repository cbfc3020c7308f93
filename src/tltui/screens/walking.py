"""The ways from compile to compile: errors, breaks, recompiles, ranks, artifacts."""

from __future__ import annotations

from collections.abc import Callable

from tltui.model.nodes import Compile
from tltui.model.walk import has_break, has_error, next_artifact, next_compile, next_in_frame, on_next_rank
from tltui.screens.main_screen import MainScreen


class Walking:
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
