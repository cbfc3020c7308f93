"""The registry of commands and keys; availability of commands; checks of user key bindings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from tltui.questions.index import QUESTIONS
from tltui.text.frozen import frozen


class Where(Enum):
    """Where a command applies; the value is the heading in help."""

    EVERYWHERE = "main screen"
    TREE = "tree"
    DOCUMENT = "documents"
    PROVENANCE = "provenance mode"
    COMPARE = "comparing side by side"
    LIST = "list of runs"


PAGE_TITLE = "page: "
"""The beginning of the titles of commands that open a page."""


@frozen
class Command:
    """A user command."""

    id: str
    """Name in the config file: `tree.expand`."""
    keys: tuple[str, ...]
    """Textual's names of the keys."""
    title: str
    """Three words for the palette and the key table."""
    help: str
    """A sentence: effect and purpose."""
    where: Where
    hint: str = ""
    """A word for the footer; '' for commands that are not shown there."""

    @property
    def action(self) -> str:
        """Return Textual's action: the name of a method without `action_`, with its argument for a view."""
        name = self.id.partition(".")[2]
        return f"view('{name[5:]}')" if name.startswith("view_") else name

    @property
    def is_page(self) -> bool:
        """Whether it opens a page about the run."""
        return self.title.startswith(PAGE_TITLE)

    def keys_shown(self, keys: Iterable[str] | None = None) -> str:
        """Return the keys for display: `j ↓`."""
        return " ".join(key_label(key) for key in (self.keys if keys is None else keys))


_SHOWN = {
    "down": "↓", "up": "↑", "left": "←", "right": "→", "pagedown": "pgdn", "pageup": "pgup", "escape": "esc",
    "right_curly_bracket": "}", "left_curly_bracket": "{", "minus": "-", "equals_sign": "=", "colon": ":", "slash": "/",
    "asterisk": "*", "number_sign": "#", "question_mark": "?", "f1": "F1", "right_square_bracket": "]", "left_square_bracket": "[",
    "greater_than_sign": ">", "less_than_sign": "<", "left_parenthesis": "(", "right_parenthesis": ")",
    "at": "@", "vertical_line": "|", "apostrophe": "'", "comma": ",", "full_stop": ".", "plus": "+", "underscore": "_",
}  # fmt: skip


def key_label(key: str) -> str:
    """Return a key for display: its character, `ctrl+f`, `F1`."""
    if key in _SHOWN:
        return _SHOWN[key]
    try:
        character = unicodedata.lookup(key.replace("_", " "))
    except KeyError:  # not the name of a character
        return key
    return character if character.isprintable() and not character.isspace() else key


E_, T_, D_, P_ = Where.EVERYWHERE, Where.TREE, Where.DOCUMENT, Where.PROVENANCE
C_, L_ = Where.COMPARE, Where.LIST

