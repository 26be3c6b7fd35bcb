# SPDX-License-Identifier: GPL-2.0
"""kverbs, a ULP in the kernel that uses the device under test: kverbs_main.c lists its commands.

    link = KernelLink(b, "responder", ...)      a link.Link, but its ULP is link.kv, a Kverbs
"""

import collections
import errno
import os
import threading
import time

import needs
from harness import LIMIT, Failed, check, equal, poll
from link import Link
from peer import SETTLE
from verbs import ERR, WR_FLUSH_ERR

DEVICE = "/dev/kverbs"
MEMORY, SLAB = 1 << 16, 4096        # bytes of kverbs' memory: pages, then memory from kmalloc()
CM_EVENTS = {4: "CONNECT_REQUEST", 6: "CONNECT_ERROR", 7: "UNREACHABLE", 8: "REJECTED",
             9: "ESTABLISHED", 10: "DISCONNECTED", 11: "DEVICE_REMOVAL", 15: "TIMEWAIT_EXIT"}
ASYNC_EVENTS = {0: "CQ_ERR", 1: "QP_FATAL", 2: "QP_REQ_ERR", 3: "QP_ACCESS_ERR",
                15: "SRQ_LIMIT_REACHED", 16: "QP_LAST_WQE_REACHED"}
FENCE, SIGNALED, SOLICITED = 1, 2, 4
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4
WITH_INVALIDATE = 4                 # ib_wc_flags

Wc = collections.namedtuple("Wc", "id status opcode length flags stag")
Map = collections.namedtuple("Map", "count start size rkey")


