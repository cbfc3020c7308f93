"""The page `blocks`: repeated blocks of a model, and the predicted effect of compiling each block separately."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.rank_groups import alike_on_ranks, on_ranks
from tltui.documents.scope import Scope
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.model.status import DEFAULT_LIMIT
from tltui.questions.blocks.block_costs import CompileBlocks, GroupCost, blocks_of, graph_blocks_of
from tltui.questions.blocks.graph_blocks import BlockGroup, DifferentBlock, GraphBlocks, GuardedValue, class_versions
from tltui.questions.coverage.input_sections import Away, add_not_indexed
from tltui.questions.question import Question
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

AT_MOST = 200
"""Compiles that are examined, the slowest first: a block matters where compiling takes long."""
DIFFERENT_SHOWN = 8
LOST_SHOWN = 12
LABEL = 14
NOTHING = "No repeated blocks: no list of modules has two members with equal graphs."
BASIS = (
    "The prediction scales the times of this compile with its numbers of nodes and kernels. docs/blocks-measured.md compares it"
    " with measurements."
)
Line = tuple[BlockGroup, GroupCost, int, str]
"""A group, its cost, the nodes of the graph, and its list, with its modules where the list has several groups."""

LEAST_SHARE, LEAST_BLOCKS, LEAST_S = 0.5, 4, 2.0
"""Share of repeated nodes, number of equal blocks, and seconds of a compile: from here on `timing` has a line."""
ON_TIMING = 8
"""Compiles up to which `timing` looks for repeated blocks."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page about a part of the run."""

    def fill(page: Page) -> Generator[None, None, tuple[CompileBlocks, ...]]:
        is_one = len(scope.compiles) == 1
        page.add((f"Blocks of [{scope.compiles[0].ref}]" if is_one else f"Blocks{scope.title}", tokens.TITLE))
        results, away = yield from _read(scope)
        if not results:
            if not away:
                page.say(page.so_far(NOTHING), "", tokens.DIM)
        elif is_one or len(results) == 1:
            _compile(page, results[0])
        else:
            _many(page, results)
        if len(scope.compiles) > AT_MOST:
            page.say(f"Examined: the {AT_MOST} slowest of {fmt.count(len(scope.compiles))} compiles.", "", tokens.DIM)
        add_not_indexed(page, away, "blocks")
        page.more()
        return results

    return GrowingDocument(scope.page("blocks"), f"blocks{scope.title}", options, fill, Page)


def _read(scope: Scope) -> Generator[None, None, tuple[tuple[CompileBlocks, ...], list[Away]]]:
    results, away = [], []
    for compile_ in examined(scope.compiles):
        yield
        try:
            blocks = blocks_of(compile_)
        except Elsewhere as error:
            away.append((str(compile_.ref), error))
            continue
        if blocks is not None:
            results.append(replace(blocks, function=display_name(compile_.frame)))
    return tuple(results), away


def examined(compiles: Sequence[Compile]) -> list[Compile]:
    """Return the compiles to examine, in their order."""
    if len(compiles) <= AT_MOST:
        return [compile_ for compile_ in compiles if compile_.is_compile]
    slowest = sorted(compiles, key=lambda compile_: -compile_.compile_s)[:AT_MOST]
    chosen = {id(compile_) for compile_ in slowest}
    return [compile_ for compile_ in compiles if id(compile_) in chosen and compile_.is_compile]


def share_of(blocks: CompileBlocks | GraphBlocks) -> str:
    """Return `93%`, the share of nodes in repeated blocks."""
    return fmt.percent(blocks.repeated_nodes, blocks.nodes).strip()


def _many(page: Page, results: Sequence[CompileBlocks]) -> None:
    """Add a line per compile with repeated blocks; compiles of several ranks that are alike share a line."""
    for group in alike_on_ranks(results, lambda blocks: blocks.ref, page.newest, lambda blocks: blocks.groups):
        blocks = group[0]
        pieces = [
            piece for ranks in on_ranks((one.ref for one in group), page.newest) for piece in ranks.pieces(f"@blocks:{ranks.ref}")
        ]
        words = ", ".join(map(_name_of, blocks.groups))
        pieces.append(f"  {words}, {share_of(blocks)} of the nodes")
        if blocks.separate_s is not None and blocks.compile_s is not None:
            took = f"{fmt.seconds(blocks.compile_s)} → ≈ {fmt.seconds(blocks.separate_s)}"
            pieces += ["  compile time ", (took, tokens.NUMBER), " if each block is compiled separately"]
        page.row(pieces, "")


