"""The outcome of `tltui check` as JUnit XML: a test suite, a test case a limit.

There is no standard. What is written is valid by the schema of Ant's reports (`JUnit.xsd` of windyroad/JUnit-Schema) and by that
of Jenkins (`junit-10.xsd` of its xunit plugin); GitLab, GitHub's reporters and Azure read it as well.
"""

from __future__ import annotations

import time
from xml.etree import ElementTree

from tltui import __version__
from tltui.analyses.problems.gates import Gates, Outcome, Reason
from tltui.analyses.problems.measure import REASONS
from tltui.documents.check import headline
from tltui.text.sanitize import sanitize

CLASS = "tltui.check"
"""The class of all test cases: with the name of the limit it is what a server knows a case again by."""


def junit(found: Gates, title: str, page: str, seconds: float, now: float) -> bytes:
    """The document. `page`: the lines for people; `seconds`: how long the check took; `now`: when it was, in seconds since 1970."""
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {
        "name": _token(f"tltui check of {title}"), "package": "tltui", "id": "0", "hostname": "localhost",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)), "time": f"{max(seconds, 0):.3f}",
        "tests": str(len(found.limits)), "failures": str(sum(outcome.exceeded for outcome in found.limits)),
        "errors": "0", "skipped": "0",
    })  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in {"run": title, "compiles": str(found.compiles), "tltui": __version__}.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _token(value)})
    for outcome in found.limits:
        case = ElementTree.SubElement(suite, "testcase", {"name": outcome.name, "classname": CLASS, "time": "0.000"})
        if outcome.exceeded:
            failure = ElementTree.SubElement(case, "failure", {"message": _token(headline(outcome)), "type": outcome.name})
            failure.text = "\n".join(reasons(outcome))
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(sanitize, page.split("\n")))
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def reasons(outcome: Outcome) -> list[str]:
    """What a limit counted, a line each, sanitised."""
    lines = [sanitize(_line(reason)) for reason in outcome.reasons]
    if len(lines) == REASONS:
        lines.append(f"and more; all of them: tltui {outcome.page.removeprefix('@')} PATH")
    return lines


def _line(reason: Reason) -> str:
    label = reason.ref if reason.ref.startswith("@") else f"[{reason.ref}]"
    return f"{label}  {'new  ' if reason.new else ''}{reason.text}"


def _token(text: str) -> str:
    """A text as an attribute has it. What XML 1.0 forbids is what `sanitize` marks."""
    return sanitize(" ".join(text.split())).strip()
