# SPDX-License-Identifier: GPL-2.0
"""A process misuses its own rings, its objects and uverbs, or uses them in unusual ways.

Whatever the process does, only its own connections may end: those of other processes must work on.
"""

import contextlib
import errno
import signal
import struct
import time

import rdmap
import rings
from harness import SLOW, check, equal, poll
from kernel import AGE, hw_counter
from link import FATAL, Link, both, event_of
from peer import random_octets
from rdmap import READ_RESPONSE, SEND, SEND_INV, TERMINATE, WRITE
from registry import rule, say
from rings import (INLINE, OP_READ, OP_REG_MR, OP_SEND, OP_SEND_INV, OP_WRITE, SIGNALLED, VALID,
                   sge)
from uverbs import (ALLOC_PD, CREATE_CQ, CREATE_QP, CREATE_SRQ, DEREG_MR, MODIFY_SRQ, POLL_CQ,
                    POST_RECV, POST_SEND, POST_SRQ_RECV, REG_MR, REQ_NOTIFY, RESIZE_CQ, SRQ_LIMIT,
                    command, get_context, handle, resources, wrote)
from verbs import (ERR, LOC_LEN_ERR, LOC_PROT_ERR, LOC_QP_OP_ERR, LOCAL_WRITE, REM_INV_REQ_ERR,
                   REMOTE_READ, REMOTE_WRITE, SIGNALED, SUCCESS, WR_FLUSH_ERR, WR_SEND, WR_SEND_INV,
                   WR_WRITE, Dut, Qp)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE


def put_sqe(link, slot, element):
    """Write an element, an SQE, into the QP's SQ ring. Like libsiw, write its flags last: VALID
    among them passes the element to the kernel."""
    at = slot * rings.SQE
    link.verbs.do(f"poke {link.qp.name}.sq {at} {(element[:8] + bytes(2) + element[10:]).hex()}")
    link.verbs.do(f"poke {link.qp.name}.sq {at + 8} {element[8:10].hex()}")


def raw_send(link, element, slot=0):
    put_sqe(link, slot, element)
    link.verbs.ask(f"doorbell {link.qp.name}")


def locally_refused(link, wr_id, status=LOC_QP_OP_ERR, others=True):
    """Check that an invalid WR of the SQ fails, and that the peer gets a Terminate, but no byte of
    the WR's memory."""
    link.qp.sq.add(wr_id)
    link.peer.hear_terminate_of(rdmap.LOCAL_CATASTROPHIC)
    link.peer.hear_end()
    check(all(segment.op == TERMINATE or not segment.data for segment in link.peer.heard),
          f"it said {link.peer.heard}")
    link.ended(FATAL, flush=False)
    wc, = link.qp.wait_send()
    equal(wc.status, status, f"status of {wc}")
    if others:
        link.qp.flushed()
    link.dut.nothing_completes()
    again(link)


@contextlib.contextmanager
def counted_once():
    """Check that the device's counter wr_invalid grows by one during the with statement's body."""
    time.sleep(AGE)
    before = hw_counter("wr_invalid")
    yield
    check(poll(lambda: hw_counter("wr_invalid") == before + 1), "it is not counted")


def again(link, **qp):
    """Check that another connection of the same process works."""
    other = Link(link.b.another(), link.role, dut=link.dut, name=f"again{len(link.b.others)}",
                 qp=qp)
    other.works()


# --- impossible elements ---------------------------------------------------------------------

@rule("R-8.1.2-1: nothing of the element leaves, and another connection of the process works",
      "R-7.1-1: Terminate 0/0/00, and LOC_QP_OP_ERR of the work request",
      cases=both(*[(op,) for op in (2, 4, *range(6, 14), 255)]))
def R_8_1_2_1_opcode_that_is_not_for_processes(b, op, role):
    """Opcodes that only kernel ULPs may post, such as to register memory or to invalidate an STag,
    and unknown ones are refused in the SQ ring of a process."""
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, MAY_WRITE)
    with counted_once():
        raw_send(link, rings.sqe(0x77, op, [sge(mr.start, 64, mr.lkey)], rkey=mr.rkey, raddr=1))
        locally_refused(link, 0x77)


@rule("R-7.1-1: Terminate 0/0/00, no octet of the message, and LOC_QP_OP_ERR of the work request",
      cases=both((OP_SEND, 7), (OP_SEND, 255), (OP_WRITE, 7), (OP_READ, 2),
                  (OP_READ, 255)))
def R_7_1_1_number_of_sges(b, op, count, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, MAY_WRITE)
    sges = [sge(mr.start, 8, mr.lkey)] * 6
    with counted_once():
        raw_send(link, rings.sqe(0x77, op, sges, num_sge=count, rkey=1))
        locally_refused(link, 0x77)


@rule("R-7.1-1: Terminate 0/0/00, no octet of the message, and LOC_QP_OP_ERR of the work request",
      cases=both((81, 1), (0xffffffff, 1), (0x80000000, 6), (4096, 255)))
def R_7_1_1_length_of_inline_data(b, size, count, role):
    link = Link(b, role)
    link.qp.recv()
    with counted_once():
        raw_send(link, rings.sqe(0x77, OP_SEND, flags=VALID | SIGNALLED | INLINE, num_sge=count,
                                 tail=sge(0, size, 0) + b"x" * 80))
        locally_refused(link, 0x77)


@rule("R-5.1-3: the octets of one Send, and its completion", cases=both((0,), (1,), (80,)))
def R_5_1_3_inline_data_of_many_pieces(b, size, role):
    """For an SQE with the flag INLINE the device ignores num_sge: the first SGE has the length of
    the data, which follow it in place of further SGEs."""
    link = Link(b, role)
    data = random_octets(size)
    raw_send(link, rings.sqe(0x77, OP_SEND, flags=VALID | SIGNALLED | INLINE, num_sge=200,
                             tail=sge(0, size, 0) + data))
    link.qp.sq.add(0x77)
    equal(link.peer.hear_message(SEND), data, "Send")
    link.qp.sent()


@rule("R-7.1-1: Terminate 0/0/00 and LOC_QP_OP_ERR for a Read; a Send with Invalidate goes",
      cases=both((OP_READ,), (OP_SEND_INV,)))