GROUPS: Table[Line] = Table((
    Column("blocks", lambda line: (_name_of(line[0]), tokens.STRONG), shrinks=False),
    Column("list", lambda line: line[3], drop=1),
    Column("nodes each", lambda line: (fmt.count(line[0].nodes), tokens.NUMBER), right=True, drop=3, shrinks=False),
    Column("of all", lambda line: fmt.percent(line[0].nodes * line[0].calls, line[2]), right=True, shrinks=False),
    Column("kernel calls", lambda line: _count(line[1].kernel_calls), right=True, drop=2, shrinks=False),
    Column("versions", lambda line: _versions_cell(line[0].versions), right=True, shrinks=False),
    Column("compile", lambda line: (_about(line[1].compile_s), tokens.NUMBER), right=True, shrinks=False),
))  # fmt: skip


def _versions_cell(count: int) -> Piece:
    return (fmt.count(count), tokens.WARN if count > 1 else "")


def _count(value: int | None) -> str:
    return "unknown" if value is None else f"≈ {fmt.count(value)}"


def _about(value: float | None) -> str:
    return "unknown" if value is None else f"≈ {fmt.seconds(value)}"


def _compile(page: Page, blocks: CompileBlocks) -> None:
    """Add all sections about one compile."""
    words: list[Piece] = [(f"[{blocks.ref}]", tokens.LINK, blocks.ref)]
    if blocks.function:
        words.append((sanitize(blocks.function), tokens.FUNCTION))
    words.append(f"{fmt.plural(blocks.nodes, 'captured node')}, {share_of(blocks)} in repeated blocks")
    page.joined(words)
    page.blank()
    pairs = zip(blocks.groups, blocks.costs, strict=True)
    page.table(GROUPS, [(group, cost, blocks.nodes, _place(blocks, group)) for group, cost in pairs])
    _prediction(page, blocks)
    if blocks.separate_s is not None and blocks.compile_s is not None and blocks.separate_s >= blocks.compile_s:
        page.blank()
        page.say("Compiling each block separately would not save compile time.", "")
    else:
        _how(page, blocks)
    _versions(page, blocks)
    _different(page, blocks)
    _lost(page, blocks)


def _place(blocks: CompileBlocks, group: BlockGroup) -> str:
    """Return the lists of a group; its modules where other groups have modules of the same lists."""
    others = (other for other in blocks.groups if other is not group)
    if any(not set(other.containers).isdisjoint(group.containers) for other in others):
        return members_of(group.members)
    return sanitize(", ".join(group.containers))


def _with_members(blocks: CompileBlocks, group: BlockGroup) -> str:
    """Return the name of a group in a sentence: with its modules where several groups have the same name."""
    name = _name_of(group)
    is_unique = sum(_name_of(other) == name for other in blocks.groups) == 1
    return name if is_unique else f"{name} ({members_of(group.members)})"


def _prediction(page: Page, blocks: CompileBlocks) -> None:
    page.heading("Each block compiled separately (prediction)")
    if blocks.separate_s is None or blocks.compile_s is None:
        page.labelled("compile time", "unknown (the log has no times of this compile)", "  ", LABEL)
    else:
        together, separate = fmt.seconds(blocks.compile_s), fmt.seconds(blocks.separate_s)
        page.labelled("compile time", f"{together} → ≈ {separate}", "  ", LABEL)
    calls = fmt.plural(blocks.kernel_calls or 0, "call") + " per run"
    if blocks.kernel_calls is None:
        page.labelled("kernels", "unknown (the log has no generated code of this compile)", "  ", LABEL)
    elif blocks.separate_kernel_calls is None:
        page.labelled("kernels", f"{calls}; those of the blocks are unknown (no layers of kernels)", "  ", LABEL)
    else:
        page.labelled("kernels", f"{calls} → ≈ {fmt.count(blocks.separate_kernel_calls)} in the blocks", "  ", LABEL)
    if blocks.rest_nodes:
        verb = "runs" if blocks.rest_nodes == 1 else "run"
        text = f"{fmt.plural(blocks.rest_nodes, 'node')} outside of the blocks then {verb} in eager mode"
        if blocks.rest_kernel_calls:
            text += f" instead of in {fmt.plural(blocks.rest_kernel_calls, 'kernel call')} of their own"
        page.labelled("the rest", text, "  ", LABEL)
    count = sum(group.calls for group in blocks.groups)
    overhead = f"≈ +{blocks.call_overhead_us:,.0f} µs for {fmt.plural(count, 'call')} of compiled blocks"
    page.labelled("each run", overhead, "  ", LABEL)
    page.say(BASIS, "  ", tokens.DIM)


