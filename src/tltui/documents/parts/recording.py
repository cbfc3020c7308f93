"""How a profile is recorded, on pages and after `tltui run`."""

from __future__ import annotations

from tltui.analyses.runtime.recording import Recording, recording_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options

WITHOUT_EDITING = "tltui run --record-steps 5:10 -- "
CHANGES_KEY = (
    "The setting is part of the key of Inductor's caches: such a run finds nothing that other runs cached, its kernels do a little "
    "more, and how long it compiles says nothing about the job without it."
)
TRITON_NEEDS_NOTHING = "Triton kernels are in a profile without a setting."


def add_recording(page: Page, recording: Recording) -> None:
    """What to do so that there is a profile."""
    page.say("Record some steps without a change to the program (tltui run --help says what a step is):", "")
    started = f"torchrun --nproc-per-node {recording.ranks} train.py" if recording.ranks > 1 else "python train.py"
    page.add("  ", (WITHOUT_EDITING + started, tokens.NAME))
    page.blank()
    page.say("Or put this into the program, and run it with TORCH_TRACE:", "")
    add_lines(page, recording)


def recording_document(run: Run | None, options: Options) -> Document:
    """The lines to paste alone: for where a start-up hook did not do."""

    page = Page("recording", "how to record", options)
    add_lines(page, recording_of(run))
    return page.document()


def add_lines(page: Page, recording: Recording) -> None:
    """The lines to paste, and what is to be known of them."""
    for line in recording.lines:
        page.add("  ", (line, tokens.NAME)) if line else page.blank()
    page.blank()
    if recording.loop is not None:
        place = page.place(recording.loop.file, recording.loop.line)
        page.row(["The loop is the one around the call at ", place, "."], "")
    for text in remarks(recording):
        page.say(text, "")


def remarks(recording: Recording) -> tuple[str, ...]:
    """What is to be known of it."""
    said = []
    if recording.ranks > 1:
        said.append(f"Each of the {fmt.count(recording.ranks)} ranks writes a file of its own.")
    if recording.cpu:
        said.append(CHANGES_KEY)
    if recording.gpu:
        said.append(TRITON_NEEDS_NOTHING)
    said.append("tltui runtime DIR reads the profile that lies beside the log; --profile FILE names one that lies elsewhere.")
    return tuple(said)
