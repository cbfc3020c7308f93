"""Requests for documents: how each is rendered and kept, its address while addresses change, and the growing log page."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Process, Rank
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Node, Run
from tltui.questions.build import module_of
from tltui.text.bytes_document import BytesDocument
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, error_document, nowhere_document
from tltui.text.frozen import frozen
from tltui.work.scheduler import Lane, Place, Scheduler, Steps

if TYPE_CHECKING:
    from tltui.questions.provenance.graph_names import Names


LOG_STEP_BYTES = 4 << 20


def has_outputs(run: Run) -> bool:
    """Return whether outputs of the job are among the inputs."""
    return any(model.form == "text" for model in run.models)


def has_grown(document: Document) -> bool:
    """Return whether a document is the page `@log` and has more lines now: it takes them over, and is not made again."""
    made_by = getattr(
        sys.modules.get("tltui.questions.records.log_page"), "LogDocument", None
    )  # another thread may be importing it now
    if made_by is None or not isinstance(document, made_by) or not document.refresh():
        return False
    while not document.advance(LOG_STEP_BYTES):  # what came since the last batch: nothing to wait for
        pass
    return True


OF_RUN = ("", "@run", "@summary")
"""Addresses of the summary of the run."""
MAX_ADDRESSES = 500
"""Addresses that are remembered."""


class Addresses:
    """What addresses named when they were noted, and what that is called now."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._targets: OrderedDict[str, tuple[Ref, Node, Ref]] = OrderedDict()

    def note(self, ref: str) -> None:
        """Remember what an address names."""
        self._targets.pop(ref, None)
        try:
            parsed = parse_ref(ref)
            node = self._node(parsed)
        except BadAddress:
            return
        if node is not None:
            self._targets[ref] = parsed, node, _current_ref(parsed, node)
            while len(self._targets) > MAX_ADDRESSES:
                self._targets.popitem(last=False)

    def _node(self, ref: Ref) -> Node | None:
        if ref.id is None and ref.rank is None:
            processes = list(self._run.processes())
            return processes[0] if ref.n is not None and len(processes) == 1 else None
        if ref.artifact is None or ref.view:
            return self._run.resolve(replace(ref, attempt=None, artifact=None, n=None, view=""))
        return self._run.resolve(ref)

    def now(self, ref: str) -> str:
        """Return the current form of an address."""
        parsed, node, called = self._targets.get(ref, (None, None, None))
        if parsed is None or node is None or (again := _current_ref(parsed, node)) == called:
            return ref
        del self._targets[ref]
        self.note(str(again))
        return str(again)


def _current_ref(ref: Ref, node: Node) -> Ref:
    """Return the current form of an address of a node, or of something in it."""
    if isinstance(node, Artifact):  # another record of its name may have come
        node = next((other for other in artifacts_of(node.owner) if other.record == node.record), node)
        return replace(node.ref, attempt=ref.attempt, n=node.ref.n if ref.n is None else ref.n)
    current = node.ref
    if isinstance(node, Rank):
        return replace(ref, rank=current.rank)
    if isinstance(node, Process):
        if ref.rank is None and node.alone and not node.ranks_differ:
            return ref
        return replace(ref, rank=current.rank, process=current.process if ref.process is None else node.number)
    return replace(ref, rank=current.rank, process=current.process, id=current.id)


MAX_PAGES = 12
"""Pages that are kept."""
FIRST_SLICE_S = 0.15
"""Seconds of work before a page is shown that is not complete."""

Make = Callable[[Run, Options], Document]
Deliver = Callable[[Callable[[], object]], None]
"""Runs something on the UI thread."""


@frozen
class Request:
    """Something to show. Equal requests have the same address."""

    ref: str
    make: Make = field(compare=False, repr=False)
    """Runs off the UI thread, under the gate. What it raises becomes an error document."""
    is_of_run: bool = field(default=True, compare=False)
    """Whether it is made from the run and nothing else: then it stays as it is for as long as the run does."""
    is_in_front: bool = field(default=False, compare=False)
    """Of what one can go back to: whether the document had the focus when it was left."""


def document_at(ref: str) -> Request:
    """Return the request for an address of the run."""
    return Request(ref, partial(_built, ref))


def _built(ref: str, run: Run, options: Options) -> Document:
    from tltui.questions.build import build

    return build(run, ref, options)


def _module_of(ref: str) -> str:
    """Return the module that makes the page at an address, else this one, which is imported already."""
    try:
        return module_of(parse_ref(ref)) or __name__
    except BadAddress:
        return __name__