def _how(page: Page, blocks: CompileBlocks) -> None:
    page.heading("How to compile each block separately")
    page.say("Remove the torch.compile call of the whole model. Compile the blocks before the first call:", "  ")
    for container in dict.fromkeys(container for group in blocks.groups for container in group.containers):
        for line in compile_calls(blocks.groups, container):
            page.add("    ", (line, tokens.STRONG))


def _versions(page: Page, blocks: CompileBlocks) -> None:
    """Warn about guarded values that differ between the blocks, and about inputs without a gradient."""
    groups = [group for group in blocks.groups if group.versions > 1]
    if not groups:
        return
    page.heading("Recompilation")
    for group in groups:
        for value in group.guarded:
            _guarded_value(page, _with_members(blocks, group), value)
        if group.without_gradient:
            count = fmt.count(group.without_gradient)
            inputs = "the input of 1 call needs" if group.without_gradient == 1 else f"the inputs of {count} calls need"
            page.say(f"{_with_members(blocks, group)}: {inputs} no gradient. This takes one more version.", "  ")
        _frozen(page, group)
        for other in group.other_inputs[:DIFFERENT_SHOWN]:
            text = f"{sanitize(other.path)}: an input is {sanitize(other.type)}, not {sanitize(other.usual_type)}."
            page.say(f"{text} It takes one more version.", "  ")
    if blocks.versions > 1:
        text = f"All blocks of a class share the recompile limit, {blocks.limit_setting} ({DEFAULT_LIMIT} by default)."
        beyond, style = (", more than the default", tokens.WARN) if blocks.versions > DEFAULT_LIMIT else ("", "")
        need = f"The blocks of one class need {fmt.count(blocks.versions)} versions{beyond}."
        page.say(f"{text} {need} A block that needs a version beyond the limit runs in eager mode.", "  ", style)
    if blocks.integer_setting and any(value.is_integer for group in groups for value in group.guarded):
        page.row(["With ", (f"{blocks.integer_setting} = True", tokens.STRONG),
                  ", integer attributes become dynamic once they change: two versions then serve all blocks,"
                  " more if the code branches on the value."], "  ")  # fmt: skip


def _frozen(page: Page, group: BlockGroup) -> None:
    """Add the modules by their frozen parameters."""
    for one in group.frozen[:DIFFERENT_SHOWN]:
        count = "all" if not one.frozen else f"{fmt.count(one.frozen)} of {fmt.count(one.parameters)}"
        verb = "need gradients" if not one.frozen else "need no gradient"
        page.say(f"{members_of(one.paths)}: {count} parameters {verb}.", "  ")
    if group.frozen:
        page.say("Blocks with different frozen parameters take different versions.", "  ")


def _guarded_value(page: Page, name: str, value: GuardedValue) -> None:
    """Add an attribute with a guard and different values."""
    pieces: list[Piece] = [
        f"{name}: ", (sanitize(value.attribute), tokens.NAME), f" has {fmt.plural(value.values, 'value')} and a guard at ",
    ]  # fmt: skip
    file, _, line = value.place.rpartition(":")
    pieces += [page.place(file, int(line)), ". Each value needs a compiled version."]
    page.row(pieces, "  ")
    page.code(value.code, "    ")


def _different(page: Page, blocks: CompileBlocks) -> None:
    """Add the modules of the same lists whose graphs are not equal."""
    different = [(members_of(group.members), group.difference) for group in blocks.groups if group.difference is not None]
    different += [(sanitize(other.path), other) for group in blocks.groups for other in group.different]
    if not different:
        return
    page.heading("Other modules of the same lists")
    for name, other in different[:DIFFERENT_SHOWN]:
        _different_block(page, name, other)
    if len(different) > DIFFERENT_SHOWN:
        page.say(f"and {fmt.count(len(different) - DIFFERENT_SHOWN)} more", "  ", tokens.DIM)


def _different_block(page: Page, name: str, other: DifferentBlock) -> None:
    pieces: list[Piece] = [(name, tokens.NAME), "  "]
    if other.reason:
        pieces.append(f"{fmt.plural(other.nodes, 'node')}, {other.reason}" if other.nodes else other.reason)
    else:
        pieces += [f"{fmt.plural(other.nodes, 'node')}, {fmt.count(other.differing_nodes)} ",
                   f"without an equal node in {sanitize(other.equal_to)}"]  # fmt: skip
    page.row(pieces, "  ")
    if other.statement:
        page.code(other.statement, "    ")
    if other.parameter:
        page.say(f"{sanitize(other.parameter)}", "    ")


