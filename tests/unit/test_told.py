"""What inputs besides a trace can tell: the table."""

from __future__ import annotations

from tltui.model.input_coverage import EVIDENCE, TEXT, Needs, untold
from tltui.model.nodes import Process
from tltui.questions.index import QUESTIONS
from tltui.questions.question import question_of
from tltui.trace.batch import Kind
from tltui.trace.files import FileBytes
from tltui.trace.log import Log


def needs_of(page: str) -> Needs:
    return question_of(page).needs


def process(*names: str, origins: tuple[str, ...] = (TEXT,)) -> Process:
    log = Log("job.err", FileBytes("job.err"))
    log.ended = True
    log.kinds = [Kind("artifact", name) for name in names]
    return Process(log, 1, origins=frozenset(origins))


def test_what_a_row_names_can_be_seen_in_text() -> None:
    named = {name for question in QUESTIONS for name in needs_of(question.name).logs}
    assert named <= set(EVIDENCE)


def test_a_page_that_text_has_nothing_of_says_how_to_have_it() -> None:
    assert untold([process()], needs_of("timing")) == "TORCH_LOGS text has no times. To record a trace, set TORCH_TRACE=DIR."


def test_a_page_names_the_log_that_it_is_made_of_until_it_is_seen() -> None:
    said = "TORCH_LOGS text lacks guards. To log them as text, set TORCH_LOGS=guards."
    assert untold([process("recompile_reasons")], needs_of("guards")) == said
    assert untold([process("dynamo_cpp_guards_str")], needs_of("guards")) == ""


def test_a_debug_directory_has_words_of_its_own() -> None:
    alone = [process(origins=("debug_dir",))]
    said = "A torch_compile_debug directory lacks guards. To record a trace, set TORCH_TRACE=DIR."
    assert untold(alone, needs_of("guards")) == said
    assert untold(alone, needs_of("passes")) == untold(alone, needs_of("provenance")) == ""


def test_of_some_processes_the_page_says_of_how_many() -> None:
    some = [process(), process(origins=("trace",)), process(origins=("trace", TEXT))]
    assert untold(some, needs_of("timing")).startswith("1 of 3 processes is only in TORCH_LOGS text, which has no times.")
    assert untold(some[1:], needs_of("timing")) == ""
