"""Make docs/questions: a page per question from its declaration. `python tools/renew.py` writes them.

The example of a page is a block of tools/make_guide.py, which writes the output into it; here the output that is in the file stays.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from pathlib import Path

from make_api import definition
from make_guide import BLOCK
from make_man import value
from make_tables import with_table

from tltui.api.views import result_type
from tltui.cli.registry import parser_of
from tltui.cli.schema import field_docs, field_names
from tltui.model.input_coverage import Needs
from tltui.questions.index import QUESTIONS, Entry
from tltui.questions.question import Question, question_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "questions"
INDEX = ROOT / "docs" / "index.md"
LINES = 24
"""Lines of an example that are shown."""
EXAMPLES = {
    "runtime": ("profiler/mlp as trace", "trace --profile trace/profile.json"),
    "ranks": ("torch-2.13/diverge as trace", "trace"),
    "matrix": ("torch-2.13/diverge as trace", "trace"),
    "where": ("jobs/killed_backward/trace as trace", "trace"),
    "provenance": ("demo as demo", "--demo 0:0/0"),
    "layers": ("demo as demo", "--demo 0:0/0"),
    "memory": ("demo as demo", "--demo 0:0/0"),
    "passes": ("demo as demo", "--demo 0:0/0"),
    "blocks": ("blocks as trace", "trace"),
    "fusion": ("inputs/fusion/train.txt.xz as job.err.xz", "job.err.xz"),
    "exports": ("torch-2.13/export_draft as trace", "trace"),
    "vllm": ("torch-2.13/vllm_like as trace", "trace"),
    "cudagraphs": ("inputs/threads/cpu_device.txt as job.err", "job.err"),
    "autotune": ("inputs/autotune/output.txt as job.out", "job.out"),
}
"""Question → the trace of its example and the arguments; by default the demo."""
DEFAULT = ("demo as demo", "--demo")


def page(entry: Entry, present: str) -> str:
    """Return the page of a question. `present`: its text now, '' for none."""
    question, parser = question_of(entry.name), parser_of(entry.name)
    return "\n".join(
        [
            f"# {entry.name}", "", f"Made by `python tools/renew.py` from `{entry.module}`.", "", str(parser.description), "",
            *_ways(question), "",
            "## Example", "", *_example(entry.name, present), "",
            "## Options", "", *_options(parser), "",
            "## Inputs", "", *_inputs(question.needs), "",
            "## Python and JSON", "", *_api(question), "",
        ]
    )  # fmt: skip


def _ways(question: Question) -> Iterator[str]:
    opening = f"the key `{question.key}`, or " if question.key else ""
    yield f"- On the screen: {opening}`o` and `{question.name}`."
    yield f"- As a command: `tltui {question.name}`."
    yield f"- In Python: `tltui.{question.name}(run)`."


def _example(name: str, present: str) -> Iterator[str]:
    inputs, arguments = EXAMPLES.get(name, DEFAULT)
    command = f"tltui {name} {arguments}"
    block = BLOCK.search(present)
    printed = block["output"] if block and block["command"] == command else ""
    yield from (f"<!-- run: {inputs}, head {LINES} -->", "```console", f"$ {command}", *printed.splitlines(), "```")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    common = parser.common._group_actions
    yield from ("| option | meaning |", "| --- | --- |")
    for action in parser._actions:
        if action.help in (None, argparse.SUPPRESS) or action in common or not action.option_strings or action.dest == "help":
            continue
        names = ", ".join(f"{name} {value(action)}".rstrip() for name in action.option_strings)
        help_ = str(action.help) % {"prog": parser.prog, "default": action.default}
        yield f"| `{_cell(names)}` | {_cell(help_)} |"
    names = ", ".join(f"`{action.option_strings[-1]}`" for action in common if action.help != argparse.SUPPRESS)
    yield f"| {names} | [the same for each command](../command-line.md#on-the-command-line) |"


def _inputs(needs: Needs) -> Iterator[str]:
    yield "- A trace (`TORCH_TRACE`)."
    if needs.logs:
        shows = f", for {needs.shows}" if needs.shows else ""
        yield f"- The output of a job with `TORCH_LOGS={','.join(needs.logs)}`{shows}."
    if needs.lacks:
        yield f"- TORCH_LOGS text {needs.lacks}."
    if needs.in_debug_dir:
        yield "- A directory `torch_compile_debug`."
    if needs.in_vllm_cache:
        yield "- A compile cache of vLLM."
    if needs.reads_output:
        yield "- The output of a job, also without a compile."
    if needs.reads_engine_log:
        yield "- The log of vLLM or SGLang."


def _api(question: Question) -> Iterator[str]:
    signature = definition(question.name, result_type(question)).split(":\n")[0]
    yield from ("```python", f"{signature}: ...", "```", "", _fenced(inspect.cleandoc(question.doc)))
    yield from ("", f"`tltui schema {question.name}` prints the schema of its JSON. Each row of `to_records()` has:", "")
    yield from ("| column | type | meaning |", "| --- | --- | --- |")
    docs = field_docs(question.rows)
    for field in field_names(question.rows):
        kind = str(question.rows.__annotations__[field]).replace(" | None", "?")
        yield f"| `{field}` | `{_cell(kind)}` | {_cell(docs[field])} |"


def _fenced(doc: str) -> str:
    """Return a docstring with its lines of the Python shell as code."""
    paragraphs = doc.split("\n\n")
    return "\n\n".join(f"```pycon\n{text}\n```" if text.startswith(">>> ") else text for text in paragraphs)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _links() -> str:
    rows = "".join(f"| [{entry.name}](questions/{entry.name}.md) | `{entry.key}` | {_cell(entry.help)} |\n" for entry in QUESTIONS)
    return "| question | key | answer |\n| --- | --- | --- |\n" + rows.replace("| `` |", "| |")


def generated() -> dict[Path, str]:
    """Return each file and its text."""
    paths = {FOLDER / f"{entry.name}.md": entry for entry in QUESTIONS}
    pages = {path: page(entry, path.read_text("utf-8") if path.exists() else "") for path, entry in paths.items()}
    return {INDEX: with_table(INDEX.read_text("utf-8"), "questions", _links()), **pages}
