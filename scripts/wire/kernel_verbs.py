# SPDX-License-Identifier: GPL-2.0
"""Replace verbs_probe for a device without a user-space provider: kverbs, a kernel ULP, uses the
device.

KernelVerbs executes verbs_probe's commands, which verbs.py sends, by means of kverbs. kverbs has
one connection and one CQ. It registers a memory region by a work request, for which it needs a QP;
the SGEs of its own work requests need no region. A test that needs more than that is skipped.
"""

import collections
import errno
import os
import time
import zlib

import needs
from harness import LIMIT, check
from kverbs import ASYNC_EVENTS, CM_EVENTS, Kverbs
from verbs import (INLINE, RTS, SIGNALED, WR_READ, WR_SEND, WR_SEND_INV, WR_WRITE, Event, Piece, Verbs)

ORDER = 8                   # a test's memory is 2^ORDER pages, which are contiguous
PAGE = 4096
POKE, PEEK = 1024, 2048     # most bytes in one command of kverbs
REGISTRATION = 0x5e6 << 20  # wr_ids from here on are of work requests that this module posts itself
MOST_WRS = 64
MOST_REGIONS = 16
WORDS = {WR_WRITE: "write", WR_SEND: "send", WR_READ: "read", WR_SEND_INV: "send_inv"}


def lack(what):
    raise needs.Skipped(f"needs {needs.TEXTS['user']}: {what}")


def sge_of(word):
    """Return an SGE in kverbs' format. word: ADDRESS,LENGTH,LKEY for bytes of a region, or
    OFFSET,LENGTH for bytes of kverbs' memory, which needs no region."""
    parts = word.split(",")
    return word if len(parts) == 2 else f"0,{parts[1]},{parts[2]},{parts[0]}"


class LocalMr(Piece):
    """Memory for SGEs of local WRs: kverbs uses local_dma_lkey, so the memory is not registered"""

    def __init__(self, dut, size):
        self.memory, self.size = dut.memory, size
        self.offset = self.memory.allocate(size)

    def sge(self, at=0, size=None):
        return f"{self.offset + at},{self.size - at if size is None else size}"


