"""The part of a run that a view is about."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import cast

from tltui.analyses.told import NEEDS, TEXT, is_untold, untold
from tltui.documents.page import Page
from tltui.documents.pages.table import View
from tltui.documents.titles import part_title, stands_for
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import CompileId, Ref, parse_ref
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument


@dataclass(frozen=True, slots=True)
class Scope:
    """The compiles that are meant, in the order of the tree, records without an id last in each process."""

    ref: Ref
    """The address of the part; empty for the whole run."""
    processes: tuple[Process, ...]
    compiles: tuple[Compile, ...]
    called: str = ""
    """What is named by it, as `part_title` has it."""
    n: int | None = None
    """The number that the address of the page ends with, for a view that numbers what it shows: `@stacks:#4`."""

    @property
    def title(self) -> str:
        """` of [0/1]`, ` of rank 3`, '' for the whole run."""
        return f" of {self.called}" if str(self.ref) and self.called else ""

    def page(self, view: str) -> str:
        """The address of a view about this part."""
        return str(self.ref.at(view))


def place_of(ref: Ref) -> Ref:
    """The part of the run in an address: no artifact, no attempt, no page. `3/-` stays `3/-`, which is not the frame `3/`."""
    return replace(ref, attempt=None, artifact=None, n=None, view="")


def scope_of(run: Run, ref: Ref | str = "") -> Scope:
    """The scope that an address names: the run, a rank, a process, a frame or a compile (of an artifact: its compile).

    Raises `BadAddress`.
    """
    if isinstance(ref, str):
        ref = parse_ref(ref)
    place = place_of(ref)
    node = run.resolve(place)
    if isinstance(node, Artifact):
        node = node.owner
    if isinstance(node, Compile):
        return Scope(_named(place, node.process, node.id), (node.process,), (node,), part_title(node))
    if isinstance(node, Frame):
        return Scope(_named(place, node.process, node.key), (node.process,), tuple(node.compiles), part_title(node))
    if isinstance(node, Process):
        processes: tuple[Process, ...] = (node,)
    elif isinstance(node, Rank):
        processes = tuple(node.processes)
    else:
        processes = tuple(run.processes())
    return Scope(place, processes, tuple(c for process in processes for c in _in_order(process)), part_title(node))


def _named(place: Ref, process: Process, compile_id: CompileId) -> Ref:
    """The place with its epoch, where there are several."""
    return replace(place, id=process.named_id(compile_id)) if process.epochs > 1 else place


def _in_order(process: Process) -> list[Compile]:
    found = [c for frame in process.frames.values() for c in frame.compiles]
    return [c for c in found if c.is_compile] + [c for c in found if not c.is_compile]


def view_document(run: Run, view: View, ref: Ref, options: Options) -> Document:
    """The document of a view about the part of the run that `ref` names. Raises `BadAddress`."""
    make = cast(Callable[[Run, Scope, Options], Document], import_module(f"tltui.documents.pages.{view.name}").document)
    scope = replace(scope_of(run, ref), n=ref.n)
    options = replace(options, goes_on=run.goes_on, newest=run.restarted)
    if view.name == "summary":  # an overview says it below its title
        return make(run, scope, options)
    about = "" if str(scope.ref) else stands_for(run)
    options = replace(options, untold=untold(scope.processes, view.name), about=about)
    if is_untold(scope.processes, view.name):
        return _untold_document(view, scope, options, make(run, scope, options))
    return make(run, scope, options)


def _untold_document(view: View, scope: Scope, options: Options, made: Document) -> Document:
    """A page of which nothing is told: it says that, not that there is nothing. Its result is what it ever is."""

    def fill(page: Page) -> Generator[None, None, object]:
        if any(TEXT in process.origins for process in scope.processes):
            page.add("What is there: ", ("@log", tokens.LINK, str(scope.ref.at("log"))), " every line as it was written")
        else:
            links: list[Piece] = ["What is there:"]
            for name in (name for name, needs in NEEDS.items() if needs.in_debug_dir):
                links += [" ", (name, tokens.LINK, str(scope.ref.at(name)))]
            page.row(links, "")
        while not made.advance():
            yield
        return made.data()

    return GrowingDocument(scope.page(view.name), f"{view.name}{scope.title}", options, fill, Page)