COMMANDS: tuple[Command, ...] = (
    Command("app.other_pane", ("tab", "shift+tab"), "other pane", "Move between the tree and the document.", E_, "pane"),
    Command("app.next_error", ("e",), "next error",
            "Go to the next compile that failed, or whose function runs in eager mode.", E_, "next error"),
    Command("app.previous_error", ("E",), "previous error",
            "Go to the previous compile that failed, or whose function runs in eager mode.", E_),
    Command("app.next_break", ("b",), "next graph break", "Go to the next compile with a graph break.", E_, "next break"),
    Command("app.previous_break", ("B",), "previous graph break", "Go to the previous compile with a graph break.", E_),
    Command("app.next_recompile", ("r",), "next compile", "Go to the next compile of the same frame.", E_,
            "next compile"),
    Command("app.previous_recompile", ("R",), "previous compile",
            "Go to the previous compile of the same frame.", E_),
    Command("app.next_rank", ("greater_than_sign",), "code on next rank",
            "Go to the compile of the same code object on the next rank; ids may differ between ranks.", E_, "rank"),
    Command("app.previous_rank", ("less_than_sign",), "code on previous rank",
            "Go to the compile of the same code object on the previous rank.", E_),
    Command("app.next_artifact", ("right_square_bracket",), "next artifact",
            "Go to the next artifact of this compile, in the order of the log.", E_, "next artifact"),
    Command("app.previous_artifact", ("left_square_bracket",), "previous artifact",
            "Go to the previous artifact of this compile.", E_),
    Command("app.generated_code", ("c",), "generated code",
            "Go to the generated code of this compile, or of the first one with code; a second press goes to its next unit, "
            "such as the backward graph.",
            E_, "code"),
    Command("app.other_down", ("J",), "other pane down", "Scroll the other pane without leaving this one.", E_),
    Command("app.other_up", ("K",), "other pane up", "Scroll the other pane without leaving this one.", E_),
    *(
        Command(f"app.view_{view.name}", (view.key,) if view.key else (), f"{PAGE_TITLE}{view.name}",
                f"The page {view.name}: {view.help}.", E_, "summary" if view.key == "1" else "")
        for view in QUESTIONS
    ),
    Command("app.records", (), PAGE_TITLE + "records", "List all records of the selection, in the order of the log.", E_),
    Command("app.damage", (), PAGE_TITLE + "damage", "List damaged records in the logs, and files that were not opened.", E_),
    Command("app.output", ("O",), "output of the job",
            "Show the job's output, live; on an artifact from that output, the matching lines.", E_, "output"),
    Command("app.all_views", ("0",), "all pages", "List all pages about the run.", E_, "pages"),
    Command("app.go_to", ("o",), "go to",
            "Go to a compile or an artifact by a part of its name or by its address.", E_, "go to"),
    Command("app.search", ("s",), "search everywhere",
            "Search the text of every record and every page with a regular expression.", E_, "search"),
    Command("app.export", ("x",), "export",
            "Write the document to a file: text, HTML, markdown, JSON or ANSI by its suffix.", E_, "export"),
    Command("app.copy", ("y",), "copy", "Copy the selected lines or the line; in the tree the address.", E_, "copy"),
    Command("app.copy_address", ("Y",), "copy address and path",
            "Copy the address of this page (for `o` and commands, such as 0/1) and the path of its log.", E_),
    Command("app.pager", ("X",), "open in pager", "Show the document in $PAGER.", E_),
    Command("app.editor", ("v", "ctrl+e"), "open in editor", "Open the document in $EDITOR, as a copy.", E_),
    Command("app.raw", ("i",), "raw text on or off", "Switch between the stored text and the laid-out text.", E_),
    Command("app.provenance", ("p",), "provenance mode",
            "Follow a line of your code to the kernel that runs, and back; graphs and code side by side.", E_, "provenance"),
    Command("app.compare", ("d",), "mark or compare",
            "Mark this page for comparing; on another artifact, compile or rank, compare the two.", E_, "compare"),
    Command("app.compare_previous", ("D",), "compare with previous",
            "Compare with the previous compile of this frame; if there is none, a graph with the graph it was derived from.", E_),
    Command("app.sort", ("S",), "sort",
            "Sort the tables of the page by the next column, marked with an arrow; in the matrix, change what cells show.", E_),
    Command("app.zoom_in", ("plus",), "chart: zoom in",
            "Show half of the time in the charts of the page, around its middle.", E_, "zoom"),
    Command("app.zoom_out", ("underscore",), "chart: zoom out", "Show twice the time in the charts of the page.", E_),
    Command("app.earlier", ("comma",), "chart: earlier", "Show an earlier part of the time in the charts of the page.", E_),
    Command("app.later", ("full_stop",), "chart: later", "Show a later part of the time in the charts of the page.", E_),
    Command("app.whole_time", ("Z",), "chart: all of the time", "Show all of the time in the charts of the page.", E_),
    Command("app.follow", ("F",), "follow",
            "Start or stop following the job's logs. A log younger than a minute is followed from the start.", E_),
    Command("app.news", ("L",), "latest trouble",
            "Jump to the latest error or graph break that was reported while following.", E_),
    Command("app.processes", ("P",), "processes",
            "Show the processes on this machine that write the logs; a second press adds their py-spy stacks.", E_),
    Command("app.read_again", ("ctrl+r",), "read again",
            "Read all logs again from the start, for example after one was truncated or replaced.", E_),
    Command("app.mark", ("m",), "mark this place",
            "Mark this line or tree node, with an optional note; a second press removes the mark.", E_),
    Command("app.marks", ("apostrophe",), "marks",
            "List all marked places with their lines; x writes them to a file, for a bug report.", E_),
    Command("app.zoom", ("z",), "zoom the pane", "Give this pane the whole screen, or restore the layout.", E_),
    Command("app.narrower", ("ctrl+left",), "narrower tree",
            "Move the divider between tree and document to the left; dragging it also works.", E_),
    Command("app.wider", ("ctrl+right",), "wider tree", "Move the divider to the right. tltui remembers its position.", E_),
    Command("app.back", ("backspace", "ctrl+o", "alt+left"), "back", "Go back to the previous page.", E_, "back"),
    Command("app.forward", ("alt+right", "I"), "forward", "Go forward after going back.", E_),
    Command("app.command_palette", ("ctrl+p",), "all commands", "Search the commands by name.", E_, "commands"),
    Command("app.help", ("question_mark", "f1"), "help", "Show all keys and the meaning of the marks.", E_, "help"),
    Command("app.redraw", ("ctrl+l",), "draw again", "Redraw the screen after another program has written on it.", E_),
    Command("app.suspend", ("ctrl+z",), "suspend", "Suspend tltui and return to the shell; `fg` resumes it.", E_),
    Command("app.leave", ("q",), "quit",
            "Quit tltui. If a job that tltui started still runs, a second press leaves it running.", E_),
    Command("app.close", ("escape",), "close", "Close the topmost overlay, selection, filter or search.", E_, "back"),
    Command("tree.cursor_down", ("j", "down"), "line down", "Move one line down; the document follows.", T_),
    Command("tree.cursor_up", ("k", "up"), "line up", "Move one line up.", T_),
    Command("tree.top", ("g", "home"), "first line", "Go to the run itself.", T_),
    Command("tree.bottom", ("G", "end"), "last line", "Go to the last visible line.", T_),
    Command("tree.page_down", ("pagedown", "ctrl+f"), "page down", "One page down.", T_),
    Command("tree.page_up", ("pageup", "ctrl+b"), "page up", "One page up.", T_),
    Command("tree.half_down", ("ctrl+d",), "half a page down", "Half a page down.", T_),
    Command("tree.half_up", ("ctrl+u",), "half a page up", "Half a page up.", T_),
    Command("tree.scroll_right", ("a", "shift+right"), "scroll right",
            "Scroll half a page to the right if rows are longer than the pane.", T_),
    Command("tree.scroll_left", ("A", "shift+left"), "scroll left", "Scroll half a page to the left.", T_),
    Command("tree.expand", ("l", "right"), "open node", "Open the node, or go to its first child.", T_),
    Command("tree.collapse", ("h", "left"), "close node", "Close the node, or go to its parent.", T_),
    Command("tree.open_close", ("space",), "open or close", "Open or close the node.", T_),
    Command("tree.collapse_all", ("minus",), "close all", "Close all nodes.", T_),
    Command("tree.expand_all", ("equals_sign",), "open all", "Open all nodes, down to the artifacts.", T_),
    Command("tree.by_stacks", ("t",), "by stacks",
            "Group the tree by the callers of the compiled functions, or by frames.", T_),
    Command("tree.enter", ("enter",), "go to the document", "Go to the document of this node.", T_, "open"),
    Command("tree.ask_filter", ("f", "slash"), "filter", "Show only nodes that match a name, file, status or reason.", T_,
            "filter"),
    Command("document.cursor_down", ("j", "down"), "line down", "Move one line down.", D_),
    Command("document.cursor_up", ("k", "up"), "line up", "Move one line up.", D_),
    Command("document.top", ("g", "home"), "first line", "Go to the first line.", D_),
    Command("document.bottom", ("G", "end"), "last line", "Go to the last line.", D_),
    Command("document.page_down", ("pagedown", "ctrl+f"), "page down", "One page down.", D_),
    Command("document.page_up", ("pageup", "ctrl+b"), "page up", "One page up.", D_),
    Command("document.half_down", ("ctrl+d",), "half a page down", "Half a page down.", D_),
    Command("document.half_up", ("ctrl+u",), "half a page up", "Half a page up.", D_),
    Command("document.previous_name", ("h", "left"), "previous name",
            "Move the caret to the previous name or link on the line.", D_),
    Command("document.next_name", ("l", "right"), "next name",
            "Move the caret to the next name or link; a long line scrolls with it.", D_),
    Command("document.scroll_right", ("a", "shift+right"), "scroll right",
            "Scroll half a page to the right if lines are longer; the caret stays. Shift+wheel does the same.", D_),
    Command("document.scroll_left", ("A", "shift+left"), "scroll left", "Scroll half a page to the left.", D_),
    Command("document.follow", ("enter",), "follow", "Follow the link under the caret, or the first one on the line.", D_,
            "open"),
    Command("document.next_section", ("right_curly_bracket",), "next section",
            "Go to the next section: module, kernel, key or heading.", D_, "section"),
    Command("document.previous_section", ("left_curly_bracket",), "previous section", "Go to the previous section.", D_),
    Command("document.fold", ("space",), "fold, or page down",
            "Close or open the section whose heading is at the cursor; on other lines, one page down.", D_),
    Command("document.fold_all", ("minus",), "fold all", "Close all sections.", D_),
    Command("document.unfold_all", ("equals_sign",), "unfold all", "Open all sections.", D_),
    Command("document.select_lines", ("V",), "select lines",
            "Start a line selection; moving extends it, `y` copies and `x` exports it.", D_),
    Command("document.ask_line", ("colon",), "go to line", "Go to a line by its number.", D_),
    Command("document.ask_search", ("slash",), "search",
            "Search with a regular expression; lowercase letters also match uppercase.", D_, "find"),
    Command("document.next_hit", ("n",), "next hit", "Go to the next match of the search.", D_, "next"),
    Command("document.previous_hit", ("N",), "previous hit", "Go to the previous match.", D_),
    Command("document.search_word", ("asterisk",), "search this name", "Search for the name under the caret.", D_),
    Command("document.ask_filter", ("f",), "filter", "Show only lines that match a pattern.", D_, "filter"),
    Command("document.wrap", ("w",), "wrap", "Wrap or unwrap long lines.", D_, "wrap"),
    Command("document.numbers", ("number_sign",), "line numbers", "Show or hide line numbers.", D_),
    Command("provenance.next_pane", ("tab",), "next pane", "Go to the next visible pane.", P_, "pane"),
    Command("provenance.previous_pane", ("shift+tab",), "previous pane", "Go to the previous visible pane.", P_),
    Command("provenance.follow", ("enter",), "origin or result",
            "In the first column, follow the line: from generated code through the visible graphs towards your source, from "
            "your source to the code generated for it. On a name, go to its definition.", P_, "follow"),
    Command("provenance.back", ("backspace",), "back in the mode",
            "Go back to the line before the last enter; from the first line, back to the tree.", P_, "back"),
    Command("provenance.next_mapped", ("full_stop",), "next mapped line", "Go to the next line with a mapping.",
            P_, "mapped"),
    Command("provenance.previous_mapped", ("comma",), "previous mapped line", "Go to the previous line with a mapping.", P_),
    Command("provenance.next_match", ("right_parenthesis",), "next match",
            "Go to the next line of this pane with the same operation or kernel.", P_),
    Command("provenance.previous_match", ("left_parenthesis",), "previous match",
            "Go to the previous line of this pane with the same operation or kernel.", P_),
    Command("provenance.next_unit", ("u",), "next unit",
            "Show the next unit: forward graph, backward graph, next submodule.", P_, "unit"),
    Command("provenance.hottest", ("exclamation_mark",), "hottest line",
            "Go to the line of this pane with the most time in a profile; a second press goes to the next one.", P_),
    Command("provenance.hotter", ("at",), "hotter line", "Go back to the line with more time.", P_),
    Command("provenance.pin", ("H",), "pin", "Keep the highlight while you move; a second press releases it.", P_, "pin"),
    Command("provenance.annotations", ("i",), "annotations",
            "Hide or show types, freed values and size checks. Copies, exports and searches always include them.",
            P_, "types"),
    Command("provenance.choose_panes", ("vertical_line",), "choose panes", "Show other panes: a graph or the layers.", P_, "panes"),
    Command("provenance.zoom", ("z",), "zoom the pane",
            "Give this pane the screen, so that the keys for panes turn through all texts; again: restore the layout.", P_, "zoom"),
    Command("provenance.export", ("x",), "export", "Write the line and its mappings to a file.", P_, "export"),
    Command("provenance.copy", ("y",), "copy", "Copy the selected lines, or the line.", P_),
    Command("provenance.wider", ("ctrl+right",), "wider pane", "Give this pane more of the screen.", P_),
    Command("provenance.narrower", ("ctrl+left",), "narrower pane", "Give this pane less of the screen.", P_),
    Command("provenance.redraw", ("ctrl+l",), "draw again", "Redraw the whole screen.", P_),
    Command("provenance.command_palette", ("ctrl+p",), "all commands", "Search the commands by name.", P_),
    Command("provenance.help", ("question_mark", "f1"), "help", "Show all keys.", P_, "help"),
    Command("provenance.leave", ("p", "q"), "leave the mode", "Go back to the tree from any pane of the mode.", P_, "leave"),
    Command("provenance.close", ("escape",), "close",
            "Close the topmost help, selection, filter or search; otherwise leave the mode.", P_),
    Command("compare.next_pane", ("tab", "shift+tab"), "other side", "Go to the other side.", C_, "side"),
    Command("compare.next_change", ("right_curly_bracket",), "next change", "Go to the next lines that differ.", C_, "next"),
    Command("compare.previous_change", ("left_curly_bracket",), "previous change", "Go to the previous change.", C_, "previous"),
    Command("compare.fold", ("space", "enter"), "unfold", "Show the equal lines folded at the cursor.", C_, "unfold"),
    Command("compare.unfold_all", ("equals_sign",), "unfold all", "Show all equal lines.", C_),
    Command("compare.fold_all", ("minus",), "fold all", "Fold all equal lines.", C_),
    Command("compare.raw", ("i",), "raw or normalized",
            "Compare the stored text line by line, or ignore differences between any two runs.",
            C_, "raw"),
    Command("compare.export", ("x",), "export", "Write the comparison to a file; the raw one is a patch.", C_, "export"),
    Command("compare.copy", ("y",), "copy", "Copy the selected lines, or the line.", C_),
    Command("compare.wider", ("ctrl+right",), "wider pane", "Give this pane more of the screen.", C_),
    Command("compare.narrower", ("ctrl+left",), "narrower pane", "Give this pane less of the screen.", C_),
    Command("compare.redraw", ("ctrl+l",), "draw again", "Redraw the whole screen.", C_),
    Command("compare.command_palette", ("ctrl+p",), "all commands", "Search the commands by name.", C_),
    Command("compare.help", ("question_mark", "f1"), "help", "Show all keys.", C_, "help"),
    Command("compare.leave", ("escape", "q", "d", "backspace"), "back", "Go back to the page before the comparison.", C_, "back"),
    Command("list.sort", ("S",), "sort", "Sort the runs by the next column, marked with an arrow.", L_, "sort"),
    Command("list.export", ("x",), "export", "Write the list to a file.", L_, "export"),
    Command("list.copy", ("y",), "copy", "Copy the selected lines, or the line.", L_),
    Command("list.read_again", ("ctrl+r",), "read again", "Read the directory again: new runs, and runs that have grown.", L_,
            "read again"),
    Command("list.redraw", ("ctrl+l",), "draw again", "Redraw the whole screen.", L_),
    Command("list.suspend", ("ctrl+z",), "suspend", "Suspend tltui and return to the shell; `fg` resumes it.", L_),
    Command("list.command_palette", ("ctrl+p",), "all commands", "Search the commands by name.", L_),
    Command("list.help", ("question_mark", "f1"), "help", "Show all keys.", L_, "help"),
    Command("list.close", ("escape",), "close", "Close the topmost help, selection, filter or search.", L_),
    Command("list.leave", ("q",), "quit", "Quit tltui; from help, go back to the list.", L_, "quit"),
)  # fmt: skip