def R_7_1_1_inline_where_it_cannot_be(b, op, role):
    link = Link(b, role)
    link.qp.recv()
    raw_send(link, rings.sqe(0x77, op, flags=VALID | SIGNALLED | INLINE, num_sge=1, raddr=1, rkey=1,
                             tail=sge(0, 8, 0) + b"x" * 8))
    if op == OP_READ:
        locally_refused(link, 0x77)
        return
    # For a Send the device ignores those fields that only a Read uses.
    link.qp.sq.add(0x77)
    equal(link.peer.hear_message(SEND_INV), b"x" * 8, "Send")
    link.qp.sent()


GIB = 1 << 30


def gibibyte(link):
    """Register 1 GiB of virtual memory, in which the same MiB is mapped 1024 times. Return
    (address, lkey)."""
    base = int(link.verbs.words(f"repeated big {1 << 20} 1024")[0], 0)
    lkey = int(link.verbs.words(f"mr big pd big 0 {GIB} {LOCAL_WRITE}")[0], 0)
    return base, lkey


@rule("D-5.2-2: no octet of it leaves, and its work request fails with LOC_QP_OP_ERR",
      "R-7.1-1: Terminate 0/0/00", cases=both((OP_SEND, 4), (OP_WRITE, 4), (OP_WRITE, 6)))
def D_5_2_2_message_of_4_gib(b, op, count, role):
    """A message of 2^32 bytes or more is refused: the sum of its SGEs must not wrap to a low
    value."""
    link = Link(b, role)
    base, lkey = gibibyte(link)
    raw_send(link, rings.sqe(0x77, op, [sge(base, GIB, lkey)] * count, rkey=1))
    locally_refused(link, 0x77, others=False)


@rule("D-5.2-2 T-12: 50 segments without L, and no completion", cases=both((2,), (3,)))
def D_5_2_2_message_of_2_gib_and_more(b, count, role):
    """A message of 2 or 3 GiB is sent, although its length does not fit into a signed 32-bit
    int."""
    link = Link(b, role)
    base, lkey = gibibyte(link)
    link.qp.post(link.qp.wr(WR_WRITE, [f"{base:#x},{GIB},{lkey:#x}"] * count, raddr=0x1000, rkey=1))
    for _ in range(50):
        check(not link.peer.hear(WRITE).last, "it ends")
    link.dut.nothing_completes("scq")
    link.qp.modify(ERR)
    link.qp.flushed()
    link.peer.allow_cut()


@rule("R-7.1-1: Terminate 0/0/00, and LOC_PROT_ERR of the work request",
      "R-8.1.1-1: no octet leaves, neither of the bad SGE nor of the good one in front of it",
      cases=both(("key",), ("index",), ("before",), ("behind",), ("wraps",),
                 ("other_pd",)))
def R_7_1_1_memory_that_is_not_the_senders(b, which, role):
    """If the second SGE of a Send is bad, nothing is sent, not even of the good first SGE."""
    link = Link(b, role)
    link.verbs.do("pd other")
    good, mr = link.dut.mr(64, 0), link.dut.mr(64, 0)
    others = link.dut.mr(64, 0, pd="other")
    link.qp.recv()
    bad = {"key": sge(mr.start, 8, mr.lkey ^ 1), "index": sge(mr.start, 8, mr.lkey ^ 0x770000),
           "before": sge(mr.start - 1, 8, mr.lkey), "behind": sge(mr.start + 57, 8, mr.lkey),
           "wraps": sge(0xfffffffffffffff8, 16, mr.lkey),
           "other_pd": sge(others.start, 8, others.lkey)}[which]
    raw_send(link, rings.sqe(0x77, OP_SEND, [sge(good.start, 8, good.lkey), bad]))
    locally_refused(link, 0x77, LOC_PROT_ERR)


@rule("R-7.1-1: Terminate 0/0/00, QP_FATAL, and LOC_QP_OP_ERR of the receive",
      cases=both((7,), (255,)))
def R_7_1_1_receive_with_too_many_sges(b, count, role):
    """A receive with too many SGEs is a local error, which the device finds when a Send arrives."""
    link = Link(b, role)
    mr = link.dut.mr(64, LOCAL_WRITE)
    element = rings.rqe(0x77, [sge(mr.start, 8, mr.lkey)] * 6, num_sge=count)
    link.verbs.do(f"poke qp.rq 0 {element.hex()}")
    link.qp.rq.add(0x77)
    with counted_once():
        link.peer.send(b"data")
        link.peer.hear_terminate_of(rdmap.LOCAL_CATASTROPHIC)
        link.peer.hear_end()
        link.ended(FATAL, flush=False)
    wc, = link.qp.wait_recv()
    equal(wc.status, LOC_QP_OP_ERR, f"status of {wc}")
    again(link)


@rule("R-5.3-1: a Send of nothing completes a receive without SGEs", cases=both())
def R_5_3_1_receive_without_sges(b, role):
    """A process can write a receive without SGEs into its ring: an empty Send completes it."""
    link = Link(b, role)
    link.verbs.do(f"poke qp.rq 0 {rings.rqe(0x77).hex()}")
    link.qp.rq.add(0x77)
    link.peer.send()
    link.qp.received(None, b"")


@rule("R-8.1.2-1: the octets of the Send, and its completion, as without the flags",
      cases=both((0x20,), (0x40,), (0xff80,)))
def R_5_1_3_flags_that_are_not_for_processes(b, flags, role):
    """In an SQ element of a process the device ignores flags that have no meaning there:
    SIW_WQE_REM_INVAL, SIW_WQE_COMPLETED, and those that siw-abi.h does not define."""
    link = Link(b, role)
    data = b"octets"
    mr = link.dut.mr(64, 0)
    mr.put(data)
    raw_send(link, rings.sqe(0x77, OP_SEND, [sge(mr.start, 6, mr.lkey)],
                             flags=VALID | SIGNALLED | flags))
    link.qp.sq.add(0x77)
    equal(link.peer.hear_message(SEND), data, "Send")
    link.qp.sent()


