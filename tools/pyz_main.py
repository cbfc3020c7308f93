"""The entry point of tltui.pyz. It becomes `__main__.py` there (`tools/make_pyz`).

tltui starts processes of its own and reads its own files by their paths, which an archive does not have. So the archive is unpacked
once, into a private directory whose name is the digest of what is in it: below the user's cache directory, or, where HOME cannot be
written, below a directory for temporary files. Later starts, of other Pythons too, use what is there. A directory appears whole or
not at all, so that many may start at once; those that were not used for a month go when another one is made.

Any Python must be able to read this file, so that an old one can say what is wrong.
"""

import os
import stat
import sys

MONTH = 30 * 86400
NEEDS = (3, 10)


def main(archive):
    """Unpack the archive if necessary, and run tltui from there."""
    if sys.version_info < NEEDS:
        sys.stderr.write("tltui: it needs Python 3.10 or newer, and %s is %s\n" % (sys.executable, sys.version.split()[0]))  # noqa: UP031
        return 2
    import zipfile

    with zipfile.ZipFile(archive) as file:
        digest = file.read("DIGEST").decode("ascii")
        directory, reasons = None, []
        for top, is_temporary in places():
            try:
                directory = unpacked(file, top, digest, is_temporary)
                break
            except OSError as error:
                reasons.append("  %s: %s\n" % (top, error.strerror or error))  # noqa: UP031
    if directory is None:
        sys.stderr.write("tltui: tltui.pyz has to unpack itself (19 MB), and there is no place for it:\n" + "".join(reasons))
        sys.stderr.write("Set TMPDIR or XDG_CACHE_HOME to a directory that you can write to.\n")
        return 2
    sys.path[:] = [directory] + [place for place in sys.path if place != archive]
    from tltui.cli import main as run

    return run()


def places():
    """Return directories to unpack into, and whether the system removes old files from them."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    candidates = [(os.path.join(cache if os.path.isabs(cache) else os.path.expanduser("~/.cache"), "tltui", "pyz"), False)]
    tops = [os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm"]
    name = "tltui-pyz-%d" % os.getuid()  # noqa: UP031
    return candidates + [(os.path.join(top, name), True) for top in dict.fromkeys(tops) if os.path.isabs(top)]


def unpacked(file, top, digest, is_temporary):
    """Return the directory below `top` with the contents of the archive. Raises OSError."""
    import contextlib

    os.makedirs(top, mode=0o700, exist_ok=True)
    status = os.lstat(top)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise OSError(0, "it is not a directory that only you can write to")
    directory = os.path.join(top, digest)
    if os.path.isdir(directory) and not (is_temporary and has_gaps(file, directory)):
        with contextlib.suppress(OSError):  # a cache that can only be read is as good
            os.utime(directory)
        return directory
    import shutil
    import tempfile
    import time

    new = tempfile.mkdtemp(prefix=".", dir=top)
    try:
        file.extractall(new)
        if os.path.isdir(directory):
            os.rename(directory, new + ".gaps")
        try:
            os.rename(new, directory)
        except OSError:
            if not os.path.isdir(directory):  # else another process was faster
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(new + ".gaps", ignore_errors=True)
    for other in os.listdir(top):
        path = os.path.join(top, other)
        if other != digest and os.lstat(path).st_mtime < time.time() - MONTH:
            shutil.rmtree(path, ignore_errors=True)
    return directory


def has_gaps(file, directory):
    """Return whether a file is missing: old ones are removed from directories for temporary files."""
    return not all(os.path.exists(os.path.join(directory, name)) for name in file.namelist())


if __name__ == "__main__":
    sys.exit(main(sys.path[0]))
