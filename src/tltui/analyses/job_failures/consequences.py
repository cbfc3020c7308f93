"""Failures that follow from the failure of another process: lost connections, timeouts, exceptions of the launcher."""

from __future__ import annotations

import re

from tltui.analyses.job_failures.tracebacks import Traceback

_LOST = re.compile(
    r"\[\S*gloo/transport/\S+:\d+\] |Connection closed by peer|Check the logs of the remote worker"
    r"|Timed out waiting \d+ ?ms for (?:recv|send)|Application timeout caused pair closure"
    r"|(?:[Ff]ailed|unable) to (?:recv|send), got \d+ bytes|Socket Timeout|wait timeout after \d+ ?ms|recvValueWithTimeout failed"
    r"|The client socket has (?:timed out|failed to connect)|(?:Broken pipe|Connection reset by peer) \["
    r"|NCCL communicator was aborted|ncclRemoteError|remote process exited or there was a network error"
    r"|[Ww]atchdog caught collective operation timeout|collective operation timeout"
    r"|[Rr]ank \d+ (?:successfully reached|failed to pass) monitoredBarrier"
)
"""Messages about a peer that ended or did not come: third_party/gloo/gloo/transport/tcp, torch/csrc/distributed/c10d/socket.cpp,
TCPStore.cpp, ProcessGroupGloo.cpp and ProcessGroupNCCL.cpp."""
MESSAGE_READ = 4000
"""Characters of a message that are searched."""
LAUNCHERS = frozenset(("SignalException", "ProcessRaisedException", "ProcessExitedException", "ChildFailedError"))
"""Exceptions that torchrun and `torch.multiprocessing.spawn` raise when a worker has failed."""
_LAUNCHER_FILES = ("accelerate/commands/", "deepspeed/launcher/", "torch/distributed/run.py", "torch/distributed/launcher/")


def is_lost_connection(traceback: Traceback) -> bool:
    """Return whether an exception reports that another process ended, or did not enter a collective."""
    return _LOST.search(traceback.message[:MESSAGE_READ]) is not None


def is_of_launcher(traceback: Traceback) -> bool:
    """Return whether a launcher raised an exception, as a worker of it had failed."""
    if traceback.name in LAUNCHERS:
        return True
    if traceback.name != "CalledProcessError":
        return False
    files = [frame.file or "" for part in traceback.parts for frame in part.frames]
    return any(name in file for file in files for name in _LAUNCHER_FILES)
