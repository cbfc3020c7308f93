"""What `__init__.py` gives when it is asked for. A test holds that both name the same."""

from tltui.api import Artifact as Artifact
from tltui.api import BadAddress as BadAddress
from tltui.api import BadArgument as BadArgument
from tltui.api import CheckResult as CheckResult
from tltui.api import Closed as Closed
from tltui.api import Compile as Compile
from tltui.api import Frame as Frame
from tltui.api import Node as Node
from tltui.api import Nodes as Nodes
from tltui.api import NothingFound as NothingFound
from tltui.api import Process as Process
from tltui.api import ProfileError as ProfileError
from tltui.api import Rank as Rank
from tltui.api import Result as Result
from tltui.api import Run as Run
from tltui.api import TltuiError as TltuiError
from tltui.api import TltuiWarning as TltuiWarning
from tltui.api import Unavailable as Unavailable
from tltui.api import absent as absent
from tltui.api import caches as caches
from tltui.api import check as check
from tltui.api import damage as damage
from tltui.api import demo as demo
from tltui.api import diff as diff
from tltui.api import exports as exports
from tltui.api import extract as extract
from tltui.api import fusion as fusion
from tltui.api import grep as grep
from tltui.api import guards as guards
from tltui.api import layers as layers
from tltui.api import log as log
from tltui.api import ls as ls
from tltui.api import matrix as matrix
from tltui.api import metrics as metrics
from tltui.api import open as open  # noqa: A004
from tltui.api import passes as passes
from tltui.api import problems as problems
from tltui.api import provenance as provenance
from tltui.api import ranks as ranks
from tltui.api import recompiles as recompiles
from tltui.api import records as records
from tltui.api import runtime as runtime
from tltui.api import shapes as shapes
from tltui.api import source as source
from tltui.api import stacks as stacks
from tltui.api import stragglers as stragglers
from tltui.api import summary as summary
from tltui.api import timing as timing
from tltui.api import vllm as vllm
from tltui.api import where as where

__version__: str
