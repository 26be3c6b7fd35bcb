#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run in the guest, for ulps.sh: remove a target of NVMe over RDMA, and make it available again.

    comeback.py CONTROLLERS SECONDS

When no controller is live any more, the target has no port for another SECONDS. Prints "median N"
and "last N", the milliseconds from the return of the port until half of the CONTROLLERS
controllers, and all, are live; and "failed N", the failed attempts to reconnect in that time. This
is no shell script, since the guest's clock jumps whenever a program is loaded.
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
    """Wait until ENOUGH(number of live controllers) holds; after PATIENCE_S exit with an error."""
    end = time.monotonic() + PATIENCE_S
    while not enough(sum(read(state) == "live" for state in states)):
        if time.monotonic() > end:
            sys.exit("error: " + " ".join(map(read, states)))
        time.sleep(LOOK_S)


def failures(log):
    """Count the records with the text FAILED from the position of LOG to the end of /dev/kmsg. If
    the next record was overwritten, one read() fails with EPIPE; the next gets the oldest one
    left."""
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
