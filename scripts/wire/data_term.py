# SPDX-License-Identifier: GPL-2.0
"""Terminates and the end of a stream (RFC 5040, sections 5.4, 6.2 and 7; RFC 5041, section 6)."""

import rdmap
from harness import check, equal, no_sooner_than, poll
from kernel import hw_counter
from link import FATAL, REQUEST, Link, both
from peer import FIN, RST, random_octets
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, TERMINATE, WRITE, Read
from registry import rule
from verbs import (ERR, LOC_PROT_ERR, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, SUCCESS,
                   WR_FLUSH_ERR, WR_READ, WR_SEND, WR_WRITE)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE
LONG = 1 << 19


def long_write(link, size=LONG, opcode=WR_WRITE):
    """Post a Write or Send of `size` bytes, and wait until the peer's TCP receive window is closed,
    as the peer does not read from its socket."""
    words = link.verbs.words(f"memory long - {size}")
    base = int(words[0], 0)
    lkey, _ = (int(word, 0) for word in link.verbs.words(f"mr long pd long 0 {size} 0"))
    link.verbs.do(f"fill long 0 {size} 0x5a")
    link.qp.post(link.qp.wr(opcode, [f"{base:#x},{size},{lkey:#x}"], raddr=0x1000, rkey=0x55))
    check(link.peer.wait_full(), "the window does not close")


# --- Terminates that are sent ----------------------------------------------------------------

@rule("R-5.4-1: the 18 octets of the Terminate's header", cases=both())
def R_5_4_1_terminate_that_is_sent(b, role):
    """The device's Terminate has QN 2, MSN 1, MO 0 and L, whatever the MSNs of other queues are."""
    link = Link(b, role)
    for _ in range(3):
        link.works()
    link.peer.send(b"data", qn=6)
    link.refused(rdmap.UNTAGGED_QN)
    equal(link.peer.heard[-1].ulpdu[:18].hex(), "4147" + "00000000" + "00000002" + "00000001" +
          "00000000", "header of the Terminate")


@rule("R-5.4-4: FIN behind the first Terminate, though 39 segments more deserve one", cases=both())
def R_5_4_4_one_terminate_for_many_faults(b, role):
    """The peer sends 40 bad segments by one write: the device must answer the first one by a
    Terminate, and send no other."""
    link = Link(b, role)
    link.qp.recv()
    bad = [rdmap.untagged(SEND, b"data", msn=1, qn=7), rdmap.write(0x99, 1, b"data"),
           rdmap.tagged(9, 1, 2), rdmap.response(1, 2, b"data")]
    link.peer.together(*bad * 10)
    link.refused(rdmap.UNTAGGED_QN, bad[0])


@rule("R-5.4-4: FIN behind the Terminate, with 10 Sends posted and three Reads owed", cases=both())
def R_5_4_4_nothing_leaves_behind_a_terminate(b, role):
    """The peer sends a bad segment while the device still has Sends and Read Responses to send.
    Conduct (conduct.py) fails if the device sends any segment after its Terminate."""
    link = Link(b, role)
    data = random_octets(3000)
    mr = link.dut.mr(30000, REMOTE_READ)
    for _ in range(3):
        link.peer.read(mr.rkey, mr.start, 30000)
    link.qp.post(*(link.qp.wr(WR_SEND, [link.dut.out(data)]) for _ in range(10)))
    link.peer.send(b"data", qn=6)
    bad = link.peer.last
    link.peer.hear_terminate_of(rdmap.UNTAGGED_QN, bad)
    link.peer.hear_end()
    link.ended(REQUEST, flush=False)
    flushed_behind_successes(link)


def flushed_behind_successes(link):
    """Wait for all posted Sends. Check that none but the first ones, if any, have succeeded, and
    that all later ones were flushed. Return the statuses."""
    statuses = []
    while link.qp.sq.posted:
        statuses += [wc.status for wc in link.qp.wait_send()]
    check(statuses == sorted(statuses) and set(statuses) <= {SUCCESS, WR_FLUSH_ERR}, f"{statuses}")
    link.dut.nothing_completes()
    return statuses


