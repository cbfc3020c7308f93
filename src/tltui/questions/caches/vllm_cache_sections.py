"""vLLM's compile caches as sections of a page: differences between hashes, then contents."""

from __future__ import annotations

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.questions.caches.vllm_caches import SHOWN, VllmCache, VllmCaches
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize


def add_caches(page: Page, caches: VllmCaches) -> None:
    """Add the differences between caches, then their contents."""
    if not caches.caches:
        return
    if len(caches.caches) > 1:
        _add_differences(page, caches)
    page.blank()
    page.open("vLLM's compile caches")
    page.row([("vLLM's compile caches", tokens.HEADING)], "")
    for cache in caches.caches[:SHOWN]:
        _add_cache(page, cache)
    if len(caches.caches) > SHOWN:
        page.say(f"… and {len(caches.caches) - SHOWN} more", "  ", tokens.DIM)
    page.close()


def _add_differences(page: Page, caches: VllmCaches) -> None:
    page.blank()
    page.open("Why the hashes differ")
    page.row([("Why the hashes differ", tokens.HEADING), ("  new ← old", tokens.DIM)], "")
    if not caches.differences:
        page.say("No recorded factor differs between these caches.", "  ", tokens.DIM)
    last = ""
    for one in caches.differences[:SHOWN]:
        if one.unit != last:
            page.add("  ", (sanitize(one.unit), tokens.LABEL))
            last = one.unit
        page.add("    ", (f"{one.kind} ", tokens.WARN), (fmt.clip_middle(sanitize(one.name), 60), tokens.NAME))
        if one.new or one.old:
            values = [fmt.clip_middle(sanitize(value), 40) if value else "not set" for value in (one.new, one.old)]
            page.say(f"{values[0]} ← {values[1]}", "      ")
        if one.note:
            page.say(one.note, "      ", tokens.DIM)
    if len(caches.differences) > SHOWN:
        page.say(f"… and {len(caches.differences) - SHOWN} more; --json lists all", "  ", tokens.DIM)
    page.close()


def _add_cache(page: Page, cache: VllmCache) -> None:
    binaries = [file for file in cache.files if file.is_binary]
    head: list[Piece] = [(fmt.clip_middle(sanitize(cache.cache_hash or cache.path), 40), tokens.STRONG), "  ", sanitize(cache.unit)]
    page.row(head, "  ")
    words = [fmt.plural(len(cache.files), "file")]
    if cache.graphs:
        words.append(f"{fmt.plural(cache.graphs, 'compiled graph')} for {', '.join(cache.ranges[:8])}")
    if cache.factors:
        words.append(fmt.plural(len(cache.factors), "factor"))
    page.say(" · ".join(words), "    ")
    for file in binaries[:8]:
        page.add("    ", (fmt.clip_middle(sanitize(file.name), 60), tokens.NAME), f"  {fmt.size_of(file.size_bytes)}, binary")
    if len(binaries) > 8:
        page.say(f"… and {len(binaries) - 8} more binary files", "    ", tokens.DIM)
    for reason in cache.refused:
        page.say(f"not read: {sanitize(reason)}", "    ", tokens.WARN)