@rule("R-4.1-6: Invalidate STag in each segment", cases=both((0,), (4000,)))
def R_4_1_6_invalidate_stag_that_is_sent(b, size, role):
    """Each segment of a Send with Invalidate has the STag that the WR has in rkey."""
    link = Link(b, role)
    data = random_octets(size)
    link.qp.send(data, SIGNALED, WR_SEND_INV, rkey=0xa1b2c3d4)
    at = len(link.peer.heard)
    equal(link.peer.hear_message(SEND_INV), data, "Send")
    equal({segment.inv for segment in link.peer.heard[at:]}, {0xa1b2c3d4}, "Invalidate STag")
    link.qp.sent()


# --- elements that change --------------------------------------------------------------------

RINGS = "qp.sq", "qp.rq", "scq.ring", "rcq.ring"


def scribbled(b, ring, role, seed, turns):
    """A process writes random bytes into one of its rings while it sends and receives: the
    connection of another process must work all the time, and when the first process has exited."""
    link = Link(b, role, qp={"sends": 16, "recvs": 16})
    beside = Link(b.another(), role)
    size = link.dut.rings[ring][0]
    for _ in range(8):
        link.qp.recv().forget()
    link.dut.memory.forget(0, link.dut.memory.size)
    link.verbs.do(f"scribble {ring} 0 {size} {seed}")
    for n in range(turns):
        try:
            link.peer.send(bytes([n & 0xff]))
            link.verbs.ask(f"send qp 2 2 {n} 0 0 {link.dut.out(b'x')}")
            link.verbs.ask("doorbell qp")
        except OSError:
            break
        beside.works()
    link.verbs.calm()
    link.peer.allow_cut()
    beside.works()
    link.verbs.end()
    link.peer.hear_until_end()
    beside.works()


@rule("R-8.1.2-1: the connection of another process works during it and behind it",
      cases=both(*[(ring, 1) for ring in RINGS]),
      soak=both(*[(ring, seed) for ring in RINGS for seed in range(2, 40)]))
def R_8_1_2_1_ring_that_is_scribbled_over(b, ring, seed, role):
    scribbled(b, ring, role, seed, 20)


class Flipped:
    """Valid elements of an SQ or RQ ring, one field of which a thread of verbs_probe overwrites
    again and again"""

    OWN, ROOM = b"own octets" * 10, 40

    def __init__(self, b, ring, field):
        self.b, self.ring = b, ring
        self.dut = Dut(b)
        v = self.dut.verbs
        v.do("pd other")
        # The region self.foreign, of another PD, follows self.mr in memory. A device that reads a
        # field twice, checks the first value and uses the second, would access self.foreign.
        self.mr = self.dut.mr(self.ROOM, LOCAL_WRITE)
        self.mr.put(self.OWN[:self.ROOM])
        self.foreign = self.dut.mr(4096, LOCAL_WRITE, pd="other",
                                   offset=self.dut.memory.allocate(4096))
        self.foreign.put(b"\xf0" * 4096)
        good, key = 8, self.mr.lkey
        # offset of the field in the element, its width, and its values, most of which are good
        self.at, self.width, self.values = {
            "num_sge": (10, 1, (1, 1, 1, 1, 7, 255)),
            "opcode": (11, 1, (OP_SEND, OP_SEND, OP_SEND, OP_SEND, OP_REG_MR, 255)),
            "length": ((24 if ring == "sq" else 16) + 8, 4,
                       (good, good, self.ROOM, good, self.ROOM + 1, 0xffffffff)),
            "lkey": ((24 if ring == "sq" else 16) + 12, 4,
                     (key, key, key, key, key ^ 1, self.foreign.lkey)),
        }[field]
        self.error = rdmap.LOCAL_CATASTROPHIC
        if (ring, field) == ("rq", "length"):
            # If the SGE's length is too small for the peer's Send, the device refuses the Send. A
            # length beyond the region is no error, as the Send fits into the region.
            self.values = good, good, self.ROOM, 0xffffffff, good // 2, good // 2
            self.error = rdmap.UNTAGGED_LENGTH
        self.good = good
        self.done = self.refused = 0

    def stream(self, n):
        """Make a connection; have the device use up to 16 elements, in each of which a thread keeps
        changing one field, until the device refuses an element."""
        link = Link(self.b.another(), "responder", dut=self.dut, name=f"n{n}")
        link.peer.allow_cut()
        size = rings.SQE if self.ring == "sq" else rings.RQE
        sges = [sge(self.mr.start, self.good, self.mr.lkey)]
        link.verbs.do(f"flip {link.qp.name}.{self.ring} {self.at} {size} 16 {self.width} {n + 1} "
                      f"{' '.join(map(str, self.values))}")
        for slot in range(16):
            if self.ring == "sq":
                raw_send(link, rings.sqe(0x100 + slot, OP_SEND, sges), slot)
                link.qp.sq.add(0x100 + slot)
                wc, = link.qp.wait_send()
            else:
                octets = rings.rqe(0x100 + slot, sges)
                at = slot * size
                link.verbs.do(f"poke {link.qp.name}.rq {at} {octets[:8].hex()}")
                link.verbs.do(f"poke {link.qp.name}.rq {at + 10} {octets[10:].hex()}")
                link.verbs.do(f"poke {link.qp.name}.rq {at + 8} {octets[8:10].hex()}")
                link.qp.rq.add(0x100 + slot)
                data = bytes([slot]) * self.good
                link.peer.send(data)
                wc, = link.qp.wait_recv()
            if wc.status != SUCCESS:
                self.refused += 1
                break
            self.done += 1
            if self.ring == "sq":
                data = link.peer.hear_message(SEND)
                check(data and data == self.OWN[:len(data)], f"it has sent {data}")
            else:
                self.mr.expect(data)
        link.verbs.calm()
        if wc.status != SUCCESS:
            link.peer.hear_terminate_of(
                self.error, b"" if self.error == rdmap.LOCAL_CATASTROPHIC else link.peer.last)
            link.peer.hear_end()
            link.verbs.async_event(f"{event_of(self.error)} {link.qp.name}")
        link.close()
        link.disconnected()
        link.tcp.close()
        link.verbs.do(f"destroy {link.qp.name} {link.id} listener{link.name}")


