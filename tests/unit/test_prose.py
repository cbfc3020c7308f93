"""Torch's prose: a table of real samples for each grammar (shortened where a line says the same), of torch 2.4 to 2.13."""

from __future__ import annotations

import pytest

from tltui.model.status import error_name
from tltui.questions.problems.compile_problems import hints_without_nesting, parse_break, read_reason, read_record
from tltui.questions.stacks.tracebacks import last_raised, read_traceback, traceback_frames, user_stack

# messages of graph breaks

CALL = """\
Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None
  Hint: Remove the `torch._dynamo.graph_break()` call.

  Developer debug context: Called `torch._dynamo.graph_break()` with args `[]`, kwargs `{}`

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html"""
IN_MANAGER = """\
Graph break under GenericContextWrappingVariable
  Explanation: Attempted to graph break in an active context manager(s) that doesn't support graph breaking.
  Hint: Move the offending context manager(s) to outside the compiled region.
  Hint: This graph break may have been caused by an earlier graph break. Resolving the earlier graph break may resolve this one.

  Developer debug context: Active generic context managers: [GenericContextWrappingVariable(Odd)]

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0066.html"""
IN_LOOP = """\
graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop. Skipping the frame and falling back to eager.
  Hint: This graph break may have been caused by an earlier graph break. Resolving the earlier graph break may resolve this one.

  Developer debug context: frame skipped: skipped (/home/user/models/breaks2.py line 48)

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb7000.html"""
NESTED = "\n\n*** While handling this graph break, another graph break occurred: ***\n\n"
SKIPPING = "Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:\n\n"
STOPPING = (
    "Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, "
    "then skipping the rest of the function. Graph break encountered:\n\n"
)


@pytest.mark.parametrize(
    ("text", "headline", "gb", "op", "later", "skips", "stops"),
    [
        (CALL, "Call to `torch._dynamo.graph_break()`", "gb0025", "", [], False, False),
        ("Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n" + CALL,
         "Call to `torch._dynamo.graph_break()`", "gb0025", "CALL: a function call, e.g. f(x, y)", [], False, False),
        (SKIPPING + CALL + NESTED + IN_LOOP, "Call to `torch._dynamo.graph_break()`", "gb0025", "",
         [("graph break in loop", "gb7000")], True, False),
        (SKIPPING + CALL + NESTED + IN_MANAGER, "Call to `torch._dynamo.graph_break()`", "gb0025", "",
         [("Attempted to graph break in an active context manager(s) that doesn't support graph breaking.", "gb0066")],
         True, False),
        (STOPPING + CALL, "Call to `torch._dynamo.graph_break()`", "gb0025", "", [], False, True),
        ("Encountered intentional debugging graph break:\n\n" + CALL, "Call to `torch._dynamo.graph_break()`", "gb0025", "", [],
         False, False),
        # the wrapper alone: what torch says about it, not its name
        (IN_MANAGER, "Attempted to graph break in an active context manager(s) that doesn't support graph breaking.", "gb0066", "",
         [], False, False),
        # torch 2.6, as the metrics and as the record have it; 2.4
        ("'skip function graph_break in file /opt/venv/lib/python3.11/site-packages/torch/_dynamo/decorators.py'",
         "skip function graph_break in file /opt/venv/lib/python3.11/site-packages/torch/_dynamo/decorators.py", None, "", [],
         False, False),
        ("Unsupported: 'skip function graph_break in file /opt/x.py'", "skip function graph_break in file /opt/x.py", None, "", [],
         False, False),
        ("builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False",
         "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False", None, "", [], False, False),
        ("", "", None, "", [], False, False),
    ],
)  # fmt: skip
def test_messages_of_breaks(
    text: str, headline: str, gb: str | None, op: str, later: list[tuple[str, str]], skips: bool, stops: bool
) -> None:
    found = read_reason(text)
    assert (found.first.headline, found.first.gb, found.op, found.skips, found.stops) == (headline, gb, op, skips, stops)
    assert [(reason.headline, reason.gb) for reason in found.later] == later