@rule("R-5.4-7 T-17: the Terminate is read whole, when the window opens; in front of it is what "
      "TCP had at the time of the fault, and the rest of one FPDU",
      "R-6.2.1-1: the Terminate, compared whole, amid half a MiB on its way",
      cases=both(("write",), ("send",), ("response",)))
def R_5_4_7_terminate_at_the_end_of_an_fpdu(b, kind, role):
    """The peer sends a bad FPDU while its receive window is closed, and the device has half a MiB
    to send. Before its Terminate the device may only complete an FPDU of which TCP has a part."""
    link = Link(b, role, narrow=True)
    if kind == "response":
        mr = link.dut.mr(LONG, REMOTE_READ)
        link.peer.read(mr.rkey, mr.start, LONG)
        check(link.peer.wait_full(), "the window does not close")
    else:
        long_write(link, opcode=WR_SEND if kind == "send" else WR_WRITE)
    link.note_what_is_on_its_way()
    link.peer.send(b"data", qn=6)
    bad = link.peer.last
    link.peer.settle()
    link.peer.hear_terminate_of(rdmap.UNTAGGED_QN, bad)
    link.only_that_came()
    link.peer.hear_end()
    link.ended(REQUEST)


@rule("R-5.4-7: the Terminate comes amid 50 Sends, behind what TCP had and the rest of one FPDU",
      "R-5.5-14: no more Sends succeed than came whole",
      "D-6.2.2-1: Sends that did not succeed are flushed, in order", cases=both())
def R_5_4_7_what_did_not_leave_did_not_succeed(b, role):
    """The peer sends a bad FPDU while its receive window is closed. The device then sends a
    Terminate in place of the unsent Sends: these Sends must not complete with success."""
    link = Link(b, role, narrow=True, qp={"sends": 64})
    sge = link.dut.out(random_octets(3000))
    link.qp.post(*(link.qp.wr(WR_SEND, [sge]) for _ in range(50)))
    check(link.peer.wait_full(), "the window does not close")
    at = len(link.peer.heard)
    link.note_what_is_on_its_way()
    link.peer.send(b"data", qn=6)
    bad = link.peer.last
    link.peer.settle()
    link.peer.hear_terminate_of(rdmap.UNTAGGED_QN, bad)
    link.only_that_came()
    whole = sum(segment.last for segment in link.peer.heard[at:-1])
    check(whole < 50, "all of them came")
    link.peer.hear_end()
    link.ended(REQUEST, flush=False)
    succeeded = flushed_behind_successes(link).count(SUCCESS)
    check(succeeded <= whole, f"{succeeded} Sends succeeded, {whole} came")


@rule("R-6.2.1-2 T-19: the whole Terminate, then FIN and no RST, with a megabyte unread",
      cases=both((FIN,), ("open",)))
def R_6_2_1_2_input_behind_the_fault_is_drained(b, how, role):
    """The peer sends a megabyte after a bad FPDU. The device has to read it: if it closed its
    socket with unread data, TCP would send RST, and the peer could lose the Terminate."""
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(60000, MAY_WRITE)
    bad = rdmap.write(mr.rkey ^ 1, 1, bytes(100))
    good = rdmap.write(mr.rkey, mr.start, bytes(50000))
    link.peer.together(bad, *[good] * 20)
    if how == FIN:
        link.peer.fin()
    link.peer.last = bad
    link.refused(rdmap.TAGGED_STAG, bad)


@rule("R-7.1-2: Terminate 1/2/02 with the first one's header", cases=both())
def R_7_1_2_first_of_two_faults(b, role):
    link = Link(b, role)
    first = rdmap.untagged(SEND, b"data", msn=1)
    link.peer.together(first, rdmap.untagged(SEND, b"data", msn=7, qn=9))
    link.refused(rdmap.UNTAGGED_BUFFER, first)


@rule("R-7.1-1: Terminate 0/0/00, no octet of the message, and LOC_PROT_ERR",
      "R-6.2.1-1: Terminate 0/0/00",
      cases=both(("send",), ("write",)))
