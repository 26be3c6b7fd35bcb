# SPDX-License-Identifier: GPL-2.0
"""What the module, and the kernel around it, say of themselves."""

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
# Objects of a connection during startup, apart from our own memory
SLABS = ("TCP", "TCPv6", "sock_inode_cache", "request_sock_TCP", "kmalloc-1k", "kmalloc-2k")


def lines_of(path):
    return needs.read(path).splitlines()


def hw_counters():
    return needs.ib_path("ports/1/hw_counters/")


def hw_counter(name):
    """One of the device's. The core reads them now and then: a new value wants poll()."""
    return int(lines_of(hw_counters() + name)[0])


def errors_counted():
    """What the device has counted by errors of streams: name -> how often"""
    needs.need("counters")
    return {name: hw_counter(name) for name in os.listdir(hw_counters())
            if name.startswith("err_")}


@contextlib.contextmanager
def counted_as(name):
    """One stream ends by an error of this name, and none by any other."""
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
    """No endpoint, and no socket but those of listeners."""
    return not alive("ep") and alive("sock") == alive("listener")


def quiet():
    """What earlier tests left to linger has ended."""
    check(poll(nothing_lives), "endpoints or sockets of another test are left")


def gone():
    """What this test made has ended."""
    check(poll(nothing_lives), f"{alive('ep')} endpoints and {alive('sock')} sockets are left, "
          f"{alive('listener')} of them listeners'")


def endpoints(*ports):
    """(role, state) of each endpoint, or of those with one of the ports"""
    for line in lines_of(DEBUGFS + "endpoints"):
        role, state, *addresses = ENDPOINT.search(line).groups()
        if not ports or any(int(address.rpartition(":")[2]) in ports for address in addresses):
            yield role, state


def fresh_log(b):
    """b.kernel_log(), with room for LOG_BURST lines, whatever other tests did"""
    time.sleep(LOG_INTERVAL + 0.1)
    return b.kernel_log()


class SlowPoint:
    """A function that takes its time: see slow_point.c."""

    FOLDER = "/sys/module/slow_point/parameters/"

    def __init__(self, b, function, ms):
        needs.need("guest")
        subprocess.run(["insmod", "/share/modules/slow_point.ko", f"function={function}",
                        f"ms={ms}"], check=True)
        b.things.append(lambda: subprocess.run(["rmmod", "slow_point"], check=True))

    def is_in(self):
        return lines_of(self.FOLDER + "calls") != ["0"]

    def end(self):
        """From the next call on it is as fast as ever."""
        with open(self.FOLDER + "ms", "w", encoding="ascii") as f:
            f.write("0")

    def release(self):
        """The call that is in it goes on, and later ones are as fast as ever."""
        with open(self.FOLDER + "release", "w", encoding="ascii") as f:
            f.write("1")


def cgroups(path="/run/cgroup"):
    """Where the groups of processes are"""
    os.makedirs(path, exist_ok=True)
    if not os.path.exists(path + "/cgroup.procs"):
        subprocess.run(["mount", "-t", "cgroup2", "none", path], check=True)
    return path


def shrink(names):
    """Give back what the caches only keep at hand; not every kernel can."""
    for name in names:
        try:
            with open(f"/sys/kernel/slab/{name}/shrink", "w", encoding="ascii") as f:
                f.write("1")
        except OSError:
            pass


def slabs(names=SLABS):
    """name -> objects in use"""
    shrink(names)
    rows = (line.split() for line in lines_of("/proc/slabinfo")[2:])
    return {row[0]: int(row[1]) for row in rows if row[0] in names}