class Kverbs:
    """An open /dev/kverbs: a ULP in the kernel with one connection, and its memory"""

    def __init__(self):
        needs.need("kverbs")
        self.file = os.open(DEVICE, os.O_RDWR)
        self.wcs = collections.deque()
        self.events = collections.deque()
        self.asyncs = collections.deque()
        self.should = bytearray(MEMORY + SLAB)
        self.unknown = []
        self.dma_key = None

    def close(self):
        """Close /dev/kverbs. kverbs then calls ib_drain_qp() and destroys its QP: close() blocks
        until all WRs have completed, and a test hangs here if the driver does not flush them."""
        file, self.file = self.file, None
        if file is not None:
            os.close(file)

    def ask(self, line):
        """Send a command to kverbs. Return its lines of output, and its errno, 0 for success."""
        os.write(self.file, line.encode())
        lines = os.read(self.file, 1 << 16).decode().splitlines()
        return lines[:-1], 0 if lines[-1] == "OK" else int(lines[-1].split()[1])

    def do(self, line, optional=None):
        """Run a command, and return its lines of output. optional: the feature that the command
        needs, which a driver that is not ours may lack"""
        said, error = self.ask(line)
        if optional and error == errno.EOPNOTSUPP and not needs.Place.ours:
            raise needs.Unsupported(optional)
        check(not error, f"{line[:100]}: {os.strerror(error)}")
        return said

    def fails(self, line):
        _, error = self.ask(line)
        check(error, f"{line[:100]} did not fail")
        return error

    def take(self, limit=0.0):
        """Wait up to limit seconds for an event or a completion, and queue it. Return False if
        there was none."""
        said = self.do(f"take {int(limit * 1000)}")
        if not said:
            return False
        kind, *words = said[0].split()
        if kind == "WC":
            self.wcs.append(Wc(*(int(word, 0) for word in words)))
        elif kind == "EVENT":
            self.events.append((CM_EVENTS.get(int(words[0]), words[0]), int(words[1])))
        elif kind == "ASYNC":
            self.asyncs.append(ASYNC_EVENTS.get(int(words[0]), words[0]))
        return True

    def _next(self, kept, what, limit):
        end = time.monotonic() + limit
        while not kept:
            check(self.take(max(min(1, end - time.monotonic()), 0)) or time.monotonic() < end,
                  f"no {what}")
        return kept.popleft()

    def event(self, name, limit=LIMIT):
        got = self._next(self.events, f"event {name}", limit)
        equal(got[0], name, "event")
        return got[1]

    def async_event(self, name, limit=LIMIT):
        equal(self._next(self.asyncs, f"asynchronous event {name}", limit), name,
              "asynchronous event")

    def any_wc(self, limit=LIMIT):
        return self._next(self.wcs, "completion", limit)

    def wc(self, wr_id, status=0, limit=LIMIT):
        """Expect that the next completion is that of the WR wr_id, with this status. Return it."""
        got = self._next(self.wcs, f"completion of {wr_id:#x}", limit)
        equal((got.id, got.status), (wr_id, status), f"{got}")
        return got

    def nothing_happens(self, limit=SETTLE):
        check(not self.take(limit), f"{self.wcs} {self.events} {self.asyncs}")
        self.nothing_happened()

    def nothing_happened(self):
        while self.take():
            pass
        for kept in (self.wcs, self.events, self.asyncs):
            check(not kept, f"{list(kept)} where nothing should happen")

    # memory

    def get(self, at, size):
        data = b""
        for start in range(at, at + size, 2048):
            part = min(2048, at + size - start)
            data += bytes.fromhex(self.do(f"peek {start} {part}")[0].split()[1])
        return data

    def put(self, at, data):
        for start in range(0, len(data), 1024):
            self.do(f"poke {at + start} {data[start:start + 1024].hex()}")
        self.should[at:at + len(data)] = data

    def fill(self, wr_id, at, size, octet):
        """Have kverbs overwrite `size` bytes of its memory in the completion handler of the WR
        wr_id, before the test gets the completion."""
        self.do(f"fill {wr_id:#x} {at} {size} {octet:#x}")

    def expect(self, at, data):
        equal(self.get(at, len(data)), data, f"octets at {at}")
        self.should[at:at + len(data)] = data

    def forget(self, at, size):
        self.unknown.append((at, at + size))

    def check_memory(self):
        got = self.get(0, MEMORY) + self.get(MEMORY, SLAB)
        for start, end in self.unknown:
            self.should[start:end] = got[start:end]
        if got != bytes(self.should):
            at = next(i for i, (a, b) in enumerate(zip(got, self.should)) if a != b)
            raise Failed(f"the octet at {at:#x} changed: {got[at:at + 16].hex()}, "
                         f"not {self.should[at:at + 16].hex()}")

    # regions

    def mr(self, n, pieces, pd=0, type_=0, most=16, page_size=4096, offset=0):
        """Allocate region n, and map pieces (offset, length) of kverbs' memory in it. The region is
        registered only by register()."""
        self.do(f"mr {n} {pd} {most} {type_}")
        return self.map(n, pieces, page_size, offset)

    def map(self, n, pieces, page_size=4096, offset=0):
        text = " ".join(f"{at},{size}" for at, size in pieces)
        words = self.do(f"map {n} {page_size} {offset} {text}")[0].split()[1:]
        return Map(*(int(word, 0) for word in words))

    def register(self, n, wr_id, access):
        """Register region n by a WR of opcode IB_WR_REG_MR. Return the completion."""
        self.do(f"post reg {SIGNALED} {wr_id} {n} {access}")
        return self.wc(wr_id)

    def key(self, n, key):
        return int(self.do(f"key {n} {key}")[0].split()[1], 0)


class CpuGoes:
    """Set CPU 1 offline, and have a callback of kverbs delay that, for 30 seconds at most: until
    the delay ends, cpus_read_lock() blocks in each task that calls it."""

    ONLINE = "/sys/devices/system/cpu/cpu1/online"

    def __init__(self, b):
        self.kv = Kverbs()
        self.kv.do("cpu hold")
        self.thread = threading.Thread(target=self._set, args=("0",))
        self.thread.start()
        b.things.append(self.end)
        check(poll(self.lasts), "CPU 1 does not go offline")

    def _set(self, online):
        with open(self.ONLINE, "w", encoding="ascii") as file:
            file.write(online)

    def lasts(self):
        """Does kverbs still keep CPU 1 from going offline? It does so for 30 seconds at most."""
        return self.kv.do("cpu look") == ["CPU 1"]

    def end(self):
        if self.thread:
            self.kv.do("cpu go")
            self.thread.join()
            self.thread = None
            self._set("1")
            self.kv.close()


