# SPDX-License-Identifier: GPL-2.0
"""Who pays for the kernel's memory: the cgroup of the application that asks for it.

The kernels with detectors have no such controller.
"""

import os

from harness import SLOW, check, poll
from kernel import cgroups, lines_of
from registry import rule, say
from verbs import LOCAL_WRITE, Dut

MANY = 2000


class Group:
    """A cgroup for programs of the test, gone with it"""

    def __init__(self, b):
        root = cgroups()
        self.path = f"{root}/wire"
        self._put(root, "cgroup.subtree_control", "+memory")
        os.mkdir(self.path)
        b.things.append(lambda: os.rmdir(self.path))

    @staticmethod
    def _put(path, name, value):
        with open(f"{path}/{name}", "w", encoding="ascii") as file:
            file.write(value)

    def take(self, program):
        self._put(self.path, "cgroup.procs", str(program.pid))

    def slab(self):
        """Octets of the kernel's small objects that are charged to it"""
        return int(next(line.split()[1] for line in lines_of(f"{self.path}/memory.stat")
                        if line.startswith("slab ")))


@rule("R-8.1.2-1: the kernel's small objects that the process's cgroup is charged for")
def R_8_1_2_1_regions_are_charged_to_who_registers_them(b):
    """Each takes a structure, and its random STag a place of its own in the table of STags."""
    group = Group(b)
    dut = Dut(b)
    group.take(dut.verbs.proc)
    before = group.slab()
    for n in range(MANY):
        dut.verbs.do(f"mr region{n} pd memory 4096 64 {LOCAL_WRITE}")
    check(poll(lambda: group.slab() - before > MANY * 1000, 5 * SLOW),
          f"{group.slab() - before} octets are charged for {MANY} regions")
    say(f"{(group.slab() - before) / MANY:.0f} octets charged for a region")
