#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In the guest, for ulps.sh: a target of NVMe over RDMA goes and comes back.

    comeback.py CONTROLLERS SECONDS

The target has no port for SECONDS. Prints lines "WHAT NUMBER": for how many milliseconds it has a port again until half
of the controllers are live, and until all are, and how many attempts to reconnect have failed. This is one program,
which needs no file while it measures: if a guest waits for a file of the host, its clock jumps.
"""

import glob
import os
import sys
import time

SUBSYSTEM = "/sys/kernel/config/nvmet/subsystems/nqn.2000-01.test.iw-mpa:disk"
LINK = "/sys/kernel/config/nvmet/ports/1/subsystems/" + os.path.basename(SUBSYSTEM)
FAILED = b"Failed reconnect attempt"
PATIENCE_S = 120
LOOK_S = 0.01


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def await_live(states, enough):
    """Until so many are live, as ENOUGH says"""
    end = time.monotonic() + PATIENCE_S
    while not enough(sum(read(state) == "live" for state in states)):
        if time.monotonic() > end:
            sys.exit("error: " + " ".join(map(read, states)))
        time.sleep(LOOK_S)


def failures(log):
    """How many the kernel's log has had since it was read last; it may have lost the oldest"""
    number = 0
    while True:
        try:
            number += FAILED in os.read(log, 8192)
        except BrokenPipeError:
            continue
        except BlockingIOError:
            return number


def main():
    controllers, seconds = map(int, sys.argv[1:])
    states = glob.glob("/sys/class/nvme/nvme*/state")
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    await_live(states, lambda live: live == controllers)
    os.unlink(LINK)
    await_live(states, lambda live: live == 0)
    time.sleep(seconds)
    os.lseek(log, 0, os.SEEK_END)
    began = time.monotonic()
    os.symlink(SUBSYSTEM, LINK)
    for name, number in (("median", controllers // 2), ("last", controllers)):
        await_live(states, lambda live, n=number: live >= n)
        print(name, round(1000 * (time.monotonic() - began)))
    print("failed", failures(log))


main()