BY_ID = {command.id: command for command in COMMANDS}

FIRST = (
    "app.next_error", "app.other_pane", "app.help", "app.next_break", "app.next_recompile", "app.view_summary", "app.go_to",
    "app.search", "app.export",
    "app.provenance", "app.command_palette", "app.next_rank", "app.copy",
)  # fmt: skip
"""Commands at the top of the palette, the most useful first."""
FOOTER_PROVENANCE = (
    "provenance.back", "provenance.follow", "provenance.next_mapped", "provenance.next_pane", "provenance.next_unit",
    "provenance.export", "document.ask_search", "provenance.help",
)  # fmt: skip
"""The footer in provenance mode; the way back comes first, help last."""
FOOTER_COMPARE = (
    "compare.leave", "compare.next_change", "compare.previous_change", "compare.fold", "compare.next_pane", "compare.raw",
    "compare.export", "compare.help",
)  # fmt: skip
"""The footer while comparing side by side."""
FOOTER_LIST = (
    "list.leave", "document.follow", "list.sort", "document.ask_search", "list.export", "list.read_again", "document.ask_filter",
    "list.help",
)  # fmt: skip
"""The footer of the list of runs."""
FOOTER_HELP = ("document.ask_search", "document.next_section")
"""The footer of help, after the command that closes it."""
FOOTERS = {
    "tree": ("app.back", "app.output", "tree.enter", "tree.ask_filter", "app.next_error", "app.next_break", "app.next_recompile",
             "app.go_to", "app.generated_code", "app.search", "app.help"),
    "page": ("app.back", "app.output", "document.follow", "app.zoom_in", "app.next_error", "app.next_break", "app.next_recompile",
             "document.ask_search", "app.other_pane", "app.all_views", "app.help"),
    "code": ("app.back", "document.ask_search", "app.provenance", "app.next_artifact", "app.copy", "app.compare", "document.wrap",
             "app.help"),
    "search": ("app.back", "document.follow", "document.next_hit", "document.ask_filter", "app.export", "app.help"),
    "help": ("app.close", *FOOTER_HELP, "app.command_palette"),
}  # fmt: skip
"""Place on the main screen → the commands of its footer; the way back comes first, help last."""
PLACE_NAMES = {"tree": "tree", "page": "page", "code": "text of an artifact", "search": "search results", "help": "help"}
"""Place on the main screen → its name in the help."""
HINTS = 8
"""Commands in a footer at most."""


