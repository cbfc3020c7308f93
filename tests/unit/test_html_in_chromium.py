"""A real browser reads our HTML: nothing runs, nothing is cut at two widths, dark is dark and light is light."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hostile_html import Read, hostile
from real import trace

from tltui.export.html import page
from tltui.questions.build import build
from tltui.text.document import Options
from tltui.text.tokens import COLOURS, TRUE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars")  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def chromium(home: Path, *options: str) -> str:
    """What chromium prints."""
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={home / 'profile'}", *options]
    done = subprocess.run(command, check=True, capture_output=True, timeout=60)
    return done.stdout.decode()


def ground(picture: Path) -> tuple[int, int, int]:
    """The colour of the last pixel of a PNG of ours: 8 bits, RGB or RGBA."""
    data = picture.read_bytes()
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    chunks, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        chunks += data[at + 8 : at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    each = 4 if kind == 6 else 3
    rows = zlib.decompress(chunks)
    line, lines = width * each + 1, [bytearray(width * each)]
    for n in range(height):
        how, row = rows[n * line], bytearray(rows[n * line + 1 : (n + 1) * line])
        above = lines[-1]
        for x in range(len(row)):
            left = row[x - each] if x >= each else 0
            corner = above[x - each] if x >= each else 0
            nearest = min((left, above[x], corner), key=lambda value: abs(left + above[x] - corner - value))
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[how]) % 256
        lines = [row]
    return tuple(lines[-1][-each:][:3])  # type: ignore[return-value]


def test_a_browser_makes_no_markup_of_a_hostile_trace(tmp_path: Path) -> None:
    run = hostile(tmp_path / "x.log")
    for ref in ("", "0/0", "0/0:inductor_output_code"):
        file = tmp_path / "page.html"
        file.write_text("".join(page(build(run, ref, Options()))))
        seen = Read(re.sub("<!DOCTYPE[^>]*>", "", chromium(tmp_path, "--dump-dom", file.as_uri())))
        seen.harmless()
        assert [line.rstrip() for line in seen.text.split("\n") if line.strip()] == [
            line.rstrip() for line in Read(file.read_text()).text.split("\n") if line.strip()
        ], "a browser reads what we wrote"


@pytest.mark.parametrize(("scheme", "theme"), [("0", "dark"), ("1", "light")])
def test_it_has_the_colours_that_the_reader_prefers(scheme: str, theme: str, tmp_path: Path) -> None:
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text("".join(page(build(trace("torch-2.13/breaks"), "@problems", Options()))))
    size, wish = "--window-size=480,200", f"--blink-settings=preferredColorScheme={scheme}"
    chromium(tmp_path, size, wish, f"--screenshot={picture}", file.as_uri())
    assert "#{:02x}{:02x}{:02x}".format(*ground(picture)) == COLOURS["page"][TRUE.index(theme)]


@pytest.mark.parametrize("width", [480, 1400])
def test_no_page_is_wider_than_the_window(width: int, tmp_path: Path) -> None:
    """Long lines scroll inside of their boxes: a script of the test's own says how wide the page is."""
    own, strange = trace("torch-2.13/breaks"), hostile(tmp_path / "x.log")
    for n, document in enumerate((build(own, "", Options()), build(strange, "0/0", Options()))):
        file = tmp_path / f"{n}.html"
        text = "".join(page(document)).replace("default-src &#x27;none&#x27;", "script-src &#x27;unsafe-inline&#x27;")
        script = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script>"
        file.write_text(text.replace("</body>", f"{script}</body>"))
        seen = chromium(tmp_path, f"--window-size={width},800", "--dump-dom", file.as_uri())
        found = re.search(r"<title>(\d+) of (\d+)</title>", seen)
        assert found and int(found[1]) <= int(found[2]), found
