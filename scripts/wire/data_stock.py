# SPDX-License-Identifier: GPL-2.0
"""Tests that need huge pages or rare kinds of network devices: distributions' kernels have them,
the kernels that this suite builds with KASAN and other detectors do not.
"""

import ctypes
import errno
import os

import rdmap
from data_storms import links_of, refused_link
from harness import check, equal
from kverbs import KernelLink
from link import both
from peer import random_octets
from rdmap import READ_RESPONSE
from registry import rule
from storms import run

HUGE = 1 << 21
PAGES = "/proc/sys/vm/nr_hugepages"
PROT_NONE, PROT_READ_WRITE = 0, 3
SHARED, PRIVATE, FIXED, ANONYMOUS = 1, 2, 0x10, 0x20


class HugePages:
    """Three mappings of huge pages, contiguous in virtual memory: page A, page B, page A again. In
    physical memory B cannot be both behind A and in front of A: at one border at least a driver
    that takes the pages for contiguous places bytes at a wrong address."""

    def __init__(self, b):
        b.put(PAGES, 4)
        self.mmap = ctypes.CDLL(None, use_errno=True).mmap
        self.mmap.restype = ctypes.c_void_p
        self.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_int, ctypes.c_long)
        file = os.memfd_create("huge", os.MFD_HUGETLB | os.MFD_HUGE_2MB)
        os.ftruncate(file, 2 * HUGE)
        room = self._map(None, 4 * HUGE, PROT_NONE, PRIVATE | ANONYMOUS)
        self.start = (room + HUGE - 1) // HUGE * HUGE
        for n, page in enumerate((0, 1, 0)):
            self._map(self.start + n * HUGE, HUGE, PROT_READ_WRITE, SHARED | FIXED, file,
                      page * HUGE)
        os.close(file)
        unmap = ctypes.CDLL(None).munmap
        unmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
        b.things.append(lambda: unmap(room, 4 * HUGE))

    def _map(self, address, size, prot, flags, file=-1, offset=0):
        address = self.mmap(address, size, prot, flags, file, offset)
        check(address != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno()))
        return address

    def get(self, at, size):
        return ctypes.string_at(self.start + at, size)


@rule("R-8.1.1-4: the octets on both sides of two borders between huge pages, and in responses; "
      "Terminate 1/1/01 for one octet more", cases=both())
def R_8_1_1_4_region_of_huge_pages(b, role):
    """The device registers a region of huge pages, which begins and ends within a page, in blocks
    of 2 MiB. Writes and Reads across the borders of pages have the right bytes, and a Write of one
    byte more than the region has is refused."""
    huge = HugePages(b)
    link = KernelLink(b, role)
    at, size = HUGE - 5000, HUGE + 10000
    rkey = int(link.kv.do(f"user 0 {huge.start + at:x} {size}")[0].split()[1], 0)
    for border in (HUGE, 2 * HUGE):
        data = random_octets(6000)
        link.peer.write(rkey, huge.start + border - 3001, data, 1400)
        link.ping()
        check(huge.get(border - 3001, 6000) == data, f"the octets at {border:#x} are others")
        link.peer.read(rkey, huge.start + border - 3001, 6000)
        check(link.peer.hear_message(READ_RESPONSE) == data, f"the response of {border:#x} is another")
    equal(huge.get(HUGE + 3000, 64), bytes(64), "octets behind those of the first border")
    link.peer.write(rkey, huge.start + at + size - 1, b"xy")
    link.refused(rdmap.TAGGED_BOUNDS, flush=())


@rule("L-08")
def link_on_a_kind_of_interface_that_cannot_be(b):
    """An RDMA device on an ipip tunnel is refused: srnic accepts Ethernet and loopback interfaces,
    and those of type ARPHRD_NONE, which have no hardware address."""
    b.things.append(lambda: run("ip link delete tunnel9; rmmod ipip"))
    run("modprobe ipip; ip link add tunnel9 type ipip local 127.0.0.1 remote 127.0.0.2")
    refused_link("siw9", "tunnel9", errno.EINVAL)
    equal(links_of("tunnel9"), [], "links of tunnel9")