@rule("R-8.1.2-1: elements with one field that changes are executed as they were copied, or "
      "refused with Terminate 0/0/00, or 1/2/05 for a receive that is too short; so many of each",
      "R-8.1.1-1: no octet but the region's own leaves, and another domain's beside it stays as it "
      "is",
      cases=[("sq", "num_sge"), ("sq", "opcode"), ("sq", "length"), ("sq", "lkey"),
             ("rq", "num_sge"), ("rq", "length"), ("rq", "lkey")])
def R_8_1_2_1_field_that_changes_as_it_is_read(b, ring, field):
    flipped = Flipped(b, ring, field)
    for n in range(60):
        flipped.stream(n)
        if flipped.done >= 5 and flipped.refused >= 5:
            break
    say(f"{flipped.done} executed, {flipped.refused} refused")
    check(flipped.done >= 5 and flipped.refused >= 5,
          f"{flipped.done} executed, {flipped.refused} refused")
    Link(b, "responder", dut=flipped.dut, name="last").works()


@rule("R-8.1.2-1: another connection of the process works afterwards",
      cases=both(("qp.sq", 8, 4), ("qp.sq", 24, 16), ("qp.rq", 8, 4),
                  ("qp.rq", 16, 16)))
def R_8_1_2_1_elements_that_change_as_they_are_read(b, ring, at, size, role):
    """A thread overwrites flags or an SGE of a ring's first element while Sends pass in both
    directions. Whatever the device does then, another connection of the process must work."""
    link = Link(b, role, qp={"sends": 1, "recvs": 1})
    link.dut.memory.forget(0, link.dut.memory.size)
    link.verbs.do(f"scribble {ring} {at} {size} 99")
    place = link.dut.into(64)
    for n in range(60):
        link.verbs.ask(f"recv qp {n} {place.sge}")
        link.verbs.ask(f"send qp 2 2 {n} 0 0 {link.dut.out(b'abcdefgh')}")
        try:
            link.peer.send(bytes(32))
        except OSError:
            break
    link.verbs.calm()
    link.peer.allow_cut()
    beside = Link(b.another(), role)
    beside.works()


@rule("R-8.1.2-1: a receive posted by the second mapping is used",
      "R-5.3-1: the octets of a Send in a receive that another mapping of the ring posted",
      cases=both())
def R_8_1_2_1_same_ring_at_two_places(b, role):
    """A process maps its RQ ring twice: a receive that it posts by the second mapping is used."""
    link = Link(b, role)
    link.verbs.do("remap twin qp.rq")
    mr = link.dut.mr(64, LOCAL_WRITE)
    link.verbs.do(f"poke twin 0 {rings.rqe(0x77, [sge(mr.start, 64, mr.lkey)]).hex()}")
    link.qp.rq.add(0x77)
    link.peer.send(b"octets")
    link.qp.received(None, b"octets")
    mr.expect(b"octets")
    link.verbs.do("unmap twin")


@rule("R-8.1.2-1: the Send's octets, and another connection, which works",
      "R-8.1.1-10: that connection has queues of its own, which are not hurt",
      cases=both((0,), (2,), (8,), (9,), (10,), (16,), (24,)))
def R_8_1_2_1_completions_are_the_processes(b, at, role):
    """A process overwrites CQEs that it has not polled: it may lose these completions, but data
    must be placed, and another connection of the process must work."""
    link = Link(b, role)
    place = link.qp.recv()
    link.peer.send(b"octets")
    link.pong()
    check(poll(lambda: link.verbs.do("peek rcq.ring 8 1") == ["DATA 01"]), "no completion")
    link.verbs.do(f"poke rcq.ring {at} ffff" if at != 8 else "poke rcq.ring 8 00")
    link.verbs.do("fill rcq.ring 0 32 0")
    link.qp.rq.posted.clear()
    place.expect(b"octets")
    for cq in ("scq2", "rcq2"):
        link.dut.cq(cq, 16)
    again(link, scq="scq2", rcq="rcq2")


@rule("R-8.1.1-10: Terminate 0/2/07, CQ_ERR and QP_FATAL of this queue, and another process, which "
      "works", cases=both())
def R_8_1_1_10_entries_that_look_full(b, role):
    """A process marks all CQEs of its ring as not yet polled: only this CQ overflows."""
    link = Link(b, role)
    beside = Link(b.another(), role)
    size = link.dut.rings["rcq.ring"][0]
    link.verbs.do(f"fill rcq.ring 0 {size - 8} 255")
    link.qp.recv().forget()
    link.peer.send(b"octets")
    link.overflowed("rcq", link.peer.last)
    beside.works()


# --- the doorbell ----------------------------------------------------------------------------

@rule("R-5.5-13: as many Sends as were posted, ten rings of them",
      "R-5.5-15: as many completions", cases=both((1,), (2,), (16,)))
def R_5_5_13_no_wr_is_forgotten(b, window, role):
    """The process posts WRs, with at most `window` outstanding, for many turns around the SQ ring.
    None may stay unsent, even if it is posted just when the device finds the ring empty."""
    link = Link(b, role, qp={"sends": window})
    count = 40 * window
    sge_ = link.dut.out(b"octets")
    link.verbs.tell(f"stream qp scq {count} {window} {WR_SEND} {SIGNALED} 0 0 0 {sge_}")
    for _ in range(count):
        equal(link.peer.hear_message(SEND), b"octets", "Send")
    equal(link.verbs.answer(), f"DONE {count} 0", "stream")
    equal(link.verbs.answer(), "OK stream", "stream")


@rule("R-5.5-13: Sends both ways, behind 20 doorbells", cases=both())
def R_5_5_13_doorbell_of_nothing(b, role):
    link = Link(b, role)
    for _ in range(20):
        link.verbs.do("doorbell qp")
    link.works()


@rule("R-5.5-13: four Sends leave in order",
      "R-5.3-1: the receive that was there first is used", cases=both())