def test_each_of_nested_breaks_has_its_own_words() -> None:
    found = read_reason(SKIPPING + CALL + NESTED + IN_MANAGER + NESTED + IN_LOOP)
    assert found.first.hints == ("Remove the `torch._dynamo.graph_break()` call.",)
    assert found.first.context == "Called `torch._dynamo.graph_break()` with args `[]`, kwargs `{}`"
    manager, loop = found.later
    assert hints_without_nesting(manager) == ("Move the offending context manager(s) to outside the compiled region.",)
    assert manager.context == "Active generic context managers: [GenericContextWrappingVariable(Odd)]"
    assert loop.explanation.startswith("torch.compile detected a graph break in a for/while loop.")
    assert hints_without_nesting(loop) == ()


def test_what_has_no_known_shape_is_kept() -> None:
    text = (
        "Data-dependent branching\n  Explanation: Detected data-dependent branching.\n\n"
        "    The branch condition involves a tensor computed as follows:\n        l_scale_: graph input (L_scale_)\n"
        "  Hint: Use `torch.cond`.\n"
    )
    found = read_reason(text).first
    assert found.unparsed.split() == text.partition("\n\n")[2].partition("  Hint")[0].split()
    assert (found.explanation, found.hints) == ("Detected data-dependent branching.", ("Use `torch.cond`.",))
    assert read_reason("one\ntwo\nthree").first.unparsed == "two\nthree"


def test_a_higher_order_operator() -> None:
    text = "Unsupported method call\n  Higher Order Operator: torch.ops.higher_order.cond\n  Explanation: Why.\n"
    found = read_reason(text).first
    assert (found.headline, found.operator, found.explanation) == (
        "Unsupported method call", "torch.ops.higher_order.cond", "Why.",
    )  # fmt: skip


# records of graph breaks

USER = (
    'User code traceback:\n  File "/home/user/m.py", line 79, in <module>\n    f(x)\n'
    '  File "/home/user/m.py", line 43, in f\n    g()\n'
)
TORCH = (
    'Traceback (most recent call last):\n  File "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/symbolic_convert.py",'
    " line 1076, in wrapper\n    return inner_fn(self, inst)\n           ^^^^^^^^^^^^^^^^^^^^\n"
    'torch._dynamo.exc.Unsupported: Call to f\n  Explanation: of the traceback.\n'
)
SOURCES = (
    'Stack variable source attribution:\n  WithExitFunctionVariable() originated from:\n  File "/home/user/m.py", line 41\n'
    "        with Odd():\n        ^^^^^^^^^^^\n\n"
)


@pytest.mark.parametrize(
    ("text", "headline", "place", "stack"),
    [
        (f"Graph break in user code at /home/user/m.py:43\nGraph Break Reason: {CALL}\n\n{SOURCES}{USER}\n{TORCH}",
         "Call to `torch._dynamo.graph_break()`", ("/home/user/m.py", 43, "f"), [79, 43]),
        # torch 2.6
        (f"Graph break in user code at /home/user/m.py:43\nReason: Unsupported: builtin: print [x] False\n{USER}\n{TORCH}",
         "builtin: print [x] False", ("/home/user/m.py", 43, "f"), [79, 43]),
        # TORCHDYNAMO_VERBOSE=1
        ("Graph break in user code at /home/user/m.py:43\nGraph Break Reason: why\n\nUser code traceback:\n"
         '  File "/home/user/m.py", line 79, in <module>\n    f(x)\n\n'
         "========== most recent `torch.compile` tracing attempt started here ==========\n\n"
         '  File "/home/user/m.py", line 43, in f\n    g()\n\nNOTE: the most recent `torch.compile` tracing attempt\n',
         "why", ("/home/user/m.py", 43, "f"), [79, 43]),
        ("WON'T CONVERT f /home/user/m.py line 40\n========== TorchDynamo Stack Trace ==========\n" + TORCH +
         "\n========== The above exception occurred while processing the following code ==========\n\n"
         '  File "/home/user/m.py", line 43, in f\n    g()\n\n==========',
         "Call to f", ("/home/user/m.py", 43, "f"), [43]),
    ],
)  # fmt: skip
def test_records_of_breaks(text: str, headline: str, place: tuple[str, int, str], stack: list[int]) -> None:
    found = read_record(text)
    assert found.reason.first.headline == headline and (found.file, found.line, found.function) == place
    assert [frame.line for frame in found.stack] == stack


