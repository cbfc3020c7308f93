"""Every key that a page names leads where the page says. The keys are the user's; pages that a command prints name none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opened import BREAKS, Driver, log_of, opened
from real import DEMO, TRACES
from screen import screen_text

from tltui.commands import BY_ID
from tltui.config import Config
from tltui.documents.scope import DOES
from tltui.questions.build import build
from tltui.questions.records.index_page import pages
from tltui.text import tokens
from tltui.text.document import Document, Options

pytestmark = pytest.mark.usefixtures("home")

T213 = TRACES / "torch-2.13"
MANY = [DEMO, BREAKS, T213 / "ddp", T213 / "outcomes", T213 / "recompiles", T213 / "cache_hit", TRACES / "hangs" / "ranks"]


def hints(document: Document) -> list[tuple[int, str, str]]:
    """(line, name of the command or '' for enter, the address that the line is about) of each hint."""
    found, about = [], ""
    for number in range(len(document)):
        line = document.line(number)
        links = [link for link in line.links if not link.target.startswith(DOES)]
        about = next((link.target for link in links), about)
        for span in line.spans:
            targets = [link.target for link in line.links if (link.start, link.end) == (span.start, span.end)]
            if span.style == tokens.KEY and targets:  # the keys of JSON objects are no hints
                found.append((number, targets[0].removeprefix(DOES) if targets[0].startswith(DOES) else "", about))
    return found


async def show(driver: Driver, ref: str) -> Document:
    driver.browser.go(ref)
    wanted = "" if ref == "@summary" else ref
    view = driver.browser.document_view
    await driver.until(lambda: view.document.ref == driver.browser.shown_ref == wanted and driver.browser.is_at_rest)
    return view.document


@pytest.mark.parametrize("path", MANY, ids=lambda path: path.name)
async def test_each_key_leads_where_the_page_says(path: Path) -> None:
    async with opened(path, untouched=True) as driver:
        view, pressed = driver.browser.document_view, 0
        for ref in ["", *(page.ref for page in pages(driver.browser.trace)), "@pages", "@marks"]:
            for number, command, about in hints(await show(driver, ref)):
                if command in ("app.go_to", "app.mark", "app.records", "app.sort"):
                    continue  # these ask a question, are about what is selected, or change the page itself
                await show(driver, ref)
                view.focus()
                view.move_to(number, 0)
                key = BY_ID[command or "document.follow"].keys[0]
                assert driver.browser.key_of(command or "document.follow") in view.document.line(number).text
                await driver.press(key)
                wanted = "" if about == "@summary" else about
                await driver.until(lambda wanted=wanted: driver.browser.shown_ref == view.document.ref == wanted)
                pressed += 1
        assert pressed >= 10


@pytest.mark.parametrize(("ref", "command"), [("@pages", "app.go_to"), ("@marks", "app.mark")])
async def test_a_question_is_asked_where_the_page_says_so(ref: str, command: str) -> None:
    async with opened(BREAKS) as driver:
        document = await show(driver, ref)
        [number] = [number for number, named, _ in hints(document) if named == command]
        driver.browser.document_view.focus()
        driver.browser.document_view.move_to(number, 0)
        await driver.press(BY_ID[command].keys[0])
        await driver.press("z", "q")
        assert "zq" in screen_text(driver.app), "it can be answered"


async def test_the_keys_are_those_of_the_user_and_a_click_does_the_same() -> None:
    config = Config(keys={"app.next_error": ("f5",), "document.follow": ("f6",), "app.view_problems": ("f7",)})
    async with opened(DEMO, config=config, untouched=True) as driver:
        text = "\n".join(driver.browser.document_view.document.text())
        assert "press f5" in text and "press e" not in text and "press f6" in text
        await driver.press("f6")
        await driver.shown("0:9/0")
        document = await show(driver, "@pages")
        [number] = [number for number, command, _ in hints(document) if command == "app.view_problems"]
        assert document.line(number).text.startswith("  f7 problems")
        view = driver.browser.document_view
        view.focus()
        view.move_to(number, 2)
        await driver.press("f6")
        await driver.shown("@problems")


async def test_what_became_of_a_file_names_the_keys_that_help(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    log = tmp_path / "t" / "0.log"
    log.write_bytes(log_of([(0, 1, "f"), (1, 1, "g")]))
    async with opened(tmp_path / "t") as driver:
        log.write_bytes(b"")
        document = await show(driver, "0/0:dynamo_output_graph")
        assert [command for _, command, _ in hints(document)] == ["app.follow", "app.read_again"]
        await driver.press("ctrl+r")
        await driver.until(lambda: "the earlier content remains" in driver.message or "read again" in driver.message)


@pytest.mark.parametrize("path", MANY, ids=lambda path: path.name)
async def test_what_a_command_prints_names_no_key(path: Path) -> None:
    async with opened(path) as driver:
        run = driver.browser.trace
        for ref in ["", *(page.ref for page in pages(run)), "@pages"]:
            document = build(run, ref, Options())
            while not document.advance():
                pass
            assert not re.search(r"\bpress \S", "\n".join(document.text())), ref
            assert not [link for n in range(len(document)) for link in document.line(n).links if link.target.startswith(DOES)]
