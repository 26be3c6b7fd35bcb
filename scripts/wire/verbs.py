# SPDX-License-Identifier: GPL-2.0
"""Verbs runs verbs_probe, a program that calls the verbs of the device under test. Dut is the
device, as verbs_probe uses it; Qp, Memory and Mr are objects that verbs_probe makes for a test.

If verbs_probe runs in the test's host, it and the test map the same file as memory. When the test
ends, each byte of the memory is compared with its expected value, to find bytes that the device
placed at a wrong address. All completions are compared with the WRs that were posted: each WR
completes at most once, in order.
"""

import collections
import contextlib
import mmap
import os
import re
import select
import subprocess
import time
import zlib

import needs
from harness import LIMIT, Failed, check, equal
from peer import SETTLE

# ibv_access_flags
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND = 1, 2, 4, 8, 16
# ibv_wr_opcode
WR_WRITE, WR_WRITE_IMM, WR_SEND, WR_SEND_IMM, WR_READ, WR_SEND_INV = 0, 1, 2, 3, 4, 9
# ibv_send_flags
FENCE, SIGNALED, SOLICITED, INLINE = 1, 2, 4, 8
# ibv_wc_status
(SUCCESS, LOC_LEN_ERR, LOC_QP_OP_ERR, LOC_EEC_OP_ERR, LOC_PROT_ERR, WR_FLUSH_ERR, MW_BIND_ERR,
 BAD_RESP_ERR, LOC_ACCESS_ERR, REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR) = range(12)
GENERAL_ERR = 21
# Statuses, each of which is right for a Read WR whose Read Response was invalid
READ_FAILED = {WR_FLUSH_ERR, BAD_RESP_ERR, LOC_PROT_ERR, LOC_ACCESS_ERR, LOC_LEN_ERR, GENERAL_ERR}
# ibv_wc_opcode
WC_SEND, WC_WRITE, WC_READ, WC_RECV = 0, 1, 2, 128
# ibv_qp_state
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)

EVENT = re.compile(r"EVENT (\S+) id=(\S+) status=(-?\d+) ird=(\d+) ord=(\d+) pd=([0-9a-f]*)$")
GUARD = 0xa5


class Event:
    def __init__(self, line):
        m = EVENT.match(line)
        check(m, f"not an event: {line}")
        self.name, self.id = m.group(1, 2)
        self.status, self.ird, self.ord = (int(m.group(i)) for i in (3, 4, 5))
        self.pd = bytes.fromhex(m.group(6))

    def __repr__(self):
        return f"{self.name} {self.id} status={self.status} ird={self.ird} ord={self.ord}"


