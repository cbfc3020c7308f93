"""Help is a document like any other: all keys and what the marks mean, made from the registry of commands."""

from __future__ import annotations

from tltui.commands import Where, of, shown
from tltui.config import Config, config_path
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, glyph
from tltui.text import tokens
from tltui.text.document import Builder, TextDocument


def help_document(ascii_only: bool, config: Config) -> TextDocument:
    """Marks, keys, addresses, where settings go."""
    builder = Builder("@help", "help  (esc closes, / searches)")
    builder.heading("Marks in the tree")
    for status, row in TABLE.items():
        builder.add("  ", (glyph(status, ascii_only), row.colour), f"  {status:<8} ", (row.meaning, tokens.DIM))
    again = ASCII_RECOMPILE if ascii_only else RECOMPILE_GLYPH
    why = "compiled again, because a guard of an earlier compile failed"
    builder.add("  ", (again, tokens.RECOMPILE), "  again    ", (why, tokens.DIM))
    for where in Where:
        builder.heading(f"Keys: {where.value}")
        for command in of(where):
            keys = config.keys.get(command.id, command.keys)
            listed = " ".join(shown(key) for key in keys) or "(palette)"
            builder.add(("  " + f"{listed:<18}", tokens.KEYWORD), command.help)
    builder.heading("Mouse")
    for what, does in (
        ("click", "puts the cursor there; on a link it follows it, in another pane it goes there"),
        ("on ▸ ▾" if not ascii_only else "on > v", "opens or closes; so does a second click on a row of the tree"),
        ("drag", "selects lines"),
        ("wheel", "scrolls what is under the pointer; the focus stays where it is"),
        ("hover", "in provenance mode: lights up what the line became; nothing moves"),
        ("shift + drag", "selects text as the terminal does; --no-mouse leaves the mouse to the terminal"),
    ):
        builder.add(("  " + f"{what:<18}", tokens.KEYWORD), does)
    builder.heading("Addresses")
    builder.add("  [RANK[.PROCESS]:]ID[_ATTEMPT][:ARTIFACT[#N]]")
    for example, meaning in (
        ("0/1", "compile 1 of frame 0; [0/1] in torch's logs"),
        ("3:0/1_1", "the same on rank 3, attempt 1"),
        ("0/1:inductor_output_code#2", "its second inductor_output_code"),
        ("a0/1/0", "[!0/1/0], with compiled autograd"),
        ("none:torch_version", "an artifact without a compile id"),
        ("0/", "frame 0: all its compiles"),
    ):
        builder.add(("  " + f"{example:<28}", tokens.LABEL), meaning)
    builder.heading("Settings")
    builder.add(f"  {config_path()}")
    for line in ('theme = "auto"   # auto, dark, light, ansi-dark, ansi-light, mono', "mouse = true", "ascii = false",
                 "[keys]", '"app.next_error" = ["e", "f8"]'):  # fmt: skip
        builder.add(("    " + line, tokens.DIM))
    for problem in config.problems:
        builder.add("  ", (problem, tokens.WARN))
    return builder.document()

