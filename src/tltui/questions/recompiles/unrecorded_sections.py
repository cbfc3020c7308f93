"""Calls in eager mode that a trace cannot show: they compile nothing, so torch writes no record of them."""

from __future__ import annotations

from tltui.documents.page import Page
from tltui.text import tokens

UNRECORDED = (
    'calls under torch.compiler.set_stance("force_eager"), or under "eager_on_recompile" if no compiled version matches',
    "calls of the original module or function instead of the object that torch.compile returned (Trainer.evaluate may do this)",
    "calls inside of torch.compiler.disable",
)
MEASURE = "To find them, profile a few steps: tltui runtime explains how. It then lists the operators that ran in eager mode."


def add_unrecorded(page: Page) -> None:
    """Add the calls that a trace cannot show, and how to find them."""
    page.say("A trace records compiles, not calls. These calls run in eager mode without a record:", "  ", tokens.DIM)
    for item in UNRECORDED:
        page.say(f"- {item}", "    ", tokens.DIM, "      ")
    page.say(MEASURE, "  ", tokens.DIM)
