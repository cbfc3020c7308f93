"""Work off the UI thread: the scan of the logs, and the making of documents."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from textual.message import Message

from tltui.messages import DocumentGrown, DocumentReady, NamesReady, Scanned
from tltui.model.artifacts import Artifact
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Document, Options, error_document
from tltui.trace.scan import Scanner

KEPT = 12
"""Pages that are kept."""
AHEAD = 4
"""Batches that may wait for the UI thread."""


class Scan:
    """One thread that reads the logs in turn and posts what it found. It never touches a widget or the run."""

    def __init__(self, scanners: list[Scanner], post: Callable[[Message], object]) -> None:
        self._scanners = scanners
        self._post = post
        self._stop = threading.Event()
        self._room = threading.Semaphore(AHEAD)
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next step; does not wait."""
        self._stop.set()
        self._room.release()

    def applied(self) -> None:
        """The UI thread took over a batch: one more may be made."""
        self._room.release()

    def _run(self) -> None:
        for number, scanner in enumerate(self._scanners):
            finished = False
            while not finished:
                self._room.acquire()
                if self._stop.is_set():
                    return
                try:
                    batch = scanner.step()
                except OSError as error:
                    self._post(Scanned(number, None, error))
                    finished = True
                else:
                    self._post(Scanned(number, batch))
                    finished = batch.finished


class Loader:
    """Makes documents, the latest wish first; late answers for an older one are dropped by their ticket.

    The modules that make them are imported by its thread: the first frame does not wait for them.
    """

    def __init__(
        self, run: Run, reading: threading.Lock, post: Callable[[Message], object], ascii_only: bool = False
    ) -> None:
        self._run = run
        self._ascii = ascii_only
        self._reading = reading
        self._post = post
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="documents")
        self._later = ThreadPoolExecutor(1, thread_name_prefix="checks")  # what no document waits for
        self._ticket = 0
        self._kept: OrderedDict[tuple[str, Options, int], Document] = OrderedDict()

    def stop(self) -> None:
        """Take no more work; what runs is not waited for."""
        self._ticket += 1
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._later.shutdown(wait=False, cancel_futures=True)

    def load(self, ref: str, options: Options) -> int:
        """Ask for a document; the ticket that its answer will carry."""
        self._ticket += 1
        self._pool.submit(self._load, self._ticket, ref, options)
        return self._ticket

    def _load(self, ticket: int, ref: str, options: Options) -> None:
        if ticket != self._ticket:
            return
        try:
            document = self._made(ref, options)
        except Exception as error:  # one that `build_safely` could not catch: it was not even imported
            document = error_document(ref, ref or "overview", ref or "the overview of the run", error)
        if ticket != self._ticket:
            return
        self._post(DocumentReady(ticket, document))

    def _made(self, ref: str, options: Options) -> Document:
        from tltui.documents.build import build_safely

        key = (ref, options, self._run.version)
        document = self._kept.get(key)
        if document is None:
            with self._reading:
                document = build_safely(self._run, ref, options)
            if ref.startswith("@"):
                self._keep(key, document)
        return document

    def _keep(self, key: tuple[str, Options, int], document: Document) -> None:
        """Pages are kept until the run changes: going back to one reads nothing again."""
        self._kept[key] = document
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def names(self, ticket: int, document: Document, options: Options) -> None:
        """Find out what the names of a document that is shown mean."""
        self._later.submit(self._names, ticket, document, options)

    def _names(self, ticket: int, document: Document, options: Options) -> None:
        from tltui.documents.names import LANGUAGES, UP_TO, names_of

        if ticket != self._ticket or document.language not in LANGUAGES:
            return
        if isinstance(document, BytesDocument) and document.payload.size > UP_TO:
            return
        if (names := names_of(self.own_copy(document, options))) is not None:
            self._post(NamesReady(ticket, names))

    def own_copy(self, document: Document, options: Options) -> Document:
        """The same document for another thread than the one that shows it: what reads and indexes payloads is made again."""
        if not isinstance(document, BytesDocument) or not document.ref:
            return document
        from tltui.documents.build import build_safely

        with self._reading:
            return build_safely(self._run, document.ref, options)

    def check(self, ticket: int, document: Document) -> None:
        """Compare the md5 of a large payload that is already shown."""
        if isinstance(document, BytesDocument):
            self._later.submit(self._check, ticket, document)

    def _check(self, ticket: int, document: BytesDocument) -> None:
        from tltui.documents.artifact import UNCHECKED, badge_of

        if ticket != self._ticket or not document.badge.startswith(UNCHECKED):
            return
        try:
            node = self._run.resolve(document.ref)
            badge = badge_of(node.log.check(node.record), self._ascii) if isinstance(node, Artifact) else ""
        except (BadAddress, OSError) as error:
            badge = f"md5 not checked: {error}"
        document.badge = badge + document.badge[len(UNCHECKED) :]
        document.version += 1
        self._post(DocumentGrown(ticket, document))
