"""Run scripts of `tltui repro`, each in a child of its own, so that torch and its compiler are imported once for all of them.

Arguments: a JSON list of command lines without the interpreter. A first word `fault:NAME` plants a fault of `faults.py`. Prints a JSON list of exit code, standard output and error.
"""

import json
import os
import runpy
import sys
import tempfile
import traceback

import faults
import torch._inductor.compile_fx  # noqa: F401


def run(words):
    """Run a script as `python SCRIPT …` does, and return how the process ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            fault = words.pop(0).removeprefix("fault:") if words[0].startswith("fault:") else ""
            sys.argv, sys.path[0] = words, os.path.dirname(words[0])
            code = 1
            try:
                if fault:
                    faults.PLANT[fault]()
                runpy.run_path(words[0], run_name="__main__")
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(errors="replace"), err.read().decode(errors="replace")


print(json.dumps([run(words) for words in json.loads(sys.argv[1])]))