class Verbs:
    """A running verbs_probe, which executes the test's commands"""

    spare = None        # verbs_probe for the next test, started in advance

    def __init__(self, program, address):
        self.proc = subprocess.Popen((*program, address), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
        self.key = program, address
        self.buffer = b""
        self.ready = False
        self.events = collections.deque()       # events of rdma_cm
        self.asyncs = collections.deque()       # "NAME OBJECT"
        self.comps = collections.deque()        # names of CQs

    @classmethod
    def take(cls, program, address):
        """Return a running verbs_probe, and start another one, so that the next test need not wait.
        """
        one, cls.spare = cls.spare, None
        if not one or one.key != (program, address):
            if one:
                one.end()
            one = cls(program, address)
        cls.spare = cls(program, address)
        if not one.ready:
            equal(one.answer(), "READY", "verbs_probe's start")
            one.ready = True
        return one

    @classmethod
    def end_spare(cls):
        one, cls.spare = cls.spare, None
        if one:
            one.end()

    def _line(self, end):
        """Return the next line of verbs_probe, or None if there is none before the time `end`."""
        while b"\n" not in self.buffer:
            left = max(end - time.monotonic(), 0)
            if not select.select([self.proc.stdout], [], [], left)[0]:
                return None
            data = os.read(self.proc.stdout.fileno(), 1 << 16)
            check(data, f"verbs_probe ended, status {self.proc.poll()}: {self.buffer.decode()}")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode()

    def _is_news(self, line):
        """Queue line if it is an event; ignore it if it is a message of libsiw. Return False if it
        is part of the answer to a command."""
        kind, _, rest = line.partition(" ")
        if kind == "EVENT":
            self.events.append(Event(line))
        elif kind == "ASYNC":
            self.asyncs.append(rest)
        elif kind == "COMP":
            self.comps.append(rest)
        else:
            return line.startswith("libsiw: ")
        return True

    def _answer_line(self, end):
        """Return the next line of the answer to a command; None if there is none before the time
        `end`."""
        while True:
            line = self._line(end)
            if line is None or not self._is_news(line):
                return line

    def answer(self, limit=LIMIT):
        line = self._answer_line(time.monotonic() + limit)
        check(line is not None, "verbs_probe does not answer")
        return line

    def tell(self, line):
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()

    def ask(self, line, limit=LIMIT):
        """Send a command to verbs_probe. Return its lines of output, and its errno, 0 for
        success."""
        self.tell(line)
        verb = line.split(" ", 1)[0]
        said = []
        while True:
            answer = self.answer(limit)
            if answer == "OK " + verb:
                return said, 0
            if answer.startswith(f"ERROR {verb} "):
                return said, int(answer.split()[2])
            check(not answer.startswith("FATAL"), answer)
            said.append(answer)

    def do(self, line, limit=LIMIT):
        """Run a command that must succeed. Return its lines of output."""
        said, errno = self.ask(line, limit)
        check(not errno, f"{line[:200]}: {os.strerror(errno)}, after {said[:3]}")
        return said

    def words(self, line):
        """Run a command with one line of output. Return the words of that line after the first."""
        return self.do(line)[0].split()[1:]

    def calm(self):
        """End the threads that verbs_probe's commands "scribble" and "flip" have started, and that
        overwrite memory or rings. Fail if one has written so rarely that the test shows little."""
        rounds = [int(line.split()[1]) for line in self.do("calm")]
        check(rounds and min(rounds) > 2000, f"rounds of the writers: {rounds}")

    def fails(self, line, with_errno=None):
        """Run a command that must fail, with this errno if one is given. Return the errno."""
        _, errno = self.ask(line)
        check(errno, f"{line} did not fail")
        check(with_errno in (None, errno), f"{line}: errno {errno}, not {with_errno}")
        return errno

    def _wait_for(self, kept, what, limit):
        end = time.monotonic() + limit
        while not kept:
            line = self._line(end)
            check(line is not None, f"no {what}")
            check(self._is_news(line), f"{line!r} where {what} is due")
        return kept.popleft()

    def event(self, name, limit=LIMIT):
        event = self._wait_for(self.events, f"event {name}", limit)
        equal(event.name, name, "event")
        return event

    def async_event(self, what, limit=LIMIT):
        """Expect that the next asynchronous event is `what`, which is "NAME OBJECT"."""
        equal(self.any_async(limit), what, "asynchronous event")

    def any_async(self, limit=LIMIT):
        """Return the next asynchronous event of the device as "NAME OBJECT"."""
        return self._wait_for(self.asyncs, "asynchronous event", limit)

    def completion_event(self, cq, limit=LIMIT):
        equal(self._wait_for(self.comps, f"completion event of {cq}", limit), cq,
              "completion event")

    def nothing_happens(self, limit=SETTLE):
        """Check that verbs_probe reports no event of any kind within limit seconds."""
        line = self._answer_line(time.monotonic() + limit)
        check(line is None, f"{line!r} where nothing should be said")
        self.nothing_happened()

    def nothing_happened(self):
        for kept in (self.events, self.asyncs, self.comps):
            check(not kept, f"{list(kept)} where nothing should happen")

    def end(self):
        """End verbs_probe. Raise Failed if it does not exit in LIMIT seconds: a system call
        hangs."""
        if self.proc.poll() is None:
            try:
                self.tell("quit")
            except BrokenPipeError:
                pass
        try:
            self.proc.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise Failed("verbs_probe cannot end") from None
        finally:
            with contextlib.suppress(BrokenPipeError):  # the process may have died before "quit" was written
                self.proc.stdin.close()
            self.proc.stdout.close()


# --- memory ----------------------------------------------------------------------------------

class Far:
    """Memory that the test cannot map, as it is in another host or in the kernel: the test accesses
    it by the commands "peek" and "poke" of verbs_probe or kverbs."""

    PART = 1 << 14      # bytes of memory in one command

    def __init__(self, verbs, name, size):
        self.verbs, self.name, self.size = verbs, name, size

    def _parts(self, at):
        start, end, _ = at.indices(self.size)
        return ((part, min(part + self.PART, end)) for part in range(start, end, self.PART))

    def __getitem__(self, at):
        return b"".join(bytes.fromhex(self.verbs.words(f"peek {self.name} {start} {end - start}")[0])
                        for start, end in self._parts(at))

    def __setitem__(self, at, data):
        for start, end in self._parts(at):
            part, data = data[:end - start], data[end - start:]
            self.verbs.do(f"poke {self.name} {start} {part.hex()}")

    def are(self, should):
        said, = self.verbs.words(f"sum {self.name} 0 {self.size}")
        return int(said, 0) == zlib.crc32(should)



class Memory:
    """Memory of verbs_probe for regions, and the expected value of each of its bytes. The test maps
    it, too, or accesses it by Far, which sends commands to verbs_probe or kverbs."""

    count = 0

    def __init__(self, verbs, name, size=1 << 20):
        Memory.count += 1
        self.name = name
        self.path = f"/dev/shm/wire-{os.getpid()}-{Memory.count}"
        self.size = size
        self.used = 4096        # the first page is a guard page
        self.should = bytearray([GUARD]) * size
        self.unknown = []       # ranges (from, to) with unknown contents
        if needs.has("here") and needs.has("user"):
            self._share(verbs)
        else:
            self.base = self._map(verbs, "-")
            verbs.do(f"fill {name} 0 {size} {GUARD}")
            self.octets = Far(verbs, name, size)

    def _map(self, verbs, path):
        return int(verbs.words(f"memory {self.name} {path} {self.size}")[0], 0)

    def _share(self, verbs):
        with open(self.path, "w+b") as file:
            file.truncate(self.size)
            self.octets = mmap.mmap(file.fileno(), self.size)
        self.octets[:] = bytes(self.should)
        self.base = self._map(verbs, self.path)
        os.unlink(self.path)

    def allocate(self, size, shift=0):
        """Return the offset of `size` bytes not used before: they begin `shift` bytes behind the
        start of a page, and follow a guard page, in which a wrong placement would be found."""
        offset = (self.used + 4095) // 4096 * 4096 + 4096 + shift
        self.used = offset + size
        check(self.used + 4096 <= self.size, "the test needs more memory than there is")
        return offset

    def put(self, offset, data):
        self.octets[offset:offset + len(data)] = data
        self.should[offset:offset + len(data)] = data

    def expect(self, offset, data):
        """Check that the device has placed data at offset; from now on expect it there."""
        got = self.octets[offset:offset + len(data)]
        if got != data:
            at = next(i for i, (a, b) in enumerate(zip(got, data)) if a != b)
            raise Failed(f"octet {at} of {len(data)} is {got[at:at + 16].hex()}, "
                         f"not {data[at:at + 16].hex()}")
        self.should[offset:offset + len(data)] = data

    def forget(self, offset, size):
        """Leave the contents of this range unchecked when the test ends."""
        self.unknown.append((offset, offset + size))

    def check(self):
        """Compare each byte of the memory with its expected value."""
        for start, end in self.unknown:
            self.should[start:end] = self.octets[start:end]
        if self._is_right():
            return
        got = self.octets[:]
        at = next(i for i, (a, b) in enumerate(zip(got, self.should)) if a != b)
        raise Failed(f"{self.name}: the octet at {at:#x} changed: "
                     f"{self.octets[at:at + 16].hex()}, not {self.should[at:at + 16].hex()}")

    def _is_right(self):
        if isinstance(self.octets, Far):
            return self.octets.are(self.should)
        return self.octets[:] == bytes(self.should)

    def close(self):
        if not isinstance(self.octets, Far):
            self.octets.close()


class Piece:
    """`size` bytes at `offset` in a Memory, which WRs or the peer's messages use"""

    def put(self, data, at=0):
        self.memory.put(self.offset + at, data)

    def expect(self, data, at=0):
        self.memory.expect(self.offset + at, data)

    def get(self, at=0, size=None):
        start = self.offset + at
        return self.memory.octets[start:start + (self.size if size is None else size)]

    def forget(self, at=0, size=None):
        self.memory.forget(self.offset + at, self.size if size is None else size)


class Mr(Piece):
    """A memory region and its bytes; start: the address of its first byte in SGEs, which in the
    peer's DDP segments is the TO"""

    def __init__(self, dut, name, memory, offset, size, access, pd, iova):
        self.dut, self.name, self.memory = dut, name, memory
        self.offset, self.size = offset, size
        line = f"mr {name} {pd} {memory.name} {offset} {size} {access}"
        self.start = memory.base + offset if iova is None else iova
        if iova is not None:
            line += f" {iova:#x}"
        # kernel_verbs.py returns a third word: the region's address, which ib_map_mr_sg() sets.
        self.lkey, self.rkey, *start = (int(word, 0) for word in dut.verbs.words(line))
        self.start = start[0] if start else self.start

    def sge(self, at=0, size=None):
        return f"{self.start + at:#x},{self.size - at if size is None else size},{self.lkey:#x}"

    def destroy(self):
        self.dut.verbs.do(f"destroy {self.name}")


class Wc(collections.namedtuple("Wc", "cq id status opcode length qpn")):
    @classmethod
    def of(cls, line):
        words = line.split()
        check(words[0] == "WC", f"{line} where a completion is due")
        return cls(words[1], *(int(word, 0) for word in words[2:]))


# --- queues ----------------------------------------------------------------------------------

class Queue:
    """The outstanding WRs of an SQ, RQ or SRQ; kind: the name of the queue in error messages"""

    def __init__(self, kind):
        self.kind = kind
        self.posted = collections.deque()       # (id, is it unsignaled: need not complete?)

    def add(self, wr_id, silent=False):
        self.posted.append((wr_id, silent))

    def completed(self, wc):
        """Remove the WR whose completion is wc. Fail if it is not outstanding, or if an earlier WR
        that is signaled has not completed."""
        while self.posted:
            wr_id, silent = self.posted.popleft()
            if wr_id == wc.id:
                return
            check(silent, f"{self.kind}: {wc} completes, before WR {wr_id:#x}")
        raise Failed(f"{self.kind}: {wc} completes, which is not outstanding")

    def __len__(self):
        return len(self.posted)

    @property
    def must(self):
        """The number of outstanding WRs that are signaled, and so have to complete"""
        return sum(not silent for _, silent in self.posted)


class Qp:
    """A QP that verbs_probe has made, and its outstanding WRs"""

    def __init__(self, dut, name, pd, scq, rcq, srq="-", sends=16, recvs=16, sges=6, inline=80,
                 signal_all=0):
        self.dut, self.verbs, self.name = dut, dut.verbs, name
        self.scq, self.rcq, self.srq = scq, rcq, srq
        self.signal_all = signal_all
        self.pd = pd
        said = self.verbs.do(f"qp {name} {pd} {scq} {rcq} {srq} {sends} {recvs} {sges} {sges} "
                             f"{inline} {signal_all}")
        words = said[0].split()[1:]
        self.number = int(words[0], 0)
        self.caps = [int(word) for word in words[1:]]
        dut.note_rings(said)
        self.sq, self.rq = Queue("SQ"), Queue("RQ") if srq == "-" else dut.srqs[srq]
        self.next_id = 0x1000
        dut.qps[self.number] = self

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def state(self):
        return int(self.verbs.words(f"query {self.name}")[0])

    def depths(self):
        """Return IRD and ORD of the QP, as the driver returns them to ibv_query_qp()."""
        return tuple(int(word) for word in self.verbs.words(f"query {self.name}")[7:9])

    def modify(self, state):
        self.verbs.do(f"modify {self.name} {state}")

    # post

    def wr(self, opcode, sges=(), flags=SIGNALED, raddr=0, rkey=0, wr_id=None):
        """Return a WR in the format of verbs_probe's command "send". The caller has to post it: it
        is added to the outstanding WRs here."""
        wr_id = self.new_id() if wr_id is None else wr_id
        self.sq.add(wr_id, silent=not (flags & SIGNALED or self.signal_all))
        return f"{opcode} {flags} {wr_id:#x} {raddr:#x} {rkey:#x} {' '.join(sges)}".rstrip()

    def post(self, *wrs):
        """Post a list of WRs by one call of ibv_post_send()."""
        self.verbs.do(f"send {self.name} {' ; '.join(wrs)}")

    def send(self, data=b"", flags=SIGNALED, opcode=WR_SEND, rkey=0):
        """Post a WR with this opcode, by default a Send, that sends data."""
        sges = [self.dut.out(data, self.pd)] if data else []
        self.post(self.wr(opcode, sges, flags, rkey=rkey))

    def write(self, data, to, stag, flags=SIGNALED):
        self.post(self.wr(WR_WRITE, [self.dut.out(data, self.pd)] if data else [], flags, to, stag))

    def read(self, sge, to, stag, flags=SIGNALED):
        self.post(self.wr(WR_READ, [sge] if sge else [], flags, to, stag))

    def recv(self, size=64, sges=None):
        """Post a receive. Return the Place, a range of an MR, for the received bytes; None if the
        caller passed SGEs."""
        place = self.dut.into(size, self.pd) if sges is None else None
        wr_id = self.new_id()
        self.rq.add(wr_id)
        where = self.srq if self.srq != "-" else self.name
        self.verbs.do(f"recv {where} {wr_id:#x} {' '.join(sges or [place.sge])}")
        return place

    # complete

    def wait_send(self, n=1, limit=LIMIT):
        return self.dut.wait(self.scq, n, limit)

    def wait_recv(self, n=1, limit=LIMIT):
        return self.dut.wait(self.rcq, n, limit)

    def sent(self, opcode=None):
        """Expect that the next completion of the send CQ is a success. Return it."""
        wc, = self.wait_send()
        equal(wc.status, SUCCESS, f"status of {wc}")
        if opcode is not None:
            equal(wc.opcode, opcode, f"opcode of {wc}")
        return wc

    def received(self, place, data):
        """Expect that the next completion of the receive CQ is a success, and that the Place
        `place` has the bytes `data`. Return the completion."""
        wc, = self.wait_recv()
        equal((wc.status, wc.opcode, wc.length), (SUCCESS, WC_RECV, len(data)), f"{wc}")
        if place:
            place.expect(data)
        return wc

    def flushed(self, statuses=(WR_FLUSH_ERR,)):
        """Check that all outstanding WRs of the QP complete in error: the first ones with these
        statuses, in order, the others with WR_FLUSH_ERR. A status may be a set: then any of its
        members is right. Receives in an SRQ stay posted, and are not checked."""
        got = []
        own = {(self.scq, "SQ"): len(self.sq)}
        if self.srq == "-":
            own[self.rcq, "RQ"] = len(self.rq)
        for (cq, _), n in own.items():
            if n:
                got += self.dut.wait(cq, n)
        for wc, status in zip(got, [*statuses] + [WR_FLUSH_ERR] * len(got)):
            check(wc.status in (status if isinstance(status, set) else {status}),
                  f"status of {wc} should be {status}")
        return got


# A range of an MR
class Place(collections.namedtuple("Place", "mr at size")):
    @property
    def sge(self):
        return self.mr.sge(self.at, self.size)

    def expect(self, data):
        self.mr.expect(data, self.at)

    def forget(self):
        self.mr.forget(self.at, self.size)

    def get(self):
        return self.mr.get(self.at, self.size)


class Arena:
    """A region that provides a place for one message after the other, and begins again at its start
    when its end is reached"""

    SIZE = 1 << 17

    def __init__(self, dut, access, pd):
        self.make = lambda: dut.local_mr(self.SIZE, access, pd)
        self.mr = None
        self.at = 0

    def place(self, size):
        self.mr = self.mr or self.make()
        check(size <= self.SIZE, "that much does not fit")
        if self.at + size > self.SIZE:
            self.at = 0
        place = Place(self.mr, self.at, size)
        self.at += size + 8
        return place


def of_another_user(bench):
    """Return a verbs_probe that runs as a user other than root, and has made no objects."""
    needs.need("here")
    program = os.path.join(os.path.dirname(bench.program[-1]), "verbs_probe")
    verbs = Verbs(("setpriv", "--reuid=4711", "--clear-groups", program), bench.address)
    bench.things.append(verbs.end)
    equal(verbs.answer(), "READY", "verbs_probe's start")
    return verbs


class Dut:
    """The device under test: a verbs_probe with the objects that most tests need, which are the PD
    "pd", the CQs "scq" and "rcq" for sends and receives, and memory"""

    def __init__(self, bench, memory=1 << 20, cqes=64, channel=False, before=()):
        """before: words of the command line in front of verbs_probe's path"""
        if before:
            needs.need("here")
        if needs.has("user"):
            program = os.path.join(os.path.dirname(bench.program[-1]), "verbs_probe")
            self.verbs = Verbs.take((*before, *needs.Place.over, program), bench.address)
        else:
            import kernel_verbs  # pylint: disable=import-outside-toplevel,cyclic-import
            self.verbs = kernel_verbs.KernelVerbs()
        self.qps = {}
        self.srqs = {}
        self.memories = []
        bench.things.append(self.end)
        self.verbs.do("pd pd")
        if channel:
            self.verbs.do("channel channel")
        more = " channel" if channel else ""
        self.rings = {}         # name -> (bytes, offset in the device file)
        self.cq("scq", cqes, more)
        self.cq("rcq", cqes, more)
        self.memory = Memory(self.verbs, "memory", memory)
        self.memories.append(self.memory)
        self.mrs = 0
        self.arenas = {}

    def end(self):
        """End verbs_probe, so that the device places no more bytes, then check the memory. Memory
        that the test cannot map is checked before, as it is not accessible afterwards."""
        far = [memory for memory in self.memories if isinstance(memory.octets, Far)]
        try:
            # A Far is no longer accessible when its program has ended: compare it before.
            for memory in far:
                memory.check()
            self.verbs.end()
            for memory in self.memories:
                if memory not in far:
                    memory.check()
        finally:
            for memory in self.memories:
                memory.close()

    def mr(self, size, access, shift=8, pd="pd", iova=None, memory=None, offset=None):
        """Register `size` bytes that begin `shift` bytes behind a page's start."""
        memory = memory or self.memory
        self.mrs += 1
        offset = memory.allocate(size, shift) if offset is None else offset
        return Mr(self, f"mr{self.mrs}", memory, offset, size, access, pd, iova)

    def local_mr(self, size, access, pd):
        """Return memory for the SGEs of local WRs. The peer need not access this memory: so with
        kverbs it is not a registered region."""
        if needs.has("user"):
            return self.mr(size, access, pd=pd)
        import kernel_verbs  # pylint: disable=import-outside-toplevel,cyclic-import
        return kernel_verbs.LocalMr(self, size)

    def out(self, data, pd="pd"):
        """Put `data` into memory for local WRs. Return an SGE for a WR that sends these bytes."""
        arena = self.arenas.setdefault(("out", pd), Arena(self, 0, pd))
        place = arena.place(len(data))
        place.mr.put(data, place.at)
        return place.sge

    def into(self, size, pd="pd"):
        """Return a Place, `size` bytes in an MR, for a receive."""
        return self.arenas.setdefault(("in", pd), Arena(self, LOCAL_WRITE, pd)).place(size)

    def note_rings(self, said):
        for line in said:
            words = line.split()
            if words[0] == "RING":
                self.rings[words[1]] = int(words[2]), int(words[3], 0)

    def cq(self, name, cqes, more=""):
        """Make a CQ. Return the number of its entries."""
        said = self.verbs.do(f"cq {name} {cqes}{more}")
        self.note_rings(said)
        return int(said[0].split()[1])

    def srq(self, name, wrs=16, sges=1, limit=0):
        self.note_rings(self.verbs.do(f"srq {name} pd {wrs} {sges} {limit}"))
        self.srqs[name] = Queue(f"SRQ {name}")

    def _sort(self, lines):
        wcs = [Wc.of(line) for line in lines]
        for wc in wcs:
            qp = self.qps.get(wc.qpn)
            check(qp, f"{wc} is of no QP")
            is_recv = wc.cq == qp.rcq and (wc.cq != qp.scq or any(
                wc.id == wr_id for wr_id, _ in qp.rq.posted))
            (qp.rq if is_recv else qp.sq).completed(wc)
        return wcs

    def wait(self, cq, n=1, limit=LIMIT):
        """Wait for n completions in cq, and compare them with the outstanding WRs. Return them."""
        said, errno = self.verbs.ask(f"wait {cq} {n} {int(limit * 1000)}", limit + LIMIT)
        wcs = self._sort(said)
        check(not errno, f"{len(wcs)} completions of {n} in {cq}: {wcs}")
        return wcs

    def poll(self, cq):
        """Return the completions that are in the CQ now."""
        return self._sort(self.verbs.do(f"poll {cq}"))

    def nothing_completes(self, *cqs):
        for cq in cqs or ("scq", "rcq"):
            equal(self.poll(cq), [], f"completions in {cq}")