def R_7_1_1_message_that_cannot_be_built(b, kind, role):
    """The region of a WR's second SGE was deregistered: the device must send a Terminate, and no
    part of the message."""
    link = Link(b, role)
    good, gone = link.dut.mr(100, 0), link.dut.mr(100, 0)
    gone.destroy()
    link.qp.recv()
    link.qp.post(link.qp.wr(WR_SEND if kind == "send" else WR_WRITE, [good.sge(), gone.sge()],
                            raddr=1, rkey=2))
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))
    check(all(segment.last and not segment.data or segment.op == TERMINATE
              for segment in link.peer.heard), f"it says {link.peer.heard}")


@rule("R-7.1-1: Terminate 0/0/00, and LOC_PROT_ERR of the receive",
      cases=both(("key",), ("bounds",), ("other_pd",), ("no_right",)))
def R_7_1_1_receive_that_cannot_be_used(b, which, role):
    """A receive with a bad SGE is a local error, which the device finds when a Send arrives for
    it."""
    link = Link(b, role)
    link.verbs.do("pd other")
    mr = link.dut.mr(100, 0 if which == "no_right" else LOCAL_WRITE,
                     pd="other" if which == "other_pd" else "pd")
    sge = {"key": f"{mr.start:#x},200,{mr.lkey ^ 1:#x}", "bounds": mr.sge(0, 200)}.get(
        which, mr.sge(0, 100))
    link.qp.recv(sges=[sge])
    link.qp.recv()
    mr.forget()
    link.peer.send(bytes(150 if which == "bounds" else 64))
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))


@rule("R-7.1-1: LOC_PROT_ERR of the fourth Send, none of whose octets leave",
      "R-5.5-15: the order of five completions",
      "D-6.2.2-1: the Send behind the one that failed is flushed", cases=both())
def R_7_1_1_what_was_posted_before_goes_out(b, role):
    """The fourth of five Sends has a bad SGE: the three before it are sent and succeed, and the
    fifth is flushed."""
    link = Link(b, role)
    datas = [random_octets(size) for size in (1, 2000, 30)]
    at = len(link.peer.heard)
    link.qp.post(*(link.qp.wr(WR_SEND, [link.dut.out(data)]) for data in datas),
                 link.qp.wr(WR_SEND, ["0x1000,8,0x99"]), link.qp.wr(WR_SEND))
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(SUCCESS,) * 3 + (LOC_PROT_ERR,))
    heard = link.peer.heard[at:-1]
    equal(b"".join(segment.data for segment in heard), b"".join(datas), "what was sent")
    equal(sum(segment.last for segment in heard), 3, "Sends")


@rule("R-7.1-1: Terminate 0/0/00, and LOC_PROT_ERR of the receive",
      "D-7.1-13: the first piece, in which nothing of the bad segment is", cases=both())
def R_7_1_1_second_piece_of_a_receive_is_gone(b, role):
    """A segment of a Send extends over two SGEs of the receive, and the region of the second one
    was deregistered: the device must place no byte of the segment, not even in the first SGE."""
    link = Link(b, role)
    good, gone = link.dut.mr(100, LOCAL_WRITE), link.dut.mr(100, LOCAL_WRITE)
    gone.destroy()
    link.qp.recv(sges=[good.sge(), gone.sge()])
    first, second = link.peer.send_segments(random_octets(140), 70)
    link.peer.ulpdu(first)
    link.peer.ulpdu(second)
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))
    good.expect(first[18:])


@rule("R-7.1-1: Terminate 0/0/00, and LOC_PROT_ERR of the Read",
      "R-5.2.2-6: no Read Request leaves",
      cases=both(("key",), ("bounds",), ("other_pd",), ("no_right",),
                 ("remote_right",), ("gone",)))
def R_7_1_1_read_that_has_no_sink(b, which, role):
    """A Read whose SGE, the sink, is invalid must fail before the device sends its Read Request."""
    link = Link(b, role)
    link.verbs.do("pd other")
    mr = link.dut.mr(64, {"no_right": 0, "remote_right": REMOTE_READ}.get(which, LOCAL_WRITE),
                     pd="other" if which == "other_pd" else "pd")
    link.qp.recv()
    if which == "gone":
        mr.destroy()
    sge = f"{mr.start:#x},64,{mr.lkey ^ 1:#x}" if which == "key" else \
        mr.sge(0, 65 if which == "bounds" else 64)
    link.qp.read(sge, 0x9000, 0x99)
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))
    check(all(segment.op != READ_REQUEST or not segment.read.size
              for segment in link.peer.heard), f"it says {link.peer.heard}")