class KernelVerbs(Verbs):
    """Executes verbs_probe's commands by kverbs, and returns the answers that verbs_probe would
    give"""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.events = collections.deque()
        self.asyncs = collections.deque()
        self.comps = collections.deque()
        self.kv = Kverbs()
        self.cqs = collections.defaultdict(list)    # name of a CQ -> its completions, as lines
        self.qp = self.id = None
        self.queues = None          # names of the QP's CQs, for sends and for receives
        self.sends_all = False
        self.receives = set()       # wr_ids of receives
        self.early = []             # kverbs' commands for receives, kept until the QP exists
        self.has_qp = False
        self.regions = {}           # name of a region -> its number in kverbs
        self.memory = None

    def end(self):
        self.kv.close()

    def ask(self, line, limit=LIMIT):
        verb, *words = line.split()
        function = getattr(self, f"do_{verb}", None) or lack(f"{verb} of verbs_probe")
        said = []
        try:
            function(said, *words)
        except OSError as err:
            return said, err.errno
        return said, 0

    def _kv(self, line):
        said, number = self.kv.ask(line)
        if number:
            raise OSError(number, f"{line[:100]}: {os.strerror(number)}")
        return said

    # what happens

    def look(self, ms):
        """Wait up to ms milliseconds for an event or a completion, and queue it. Return False if
        there was none."""
        for line in self._kv(f"take {ms}"):
            kind, *words = line.split()
            if kind == "WC":
                self._completed(*words)
            elif kind == "ASYNC":
                self.asyncs.append(f"{ASYNC_EVENTS.get(int(words[0]), words[0])} {self.qp}")
            elif kind == "EVENT":
                name = CM_EVENTS.get(int(words[0]), words[0])
                if name == "CONNECT_REQUEST":
                    self.id = "r0"
                status, ird, ord, *pd = words[1:]  # pylint: disable=redefined-builtin
                self.events.append(Event(f"EVENT {name} id={self.id} status={status} ird={ird} ord={ord} "
                                         f"pd={''.join(pd)}"))
            else:
                lack("a second request beside the first")
            return True
        return False

    def _completed(self, wr_id, status, opcode, size, _flags, _stag):
        number = int(wr_id, 0)
        cq = self.queues[number in self.receives]
        self.cqs["own" if number >= REGISTRATION else cq].append(
            f"WC {cq} {wr_id} {status} {opcode} {size} 0x1")

    def _until(self, done, limit):
        end = time.monotonic() + limit
        while not done():
            left = end - time.monotonic()
            if not self.look(int(max(min(left, 1), 0) * 1000)) and left <= 0:
                return False
        return True

    def _wait_for(self, kept, what, limit):
        check(self._until(lambda: kept, limit), f"no {what}")
        return kept.popleft()

    def nothing_happens(self, limit=1):
        self._until(lambda: self.events or self.asyncs, limit)
        self.nothing_happened()

    def nothing_happened(self):
        try:
            while self.look(0):
                pass
        except needs.Skipped:
            check(False, "a second request came")
        super().nothing_happened()

    # objects

    def do_pd(self, _said, name):
        if name != "pd":
            lack("a second protection domain")

    def do_cq(self, said, _name, cqes, *more):
        if more or int(cqes) != 64:
            lack("a completion queue of its own")
        said.append(f"CQ {cqes}")

    def do_memory(self, said, _name, _path, size):
        if self.memory is not None or int(size) > PAGE << ORDER:
            lack("more memory")
        self.memory = int(size)
        self._kv(f"memory {ORDER}")
        said.append("MEMORY 0x0")

    def do_fill(self, _said, _name, start, size, octet):
        self._kv(f"set {start} {size} {octet}")

    def do_peek(self, said, _name, start, size):
        start, size = int(start), int(size)
        data = [self._kv(f"peek {at} {min(PEEK, start + size - at)}")[0].split()[1:]
                for at in range(start, start + size, PEEK)]
        said.append("DATA " + "".join(part for parts in data for part in parts))

    def do_poke(self, _said, _name, start, text):
        for at in range(0, len(text), 2 * POKE):
            self._kv(f"poke {int(start) + at // 2} {text[at:at + 2 * POKE]}")

    def do_sum(self, said, name, start, size):
        self.do_peek(said, name, start, size)
        said[:] = [f"SUM {zlib.crc32(bytes.fromhex(said[0].split()[1])):#x}"]

    def do_mr(self, said, name, pd, _memory, offset, size, access, *iova):
        if not self.has_qp or iova or pd != "pd":
            lack("a region before there is a connection, or at an address of choice")
        number = next((i for i in range(MOST_REGIONS) if i not in self.regions.values()), None)
        if number is None:
            lack("more regions")
        self._kv(f"mr {number} 0 {int(size) // PAGE + 2} 0")
        self.regions[name] = number
        # Change the key, which is the STag's last byte, as ULPs do before each registration.
        key = int(self._kv(f"key {number} {number + 1}")[0].split()[1], 0)
        _, start, _, _ = self._kv(f"map {number} {PAGE} 0 {offset},{size}")[0].split()[1:]
        self._kv(f"post reg {SIGNALED} {REGISTRATION + number:#x} {number} {access}")
        check(self._until(lambda: self.cqs["own"], LIMIT), "no completion of a registration")
        wc = self.cqs["own"].pop().split()
        check(wc[3] == "0", f"a registration ended with status {wc[3]}")
        said.append(f"MR {key:#x} {key:#x} {start}")

    def do_destroy(self, _said, name):
        if name in self.regions:
            self._kv(f"free {self.regions.pop(name)}")
        elif name == self.qp:
            self._kv("destroy")
        else:
            lack("to destroy that")

    def do_qp(self, said, name, pd, scq, rcq, srq, sends, recvs, *more):
        if self.qp or srq != "-" or pd != "pd" or max(int(sends), int(recvs)) > MOST_WRS:
            lack("a QP of that kind, or a second one")
        self.qp, self.queues = name, (scq, rcq)
        self.sends_all = bool(int(more[-1]))
        said.append(f"QP 0x1 {sends} {recvs} {' '.join(more[:3])}")

    def do_query(self, said, _name):
        if not self.has_qp:
            lack("a QP before there is a connection")
        state, ird, ord = self._kv("query")[0].split()[1:]  # pylint: disable=redefined-builtin
        said.append(f"STATE {state} {int(self.sends_all)} 0 0 0 0 0 {ird} {ord}")

    def do_modify(self, _said, _name, state):
        if not self.has_qp or int(state) < RTS:
            lack("a QP before there is a connection")
        self._kv(f"modify {state}")

    # connections

    def _made(self):
        self.has_qp = True
        for line in self.early:
            self._kv(line)

    def do_listen(self, _said, _name, address, port):
        self._kv(f"listen {address} {port}")

    def do_accept(self, _said, _id, _qp, ird, ord, pd):  # pylint: disable=redefined-builtin
        self._kv("prepare")
        self._made()
        self._kv(f"accept {ird} {ord} {pd.strip('-')}")

    def do_resolve(self, _said, name, address, port):
        self._kv(f"resolve {address} {port}")
        self.id = name
        self._made()

    def do_connect(self, _said, _id, _qp, ird, ord, pd):  # pylint: disable=redefined-builtin
        self._kv(f"connect {ird} {ord} {pd.strip('-')}")

    def do_disconnect(self, _said, _id):
        self._kv("disconnect")

    # work requests

    def do_recv(self, _said, _qp, wr_id, *sges):
        self.receives.add(int(wr_id, 0))
        line = f"recv {wr_id} {' '.join(map(sge_of, sges))}"
        if self.has_qp:
            self._kv(line)
        else:
            self.early.append(line)

    def do_send(self, _said, _qp, *words):
        if not self.has_qp:
            lack("a QP before there is a connection")
        self._kv("post " + " ; ".join(self._wr(wr.split()) for wr in " ".join(words).split(";")))

    def _wr(self, words):
        opcode, flags, wr_id, raddr, rkey, *sges = words
        kind = WORDS.get(int(opcode)) or lack("a work request of that kind")
        flags = int(flags) | SIGNALED * self.sends_all
        if flags & INLINE:
            lack("inline data")
        more = f"{raddr} {rkey}" if kind != "send_inv" else f"0 0 {rkey}"
        return f"{kind} {flags} {wr_id} {more} {' '.join(map(sge_of, sges))}"

    def do_wait(self, said, cq, number, ms):
        kept, number = self.cqs[cq], int(number)
        done = self._until(lambda: len(kept) >= number, int(ms) / 1000)
        said += kept[:number]
        del kept[:number]
        if not done:
            raise OSError(errno.ETIMEDOUT, "no completion")

    def do_poll(self, said, cq):
        while self.look(0):
            pass
        said += self.cqs.pop(cq, [])
