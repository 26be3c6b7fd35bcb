#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Attach gdb to the kernel of a guest that runs: it stands still until gdb is left.

    gdb.py GUEST [ARGUMENT...]      ARGUMENTs are gdb's

GUEST is A or B, of the suite that has begun last, or FOLDER/A, where FOLDER is that of a suite, below run/ in the cache.
"""

import glob
import os
import sys

from flap import Monitor

CACHE = os.environ.get("IW_MPA_CACHE") or \
    os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "iw_mpa")


def open_stub(guest):
    """Have QEMU wait for gdb at a socket, whose path is returned"""
    # The newest run first: the names of the folders begin with the time.
    pattern = f"{guest}.qmp" if "/" in guest else f"{CACHE}/run/*/{guest}.qmp"
    for path in sorted(glob.glob(pattern), reverse=True):
        try:
            monitor = Monitor(path)
        except OSError:
            continue            # the suite of this guest was killed
        stub = f"{os.path.splitext(path)[0]}.gdb"
        monitor.do("human-monitor-command", **{"command-line": f"gdbserver unix:{stub},server=on,wait=off"})
        return stub
    sys.exit(f"no guest {guest} runs")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.execvp("gdb", ["gdb", "-q", "-ex", "set architecture i386:x86-64",
                      "-ex", f"target remote {open_stub(sys.argv[1])}", *sys.argv[2:]])


if __name__ == "__main__":
    main()