# --- Terminates that are received ------------------------------------------------------------

@rule("R-5.4-2 R-5.4-3 T-18: QP_FATAL, with no receive posted", cases=both())
def R_5_4_2_terminate_needs_no_receive(b, role):
    link = Link(b, role)
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    link.closed_without_terminate(event=FATAL)


@rule("R-5.4-2 R-5.4-3: one QP_FATAL, and a receive that is flushed once",
      cases=both((FIN,), (RST,)))
def R_5_4_2_terminate_and_the_end_at_once(b, how, role):
    """The peer sends a Terminate, and FIN or RST directly after it: the ULP gets one asynchronous
    event for both."""
    link = Link(b, role)
    link.qp.recv()
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    if how == FIN:
        link.peer.fin()
        link.closed_without_terminate(event=FATAL)
    else:
        link.peer.reset()
        link.ended(FATAL)


@rule("R-5.4-2: QP_FATAL, before the connection is established",
      "R-5.4-6: the responder says nothing", cases=[()])
def R_5_4_2_terminate_is_the_first_fpdu(b):
    """The peer's first FPDU is a Terminate: it ends the stream, and the device must send
    nothing."""
    link = Link(b, "responder", first=False)
    link.qp.recv()
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    link.peer.hear_until_end()
    check(not link.peer.heard, f"it says {link.peer.heard}")
    link.verbs.async_event("QP_FATAL qp")
    link.close()
    link.qp.flushed()


@rule("R-5.4-2: QP_FATAL, and ESTABLISHED with an error",
      "R-5.4-6: the same of a malformed one",
      cases=[("good",), ("tagged",), ("queue_1",), ("msn_2",)])
def R_5_4_2_terminate_is_no_rtr_message(b, form):
    """The device, as responder, gets a Terminate in place of the RTR message: ESTABLISHED must
    report an error."""
    link = Link(b, "responder", first=False)
    if form == "good":
        link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    else:
        link.peer.ulpdu(BAD_TERMINATES[form]())
    link.peer.hear_until_end()
    check(not link.peer.heard, f"it says {link.peer.heard}")
    link.verbs.async_event("QP_FATAL qp")
    link.close()
    check(link.verbs.event("ESTABLISHED").status != 0, "the connection came up")


@rule("R-5.4-2: QP_FATAL, amid a Send",
      "R-5.4-3 T-18: the receive of that Send is flushed", cases=both())
def R_5_4_2_terminate_within_a_send(b, role):
    """The peer sends a Terminate after the first segment of a Send: the Send's receive must
    complete in error."""
    link = Link(b, role)
    link.qp.recv().forget()
    link.peer.ulpdu(link.peer.send_segments(b"datadata", 4)[0])
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    link.closed_without_terminate(event=FATAL)


@rule("R-5.4-3 T-18: QP_FATAL, and ten completions in error",
      "D-6.2.2-1: each work request completes once, in order", cases=both())
def R_5_4_3_received_terminate_flushes_all(b, role):
    """A Terminate of the peer flushes receives, open Reads and the WRs posted after them, each
    once and in order."""
    link = Link(b, role, ord=2, peer_ird=2)
    into = link.dut.mr(64, LOCAL_WRITE)
    for _ in range(5):
        link.qp.recv()
    link.qp.post(*(link.qp.wr(WR_READ, [into.sge(8 * n, 8)], raddr=n, rkey=n) for n in range(3)),
                 link.qp.wr(WR_SEND, (), 0), link.qp.wr(WR_SEND, ()))
    link.peer.hear(READ_REQUEST)
    link.peer.hear(READ_REQUEST)
    link.peer.terminate(rdmap.READ_STAG, rdmap.read_request(Read(1, 2, 3, 4, 5), msn=1))
    link.closed_without_terminate(event=FATAL)


@rule("R-5.4-3: QP_FATAL, in the case of a Terminate",
      "R-5.5-15: the Send and the Write, which had left, are flushed behind the Read",
      cases=both(("terminate",), ("reset",), ("fault",)))
