# SPDX-License-Identifier: GPL-2.0
"""The needs of tests besides a connection, such as access to the device's host: are they met?

A test that has such a need calls need() with the need's name, or a function that calls need(). If
the need is not met, the test is skipped, and report.py names the need. Features of the device are
in device.py.
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
# File of tests -> the needs that all tests of the file have
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
# Folder in which tests read or write files -> the need on which its existence depends
OF_PATHS = (
    ("/proc/sys/net/iw_mpa/", "settings"),
    (STATS, "stats"),
    (TRACEFS, "trace"),
    ("/sys/module/", "guest"),
    ("/proc/sys/net/ipv", "here"),
)


class Skipped(Exception):
    """The test cannot run in this environment."""


class Unsupported(Skipped):
    """The device lacks the feature that the test is about. The argument names the feature."""


class Place:
    """Where the device under test is, and which needs of the tests are met there"""

    ib_device = "siw0"
    ours = True         # is the driver srnic or siw_mpa?
    user = True         # can programs open the device? Else kernel_probe.py replaces cm_probe.
    over = ()           # words that, in front of a command, run it in the device's host
    peer = None         # address of this host to which the device connects
    hazards = False     # was --hazards given?
    known = {}


def ib_path(rest):
    return f"/sys/class/infiniband/{Place.ib_device}/{rest}"


# Need -> the function that finds out whether it is met; has() keeps the result
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
    # In a guest of this suite all needs are met, even if a test has removed the device just now,
    # and with it the files by which the functions in FOUND decide.
    if Place.ours and os.path.exists(GUEST):
        return True
    # With the device in another host only two needs can be met: "user" (user space verbs), as
    # survey.py has run cm_probe there, which calls these verbs; and "hazards", by option --hazards.
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
    """Skip the test if the file at `path` depends on a need, as iw_mpa's sysctls do on "settings",
    and that need is not met."""
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