def test_the_line_that_leads_is_one_of_the_program() -> None:
    torch = "/opt/venv/lib/python3.11/site-packages/torch/optim/optimizer.py"
    library = "/opt/venv/lib/python3.11/site-packages/transformers/generic.py"
    frames = {name: f'  File "{path}", line 7, in {name}\n' for name, path in (("u", "/home/u/m.py"), ("l", library), ("t", torch))}
    for order, leads in (("ult", "u"), ("lt", "l"), ("t", "t")):
        text = f"Graph break in user code at {torch}:7\nGraph Break Reason: why\n\nUser code traceback:\n"
        found = parse_break(text + "".join(frames[name] for name in order))
        assert found.lead is not None and found.lead.name == leads
        assert found.file == torch


# tracebacks


def shape(text: str) -> list[tuple[str, str, str, list[str]]]:
    return [(part.kind, part.link, part.type, [frame.name for frame in part.frames]) for part in read_traceback(text)]


FRAME = '  File "/home/user/m.py", line 3, in f\n    g()\n    ^^^\n'
HEAD = "Traceback (most recent call last):\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
IR_DUMP = """\
Traceback (most recent call last):
  File "/home/user/m.py", line 14, in lower_odd
    raise ValueError("no lowering for this size") from e
torch._inductor.exc.InductorError: LoweringException: ValueError: no lowering for this size
  target: demo.odd.default
  args[0]: TensorBox(StorageBox(
    Pointwise(
      'cpu',
      stack_traces = {,
        File "/home/user/m.py", line 17, in lowering,
          return torch.ops.demo.odd(x.sin()).cos(),
                                    ^^^^^^^^^^^^^^,
      ,
      }
    )
  ))
Found from :\x20
   File "/home/user/m.py", line 18, in lowering
    return torch.ops.demo.odd(x.sin()).cos()
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^


Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/user/m.py", line 9, in <module>
  |     raise ExceptionGroup("both", es)
  | ExceptionGroup: both (3 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/user/m.py", line 2, in g
    |     def g(k): raise ValueError(k)
    |               ^^^^^^^^^^^^^^^^^^^
    | ValueError: 1
    +---------------- 2 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/home/user/m.py", line 7, in <module>
    |     try: raise ExceptionGroup("sub", [TypeError("in")])
    | ExceptionGroup: sub (1 sub-exception)
    +-+---------------- 1 ----------------
      | TypeError: in
      +------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (HEAD + FRAME + "ValueError: a\nb\n", [("raised", "", "ValueError", ["f"])]),
        (HEAD + FRAME + "x.OutError\n", [("raised", "", "OutError", ["f"])]),
        (HEAD + FRAME + "KeyError: 'k'\n" + CAUSE + HEAD + FRAME + "ValueError: v\n" + HANDLING + HEAD + FRAME + "IndexError: i\n",
         [("raised", "", "KeyError", ["f"]), ("raised", "caused", "ValueError", ["f"]),
          ("raised", "while handling", "IndexError", ["f"])]),
        (HEAD + FRAME + "x.Unsupported: no\n\nfrom user code:\n   File \"/home/user/m.py\", line 30, in middle\n    x = leaf(x)\n"
         '  File "/home/user/m.py", line 24, in leaf\n    stop()\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n',
         [("raised", "", "Unsupported", ["f"]), ("user", "", "", ["middle", "leaf"])]),
        (IR_DUMP, [("raised", "", "InductorError", ["lower_odd"]), ("user", "", "", ["lowering"])]),
        # the message alone, as `fail_reason` has it
        (IR_DUMP.partition("InductorError: ")[2], [("user", "", "", ["lowering"])]),
        (HEAD + FRAME + "RuntimeError: Caught ValueError in worker 0.\nOriginal " + HEAD + FRAME + "ValueError: inner\n",
         [("raised", "", "RuntimeError", ["f"]), ("raised", "quoted", "ValueError", ["f"])]),
        (GROUP, [("raised", "", "ExceptionGroup", ["<module>"]), ("raised", "member", "ValueError", ["g"]),
                 ("raised", "member", "ExceptionGroup", ["<module>"]), ("raised", "member", "TypeError", [])]),
        ("Consider annotating your code.\n\nUser Stack (most recent call last):\n  (snipped, see stack below for prefix)\n"
         + FRAME + "\nFor C++ stack trace, run with X=1\n", [("user", "", "", ["f"])]),
        (SOURCES + FRAME, []),
        (HEAD + '  File "<string>", line 1\n    1+\n      ^\nSyntaxError: invalid syntax\n',
         [("raised", "", "SyntaxError", ["?"])]),
        (FRAME + FRAME, [("bare", "", "", ["f", "f"])]),
        # only the end of a very long one is read
        ("g()\n" + FRAME + "torch._dynamo.exc.Unsupported: no\n", [("raised", "", "Unsupported", ["f"])]),
        ("NoneType: None\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_parts_of_tracebacks(text: str, parts: list[tuple[str, str, str, list[str]]]) -> None:
    assert shape(text) == parts


def test_a_line_of_an_ir_dump_is_no_frame() -> None:
    assert [(frame.name, frame.line, frame.code) for frame in traceback_frames(IR_DUMP)] == [
        ("lower_odd", 14, 'raise ValueError("no lowering for this size") from e'),
        ("lowering", 18, "return torch.ops.demo.odd(x.sin()).cos()"),
    ]
    assert traceback_frames('stack_traces = {, File "/home/user/m.py", line 3, in f,\n  return x.sin(),\n') == ()


def test_an_exception_is_no_source_line() -> None:
    (frame,) = traceback_frames(HEAD + '  File "<eval_with_key>.3", line 5, in forward\nValueError: no\n')
    assert frame.code is None


def test_notes_are_part_of_the_message() -> None:
    found = last_raised(read_traceback(HEAD + FRAME + "ValueError: a\nnote: look there\n"))
    assert found is not None and found.message == "a\nnote: look there"


def test_repeated_lines_are_counted() -> None:
    text = HEAD + FRAME + "  [Previous line repeated 997 more times]\n" + FRAME + "RecursionError: too deep\n"
    assert [frame.repeat_count for frame in traceback_frames(text)] == [997, 0]


def test_what_a_chain_is_about_and_where_the_program_was() -> None:
    quoted = read_traceback(HEAD + FRAME + "RuntimeError: Caught it.\nOriginal " + HEAD + FRAME + "ValueError: inner\n")
    assert (last := last_raised(quoted)) is not None and last.type == "RuntimeError"
    assert [frame.line for frame in user_stack(read_traceback(IR_DUMP))] == [18]
    assert user_stack(quoted) == () and last_raised(()) is None


def test_any_text_is_read() -> None:
    whole = IR_DUMP + GROUP + CAUSE + HEAD + FRAME
    for cut in range(0, len(whole), 7):
        read_traceback(whole[cut:] + whole[:cut])
        read_record(whole[cut:])
        read_reason(whole[:cut])


# names of exceptions


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<class 'torch._dynamo.exc.Unsupported'>", "Unsupported"),  # torch 2.4
        ("torch._dynamo.exc.Unsupported", "Unsupported"),
        ("Unsupported", "Unsupported"),
        ("<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>", "TensorifyScalarRestartAnalysis"),
        ("guard failed. It was so", "guard failed. It was so"),
        ("", ""),
    ],
)
def test_names_of_exceptions(text: str, name: str) -> None:
    assert error_name(text) == name
