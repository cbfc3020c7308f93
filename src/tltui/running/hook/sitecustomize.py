"""Start-up hook: `tltui run --record-steps` and `tltui try` put this directory first on PYTHONPATH.

It starts the recorder or the trial, and imports the `sitecustomize` that Python would have imported without it. Any Python,
including old ones, must be able to read this file.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if sys.version_info >= (3, 9):  # noqa: UP036
    try:
        import _tltui_recorder  # type: ignore[import-not-found]

        _tltui_recorder.begin(os.environ)
    except Exception as error:  # the job goes on, whatever it is
        sys.stderr.write("tltui: --record-steps: no steps were recorded: %r\n" % (error,))  # noqa: UP031
    try:
        if os.environ.get("TLTUI_TRIAL_DIRECTORY"):
            import _tltui_trial  # type: ignore[import-not-found]

            _tltui_trial.begin(os.environ)
    except Exception as error:
        sys.stderr.write("tltui: try: nothing is changed: %r\n" % (error,))  # noqa: UP031
# what follows is what happens without us: with their module, without any, with their errors
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
