"""The styles of every HTML file of ours: the colours of the program's `light` and `dark`, whichever the reader's system wears.

All of it is below the class `tltui`, so that a fragment can stand in somebody else's page.
"""

from __future__ import annotations

from tltui.text import tokens
from tltui.text.palette import COLOURS, TRUE

DEEPEST = 8
"""Indentation, in steps of two cells, that a line of a page may have and be told apart from less when it wraps."""
_NAMES = ("page", "ink", "dim", "accent", "bar", "rule", "match", "cursor-away",
          *(name for name in COLOURS if name.startswith(("tok-", "phase-"))))  # fmt: skip
_LOOKS: dict[str, str] = {
    **{name: f"color:var(--{name})" for name in tokens.PHASES},
    **dict.fromkeys((tokens.OK, tokens.ADDED), "color:var(--tok-ok)"),
    **dict.fromkeys((tokens.BREAK, tokens.WARN, tokens.CHANGED), "color:var(--tok-break)"),
    **dict.fromkeys((tokens.ERROR, tokens.EXCEPTION), "color:var(--tok-error);font-weight:700"),
    tokens.REMOVED: "color:var(--tok-error)",
    **dict.fromkeys((tokens.MISSING, tokens.RUNNING, tokens.SEEN), "color:var(--tok-running)"),
    **dict.fromkeys((tokens.TITLE, tokens.STRONG, tokens.DEFINITION), "font-weight:700"),
    tokens.HEADING: "color:var(--tok-heading);font-weight:700",
    **dict.fromkeys((tokens.EMPTY, tokens.LABEL, tokens.DIM, tokens.COMMENT), "color:var(--dim)"),
    tokens.CONTROL: "color:var(--page);background:var(--tok-error)",
    **{name: f"color:var(--tok-{name})" for name in (
        tokens.EAGER, tokens.RECOMPILE, tokens.LINK, tokens.KEYWORD, tokens.FUNCTION, tokens.TYPE, tokens.STRING, tokens.ORIGIN,
        tokens.DECORATOR, tokens.KEY, tokens.CONSTANT)},
}  # fmt: skip
"""Token → how it looks, as in `tltui.widgets.looks` of the UI; a token that is not here looks like any text."""


def _variables(theme: str) -> str:
    column = TRUE.index(theme)
    return "".join(f"--{name}:{COLOURS[name][column]};" for name in _NAMES)


def _indents() -> str:
    return "".join(f".tltui .in{level}{{--in:{2 * level + 2}ch}}" for level in range(DEEPEST + 1)) + "\n"


def _tokens() -> str:
    return "".join(f".tltui .{name}{{{look}}}\n" for name, look in _LOOKS.items())


STYLE = f"""
.tltui{{color-scheme:light dark;{_variables("light")}}}
@media screen and (prefers-color-scheme:dark){{.tltui{{{_variables("dark")}}}}}
.tltui{{background:var(--page);color:var(--ink);line-height:1.45;-webkit-text-size-adjust:100%;
font-family:ui-monospace,"Cascadia Mono","JetBrains Mono","SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:clamp(11px,calc((100vw - 2.5rem)/61),14px)}}
.tltui body{{margin:0 auto;padding:0 1.25rem 3rem;max-width:88rem}}
.tltui h1,.tltui h2,.tltui h3,.tltui h4,.tltui h5,.tltui h6{{line-height:1.3;margin:1.6em 0 .5em;overflow-wrap:anywhere}}
.tltui h1{{font-size:1.35em}}
.tltui h2,.tltui h3,.tltui h4,.tltui h5,.tltui h6{{font-size:1.1em;color:var(--tok-heading)}}
.tltui pre{{margin:0 0 .9em;font:inherit;overflow-x:auto;direction:ltr;tab-size:4}}
@media(max-width:44rem){{.tltui pre:not(.code){{white-space:pre-wrap;overflow-wrap:anywhere}}
.tltui .wraps{{display:block;padding-left:var(--in);text-indent:calc(-1*var(--in))}}}}
{_indents()}.tltui pre.code{{padding:.7em .9em;border:1px solid var(--rule);border-radius:6px}}
.tltui pre span,.tltui pre a{{unicode-bidi:isolate}}
.tltui .many{{display:block;width:max-content;min-width:100%;content-visibility:auto;contain-intrinsic-size:auto 100% auto 2000lh}}
.tltui summary{{cursor:pointer;white-space:pre-wrap;overflow-wrap:anywhere;padding:.15em 0}}
.tltui summary>:is(h1,h2,h3,h4,h5,h6){{display:inline;margin:0}}
.tltui details{{margin:0 0 .5em}}
.tltui details>:not(summary){{margin-left:.35em;padding-left:.9em}}
.tltui details[open]{{border-left:2px solid var(--rule);padding-left:.7em}}
.tltui details[open]>:not(summary){{margin-left:0;padding-left:.5em}}
.tltui details[open]>pre.code{{padding-left:.9em}}
.tltui a{{color:var(--tok-link);text-decoration:underline;text-underline-offset:.15em}}
.tltui a.stands{{text-decoration-style:double}}
.tltui a:hover{{text-decoration-thickness:2px}}
.tltui :focus-visible{{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}}
.tltui .gone{{text-decoration:underline dotted;text-underline-offset:.15em;cursor:help}}
.tltui :target{{scroll-margin-top:1em}}
.tltui pre span:target,.tltui summary span:target{{background:var(--match);outline:2px solid var(--match)}}
.tltui section{{scroll-margin-top:.5em}}
.tltui .head{{margin:0 -1.25rem 1.2em;padding:.75em 1.25rem;background:var(--bar);display:flex;gap:1em;align-items:baseline}}
.tltui .head>span{{color:var(--accent);font-weight:700}}
.tltui .head h1{{margin:0;font-size:1.1em;min-width:0}}
.tltui nav ul{{list-style:none;margin:0 0 1em;padding:0;display:flex;flex-wrap:wrap;gap:.25em 1.4em}}
.tltui footer{{margin-top:2.5em;padding-top:.6em;border-top:1px solid var(--rule);color:var(--dim);overflow-wrap:anywhere}}
.tltui .skip{{position:absolute;left:-99rem}}
.tltui .skip:focus{{left:1.25rem;top:.4rem;padding:.2em .6em;background:var(--page);z-index:1}}
{_tokens()}@media print{{.tltui{{font-size:9pt}}.tltui body{{max-width:none;padding:0}}.tltui nav,.tltui .skip{{display:none}}
.tltui pre{{white-space:pre-wrap;overflow-wrap:anywhere;overflow:visible}}.tltui .many{{content-visibility:visible;width:auto}}
.tltui a{{color:inherit}}.tltui .head{{background:none;padding:0;margin:0 0 1em;border-bottom:1px solid var(--rule)}}
.tltui h2,.tltui h3{{break-after:avoid}}
.tltui details::details-content{{content-visibility:visible!important;block-size:auto!important}}}}
@media(prefers-contrast:more){{.tltui{{--dim:var(--ink);--rule:var(--ink)}}}}
"""