def _lost(page: Page, blocks: CompileBlocks) -> None:
    """Add the kernels that separate compilation divides."""
    if not blocks.lost_fusions:
        return
    title = f"Lost fusions ({fmt.plural(len(blocks.lost_fusions), 'kernel')})"
    page.heading(title)
    page.say("These kernels compute nodes of several blocks, or of a block and of the rest:", "  ", tokens.DIM)
    for lost in blocks.lost_fusions[:LOST_SHOWN]:
        modules = ", ".join(path or "outside" for path in lost.blocks)
        page.row([(page.clip_middle(sanitize(lost.key), page.width - 6), tokens.NAME), f"  {sanitize(modules)}"], "  ")
    if len(blocks.lost_fusions) > LOST_SHOWN:
        page.say(f"and {fmt.count(len(blocks.lost_fusions) - LOST_SHOWN)} more", "  ", tokens.DIM)
    if blocks.kernels_of_unknown_layer:
        page.say(f"The layers of {fmt.plural(blocks.kernels_of_unknown_layer, 'kernel')} are unknown.", "  ", tokens.DIM)


def _name_of(group: BlockGroup) -> str:
    """Return `12 × WhisperEncoderLayer`; without a class the path of the list."""
    name = f"{fmt.count(len(group.members))} × {sanitize(group.class_name or f'{group.containers[0]}.*')}"
    if group.calls == len(group.members):
        return name
    each, rest = divmod(group.calls, len(group.members))
    return f"{name}, {fmt.plural(group.calls, 'call')}" if rest else f"{name}, {fmt.plural(each, 'call')} each"


def members_of(paths: Sequence[str]) -> str:
    """Return `layers.0, 2, 4–7`: the number or name of each module, after the path of its list.

    Of modules with equal places in several lists: `layers.0–3.1`.
    """
    of_lists = by_container(paths)
    outer = by_container(tuple(of_lists))
    if len(of_lists) > 1 and len(outer) == 1 and len({tuple(words) for words in of_lists.values()}) == 1:
        [(path, numbers)] = outer.items()
        if all(number.isdecimal() for number in numbers):
            words = next(iter(of_lists.values()))
            return sanitize(f"{path}.{_with_ranges(numbers)}.{_with_ranges(words)}")
    return sanitize("; ".join(f"{container}.{_with_ranges(words)}" for container, words in of_lists.items()))


def _with_ranges(words: Sequence[str]) -> str:
    """Return `0, 2, 4–7`."""
    pieces: list[str] = []
    for word in words:
        first, _, last = pieces[-1].partition("–") if pieces else ("", "", "")
        end = last or first
        if word.isdecimal() and end.isdecimal() and int(word) == int(end) + 1:
            pieces[-1] = f"{first}–{word}"
        else:
            pieces.append(word)
    return ", ".join(piece.replace("–", ", ") if _is_pair(piece) else piece for piece in pieces)


def _is_pair(piece: str) -> bool:
    first, dash, last = piece.partition("–")
    return bool(dash) and int(last) == int(first) + 1


def by_container(paths: Sequence[str]) -> dict[str, list[str]]:
    """Map each list to the numbers or names of its modules among these; numbers ascend."""
    results: dict[str, list[str]] = {}
    for path in paths:
        container, _, word = path.rpartition(".")
        results.setdefault(container, []).append(word)
    for words in results.values():
        if all(word.isdecimal() for word in words):
            words.sort(key=int)
    return results


def compile_calls(groups: Sequence[BlockGroup], container: str) -> Iterator[str]:
    """Yield the lines that compile the blocks of one list, by their numbers or names where the list has other modules.

    `compile()` of a module has no effect for the classes of `torch.nn`, whose files Dynamo skips.
    """
    of_list = [group for group in groups if container in group.containers]
    dictionaries = {path for group in groups for path in group.dictionaries}
    place = f"model.{_in_python(container, dictionaries)}"
    is_torch = any(group.class_module.startswith("torch.") for group in of_list)
    words = by_container([path for group in of_list for path in group.members])[container]
    is_dictionary = container in dictionaries
    numbers = [f'"{sanitize(word)}"' if is_dictionary else word for word in words]
    item = "name" if is_dictionary else "n"
    has_others = any(other.path.rpartition(".")[0] == container for group in groups for other in group.different)
    if len(numbers) == 1:
        item = numbers[0]
    elif has_others:
        yield f"for {item} in ({', '.join(numbers)}):"
    elif is_torch:
        yield f"for {item} in {f'list({place})' if is_dictionary else f'range(len({place}))'}:"
    else:
        yield f"for block in {f'{place}.values()' if is_dictionary else place}:"
        yield "    block.compile()"
        return
    indent = "" if len(numbers) == 1 else "    "
    one = f"{place}[{item}]"
    yield f"{indent}{one} = torch.compile({one})" if is_torch else f"{indent}{one}.compile()"


