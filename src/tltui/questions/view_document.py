"""The document of a view: its page about a part of the run, or a note where the inputs contain nothing for it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from tltui.documents.page import Page
from tltui.documents.scope import Scope, scope_of, stands_for
from tltui.model.input_coverage import TEXT, is_untold, untold
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.index import QUESTIONS, Entry
from tltui.questions.question import question_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece


def view_document(run: Run, view: Entry, ref: Ref, options: Options) -> Document:
    """The document of a view about the part of the run that `ref` names. Raises `BadAddress`."""
    question = question_of(view.name)
    make = question.document
    scope = replace(scope_of(run, ref), n=ref.n)
    options = replace(options, goes_on=run.goes_on, newest=run.restarted)
    if view.name == "summary":  # an overview says it below its title
        return make(run, scope, options)
    about = "" if str(scope.ref) else stands_for(run)
    options = replace(options, untold=untold(scope.processes, question.needs), about=about)
    if is_untold(scope.processes, question.needs):
        return _untold_document(view, scope, options, make(run, scope, options))
    return make(run, scope, options)


def _untold_document(view: Entry, scope: Scope, options: Options, made: Document) -> Document:
    """A page of which nothing is told: it says that, not that there is nothing. Its result is what it ever is."""

    def fill(page: Page) -> Generator[None, None, object]:
        if any(TEXT in process.origins for process in scope.processes):
            page.add("What is there: ", ("@log", tokens.LINK, str(scope.ref.at("log"))), " every line as it was written")
        else:
            links: list[Piece] = ["What is there:"]
            for name in (other.name for other in QUESTIONS if other.in_debug_dir):
                links += [" ", (name, tokens.LINK, str(scope.ref.at(name)))]
            page.row(links, "")
        while not made.advance():
            yield
        return made.data()

    return GrowingDocument(scope.page(view.name), f"{view.name}{scope.title}", options, fill, Page)
