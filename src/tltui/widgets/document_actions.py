"""What a person can do in a document: ids, default keys, titles.

The command registry (`tltui.commands`) takes its entries for documents from here; the widget declares no bindings.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """`action` is the method `action_…` of `DocumentView`; `keys` are Textual's names, separated by commas."""

    action: str
    keys: str
    title: str


ACTIONS: tuple[Action, ...] = (
    Action("cursor_down", "j,down", "line down"),
    Action("cursor_up", "k,up", "line up"),
    Action("top", "g,home", "first line"),
    Action("bottom", "G,end", "last line"),
    Action("page_down", "pagedown", "page down"),
    Action("page_up", "pageup", "page up"),
    Action("half_down", "ctrl+d", "half a page down"),
    Action("half_up", "ctrl+u", "half a page up"),
    Action("previous_name", "h,left", "previous name or link on the line"),
    Action("next_name", "l,right", "next name or link on the line"),
    Action("follow", "enter", "follow the link, or ask about the name"),
    Action("next_section", "right_curly_bracket", "next section"),
    Action("previous_section", "left_curly_bracket", "previous section"),
    Action("fold", "space", "close or open the section"),
    Action("fold_all", "minus", "close all sections"),
    Action("unfold_all", "equals_sign", "open all sections"),
    Action("select_lines", "V", "select lines"),
    Action("ask_line", "colon", "go to a line"),
    Action("ask_search", "slash", "search"),
    Action("next_hit", "n", "next hit"),
    Action("previous_hit", "N", "previous hit"),
    Action("search_word", "asterisk", "search for the name at the caret"),
    Action("ask_filter", "f", "show only lines with a pattern"),
    Action("wrap", "w", "wrap long lines"),
    Action("numbers", "number_sign", "line numbers"),
    Action("close", "escape", "end selection, filter or search"),
)
