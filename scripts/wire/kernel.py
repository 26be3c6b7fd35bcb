# SPDX-License-Identifier: GPL-2.0
"""Functions that read counters, endpoints and log lines of iw_mpa, the driver's counters, and the
kernel's slab caches, and that delay calls of kernel functions"""

import contextlib
import os
import re
import subprocess
import time

import needs
from harness import check, poll
from needs import STATS as DEBUGFS

LOG_BURST, LOG_INTERVAL = 10, 5     # iw_mpa logs at most LOG_BURST lines a device in LOG_INTERVAL s
AGE = 0.05      # seconds; the RDMA core caches the values of hw_counters for 10 ms
ENDPOINT = re.compile(r"role=(\w+) state=(\w+) local=(\S+) remote=(\S+)")
# Slab caches from which the kernel allocates the objects of a connection in the MPA startup
SLABS = ("TCP", "TCPv6", "sock_inode_cache", "request_sock_TCP", "kmalloc-1k", "kmalloc-2k")


def lines_of(path):
    return needs.read(path).splitlines()


def hw_counters():
    return needs.ib_path("ports/1/hw_counters/")


def hw_counter(name):
    """Return a counter of the device. The RDMA core caches the values for some milliseconds: after
    an event, call this in harness.poll() until the value has changed."""
    return int(lines_of(hw_counters() + name)[0])


def errors_counted():
    """Return the device's hw_counters of streams that ended by an error: name -> number."""
    needs.need("counters")
    return {name: hw_counter(name) for name in os.listdir(hw_counters())
            if name.startswith("err_")}


@contextlib.contextmanager
def counted_as(name):
    """Check that during the with statement's body the device's counter `name` grows by one, and
    that no other counter of errors changes: one stream ended, by that error."""
    quiet()
    time.sleep(AGE)
    want = errors_counted()
    if name not in want and not needs.Place.ours:
        raise needs.Skipped(f"needs {needs.TEXTS['counters']}")
    check(name in want, f"there is no {name}")
    want[name] += 1
    yield
    check(poll(lambda: errors_counted() == want),
          f"{errors_counted()}, where {name} should have moved to {want[name]}")


def counter(name):
    return next(int(line.split()[1]) for line in lines_of(DEBUGFS + "stats")
                if line.split()[0] == name)


def alive(thing):
    return counter(thing + "_created") - counter(thing + "_destroyed")


def nothing_lives():
    """Has iw_mpa no endpoints, and no sockets but those of listeners?"""
    return not alive("ep") and alive("sock") == alive("listener")


def quiet():
    """Wait until the endpoints and sockets of earlier tests are destroyed: iw_mpa's counters count
    them, too, and this test would fail because of them."""
    check(poll(nothing_lives), "endpoints or sockets of another test are left")


def gone():
    """Wait until iw_mpa has destroyed the endpoints and sockets of this test; fail if it does
    not."""
    check(poll(nothing_lives), f"{alive('ep')} endpoints and {alive('sock')} sockets are left, "
          f"{alive('listener')} of them listeners'")


def endpoints(*ports):
    """Yield role and state of each endpoint of iw_mpa that has one of `ports`; if none are given,
    of all endpoints."""
    for line in lines_of(DEBUGFS + "endpoints"):
        role, state, *addresses = ENDPOINT.search(line).groups()
        if not ports or any(int(address.rpartition(":")[2]) in ports for address in addresses):
            yield role, state


def fresh_log(b):
    """Sleep until iw_mpa's rate limit allows LOG_BURST lines again. Return what b.kernel_log()
    returns: a function that returns the lines that iw_mpa has logged about the device since."""
    time.sleep(LOG_INTERVAL + 0.1)
    return b.kernel_log()


class SlowPoint:
    """Delay each call of a kernel function by ms milliseconds, for a race: see slow_point.c."""

    FOLDER = "/sys/module/slow_point/parameters/"

    def __init__(self, b, function, ms):
        needs.need("guest")
        subprocess.run(["insmod", "/share/modules/slow_point.ko", f"function={function}",
                        f"ms={ms}"], check=True)
        b.things.append(lambda: subprocess.run(["rmmod", "slow_point"], check=True))

    def is_in(self):
        return lines_of(self.FOLDER + "calls") != ["0"]

    def end(self):
        """Delay no further calls of the function. A delay that has begun is not shortened."""
        with open(self.FOLDER + "ms", "w", encoding="ascii") as f:
            f.write("0")

    def release(self):
        """End the present delay at once, and delay no further calls of the function."""
        with open(self.FOLDER + "release", "w", encoding="ascii") as f:
            f.write("1")


def cgroups(path="/run/cgroup"):
    """Mount the cgroup2 file system, if it is not mounted. Return its path."""
    os.makedirs(path, exist_ok=True)
    if not os.path.exists(path + "/cgroup.procs"):
        subprocess.run(["mount", "-t", "cgroup2", "none", path], check=True)
    return path


def shrink(names):
    """Have the kernel free the empty slabs of these caches, if it has SLUB's file "shrink":
    otherwise unused objects would be counted as if they were in use."""
    for name in names:
        try:
            with open(f"/sys/kernel/slab/{name}/shrink", "w", encoding="ascii") as f:
                f.write("1")
        except OSError:
            pass


def slabs(names=SLABS):
    """Return slab cache name -> number of objects that are in use."""
    shrink(names)
    rows = (line.split() for line in lines_of("/proc/slabinfo")[2:])
    return {row[0]: int(row[1]) for row in rows if row[0] in names}