def R_5_5_13_posted_before_the_connection(b, role):
    """Sends and receives that are posted before the QP is connected must be executed in order when
    it is."""
    places = []

    def post(dut, qp):
        places.append(qp.recv())
        qp.post(*(qp.wr(WR_SEND, [dut.out(bytes([n]))]) for n in range(4)))
    link = Link(b, role, setup=post)
    for n in range(4):
        equal(link.peer.hear_message(SEND), bytes([n]), "Send")
    equal([wc.status for wc in link.qp.wait_send(4)], [SUCCESS] * 4, "statuses")
    link.peer.send(b"octets")
    link.qp.received(places[0], b"octets")


@rule("D-6.2.2-1: each receive and Send is flushed, or refused with an errno", cases=both())
def D_6_2_2_1_posted_to_a_qp_in_error(b, role):
    """Sends and receives that are posted to a QP in the error state are flushed."""
    link = Link(b, role)
    link.qp.recv()
    link.peer.send(b"data", qn=6)
    link.refused(rdmap.UNTAGGED_QN)
    for _ in range(3):
        link.qp.recv()
        said, errno = link.verbs.ask(f"send qp {link.qp.wr(WR_SEND)}")
        if errno:
            link.qp.sq.posted.pop()
        link.qp.flushed()
        check(not said or errno, said)


# --- memory and lengths ----------------------------------------------------------------------

@rule("R-5.1-3: the octets of 47 messages around the end of a page",
      cases=both((WR_SEND, SEND), (WR_WRITE, WRITE)))
def R_5_1_3_sends_around_the_end_of_a_page(b, opcode, op, role):
    """The device sends messages of 40 bytes that begin 1 to 47 bytes in front of a page's end."""
    link = Link(b, role)
    mr = link.dut.mr(8192, 0, shift=0)
    mr.put(random_octets(8192))
    for before in list(range(1, 48)):
        link.qp.post(link.qp.wr(opcode, [mr.sge(4096 - before, 40)], raddr=0x1000, rkey=1))
        equal(link.peer.hear_message(op), mr.get(4096 - before, 40), f"{before} octets before")
        if before % 8 == 0:
            link.qp.wait_send(8)
    link.qp.wait_send(7)


@rule("R-5.1-3: the octets of eight Writes of six pieces, in order", cases=both())
def R_5_1_3_pieces_and_a_slow_reader(b, role):
    """The device sends Writes of six SGEs with odd addresses and lengths. As the peer's receive
    window closes again and again, TCP takes them in parts that end anywhere."""
    link = Link(b, role, narrow=True)
    sizes = 4095, 1, 30001, 4097, 8191, 20003
    pieces = [link.dut.mr(size, 0, shift=n * 13 + 1) for n, size in enumerate(sizes)]
    for piece in pieces:
        piece.put(random_octets(piece.size))
    want = b"".join(piece.get() for piece in pieces)
    for _ in range(8):
        link.qp.post(link.qp.wr(WR_WRITE, [piece.sge() for piece in pieces], raddr=0, rkey=1))
    check(link.peer.wait_full(), "the window does not close")
    for _ in range(8):
        equal(link.peer.hear_message(WRITE), want, "Write")
    link.qp.wait_send(8)


@rule("R-8.1.1-4: the regions can be deregistered", cases=both((0,), (REMOTE_READ,)))
def R_8_1_1_4_pieces_of_nothing_hold_no_region(b, access, role):
    """SGEs of length 0 must not keep a reference to their regions: once the WR has completed the
    regions can be deregistered."""
    link = Link(b, role)
    mrs = [link.dut.mr(64, access) for _ in range(4)]
    for order in ((0, 8, 0, 8), (8, 0, 8, 0), (0, 0, 0, 8), (0, 0, 0, 0)):
        link.qp.post(link.qp.wr(WR_SEND, [mr.sge(0, size) for mr, size in zip(mrs, order)]))
        equal(len(link.peer.hear_message(SEND)), sum(order), "octets")
        link.qp.sent()
    for mr in mrs:
        mr.destroy()
    link.works()


@rule("R-8.1.1-4: memory, a response, a Send and a receive at four addresses",
      "D-7.1-10: a Write of the whole region lands in it",
      cases=both((0,), (0x1000,), (0x7fffffff0000,),
                    (0xabcdef0123450000,)))
def R_8_1_1_4_region_at_another_address(b, iova, role):
    """SGEs, Writes and Reads use the address (iova) with which a region was registered."""
    link = Link(b, role)
    mr = link.dut.mr(5000, MAY_WRITE | REMOTE_READ, shift=0, iova=iova)
    data = random_octets(5000)
    link.peer.write(mr.rkey, iova, data, 1400)
    link.peer.read(mr.rkey, iova + 1, 4998)
    equal(link.peer.hear_message(READ_RESPONSE), data[1:-1], "response")
    mr.expect(data)
    link.qp.post(link.qp.wr(WR_SEND, [mr.sge(3, 4990)]))
    equal(link.peer.hear_message(SEND), data[3:4993], "Send")
    link.qp.sent()
    link.qp.recv(sges=[mr.sge(4096, 10)])
    link.peer.send(b"0123456789")
    link.qp.received(None, b"0123456789")
    mr.expect(b"0123456789", 4096)


@rule(cases=both())
def R_5_5_14_a_fork_changes_nothing(b, role):
    """After fork() the device still uses the parent's memory: it sends what the parent has written
    after the fork, and a Send of the peer arrives."""
    link = Link(b, role)
    out, place = link.dut.into(64), link.qp.recv()
    words = link.verbs.words("memory own - 8192")
    base = int(words[0], 0)
    lkey = int(link.verbs.words(f"mr own pd own 0 8192 {LOCAL_WRITE}")[0], 0)
    link.verbs.do("fill own 0 8192 1")
    link.verbs.do("fork")
    link.verbs.do("fill own 0 8192 2")
    link.qp.post(link.qp.wr(WR_SEND, [f"{base:#x},100,{lkey:#x}"]))
    equal(link.peer.hear_message(SEND), b"\2" * 100, "Send")
    link.peer.send(b"octets")
    link.qp.received(place, b"octets")
    out.forget()


# --- shared receive queues -------------------------------------------------------------------

def with_srq(b, **kw):
    dut = Dut(b)
    dut.srq("srq", **kw)
    return dut