def R_5_4_3_sent_behind_an_open_read(b, how, role):
    """A Send and a Write were sent, but the stream ends before the peer answers the Read that was
    posted before them. WRs complete in order, so all three are flushed."""
    link = Link(b, role)
    into = link.dut.mr(8, LOCAL_WRITE)
    link.qp.read(into.sge(), 1, 2)
    link.qp.send(b"octets")
    link.qp.write(b"octets", 3, 4)
    for op in (READ_REQUEST, SEND, WRITE):
        link.peer.hear(op)
    if how == "reset":
        link.peer.reset()
        link.ended(FATAL)
    elif how == "terminate":
        link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
        link.closed_without_terminate(event=FATAL)
    else:
        link.peer.send(b"data", qn=9)
        link.refused(rdmap.UNTAGGED_QN)


def counters(*names):
    return {name: hw_counter(name) for name in names}


def one_more(before):
    """Wait until each counter has grown by 1, which is not at once visible, as the RDMA core caches
    the values for some time."""
    want = {name: count + 1 for name, count in before.items()}
    check(poll(lambda: counters(*before) == want), f"{counters(*before)}, {before} before")


def traced(lines, event, octets, *words):
    """Check that the trace has one line of the trace event `event`, with all `words`, and with the
    bytes `octets` at its end. (Kernels differ in where they print spaces between bytes.)"""
    got = [line for line in lines() if f" {event}: " in line]
    check(len(got) == 1 and all(word in got[0].split(f"{event}: ")[1] for word in words) and
          got[0].split("ddp=")[1].replace(" ", "") == octets.hex(),
          f"{got}, where {words} and {octets.hex()} are due")


@rule("R-5.4-3 T-18: the trace, with the offender's header, and two counters",
      "R-4.8-1 T-3: layer, type, code and bits in the trace", cases=both())
def R_5_4_3_received_terminate_can_be_read(b, role):
    """A received Terminate is traced, with its layer, type, code and header, and counted."""
    lines = b.trace("srnic")
    before = counters("rx_terminates", "err_TERM_RECEIVED")
    link = Link(b, role)
    offender = rdmap.untagged(SEND, b"data", msn=0x01020304)
    link.peer.terminate(rdmap.UNTAGGED_LENGTH, offender)
    link.closed_without_terminate(event=FATAL)
    traced(lines, "srnic_terminate", offender[:18], f"qp={link.qp.number} ", "layer=1 ",
           "etype=2 ", "code=0x05 ", "hdrct=0xc0 ")
    one_more(before)


@rule("R-6.2.1-1: Terminate 1/2/01, a trace of the fault with its header, and two counters",
      cases=both())
def R_5_4_3_fault_of_the_peer_can_be_read(b, role):
    """An error of the peer is traced with the header of the bad segment; the device counts the
    error and its own Terminate."""
    lines = b.trace("srnic")
    before = counters("tx_terminates", "err_QN")
    link = Link(b, role)
    link.peer.send(b"data", qn=9)
    offender = link.peer.last
    link.refused(rdmap.UNTAGGED_QN)
    traced(lines, "srnic_fault", offender[:18], f"qp={link.qp.number} ", "err=QN ",
           "ulpdu_len=22 ")
    one_more(before)


@rule("R-6.2.1-2 T-19: FIN and no RST, with a megabyte behind the Terminate",
      "R-5.4-3: QP_FATAL", cases=both())
def R_6_2_1_2_input_behind_a_terminate_is_drained(b, role):
    """The peer sends a megabyte of Writes after its Terminate: the device places nothing, but
    reads the data, as TCP would otherwise send an RST."""
    link = Link(b, role)
    mr = link.dut.mr(60000, MAY_WRITE)
    good = rdmap.write(mr.rkey, mr.start, bytes(50000))
    link.peer.together(rdmap.terminate(rdmap.terminate_body(rdmap.LOCAL_CATASTROPHIC)),
                       *[good] * 20)
    link.peer.hear_end(FIN)
    check(not link.peer.is_reset(), "an RST behind the FIN")
    link.ended(FATAL)


