# SPDX-License-Identifier: GPL-2.0
"""Counters, states and logs of iw_mpa, the driver and the kernel, and slow points in the kernel"""

import contextlib
import os
import re
import subprocess
import time

import needs
from harness import check, poll
from needs import STATS as DEBUGFS

LOG_BURST, LOG_INTERVAL = 10, 5     # the log gets at most so many lines of a device in so many seconds
AGE = 0.05      # seconds; the core may report a counter's value of 10 ms ago
ENDPOINT = re.compile(r"role=(\w+) state=(\w+) local=(\S+) remote=(\S+)")
# Slab caches of the kernel's objects for a connection in the MPA startup
SLABS = ("TCP", "TCPv6", "sock_inode_cache", "request_sock_TCP", "kmalloc-1k", "kmalloc-2k")


def lines_of(path):
    return needs.read(path).splitlines()


def hw_counters():
    return needs.ib_path("ports/1/hw_counters/")


def hw_counter(name):
    """Read a counter of the device. The RDMA core caches the values: use poll() for a new one."""
    return int(lines_of(hw_counters() + name)[0])


def errors_counted():
    """Return the device's counters of errors that ended streams: name -> number."""
    needs.need("counters")
    return {name: hw_counter(name) for name in os.listdir(hw_counters())
            if name.startswith("err_")}


@contextlib.contextmanager
def counted_as(name):
    """Check that meanwhile exactly one stream ends by an error, which is that of this counter."""
    quiet()
    time.sleep(AGE)
    want = errors_counted()
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
    """Are there no endpoints, and no sockets but those of listeners?"""
    return not alive("ep") and alive("sock") == alive("listener")


def quiet():
    """Wait until no endpoint or socket of earlier tests lingers, as this test counts its own."""
    check(poll(nothing_lives), "endpoints or sockets of another test are left")


def gone():
    """Check that endpoints and sockets of this test go away."""
    check(poll(nothing_lives), f"{alive('ep')} endpoints and {alive('sock')} sockets are left, "
          f"{alive('listener')} of them listeners'")


def endpoints(*ports):
    """Yield role and state of each endpoint; if ports are given, only of those with such a port."""
    for line in lines_of(DEBUGFS + "endpoints"):
        role, state, *addresses = ENDPOINT.search(line).groups()
        if not ports or any(int(address.rpartition(":")[2]) in ports for address in addresses):
            yield role, state


def fresh_log(b):
    """Return b.kernel_log() once the rate limit allows LOG_BURST lines again."""
    time.sleep(LOG_INTERVAL + 0.1)
    return b.kernel_log()


class SlowPoint:
    """Delay each call of a kernel function, to provoke races: see slow_point.c."""

    FOLDER = "/sys/module/slow_point/parameters/"

    def __init__(self, b, function, ms):
        needs.need("guest")
        subprocess.run(["insmod", "/share/modules/slow_point.ko", f"function={function}",
                        f"ms={ms}"], check=True)
        b.things.append(lambda: subprocess.run(["rmmod", "slow_point"], check=True))

    def is_in(self):
        return lines_of(self.FOLDER + "calls") != ["0"]

    def end(self):
        """Delay no further calls. A call that is delayed now stays so."""
        with open(self.FOLDER + "ms", "w", encoding="ascii") as f:
            f.write("0")

    def release(self):
        """End the present delay at once, and delay no further calls."""
        with open(self.FOLDER + "release", "w", encoding="ascii") as f:
            f.write("1")


def cgroups(path="/run/cgroup"):
    """Mount the cgroup2 file system, if it is not mounted. Return its path."""
    os.makedirs(path, exist_ok=True)
    if not os.path.exists(path + "/cgroup.procs"):
        subprocess.run(["mount", "-t", "cgroup2", "none", path], check=True)
    return path


def shrink(names):
    """Free unused objects of slab caches, where the kernel has SLUB's file for that."""
    for name in names:
        try:
            with open(f"/sys/kernel/slab/{name}/shrink", "w", encoding="ascii") as f:
                f.write("1")
        except OSError:
            pass


def slabs(names=SLABS):
    """Return slab cache name -> objects in use."""
    shrink(names)
    rows = (line.split() for line in lines_of("/proc/slabinfo")[2:])
    return {row[0]: int(row[1]) for row in rows if row[0] in names}
