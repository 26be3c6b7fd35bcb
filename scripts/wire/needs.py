# SPDX-License-Identifier: GPL-2.0
"""Things that a test needs besides the wire, such as the device's host, and whether they are there.

Code that uses such a thing asks for it, by need() or in the function that provides it. If it is missing
the test is skipped, and the report names it. See device.py for features of the device.
"""

import os

TEXTS = {
    "here": "the device in the host of the peer",
    "hazards": "--hazards, for its host may crash",
    "settings": "the sysctls of iw_mpa",
    "attributes": "iw_mpa's attributes of the device",
    "stats": "iw_mpa's folder in debugfs",
    "counters": "counters of the device as srnic has them",
    "trace": "iw_mpa's trace events",
    "log": "iw_mpa's lines in the kernel's log",
    "kverbs": "kverbs, this suite's program in the kernel",
    "user": "user space verbs, for which rdma-core has no provider",
    "guest": "a guest of this suite, with its modules",
}
# Needs that all tests of a file share
OF_FILES = {
    "hazards": ("hazards",),
    "data_fuzz": ("hazards",),
    "data_rings": ("hazards", "guest"),
    "data_kernel": ("kverbs",),
    **dict.fromkeys(("storms", "load", "faults", "data_storms", "data_faults", "data_charge",
                     "data_stock", "data_unending"), ("hazards", "guest")),
}
GUEST = "/share/modules"        # exists only in a guest of this suite
STATS = "/sys/kernel/debug/iw_mpa/"
TRACEFS = "/sys/kernel/tracing/"
# Folders of the files that tests read and write, and the needs for them
OF_PATHS = (
    ("/proc/sys/net/iw_mpa/", "settings"),
    (STATS, "stats"),
    (TRACEFS, "trace"),
    ("/sys/module/", "guest"),
    ("/proc/sys/net/ipv", "here"),
)


class Skipped(Exception):
    """The test cannot judge the device here."""


class Unsupported(Skipped):
    """The device does not do what the test is about: its name."""


class Place:
    """Where the device is, and what has been found out of that"""

    ib_device = "siw0"
    ours = True         # is the driver srnic or siw_mpa?
    user = True         # can programs open the device? Else kernel_probe.py replaces cm_probe.
    over = ()           # words with which a command line begins to run in the device's host; none: this host
    peer = None         # address of this host as the device sees it
    hazards = False     # was --hazards given?
    known = {}


def ib_path(rest):
    return f"/sys/class/infiniband/{Place.ib_device}/{rest}"


# How to test for each need, once
FOUND = {
    "here": lambda: True,
    "hazards": lambda: Place.ours or Place.hazards,
    "settings": lambda: os.path.exists("/proc/sys/net/iw_mpa/crc"),
    "attributes": lambda: os.path.exists(ib_path("iw_mpa")),
    "counters": lambda: has("attributes") and os.path.exists(ib_path("ports/1/hw_counters")),
    "stats": lambda: os.path.exists(STATS + "stats"),
    "trace": lambda: os.path.exists(TRACEFS + "events/iw_mpa"),
    "log": lambda: has("attributes") and os.access("/dev/kmsg", os.R_OK),
    "kverbs": lambda: os.path.exists("/dev/kverbs"),
    "user": lambda: Place.user,
    "guest": lambda: os.path.exists(GUEST),
}


def has(name):
    # A guest has everything. Tests remove the device at times, and then the files could not be found.
    if Place.ours and os.path.exists(GUEST):
        return True
    # In another host run.py has tried that programs can open the device; all else that they cannot report is unknown.
    if Place.over:
        return name == "user" or name == "hazards" and Place.hazards
    if name not in Place.known:
        Place.known[name] = FOUND[name]()
    return Place.known[name]


def need(*names):
    for name in names:
        if not has(name):
            raise Skipped(f"needs {TEXTS[name]}")


def need_path(path):
    """What is at that path is there, or the test is skipped."""
    if path.startswith(ib_path("iw_mpa/")):
        need("attributes")
    elif path.startswith(ib_path("ports/1/hw_counters/")):
        need("counters")
    else:
        need(*[name for start, name in OF_PATHS if path.startswith(start)][:1])


def read(path):
    need_path(path)
    try:
        with open(path, encoding="ascii") as f:
            return f.read()
    except FileNotFoundError:
        if Place.ours:
            raise
        raise Skipped(f"needs {path}") from None


def write(path, value):
    need_path(path)
    with open(path, "w", encoding="ascii") as f:
        f.write(value)
