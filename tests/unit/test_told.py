"""What inputs besides a trace can tell: the table."""

from __future__ import annotations

from tltui.model.input_coverage import EVIDENCE, NEEDS, TEXT, untold
from tltui.model.nodes import Process
from tltui.questions.table import VIEWS
from tltui.trace.batch import Kind
from tltui.trace.files import FileBytes
from tltui.trace.log import Log


def process(*names: str, origins: tuple[str, ...] = (TEXT,)) -> Process:
    log = Log("job.err", FileBytes("job.err"))
    log.ended = True
    log.kinds = [Kind("artifact", name) for name in names]
    return Process(log, 1, origins=frozenset(origins))


def test_each_view_has_a_row() -> None:
    assert set(NEEDS) == {view.name for view in VIEWS}


def test_what_a_row_names_can_be_seen_in_text() -> None:
    named = {name for needs in NEEDS.values() for name in needs.logs}
    assert named <= set(EVIDENCE)


def test_a_page_that_text_has_nothing_of_says_how_to_have_it() -> None:
    assert untold([process()], "timing") == "TORCH_LOGS text has no times: record a trace with TORCH_TRACE=DIR."


def test_a_page_names_the_log_that_it_is_made_of_until_it_is_seen() -> None:
    said = "TORCH_LOGS text has guards only where TORCH_LOGS=guards was set, and nothing in it shows that."
    assert untold([process("recompile_reasons")], "guards") == said
    assert untold([process("dynamo_cpp_guards_str")], "guards") == ""


def test_a_debug_directory_has_words_of_its_own() -> None:
    alone = [process(origins=("debug_dir",))]
    assert untold(alone, "guards") == "A torch_compile_debug directory does not have guards: record a trace with TORCH_TRACE=DIR."
    assert untold(alone, "passes") == untold(alone, "provenance") == ""


def test_of_some_processes_the_page_says_of_how_many() -> None:
    some = [process(), process(origins=("trace",)), process(origins=("trace", TEXT))]
    assert untold(some, "timing").startswith("1 of 3 processes is known from TORCH_LOGS text alone, which has no times:")
    assert untold(some[1:], "timing") == ""