@rule("R-5.3-1: ten Sends on two QPs take the oldest receive, in order", cases=both())
def R_5_3_1_shared_receive_queue(b, role):
    """Two QPs share an SRQ: each Send, on either QP, must complete the SRQ's oldest receive."""
    dut = with_srq(b)
    one = Link(b, role, dut=dut, name="1", qp={"srq": "srq"})
    two = Link(b.another(), role, dut=dut, name="2", qp={"srq": "srq"})
    for n in range(10):
        place = one.qp.recv()
        link = two if n % 3 else one
        link.peer.send(bytes([n] * 20), 7)
        link.qp.received(place, bytes([n] * 20))


@rule("R-5.3-1: eight receives, used in order; the event comes at the limit", cases=both())
def R_5_3_1_limit_of_a_shared_receive_queue(b, role):
    """When fewer receives are left than the SRQ's limit there is one event, and no further one
    until the limit is set again. Creation of an SRQ sets no limit. If fewer receives are there when
    the limit is set, the event is reported at once."""
    dut = with_srq(b, limit=7)
    link = Link(b, role, dut=dut, qp={"srq": "srq"})
    before = hw_counter("srq_limit_events")
    link.verbs.do("srq_limit srq 3")    # fewer receives are posted than the limit
    link.verbs.async_event("SRQ_LIMIT_REACHED srq")
    places = [link.qp.recv() for _ in range(8)]
    link.verbs.do("srq_limit srq 3")
    for n, place in enumerate(places[:5]):
        link.peer.send(bytes([n]))
        link.qp.received(place, bytes([n]))
    link.verbs.nothing_happened()
    link.peer.send(b"6")
    link.qp.received(places[5], b"6")
    link.verbs.async_event("SRQ_LIMIT_REACHED srq")
    link.peer.send(b"7")
    link.qp.received(places[6], b"7")
    link.verbs.nothing_happens()
    link.verbs.do("srq_limit srq 1")
    link.peer.send(b"8")
    link.qp.received(places[7], b"8")
    link.verbs.async_event("SRQ_LIMIT_REACHED srq")
    check(poll(lambda: hw_counter("srq_limit_events") == before + 3), "events are not counted")


@rule("D-6.2.2-1: the half-filled receive is flushed, and the next one takes another QP's Send",
      cases=both())
def R_5_4_3_shared_receives_stay(b, role):
    """When a QP with an SRQ fails, its half-filled receive is flushed; the others stay in the
    SRQ."""
    dut = with_srq(b)
    one = Link(b, role, dut=dut, name="1", qp={"srq": "srq"})
    two = Link(b.another(), role, dut=dut, name="2", qp={"srq": "srq"})
    one.qp.recv().forget()
    place = one.qp.recv()
    one.peer.ulpdu(one.peer.send_segments(b"datadata", 4)[0])
    one.peer.send(b"data", qn=6)
    one.peer.hear_terminate_of(rdmap.UNTAGGED_QN, one.peer.last)
    one.peer.hear_end()
    wc, = one.qp.wait_recv()
    equal(wc.status, WR_FLUSH_ERR, f"{wc}")
    equal({one.verbs.any_async() for _ in range(2)}, {"QP_REQ_ERR qp1", "QP_LAST_WQE_REACHED qp1"},
          "asynchronous events")
    two.peer.send(b"octets")
    two.qp.received(place, b"octets")


@rule("D-7.1-5: Terminate 1/2/05 and LOC_LEN_ERR",
      "R-5.3-6: REM_INV_REQ_ERR of the receive",
      "D-6.2.2-1: one completion, and the next receive, which takes another QP's Send",
      cases=both(("long",), ("invalidate",), ("gone",)))
def D_7_1_5_shared_receive_that_fails(b, how, role):
    """A Send ends its stream, as it is too long, has a bad Invalidate STag, or takes a receive
    whose region is gone: this receive of the SRQ fails, too. The QP must get QP_LAST_WQE_REACHED,
    and the SRQ's next receive must serve another QP."""
    dut = with_srq(b)
    one = Link(b, role, dut=dut, name="1", qp={"srq": "srq"})
    two = Link(b.another(), role, dut=dut, name="2", qp={"srq": "srq"})
    if how == "gone":
        mr = dut.mr(64, LOCAL_WRITE)
        one.qp.recv(sges=[mr.sge()])
        mr.destroy()
    else:
        one.qp.recv(64).forget()
    place = two.qp.recv()
    one.peer.send(bytes(65 if how == "long" else 8), op=SEND_INV if how == "invalidate" else SEND,
                  inv=0x99 if how == "invalidate" else 0)
    error, status = {"long": (rdmap.UNTAGGED_LENGTH, LOC_LEN_ERR),
                     "invalidate": (rdmap.CANNOT_INVALIDATE, REM_INV_REQ_ERR),
                     "gone": (rdmap.LOCAL_CATASTROPHIC, LOC_PROT_ERR)}[how]
    one.refused(error, flush=False)
    wc, = one.qp.wait_recv()
    equal(wc.status, status, f"{wc}")
    two.peer.send(b"octets")
    two.qp.received(place, b"octets")
    dut.nothing_completes()


@rule("D-6.2.2-1: QP_LAST_WQE_REACHED once, and no receive is flushed", cases=both())
def R_7_1_qp_of_a_shared_queue_is_brought_to_the_error_state(b, role):
    """A QP that is modified to ERR takes no more receives from its SRQ: it must report
    QP_LAST_WQE_REACHED, once."""
    dut = with_srq(b)
    link = Link(b, role, dut=dut, qp={"srq": "srq"})
    link.qp.recv()
    link.qp.modify(ERR)
    link.verbs.async_event("QP_LAST_WQE_REACHED qp")
    link.peer.allow_cut()
    link.peer.hear_until_end()
    link.close()
    link.disconnected()
    dut.nothing_completes()
    link.qp.modify(ERR)
    link.verbs.nothing_happens()


