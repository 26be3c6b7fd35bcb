# SPDX-License-Identifier: GPL-2.0
"""Kernel memory of CQs, QPs, SRQs and regions is charged to the memory cgroup of their process.

These tests are not run on the kernels that the suite builds with KASAN and other detectors, as
those kernels have no memory controller.
"""

import os

from harness import check, poll
from kernel import cgroups, lines_of
from registry import rule, say
from rings import CQE, MAX_SGE, RQE, SGE, SQE
from verbs import LOCAL_WRITE, Dut

MANY = 2000


class Group:
    """A memory cgroup, removed when the test ends, into which the test moves a process"""

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

    def charged(self, kind):
        """Return how many bytes this cgroup is charged for, by memory.stat: kind "slab" is the
        kernel's small objects, "kernel" is all kernel memory."""
        return int(next(line.split()[1] for line in lines_of(f"{self.path}/memory.stat")
                        if line.startswith(kind + " ")))


@rule("R-8.1.2-1: the kernel's small objects that the process's cgroup is charged for")
def R_8_1_2_1_regions_are_charged_to_who_registers_them(b):
    """For a region the kernel allocates a structure and, as the STag is random, in most cases a new
    node of an xarray: more than 1000 bytes of slab memory, for which the process's cgroup is
    charged."""
    group = Group(b)
    dut = Dut(b)
    group.take(dut.verbs.proc)
    before = group.charged("slab")
    for n in range(MANY):
        dut.verbs.do(f"mr region{n} pd memory 4096 64 {LOCAL_WRITE}")
    check(poll(lambda: group.charged("slab") - before > MANY * 1000),
          f"{group.charged('slab') - before} octets are charged for {MANY} regions")
    say(f"{(group.charged('slab') - before) / MANY:.0f} octets charged for a region")


# Kind of queue -> command of verbs_probe that creates a queue of ELEMENTS entries, and least number
# of bytes that the kernel allocates for an entry: the entry's size in the ring and, for a send
# queue, MAX_SGE SGEs in the table to which the kernel copies the entries.
ELEMENTS = 16384
RINGS = {
    "completions": (f"cq big {ELEMENTS}", CQE),
    "shared_receives": (f"srq big pd {ELEMENTS} 1 0", RQE),
    "receives": (f"qp big pd scq rcq - 1 {ELEMENTS} 1 1 0 0", RQE),
    "sends": (f"qp big pd scq rcq - {ELEMENTS} 1 1 1 0 0", SQE + MAX_SGE * SGE),
}


@rule("R-8.1.2-1: the kernel's memory that the process's cgroup is charged for, with the queue and "
      "when it has gone", cases=[(what,) for what in RINGS])
def R_8_1_2_1_queues_are_charged_to_who_makes_them(b, what):
    """The process's cgroup is charged for a queue's ring, and for the table to which the kernel
    copies the entries of a send queue; when the queue is destroyed, the charge is returned."""
    group = Group(b)
    dut = Dut(b)
    group.take(dut.verbs.proc)
    line, size = RINGS[what]
    before = group.charged("kernel")
    dut.verbs.do(line)
    check(poll(lambda: group.charged("kernel") - before >= ELEMENTS * size),
          f"{group.charged('kernel') - before} octets are charged for {ELEMENTS} {what}")
    dut.verbs.do("destroy big")
    check(poll(lambda: group.charged("kernel") - before < ELEMENTS * 16),
          f"{group.charged('kernel') - before} octets are charged when they have gone")
