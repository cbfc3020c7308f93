"""What the processes of the job on this machine do, asked when somebody presses the key; once more asks for their stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tltui.model.run import Run
from tltui.screens.main_screen import MainScreen
from tltui.text.document import Document, Options
from tltui.trace.files import Identity
from tltui.work.scheduler import Place, Steps

if TYPE_CHECKING:
    from tltui.documents.parts.processes import Here

PAGE = "@where::now"
"""An address like all others: keys read it, and on the command line it is the page without the processes."""


class Processes:
    """The page that says where the job is, with what its processes do now."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._here: Here | None = None
        bench.own_pages[PAGE] = self._page

    def show(self) -> None:
        """Ask; on the page itself ask for the Python stacks too."""
        from tltui.documents.parts.processes import files_of

        stacks = self._bench.shown_ref == PAGE
        self._bench.tell("asking py-spy for the stacks of its processes …" if stacks else "looking at its processes …")
        self._bench.scheduler.do(self._asking(files_of(self._bench.trace), stacks), place=Place.LONG, owner=self)

    def _asking(self, files: dict[str, Identity], stacks: bool) -> Steps:
        from tltui.documents.parts.processes import ask

        here = ask(files, stacks)
        self._bench.answer(lambda: self._found(here))
        yield None

    def _found(self, here: Here) -> None:
        self._here = here
        if self._bench.shown_ref == PAGE:
            self._bench.reload()
        else:
            self._bench.show_ref(PAGE)
            self._bench.document_view.focus()
        found = any(log.processes for log in here.logs)
        self._bench.tell("P again: their Python stacks, where py-spy is installed" if found and not here.stacks else "")

    def _page(self, run: Run, options: Options) -> Document:
        from tltui.documents.pages.where import where_document
        from tltui.documents.scope import scope_of

        return where_document(run, scope_of(run), options, self._here, PAGE)