class KernelLink(Link):
    """A Link whose ULP is kverbs, in the kernel. Unlike verbs_probe's WRs, those of kverbs are not
    recorded: the test itself names each WR that has to complete."""

    def __init__(self, b, role, prepare=None, srq=0, cq=0, **kw):
        """srq: size of the QP's SRQ, 0 for a QP without SRQ; cq: size of the CQ, 0 for one that
        cannot overflow; prepare(kv): called when kverbs has created the QP, before it calls
        rdma_accept() or rdma_connect()"""
        self.prepare = prepare
        self.optional = "shared receive queues" if srq else None
        self.kv = Kverbs()
        b.things.append(self._end)
        if srq:
            self.kv.do(f"srq {srq}")
        if cq:
            self.kv.do(f"cq {cq}")
        super().__init__(b, role, **kw)

    def _make_qp(self, dut, words):
        """Do nothing: kverbs creates the QP itself, once rdma_cm has given it a device."""

    def _end(self):
        try:
            if self.kv.file is not None:
                self.kv.check_memory()
        finally:
            self.kv.close()

    def ask(self):
        b = self.b
        self.kv.do(f"listen {b.address} {b.port}")
        self._dial()
        equal(self.kv.event("CONNECT_REQUEST"), 0, "status")

    def accept(self):
        self.kv.dma_key = int(self.kv.do("prepare", self.optional)[0].split()[1], 0)
        if self.prepare:
            self.prepare(self.kv)
        self.kv.do(f"accept {self.ird} {self.ord}")
        reply = self.tcp.recv_reply()
        self._enter(self.tcp, reply, reply.ord)

    def _connect(self):
        said = self.kv.do(f"resolve {self.b.listen_address} {self.b.port}", self.optional)
        self.kv.dma_key = int(said[0].split()[1], 0)
        if self.prepare:
            self.prepare(self.kv)
        self.kv.do(f"connect {self.ird} {self.ord}")

    def established(self):
        equal(self.kv.event("ESTABLISHED"), 0, "status of ESTABLISHED")

    # traffic

    def ping(self, data=b"ping"):
        self.kv.do(f"recv 0xf00 {MEMORY - 64},64")
        self.peer.send(data)
        wc = self.kv.wc(0xf00)
        equal(wc.length, len(data), "length")
        self.kv.expect(MEMORY - 64, data)

    def pong(self, data=b"pong"):
        self.kv.put(MEMORY - 128, data)
        self.kv.do(f"post send {SIGNALED} 0xf01 0 0 {MEMORY - 128},{len(data)}")
        equal(self.peer.hear_message(3), data, "Send")
        self.kv.wc(0xf01)

    def works(self):
        self.ping()
        self.pong()
        self.kv.nothing_happened()

    def ended(self, event, statuses=(), flush=()):
        """Expect the asynchronous event `event`, if it is not None, then DISCONNECTED, and a QP in
        the error state. flush: the ids of the WRs that must complete in error, in this order;
        statuses: those of the first of these WRs, the others get WR_FLUSH_ERR"""
        if event:
            self.kv.async_event(event)
        self.close()
        self.kv.event("DISCONNECTED")
        check(poll(lambda: self.kv.do("query")[0].split()[1] == str(ERR)), "the QP is not in error")
        for n, wr_id in enumerate(flush if flush is not True else ()):
            self.kv.wc(wr_id, statuses[n] if n < len(statuses) else WR_FLUSH_ERR)
        self.kv.nothing_happened()