def commands_of(where: Where) -> list[Command]:
    """Return the commands of one place, in the order of the help."""
    return [command for command in COMMANDS if command.where is where]


def may_coincide(first: Where, other: Where) -> bool:
    """Return whether commands of these places can be active at the same time."""
    return first is other or {first, other} in ({E_, T_}, {E_, D_})


def key_table(keys: dict[str, tuple[str, ...]] | None = None) -> str:
    """Return the tables of docs/keys.md as markdown. `keys` replaces the defaults."""
    lines = []
    for where in Where:
        lines += [f"**{where.value}**", "", "| key | action |", "| --- | --- |"]
        for command in commands_of(where):
            used = (keys or {}).get(command.id, command.keys)
            cell = " ".join(f"`{key_label(key)}`" for key in used).replace("|", "\\|")
            lines.append(f"| {cell} | {command.help} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


QUIT_KEY = "ctrl+q"
"""The key that always quits, whatever the config file (`tltui.app`)."""
TAKEN = {
    "ctrl+a": "GNU screen uses it", "ctrl+b": "tmux uses it",
    "ctrl+s": "with flow control it stops terminal output", "ctrl+q": "with flow control it resumes terminal output",
    "ctrl+i": "terminals send tab for it", "ctrl+m": "terminals send enter for it", "ctrl+j": "most terminals send enter for it",
    "ctrl+h": "many terminals send backspace for it", "ctrl+left_square_bracket": "terminals send esc for it",
    "ctrl+[": "terminals send esc for it",
}  # fmt: skip
"""Keys that are intercepted on the way, or sent as another one."""
_PROTOCOL = "only terminals with the Kitty keyboard protocol send it"
_FOR_KITTY = {"super", "meta", "hyper"}
_PLAIN_ONLY = {"enter", "backspace", "space"}
_WITH_CTRL = re.compile(
    r"[a-z]|f\d+|up|down|left|right|home|end|page(up|down)|insert|delete|space|@|at|\\|backslash|\]|right_square_bracket|_|underscore"
)
_PLACES = {Where.TREE: "in the tree", Where.DOCUMENT: "in documents"}


def keymap_problems(keys: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the problems of overrides (command → its keys), a sentence each. Overrides apply as far as possible all the same."""
    return [f"{name}: {problem}" for name in keys for problem in (*_altered_keys(keys[name]), *_conflicts(name, keys))]


def _altered_keys(keys: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each key that does not arrive as itself."""
    for key in keys:
        if key == QUIT_KEY:
            yield f"{key} always quits, so this binding has no effect"
        elif why := TAKEN.get(key) or _never_sent(key):
            yield f"{key_label(key)} may never arrive: {why}"


def _never_sent(key: str) -> str:
    """Return why an ordinary terminal cannot send this key, '' if it can."""
    *modifiers, base = key.split("+") if key != "+" else [key]
    is_known_of_ctrl = "shift" not in modifiers or len(base) > 1
    if _FOR_KITTY & set(modifiers) or ("ctrl" in modifiers and not (is_known_of_ctrl and _WITH_CTRL.fullmatch(base))):
        return _PROTOCOL
    if "shift" in modifiers and len(base) == 1:
        return f"terminals send the character itself{f', {base.upper()}' if base.isalpha() else ''}"
    return _PROTOCOL if "shift" in modifiers and base in _PLAIN_ONLY else ""


def _conflicts(name: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the conflicts of a command's keys with other commands."""
    command = BY_ID[name]
    for other in COMMANDS:
        if other is command or not may_coincide(command.where, other.where):
            continue
        if same := [key for key in keys[name] if key in keys.get(other.id, other.keys) and key != QUIT_KEY]:
            yield from _problem_text(command, other, same[0], keys)


def _problem_text(command: Command, other: Command, key: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the sentence of a conflict. Textual asks the pane before the screen; in one place a user's key precedes a default."""
    has = key_label(key)
    if command.where is other.where and other.id in keys:
        if command.id < other.id:
            yield f"{has} is also the key of {other.id}; only one of them works"
    elif command.where is Where.EVERYWHERE and other.where is not Where.EVERYWHERE:
        yield f"{has} remains the key of {other.id} {_PLACES[other.where]}, so this binding works only elsewhere"
    elif other.where is Where.EVERYWHERE and command.where is not Where.EVERYWHERE:
        yield f"{has} stops being the key of {other.id} {_PLACES[command.where]}"
    else:
        bound_keys = {key_ for name, bound in keys.items() if BY_ID[name].where is other.where for key_ in bound}
        remaining = [key_ for key_ in other.keys if key_ not in bound_keys]
        rest = f"other keys: {' '.join(map(key_label, remaining))}" if remaining else "no other key"
        yield f"this binding takes {has} from {other.id} ({rest})"


@frozen
class Situation:
    """The state of the UI, as far as commands depend on it."""

    where: Where = Where.TREE
    """The focused pane (tree or document), or a mode (provenance, comparing)."""
    shows_both: bool = True
    """Whether tree and document are both visible."""
    has_compile: bool = False
    """Whether the tree's cursor is on a compile or in one."""
    has_recompiles: bool = False
    """Whether the frame of that compile has others."""
    shows_graph: bool = False
    """Whether the document is a compiler graph, which can be compared with its source graph."""
    has_stored_text: bool = False
    """Whether the document is an artifact or output, which can be shown as it is stored."""
    has_errors: bool = False
    """Whether a compile failed, or its function runs in eager mode."""
    has_breaks: bool = False
    """Whether a compile has a graph break."""
    has_ranks: bool = False
    """Whether there is more than one rank."""
    has_output: bool = False
    """Whether there is job output."""
    is_live: bool = False
    """Whether the logs may still grow."""
    has_orders: bool = False
    """Whether the tables of the page can be sorted otherwise."""
    has_chart: bool = False
    """Whether the page has a chart over time."""
    has_sections: bool = False
    """Whether the document can be folded."""
    has_hits: bool = False
    """Whether the document has search results."""
    has_units: bool = False
    """Whether the compile in provenance mode has more than one lowering."""
    has_past: bool = False
    has_future: bool = False
    """There is somewhere to go back to, and forward again."""


_REQUIREMENTS: dict[str, Callable[[Situation], bool]] = {
    **dict.fromkeys(("app.next_error", "app.previous_error"), lambda now: now.has_errors),
    **dict.fromkeys(("app.next_break", "app.previous_break"), lambda now: now.has_breaks),
    **dict.fromkeys(("app.next_recompile", "app.previous_recompile"), lambda now: now.has_recompiles),
    "app.compare_previous": lambda now: now.has_recompiles or now.shows_graph,
    **dict.fromkeys(("app.next_rank", "app.previous_rank"), lambda now: now.has_ranks),
    **dict.fromkeys(("app.next_artifact", "app.previous_artifact"), lambda now: now.has_compile),
    **dict.fromkeys(("app.other_down", "app.other_up", "app.zoom"), lambda now: now.shows_both),
    **dict.fromkeys(("app.news", "app.follow", "app.processes"), lambda now: now.is_live),
    **dict.fromkeys(("document.fold", "document.fold_all", "document.unfold_all", "document.next_section",
                     "document.previous_section"), lambda now: now.has_sections),
    **dict.fromkeys(("document.next_hit", "document.previous_hit"), lambda now: now.has_hits),
    "app.output": lambda now: now.has_output,
    "app.raw": lambda now: now.has_stored_text,
    "app.sort": lambda now: now.has_orders,
    **dict.fromkeys(("app.zoom_in", "app.zoom_out", "app.earlier", "app.later", "app.whole_time"), lambda now: now.has_chart),
    "app.back": lambda now: now.has_past,
    "app.forward": lambda now: now.has_future,
    "provenance.next_unit": lambda now: now.has_units,
}  # fmt: skip
"""Conditions of commands that are not always available."""
_NOT_SIDE_BY_SIDE = frozenset(("document.wrap", "document.ask_filter"))
"""Document commands that are unavailable while comparing side by side."""
_PLAIN = re.compile(r"\.(cursor|page|half|other)_(up|down)$|\.(top|bottom|expand|collapse|enter|close|command_palette)$")
"""Commands with commonly known keys: they come last."""
_MODES = {Where.PROVENANCE: FOOTER_PROVENANCE, Where.COMPARE: FOOTER_COMPARE, Where.LIST: FOOTER_LIST}
_OTHER_PANE = {Where.TREE: Where.DOCUMENT, Where.DOCUMENT: Where.TREE}
_WORD = re.compile(r"[\w$']+")


def commands_for(now: Situation) -> list[Command]:
    """Return the available commands in a situation, the most useful first."""
    first = {name: place for place, name in enumerate(_MODES.get(now.where, FIRST))}
    chosen: dict[str, Command] = {}
    bound_keys: set[str] = set()
    for where in _places(now):
        available = [command for command in commands_of(where) if _works(command, now)]
        # in a mode a key belongs to its own command; what is called the same in two panes is meant of the nearer one
        is_hidden = now.where in _MODES
        added = [each for each in available if each.title not in chosen and not (is_hidden and bound_keys.issuperset(each.keys))]
        chosen.update((command.title, command) for command in added)
        bound_keys.update(key for command in added for key in command.keys)
    order = list(chosen.values())
    return sorted(order, key=lambda command: (_PLAIN.search(command.id) is not None, first.get(command.id, len(first))))


def commands_here(now: Situation) -> list[Command]:
    """Return the available commands of the focused pane or mode, the most useful first, without those of the other pane."""
    other = _OTHER_PANE.get(now.where)
    return [command for command in commands_for(now) if command.where is not other]


def key_labels(command: Command, now: Situation, keys: Iterable[str] | None = None) -> str:
    """Return the keys of a command for display, with the pane's name for a command of the other pane."""
    labels = command.keys_shown(keys)
    is_elsewhere = command.where in (Where.TREE, Where.DOCUMENT) and now.where in (Where.TREE, Where.DOCUMENT)
    if not labels or not is_elsewhere or command.where is now.where:
        return labels
    return f"{labels} in the {'tree' if command.where is Where.TREE else 'document'}"


def _places(now: Situation) -> tuple[Where, ...]:
    """Return the active places of commands, the nearest first."""
    if now.where in _MODES:
        return now.where, Where.DOCUMENT
    other = _OTHER_PANE[now.where]
    return (now.where, Where.EVERYWHERE, other) if now.shows_both else (now.where, Where.EVERYWHERE)


def _works(command: Command, now: Situation) -> bool:
    needs = _REQUIREMENTS.get(command.id)
    return (needs is None or needs(now)) and not (now.where is Where.COMPARE and command.id in _NOT_SIDE_BY_SIDE)


def match_commands(
    query: str, commands: Iterable[Command], keys: Callable[[Command], Iterable[str]] = lambda command: command.keys
) -> list[Command]:
    """Return the matching commands, best first.

    Exact key or name, prefix of the name, prefixes of its words, substring, prefixes of words of the help; ties keep the given
    order. `keys` returns the keys of a command.
    """
    typed = query.strip()
    low = typed.lower()
    words = _WORD.findall(low)
    ranked: list[tuple[int, int, Command]] = []
    for place, command in enumerate(commands):
        rank = 0 if typed in command.keys_shown(keys(command)).split() else _rank(low, words, command)
        if rank is not None:
            ranked.append((rank, place, command))
    return [command for _, _, command in sorted(ranked, key=lambda each: each[:2])]


def _rank(low: str, words: list[str], command: Command) -> int | None:
    title = command.title.lower()
    if low == title:
        return 1
    if title.startswith(low):
        return 2
    if not words:
        return None
    if _begin(words, title):
        return 3
    if low in title:
        return 4
    return 5 if _begin(words, f"{title} {command.help.lower()}") else None


def _begin(words: list[str], text: str) -> bool:
    """Return whether each word is the prefix of a word of the text."""
    starts = _WORD.findall(text)
    return all(any(word.startswith(begun) for word in starts) for begun in words)