@rule("D-6.2.2-1: eight work requests: each is flushed, once", cases=[()])
def D_6_2_2_1_qp_that_never_had_a_stream(b):
    """A QP without a connection is modified to ERR: its WRs are flushed, and WRs that are posted
    later are flushed at once."""
    dut = Dut(b)
    qp = Qp(dut, "qp", "pd", "scq", "rcq")
    for _ in range(2):
        qp.recv()
        qp.post(qp.wr(WR_SEND), qp.wr(WR_WRITE, (), 0, 1, 2))
    qp.modify(ERR)
    qp.flushed()
    equal(qp.state(), ERR, "state")
    qp.recv()
    qp.post(qp.wr(WR_SEND))
    qp.flushed()
    dut.nothing_completes()
    dut.verbs.nothing_happened()


@rule("R-8.1.1-10: Terminate 0/2/07, CQ_ERR and QP_FATAL; another QP works",
      cases=both((1,), (4,)))
def R_8_1_1_10_completion_queue_of_sends_overflows(b, cqes, role):
    """The CQ of a send queue overflows: the CQ and its QP get events, and other QPs work on."""
    link = Link(b, role)
    size = link.dut.cq("tiny", cqes)
    other = Link(b.another(), role, dut=link.dut, name="2", qp={"scq": "tiny", "sends": 16})
    for _ in range(size + 2):
        other.verbs.ask(f"send qp2 {other.qp.wr(WR_SEND)}")
    other.overflowed("tiny")
    link.works()


# --- objects ---------------------------------------------------------------------------------

@rule(cases=[()])
def R_8_1_2_1_five_hundred_queues(b):
    """A process can have 500 CQs at a time."""
    link = Link(b, "responder")
    for n in range(500):
        link.dut.cq(f"c{n}", 4)
    link.works()
    link.verbs.do("destroy " + " ".join(f"c{n}" for n in range(500)))
    link.works()


@rule(cases=[(0, 0), (1, 0), (0, 1), (3, 5)])
def R_8_1_2_1_sizes_of_a_qp(b, sends, recvs):
    """A QP has room for at least as many WRs as the process asked for, which may be 0 receives."""
    link = Link(b, "responder", qp={"sends": max(sends, 1), "recvs": recvs})
    check(link.qp.caps[0] >= sends and link.qp.caps[1] >= recvs, f"{link.qp.caps}")
    said = link.verbs.words("query qp")
    equal([int(word) for word in said[2:7]], link.qp.caps, "caps of query_qp")
    link.pong()


@rule("R-5.5-15: a completion for an unsignalled Send, with sq_sig_all alone",
      cases=both((0,), (1,)))
def R_8_1_2_1_signal_all(b, all_, role):
    link = Link(b, role, qp={"signal_all": all_})
    equal(link.verbs.words("query qp")[:2], ["3", str(all_)], "state and sq_sig_all")
    link.qp.send(b"octets", flags=0)
    link.peer.hear_message(SEND)
    if all_:
        link.qp.sent()
    link.works()


@rule("R-8.1.2-1: the peer sees an end", cases=both(("qp",), ("process",)))
def R_8_1_2_1_killed_amid_traffic(b, what, role):
    """A QP is destroyed, or its process killed, while data flows in both directions: the peer must
    get FIN or RST."""
    link = Link(b, role)
    mr = link.dut.mr(30000, MAY_WRITE | REMOTE_READ)
    link.dut.memory.forget(0, link.dut.memory.size)
    for _ in range(4):
        link.peer.read(mr.rkey, mr.start, 30000)
        link.qp.write(bytes(30000), 0x1000, 1)
        link.peer.write(mr.rkey, mr.start, bytes(30000), 1400)
    if what == "qp":
        link.verbs.do("destroy qp")
    else:
        link.verbs.proc.send_signal(signal.SIGKILL)
    link.peer.allow_cut()
    link.peer.hear_until_end()


@rule("R-8.1.2-1: 200 turns, and a connection that works behind them", cases=[(200,)],
      soak=[(20000,)])
def R_8_1_2_1_maps_that_race_with_destruction(b, count):
    """One thread creates and destroys CQs, while another one maps rings by mmap keys that the
    kernel is likely to assign: a ring must not be freed while it is mapped."""
    link = Link(b, "responder")
    link.verbs.do(f"race_maps {count}", limit=(60 + count / 10) * SLOW)
    link.works()


@rule(cases=both())
def R_8_1_2_1_changes_of_state_under_traffic(b, role):
    """While the process calls ibv_modify_qp() 2000 times, and most calls are refused, the device
    must still answer Reads."""
    link = Link(b, role)
    link.verbs.tell("modify_storm qp 2000")
    for n in range(30):
        link.peer.read(1, 1, 0)
        equal(link.peer.hear_message(READ_RESPONSE), b"", f"response {n}")
    said = link.verbs.answer()
    equal(said, "OK modify_storm", "storm")
    link.works()


# --- uverbs ----------------------------------------------------------------------------------

@rule("R-8.1.2-1: the connection works on, and no object is left",
      cases=[("cq",), ("srq",), ("qp",), ("mr",)])
