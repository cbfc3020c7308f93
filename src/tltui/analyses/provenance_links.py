"""Names ↔ names of one unit: kernels, post-grad nodes, pre-grad nodes and places in the source.

What the mapping says comes first. Where it says nothing, less precise sources fill in, each marked as what it is: stacks
of kernels, the comments that Inductor writes into its code, and the `# File:` comments of the graphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tltui.analyses import provenance_result as result
from tltui.analyses.provenance_code import Call, CodeText, Definition, Remarks
from tltui.analyses.provenance_graph import COMPUTED, GraphText
from tltui.analyses.provenance_mapping import Names, NodeMapping, Stacks, merged
from tltui.analyses.provenance_result import Place
from tltui.analyses.stacks import StackFrame, is_framework
from tltui.text.fx_graph import FxNode

EMPTY = GraphText(_NOTHING, 0, None, {}) if (_NOTHING := __import__("tltui.text.fx_graph").text.fx_graph.parse(())) else None