@rule("R-5.4-5: what TCP had of the Write, and the rest of one FPDU; then FIN", cases=both())
def R_5_4_5_received_terminate_stops_the_sender(b, role):
    """The peer sends a Terminate while the device sends a long Write: the device may complete an
    FPDU of which TCP has a part, and must send nothing else."""
    link = Link(b, role, narrow=True)
    long_write(link)
    link.note_what_is_on_its_way()
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    link.peer.settle()
    equal(link.peer.hear_until_end(), FIN, "the end")
    check(not link.peer.inward.buffer, "it ends amid an FPDU")
    link.only_that_came()
    check(not link.peer.conduct.terminated, "a Terminate answers a Terminate")
    link.ended(FATAL)


GOOD_BODY = bytes([0x20, 0x02, 0, 0])
BAD_TERMINATES = {
    "tagged": lambda: rdmap.tagged(TERMINATE, 0, 2, GOOD_BODY),
    "queue_0": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=1, qn=0),
    "queue_1": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=1, qn=1),
    "queue_3": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=1, qn=3),
    "msn_0": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=0),
    "msn_2": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=2),
    "mo_4": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=1, mo=4),
    "not_last": lambda: rdmap.untagged(TERMINATE, GOOD_BODY, msn=1, last=False),
    "empty": lambda: rdmap.untagged(TERMINATE, b"", msn=1),
    "3_octets": lambda: rdmap.untagged(TERMINATE, GOOD_BODY[:3], msn=1),
}