def _is_whole(document: Document) -> bool:
    """Return whether it has all its lines: not one that was left before."""
    return document.complete and not (isinstance(document, GrowingDocument) and document.is_stopped)


class Renderer:
    """Makes what is requested, the latest wish only; what is known of a document later, it tells later.

    The modules that make documents are imported off the UI thread: the first frame does not wait for them.
    """

    def __init__(
        self, run: Run, scheduler: Scheduler, answer: Deliver, faulted: Callable[[BaseException], object], ascii_only: bool
    ) -> None:
        self._run = run
        self._scheduler = scheduler
        self._answer = answer
        self._faulted = faulted
        self._ascii = ascii_only
        self._pages: OrderedDict[tuple[str, Options], tuple[int, Document]] = OrderedDict()
        self._previews = object()

    def wish(self, request: Request, options: Options, ready: Callable[[Document], object]) -> None:
        """Make a document; `ready` gets it on the UI thread, unless something else is wished by then."""

        def failed(error: BaseException) -> None:
            ref = request.ref
            if isinstance(error, BadAddress):
                self._answer(partial(ready, nowhere_document(ref, str(error))))
                return
            if not isinstance(error, OSError):
                self._faulted(error)
            fault = error if isinstance(error, Exception) else RuntimeError(repr(error))
            self._answer(partial(ready, error_document(ref, ref or "summary", ref or "the summary of the run", fault)))

        self._scheduler.do(self._making(request, options, ready), lane=Lane.WISH, fault=failed)

    def preview(self, request: Request, options: Options, ready: Callable[[Document], object]) -> None:
        """Make a document beside the one that is shown; the latest preview only, and nothing where it fails."""
        self.drop_preview()
        self._scheduler.do(self._making(request, options, ready), owner=self._previews, fault=lambda error: None)

    def drop_preview(self) -> None:
        """Make no preview any more."""
        self._scheduler.drop(self._previews)

    def _making(self, request: Request, options: Options, ready: Callable[[Document], object]) -> Steps:
        if (module := _module_of(request.ref)) not in sys.modules:
            yield Place.LONG
            import_module(module)
            yield Place.NODES
        key = (request.ref, options)
        version, document = self._pages.get(key, (-1, None))
        if document is None or version != self._run.version or not _is_whole(document):
            version = self._run.version
            document = request.make(self._run, options)
            if isinstance(document, GrowingDocument):
                end = time.monotonic() + FIRST_SLICE_S
                while not document.advance() and time.monotonic() < end:
                    yield None
            if request.is_of_run and request.ref.startswith("@"):
                self._keep(key, version, document)
        self._answer(partial(ready, document))

    def _keep(self, key: tuple[str, Options], version: int, document: Document) -> None:
        """Cache a page until the run changes."""
        self._pages[key] = (version, document)
        self._pages.move_to_end(key)
        while len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)

    # what is known later

    def names(self, document: Document, deliver: Callable[[Names], object]) -> None:
        """Find out what the names of a document mean."""
        self._scheduler.drop(self)
        self._scheduler.do(self._naming(document, deliver), place=Place.LONG, owner=self)

    def _naming(self, document: Document, deliver: Callable[[Names], object]) -> Steps:
        from tltui.questions.provenance.graph_names import LANGUAGES, UP_TO, names_of

        if document.language not in LANGUAGES or (isinstance(document, BytesDocument) and document.payload.size > UP_TO):
            return
        yield None
        if (names := names_of(document)) is not None:
            self._answer(partial(deliver, names))

    def check(self, document: Document, checked: Callable[[], object]) -> None:
        """Compare the md5 of a large payload that is already shown."""
        if isinstance(document, BytesDocument):
            self._scheduler.do(self._checking(document, checked), owner=self)

    def _checking(self, document: BytesDocument, checked: Callable[[], object]) -> Steps:
        from tltui.questions.artifacts.page import UNCHECKED, badge_of

        if not document.badge.startswith(UNCHECKED):
            return
        try:
            node = self._run.resolve(document.ref)
            yield Place.LONG
            badge = badge_of(node.log.check(node.record), self._ascii) if isinstance(node, Artifact) else ""
        except (BadAddress, OSError) as error:
            badge = f"md5 not checked: {error}"
        document.badge = badge + document.badge[len(UNCHECKED) :]
        document.version += 1
        self._answer(checked)