def R_8_1_2_1_short_buffers_of_uverbs(b, what):
    """A process writes uverbs commands with too little room for the driver's response, or none;
    with bytes behind the RDMA core's part of the request; and with wrong lengths in the header. Its
    connection must work on, and no object may be left when it has exited."""
    link = Link(b, "responder")
    pd, cq = handle(link, "pd"), handle(link, "scq")
    mr = link.dut.memory.base
    bodies = {
        # ib_uverbs_create_cq: response, user_handle, cqe, vector, channel, reserved
        "cq": (CREATE_CQ, struct.pack("<QQIIiI", 0, 1, 16, 0, -1, 0), 8),
        # ib_uverbs_create_srq: response, user_handle, pd, max_wr, max_sge, limit
        "srq": (CREATE_SRQ, struct.pack("<QQIIII", 0, 1, pd, 16, 1, 0), 16),
        # ib_uverbs_create_qp: response, user_handle, pd, scq, rcq, srq, wrs, sges, inline, sig, ...
        "qp": (CREATE_QP, struct.pack("<QQIIIIIIIIIBBBB", 0, 1, pd, cq, cq, 0, 16, 16, 1, 1, 0,
                                      0, 2, 0, 0), 36),
        # ib_uverbs_reg_mr: response, start, length, hca_va, pd, access
        "mr": (REG_MR, struct.pack("<QQQQII", 0, mr, 4096, mr, pd, 1), 12),
    }
    number, body, core = bodies[what]
    before = resources()
    for room in [*range(0, core + 40, 4), 1000]:
        wrote(link, command(number, body, out_words=room // 4), 8, max(room, 8))
    for tail in (4, 8, 12, 16, 24, 64, 512, 4096):
        for fill in (b"\0", b"\xff"):
            wrote(link, command(number, body + fill * tail, out_words=64), 8)
    for words in (0, 1, 2, 3, len(body) // 4, len(body) // 4 + 1, len(body) // 4 + 3, 0xffff):
        wrote(link, command(number, body, in_words=words, out_words=64), 8)
    for size in range(0, len(body), 4):
        wrote(link, command(number, body[:size], out_words=64) if size >= 16 else
              command(number, body[:size]), 8 if size >= 8 else "-")
    link.works()
    link.verbs.end()
    check(poll(lambda: all(after <= now for after, now in zip(resources(), before))),
          f"objects are left: {resources()}, {before} before")


KNOWN = "cq", "srq", "qp", "mr", "pd", "srq_limit", "context"


@rule("R-8.1.2-1: EOPNOTSUPP for octets behind the core's that are not zero, 0 for zeroes",
      cases=[(what,) for what in KNOWN])
def R_8_1_2_1_input_that_the_driver_does_not_know(b, what):
    """In additional bytes of a command a later libsiw may ask for something that this driver does
    not have: the driver refuses them unless they are 0, and does not silently ignore them."""
    link = Link(b, "responder")
    pd, cq = handle(link, "pd"), handle(link, "scq")
    mr = link.dut.memory.base
    link.dut.srq("srq")
    number, body, response_at = {
        # the fields as in R_8_1_2_1_short_buffers_of_uverbs()
        "cq": (CREATE_CQ, struct.pack("<QQIIiI", 0, 1, 16, 0, -1, 0), 8),
        "srq": (CREATE_SRQ, struct.pack("<QQIIII", 0, 1, pd, 16, 1, 0), 8),
        "qp": (CREATE_QP, struct.pack("<QQIIIIIIIIIBBBB", 0, 1, pd, cq, cq, 0, 16, 16, 1, 1, 0,
                                      0, 2, 0, 0), 8),
        "mr": (REG_MR, struct.pack("<QQQQII", 0, mr, 4096, mr, pd, 1), 8),
        "pd": (ALLOC_PD, struct.pack("<Q", 0), 8),
        # ib_uverbs_modify_srq: srq, mask, max_wr, limit
        "srq_limit": (MODIFY_SRQ, struct.pack("<IIII", handle(link, "srq"), SRQ_LIMIT, 0, 0), "-"),
        "context": (None, None, None),
    }[what]
    for size in 8, 64:
        zeroes = bytes(size)
        for tail, want in ((zeroes, 0), (b"\1" + zeroes[1:], errno.EOPNOTSUPP),
                           (zeroes[1:] + b"\x80", errno.EOPNOTSUPP)):
            got = get_context(tail) if what == "context" else wrote(
                link, command(number, body + tail, out_words=0 if response_at == "-" else 64),
                response_at)
            equal(got, want, f"errno, with {tail[:1].hex()}..{tail[-1:].hex()} behind it")
    link.works()


@rule("R-8.1.2-1: another connection works behind them",
      cases=[(OP_REG_MR,), (0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,),
             (255,)])
def R_8_1_2_1_work_requests_through_uverbs(b, opcode):
    """A process passes a WR by a uverbs command, instead of the ring, with each opcode. Whether the
    device executes or refuses the WR, another connection must work afterwards."""
    link = Link(b, "responder")
    mr = link.dut.mr(64, MAY_WRITE)
    qp = handle(link, "qp")
    # Fields of struct ib_uverbs_post_send: response, qp_handle, wr_count, sge_count, wqe_size; of
    # struct ib_uverbs_send_wr: wr_id, num_sge, opcode, send_flags, ex, wr.rdma
    head = struct.pack("<QIIII", 0, qp, 1, 1, 56)
    wr = struct.pack("<QIIIIQII", 0x77, 1, opcode, 2, 0, mr.start, mr.rkey, 0) + bytes(16)
    wrote(link, command(POST_SEND, head + wr + sge(mr.start, 8, mr.lkey), out_words=1), 8, 4)
    rhead = struct.pack("<QIIII", 0, qp, 1, 1, 16)
    rwr = struct.pack("<QII", 0x78, 1, 0)
    wrote(link, command(POST_RECV, rhead + rwr + sge(mr.start, 8, mr.lkey), out_words=1), 8, 4)
    link.verbs.end()
    link.peer.allow_cut()
    link.peer.hear_until_end()
    Link(b.another(), "responder").works()


@rule("R-8.1.2-1: another connection works behind them", cases=[()])
def R_8_1_2_1_commands_that_the_device_has_not(b):
    """A process writes uverbs commands with unsupported numbers, odd bodies or handles that do not
    exist: another connection must work afterwards."""
    link = Link(b, "responder")
    for number in [*range(1, 45), 64, 255, 0x80000000, 0x80000012, 0xc0000018]:
        for body in (b"", bytes(8), bytes(64), b"\xff" * 64, bytes(1024)):
            if number in (3, 16, 17):
                continue        # ALLOC_PD, DEALLOC_MW and CREATE_COMP_CHANNEL: may succeed
            wrote(link, command(number, body, out_words=64), 8 if len(body) >= 8 else "-")
    for number in (POLL_CQ, REQ_NOTIFY, RESIZE_CQ, DEREG_MR, POST_SRQ_RECV, POST_SEND, POST_RECV):
        for handle_ in (0, 1, 0x7fffffff, 0xffffffff):
            wrote(link, command(number, struct.pack("<QI", 0, handle_) + bytes(52), out_words=8), 8)
            wrote(link, command(number, struct.pack("<I", handle_) + bytes(28)))
    link.verbs.end()
    link.peer.allow_cut()
    link.peer.hear_until_end()
    Link(b.another(), "responder").works()