@rule("R-5.4-6: QP_FATAL, and no Terminate", cases=both(*[(which,) for which in BAD_TERMINATES]))
def R_5_4_6_bad_terminate_is_not_answered(b, which, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.ulpdu(BAD_TERMINATES[which]())
    link.aborted()


# --- teardown --------------------------------------------------------------------------------

@rule("D-6.2.1-1: half a MiB and a Send, then FIN; what is posted later does not succeed",
      cases=both())
def D_6_2_1_1_what_was_posted_goes_out_first(b, role):
    """After rdma_disconnect() the device sends the messages that were posted before, then FIN; a
    Send that is posted later must not succeed."""
    link = Link(b, role, narrow=True)
    long_write(link)
    link.qp.send(b"the last words")
    link.verbs.do(f"disconnect {link.id}")
    equal(link.peer.hear_message(WRITE), b"\x5a" * LONG, "what was written")
    equal(link.peer.hear_message(SEND), b"the last words", "Send")
    link.peer.hear_end(FIN)
    equal([wc.status for wc in link.qp.wait_send(2)], [SUCCESS] * 2, "statuses")
    link.ended(None)
    said, errno = link.verbs.ask(f"send {link.qp.name} {link.qp.wr(WR_SEND)}")
    if errno:
        link.qp.sq.posted.pop()
    else:
        wc, = link.qp.wait_send()
        equal(wc.status, WR_FLUSH_ERR, f"{wc}, {said}")


@rule("D-6.2.1-2 F-7.2-1: a response of 256 KiB behind the peer's FIN, then FIN",
      "M-7.2-1: behind the peer's FIN the response comes, then FIN", cases=both())
def D_6_2_1_2_response_behind_the_peers_fin(b, role):
    """The peer sends a Read Request and FIN: the device must send all of the Read Response, then
    FIN."""
    link = Link(b, role)
    mr = link.dut.mr(LONG // 2, REMOTE_READ)
    data = random_octets(LONG // 2)
    mr.put(data)
    link.peer.read(mr.rkey, mr.start, LONG // 2)
    link.peer.fin()
    equal(link.peer.hear_message(READ_RESPONSE), data, "response")
    link.peer.hear_end(FIN)
    link.ended(None)


@rule("D-6.2.1-2: half a MiB and a Send behind the peer's FIN, then FIN",
      "M-7.2-1: behind the peer's FIN what was posted comes, then FIN", cases=both())
def D_6_2_1_2_sends_behind_the_peers_fin(b, role):
    """After the peer's FIN the device sends the messages that were posted before, then its own
    FIN."""
    link = Link(b, role, narrow=True)
    long_write(link)
    link.qp.send(b"the last words")
    link.peer.fin()
    link.peer.settle()
    equal(link.peer.hear_message(WRITE), b"\x5a" * LONG, "what was written")
    equal(link.peer.hear_message(SEND), b"the last words", "Send")
    link.peer.hear_end(FIN)
    equal([wc.status for wc in link.qp.wait_send(2)], [SUCCESS] * 2, "statuses")
    link.ended(None)


@rule("D-6.2.1-4 R-5.4-3: QP_FATAL for a Terminate behind the device's FIN", cases=both())
def D_6_2_1_4_terminate_behind_our_fin(b, role):
    """After its own FIN the device still reads, and reports a Terminate of the peer."""
    link = Link(b, role)
    link.qp.recv()
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
    link.ended(FATAL)


@rule("D-6.2.1-4: DISCONNECTED, and a flushed receive, though the peer never ends", cases=both())
def D_6_2_1_4_peer_that_never_ends(b, role):
    """The peer does not answer the device's FIN by its own: linger_timeout_ms ends the
    connection."""
    b.set(linger_timeout_ms=1000)
    link = Link(b, role)
    link.qp.recv()
    with no_sooner_than(1000):
        link.verbs.do(f"disconnect {link.id}")
        link.peer.hear_end(FIN)
        link.disconnected()
    link.qp.flushed()


@rule("D-6.2.2-1: one completion for each of 48 work requests, in order, signalled or not",
      cases=both(("reset",), ("crc",), ("header",), ("terminate",)))
def D_6_2_2_1_each_wr_completes_once(b, how, role):
    """When a stream fails, all WRs of each kind are flushed once, whether signaled or not."""
    link = Link(b, role, ord=2, peer_ird=2, qp={"sends": 64, "recvs": 64})
    into = link.dut.mr(64, LOCAL_WRITE)
    qp = link.qp
    for _ in range(20):
        qp.recv()
    qp.post(*(qp.wr(WR_READ, [into.sge(8 * n, 8)], SIGNALED if n % 2 else 0, n, n)
              for n in range(8)),
            *(qp.wr(WR_SEND if n % 3 else WR_WRITE, [], SIGNALED if n % 2 else 0, 1, 2)
              for n in range(20)))
    link.peer.hear(READ_REQUEST)
    link.peer.hear(READ_REQUEST)
    if how == "reset":
        link.peer.reset()
        link.ended(FATAL)
    elif how == "terminate":
        link.peer.terminate(rdmap.LOCAL_CATASTROPHIC)
        link.closed_without_terminate(event=FATAL)
    elif how == "crc":
        link.peer.ulpdu(rdmap.write(1, 2), check=lambda field: bytes(4))
        link.refused(rdmap.MPA_CRC)
    else:
        link.peer.write(0x99, 1, b"data")
        link.refused(rdmap.TAGGED_STAG)


@rule(cases=both())
def R_7_1_disconnect_of_an_idle_connection(b, role):
    link = Link(b, role)
    link.works()
    link.qp.recv()
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.ended(None)


@rule("R-7-1: what TCP had of the Write, and no more than the rest of one FPDU, came; memory, "
      "which a later Write leaves as it is",
      cases=both())
def R_7_1_qp_is_brought_to_the_error_state(b, role):
    """The ULP modifies its QP to ERR while a long Write is sent: the device ends the connection,
    sends no more than the rest of an FPDU, and places no byte of the peer any more."""
    link = Link(b, role, narrow=True)
    mr = link.dut.mr(64, MAY_WRITE)
    long_write(link)
    link.note_what_is_on_its_way()
    link.qp.recv()
    link.qp.modify(ERR)
    link.qp.flushed()
    try:
        link.peer.write(mr.rkey, mr.start, b"late")
    except OSError:
        pass
    link.peer.allow_cut()
    how = link.peer.hear_until_end()
    check(how in (FIN, RST), how)
    link.only_that_came()
    link.close()
    link.disconnected()


@rule("R-6.1-1: each FPDU up to FIN is a message of RDMAP", cases=both())
def R_6_1_1_only_messages_until_the_end(b, role):
    """All bytes that the device sends between its MPA Request or Reply and its FIN must be FPDUs:
    the peer decodes and checks each of them."""
    link = Link(b, role)
    for size in (0, 1, 2000):
        link.ping(bytes(size))
        link.pong(random_octets(size))
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.ended(None)