def _in_python(path: str, dictionaries: set[str]) -> str:
    """Return a module path as an expression: `down_blocks[0].attentions`."""
    first, *rest = sanitize(path).split(".")
    text, before = first, first
    for word in rest:
        text += f'["{word}"]' if before in dictionaries else f"[{word}]" if word.isdecimal() else f".{word}"
        before += f".{word}"
    return text


def add_blocks_line(page: Page, scope: Scope) -> Generator[None, None, None]:
    """Add a line about the slowest compile that consists mainly of repeated blocks."""
    compiles = [compile_ for compile_ in scope.compiles if compile_.is_compile]
    if len(compiles) > ON_TIMING or page.goes_on:
        return
    for compile_ in sorted(compiles, key=lambda compile_: -compile_.compile_s):
        if compile_.compile_s < LEAST_S:
            return
        yield
        try:
            blocks = graph_blocks_of(compile_)
        except Elsewhere:
            continue
        if blocks is not None and is_worthwhile(blocks):
            words = f"  {_name_of(blocks.groups[0])}, {share_of(blocks)} of the nodes: compile each block separately  "
            page.blank()
            page.row([("Blocks", tokens.STRONG), words, ("→ blocks", tokens.LINK, f"@blocks:{compile_.ref}")], "")
            return


def is_worthwhile(blocks: GraphBlocks) -> bool:
    """Return whether a graph consists mainly of many equal blocks, and none of them exceeds the recompile limit."""
    if not blocks.groups or len(blocks.groups[0].members) < LEAST_BLOCKS:
        return False
    return class_versions(blocks.groups) <= DEFAULT_LIMIT and blocks.repeated_nodes >= LEAST_SHARE * blocks.nodes


@frozen
class BlockRow:
    """A group of equal blocks of one compile."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function that it compiles."""
    container: str
    """The paths of the lists of modules, separated by commas."""
    class_name: str
    """The class of the modules; empty if no guard names it."""
    blocks: int
    """How many modules are equal."""
    calls: int
    """Calls of these modules in a run."""
    nodes: int
    """Captured nodes of one of them."""
    all_nodes: int
    """Captured nodes of the compile."""
    versions: int
    """Compiled versions that they need when each is compiled separately."""
    block_compile_s: float | None
    """Predicted seconds to compile these versions."""
    compile_s: float | None
    """Seconds that the compile took: the same in each of its rows."""
    separate_s: float | None
    """Predicted seconds with each block compiled separately: the same in each of its rows."""
    kernel_calls: int | None
    """Kernel calls of one block in a run, in all its calls together."""
    lost_fusions: int
    """Kernels of the compile with nodes of several blocks, or of a block and of the rest: the same in each of its rows."""


def block_rows(data: tuple[CompileBlocks, ...]) -> Iterator[BlockRow]:
    """Yield a row per group."""
    for blocks in data:
        for group, cost in zip(blocks.groups, blocks.costs, strict=True):
            yield BlockRow(
                blocks.ref, blocks.function, ", ".join(group.containers), group.class_name, len(group.members), group.calls,
                group.nodes, blocks.nodes, group.versions, cost.compile_s, blocks.compile_s, blocks.separate_s, cost.kernel_calls,
                len(blocks.lost_fusions),
            )  # fmt: skip


QUESTION = Question(
    name="blocks",
    help="repeated blocks of a model, and the predicted effect of compiling each block separately",
    group="find causes",
    order=155,
    needs=Needs("", ("graph_code",), "the captured graph"),
    document=document,
    answer=tuple[CompileBlocks, ...],
    rows=BlockRow,
    records=block_rows,
    doc="""
    Repeated blocks of a model by isomorphism of their graphs, a row per group of equal blocks.

    `separate_s` predicts the compile time with each block compiled separately (`block.compile()`). Only compiles with repeated
    blocks have rows; of more than 200 compiles the 200 slowest are examined.
    """,
)
