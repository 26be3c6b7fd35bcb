# SPDX-License-Identifier: GPL-2.0
"""RDMAP's operations: Writes, Reads and Sends (RFC 5040, sections 5.1 to 5.3)."""

import mpa
import needs
import rdmap
from device import need_repeats
from harness import Failed, check, equal, poll
from link import FRAMINGS, Link, both, event_of
from peer import random_octets
from rdmap import (READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, WRITE, Read)
from registry import rule
from verbs import (INIT, INLINE, LOC_PROT_ERR, LOCAL_WRITE, READ_FAILED, REMOTE_READ, REMOTE_WRITE,
                   RESET, SIGNALED, SOLICITED, SUCCESS, WC_READ, WC_SEND, WC_WRITE, WR_READ,
                   WR_SEND, WR_WRITE, Dut)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE


# --- Writes ----------------------------------------------------------------------------------

@rule("R-5.1-1: no completion and no event for five Writes; the Send behind them gets the first "
      "receive", cases=both())
def R_5_1_1_write_is_invisible(b, role):
    """A peer's Writes cause no completion and no event at the device, and use up no receive."""
    link = Link(b, role)
    mr = link.dut.mr(4000, MAY_WRITE)
    place = link.qp.recv()
    data = random_octets(4000)
    for _ in range(5):
        link.peer.write(mr.rkey, mr.start, data, 1400)
    link.peer.send(b"first")
    link.qp.received(place, b"first")
    mr.expect(data)
    link.dut.nothing_completes()
    link.verbs.nothing_happened()


@rule("R-5.1-2: one segment without octets, with L, and its completion", cases=both())
def R_5_1_2_write_of_nothing(b, role):
    link = Link(b, role)
    link.qp.write(b"", 0xfeed, 0xbeef)
    segment = link.peer.hear(WRITE)
    equal((segment.data, segment.last), (b"", True), "Write")
    equal(link.qp.sent(WC_WRITE).status, SUCCESS, "status")


@rule("E-9.2-8: the RTR message and its repeats, between two messages of the ULP",
      "D-5.3-1: a Send between repeats is whole, in one segment", cases=[("initiator",)])
def E_9_2_8_rtr_is_repeated_between_messages(b, role):
    """While the peer sends nothing, the device repeats the RTR message, a Write without data, but
    never between two segments of one message."""
    need_repeats()
    link = Link(b, role, settings={"rtr_repeat_ms": 50})
    for _ in range(2):
        segment = link.peer.hear(WRITE)
        equal((segment.data, segment.last), (b"", True), "the RTR message again")
    link.qp.send(b"from the ULP")
    segment = link.peer.hear()
    while segment.op == WRITE:
        equal((segment.data, segment.last), (b"", True), "the RTR message again")
        segment = link.peer.hear()
    equal((segment.op, segment.data), (SEND, b"from the ULP"), "Send")
    place = link.qp.recv()
    link.peer.send(b"I am here")
    link.qp.received(place, b"I am here")


@rule("R-5.1-3: one Write, one Send: the pieces joined, one completion each",
      cases=both((2,), (4,), (6,)))
def R_5_1_3_gather_list_is_one_message(b, count, role):
    """The device sends one message from several SGEs, which have odd lengths and addresses, and one
    of which has the length 0."""
    link = Link(b, role)
    parts = [random_octets(size) for size in (1000, 0, 4097, 3, 1, 2500)[:count]]
    for opcode, op in ((WR_WRITE, WRITE), (WR_SEND, SEND)):
        sges = []
        for n, part in enumerate(parts):
            mr = link.dut.mr(max(len(part), 1), 0, shift=3 * n + 1)
            mr.put(part)
            sges.append(mr.sge(0, len(part)))
        link.qp.post(link.qp.wr(opcode, sges, raddr=0x7000, rkey=0x55))
        equal(link.peer.hear_message(op), b"".join(parts), "message")
        link.qp.sent()


@rule("R-5.1-4: no completion behind it, and Sends both ways", cases=both())
def R_5_1_4_write_as_rtr_message(b, role):
    """A Write as RTR message completes nothing at the device, which receives it as responder and
    sends it as initiator."""
    link = Link(b, role, rtr=mpa.WRITE)
    link.dut.nothing_completes()
    link.works()


# --- Read Requests that are received ---------------------------------------------------------

@rule("R-5.2.1-2 R-5.5-20: the data of four responses, each with the oldest Read's sink",
      cases=both())
def R_5_2_1_2_reads_are_served_in_order(b, role):
    """The peer sends four Read Requests together: Conduct (conduct.py) compares each Read Response
    of the device with the oldest unanswered request."""
    link = Link(b, role)
    data = random_octets(5000)
    mr = link.dut.mr(5000, REMOTE_READ)
    mr.put(data)
    wants = [(0, 5000), (17, 1), (4000, 0), (100, 3000)]
    link.peer.together(*(link.peer.read_segment(Read(n, 100 * n, size, mr.rkey, mr.start + at))
                         for n, (at, size) in enumerate(wants)))
    for at, size in wants:
        equal(link.peer.hear_message(READ_RESPONSE), data[at:at + size], "response")
    link.works()


@rule("R-5.2.1-2: MSN and SourceTO of four Read Requests", cases=both())
def R_5_2_1_2_reads_leave_in_order(b, role):
    link = Link(b, role)
    into = link.dut.mr(64, LOCAL_WRITE)
    link.qp.post(*(link.qp.wr(WR_READ, [into.sge(8 * n, 8)], raddr=n, rkey=n) for n in range(4)))
    got = [link.peer.hear(READ_REQUEST) for _ in range(4)]
    equal([(s.msn, s.read.to) for s in got], [(n + 1, n) for n in range(4)], "MSN and TO")
    for segment in got:
        link.peer.respond(segment.read, bytes([segment.read.to] * 8))
    equal([wc.opcode for wc in link.qp.wait_send(4)], [WC_READ] * 4, "opcodes")
    into.expect(b"".join(bytes([n] * 8) for n in range(4)))


@rule("R-5.2.1-3: silence behind the response, no completion and no event", cases=both())
def R_5_2_1_3_one_response_and_no_event(b, role):
    link = Link(b, role)
    mr = link.dut.mr(3000, REMOTE_READ)
    link.qp.recv()
    link.peer.read(mr.rkey, mr.start, 3000)
    link.peer.hear_message(READ_RESPONSE)
    link.peer.silent()
    link.dut.nothing_completes()
    link.verbs.nothing_happened()


@rule("R-5.2.1-4 T-4: a response for STags that do not exist",
      cases=both((0, 0), (rdmap.MAX32, rdmap.MAX64), (1, rdmap.MAX64)))
def R_5_2_1_4_read_of_nothing_is_not_looked_up(b, stag, to, role):
    link = Link(b, role)
    link.peer.read(stag, to, 0, sink_stag=0xcafe, sink_to=0xf00d)
    segment = link.peer.hear(READ_RESPONSE)
    equal((segment.stag, segment.to, segment.last), (0xcafe, 0xf00d, True), "response")
    link.works()


@rule("R-5.2.1-5 T-4: the Reads leave, and succeed, without an SGE and with a stale key",
      cases=both())
def R_5_2_1_5_read_of_nothing_needs_no_sink(b, role):
    """The device must send a Read of 0 bytes that has no SGE, or one of length 0 with the key of a
    deregistered region, as nothing will be placed."""
    link = Link(b, role)
    gone = link.dut.mr(64, LOCAL_WRITE)
    gone.destroy()
    for sge in ("", gone.sge(0, 0)):
        link.qp.read(sge, 0x123, 0x456)
        read = link.peer.hear(READ_REQUEST).read
        equal(read.size, 0, "size")
        link.peer.respond(read)
        link.qp.sent(WC_READ)
    link.works()


@rule("R-5.2.1-6: the next Read has MSN 2, and the RTR message completes nothing", cases=both())
def R_5_2_1_6_read_as_rtr_message(b, role):
    """A Read as RTR message has MSN 1, and counts as an open Read until it is answered. It
    completes nothing at the device."""
    link = Link(b, role, rtr=mpa.READ, ird=1, ord=1, peer_ird=1, peer_ord=1)
    link.dut.nothing_completes()
    if role == "responder":
        mr = link.dut.mr(8, REMOTE_READ)
        mr.put(b"octets..")
        link.peer.read(mr.rkey, mr.start, 8, msn=2)
        equal(link.peer.hear_message(READ_RESPONSE), b"octets..", "response")
    else:
        into = link.dut.mr(8, LOCAL_WRITE)
        link.qp.read(into.sge(), 0x9000, 0x99)
        segment = link.peer.hear(READ_REQUEST)
        equal(segment.msn, 2, "MSN")
        link.peer.respond(segment.read, b"octets..")
        link.qp.sent()
        into.expect(b"octets..")
    link.works()


@rule("R-5.2.1-6: at a depth of 1 no Read leaves before the RTR message is answered",
      "R-6.1-2: silence while the RTR message is open at a depth of 1", cases=[()])
def R_5_2_1_6_read_as_rtr_message_is_open(b):
    """With ORD 1 the device sends no Read before the Read that is the RTR message is answered."""
    link = Link(b, "initiator", rtr=mpa.READ, ird=1, ord=1, peer_ird=1, peer_ord=1, first=False)
    first = link.peer.hear(READ_REQUEST)
    equal((first.read.size, first.msn), (0, 1), "RTR message")
    link.established()
    into = link.dut.mr(8, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    link.peer.silent()
    link.peer.respond(first.read)
    second = link.peer.hear(READ_REQUEST)
    link.peer.respond(second.read, b"octets..")
    equal(link.qp.sent().opcode, WC_READ, "opcode")
    link.dut.nothing_completes()
    into.expect(b"octets..")


# --- Read Responses that are received --------------------------------------------------------

def reading(link, size=96, into=None):
    """Post a Read at the device. Return its sink, and the fields of the Read Request that the peer
    got. into: the sink, if the test has made it. kverbs registers regions by work requests, which
    do not complete while a Read is open."""
    into = into or link.dut.mr(size, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    return into, link.peer.hear(READ_REQUEST).read


@rule("R-5.2.2-1: Terminate 0/2/06, and memory", cases=both((0,), (8,)))
def R_5_2_2_1_response_that_nobody_asked_for(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, MAY_WRITE)
    link.peer.ulpdu(rdmap.response(mr.rkey, mr.start, bytes(size)))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-5.2.2-1: Terminate 0/2/06, and the sink, which keeps the first response", cases=both())
def R_5_2_2_1_one_response_more(b, role):
    link = Link(b, role)
    into, read = reading(link, 8)
    link.peer.respond(read, b"octets..")
    link.qp.sent()
    into.expect(b"octets..")
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to, b"again..."))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-5.2.2-2 T-7: Terminate 1/1/00 for the first, second and last segment, and the other "
      "region's memory", cases=both((0,), (1,), (2,)))
def R_5_2_2_2_response_to_another_stag(b, which, role):
    """Segment `which` of the peer's Read Response has the STag of a region other than the Read's
    sink: the device must refuse this segment."""
    link = Link(b, role)
    mr = link.dut.mr(96, MAY_WRITE)
    into, read = reading(link)
    ulpdus = link.peer.response_segments(read, bytes(96), 32)
    bad = rdmap.response(mr.rkey, read.sink_to + 32 * which, b"x" * 32, last=which == 2)
    for ulpdu in ulpdus[:which]:
        link.peer.ulpdu(ulpdu)
    link.peer.ulpdu(bad)
    into.forget()
    link.refused(rdmap.TAGGED_STAG, statuses=(READ_FAILED,))


@rule("R-5.2.2-2 T-7: Terminate 1/1/00 for the second Read's sink, and for another key",
      cases=both((0,), (1,)))
def R_5_2_2_2_response_to_another_read(b, which, role):
    """While two Reads are open, the peer's first response has the sink STag of the second Read, or
    that of the first Read with another key: the device must refuse the response."""
    link = Link(b, role)
    sinks = [link.dut.mr(32, LOCAL_WRITE) for _ in range(2)]
    try:
        read, read2 = (reading(link, 32, into)[1] for into in sinks)
    except Failed:
        if needs.Place.ours:
            raise
        raise needs.Unsupported("to have two Reads open") from None
    stag, to = (read2.sink_stag, read2.sink_to) if which else (read.sink_stag ^ 1, read.sink_to)
    link.peer.ulpdu(rdmap.response(stag, to, bytes(32)))
    check(read.sink_stag != read2.sink_stag, "two regions have one key")
    link.refused(rdmap.TAGGED_STAG, statuses=(READ_FAILED,))


@rule("R-5.2.2-3 T-7: Terminate 1/1/01 for gaps and steps back, in each segment",
      cases=both((0, 1), (0, -1), (1, 1), (1, -1), (1, -32), (2, 8), (2, -64),
                 (2, 1 << 40)))
def R_5_2_2_3_response_at_another_offset(b, which, delta, role):
    """The TO of segment `which` of the peer's Read Response is `delta` bytes too high (negative:
    too low): the device must refuse this segment."""
    link = Link(b, role)
    into, read = reading(link)
    for ulpdu in link.peer.response_segments(read, bytes(96), 32)[:which]:
        link.peer.ulpdu(ulpdu)
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to + 32 * which + delta, bytes(16),
                                   last=False))
    into.forget()
    link.refused(rdmap.TAGGED_BOUNDS, statuses=(READ_FAILED,))


@rule("R-5.2.2-3 T-7: Terminate 1/1/01 with the header of the first segment that is over",
      cases=both((97, 97, True), (97, 97, False), (97, 48, True),
                 (192, 96, False)))
def R_5_2_2_3_response_is_too_long(b, size, cut, last, role):
    """The peer's Read Response has one byte more than the Read asked for, or twice as many bytes
    and no L: the device must refuse the first segment that exceeds the sink."""
    link = Link(b, role)
    into, read = reading(link)
    ulpdus = [rdmap.response(read.sink_stag, read.sink_to + at, bytes(min(cut, size - at)),
                             last=last and at + cut >= size) for at in range(0, size, cut)]
    bad = next(u for n, u in enumerate(ulpdus) if min((n + 1) * cut, size) > 96)
    for ulpdu in ulpdus:
        link.peer.ulpdu(ulpdu)
    into.forget()
    link.refused(rdmap.TAGGED_BOUNDS, bad, statuses=(READ_FAILED,))


@rule("R-5.2.2-4: Terminate 1/1/01, the Read fails, and memory",
      cases=both((95, 95), (95, 50), (1, 1)))
def R_5_2_2_4_response_ends_early(b, size, cut, role):
    """The peer sets L before the Read Response is complete: the device must not place the segment
    with L, but must place those before it."""
    link = Link(b, role)
    into, read = reading(link)
    data = random_octets(size)
    segments = link.peer.response_segments(read, data, cut)
    for ulpdu in segments:
        link.peer.ulpdu(ulpdu)
    link.refused(rdmap.TAGGED_BOUNDS, statuses=(READ_FAILED,))
    into.expect(data[:cut * (len(segments) - 1)])


@rule("R-5.2.2-4: Terminate 1/1/01, and the Read fails", cases=both())
def R_5_2_2_4_empty_response_to_a_read_of_something(b, role):
    link = Link(b, role)
    _, read = reading(link)
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to))
    link.refused(rdmap.TAGGED_BOUNDS, statuses=(READ_FAILED,))


@rule("R-5.2.2-4: the Read succeeds, with its octets",
      "R-5.5-19: no completion while L is missing", cases=both())
def R_5_2_2_4_last_segment_of_nothing(b, role):
    """The peer sends all data of a Read Response without L, then an empty segment with L: the Read
    completes only by the empty segment."""
    link = Link(b, role)
    into, read = reading(link)
    data = random_octets(96)
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to, data, last=False))
    link.ping()
    link.dut.nothing_completes()
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to + 96))
    link.peer.conduct.answered()
    link.qp.sent(WC_READ)
    into.expect(data)
    link.works()


@rule("R-5.2.2-5: Terminate 1/1/00, and the sink's memory", cases=both())
def R_5_2_2_5_sink_is_no_target_for_writes(b, role):
    link = Link(b, role)
    _, read = reading(link)
    link.peer.write(read.sink_stag, read.sink_to, bytes(96))
    link.refused(rdmap.TAGGED_STAG, statuses=(READ_FAILED,))


@rule("R-5.2.2-6: Terminate 1/1/00 for the segment behind the deregistration",
      "R-8.1.1-6: the sink's memory, as it was when the region went", cases=both((0,), (1,)))
def R_5_2_2_6_sink_is_checked_when_data_comes(b, which, role):
    """The ULP deregisters a Read's sink before the Read Response, or between two segments of it:
    the device must not place later bytes."""
    link = Link(b, role)
    into, read = reading(link)
    ulpdus = link.peer.response_segments(read, random_octets(96), 48)
    if which:
        link.peer.ulpdu(ulpdus[0])
        link.ping()
        into.expect(ulpdus[0][14:])
    into.destroy()
    link.peer.ulpdu(ulpdus[which])
    link.refused(rdmap.TAGGED_STAG, statuses=(READ_FAILED,))


@rule("R-5.2.2-3: Terminate 1/1/01, and the Read fails",
      "R-5.2.1-5: a Read without an SGE leaves", cases=both((1,), (1000,)))
def R_5_2_2_3_octets_for_a_read_of_nothing(b, size, role):
    link = Link(b, role)
    link.qp.read("", 0x1, 0x2)
    read = link.peer.hear(READ_REQUEST).read
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to, bytes(size)))
    link.refused(rdmap.TAGGED_BOUNDS, statuses=(READ_FAILED,))


# --- Sends -----------------------------------------------------------------------------------

@rule("R-5.3-1: six receives complete with their Send's octets, in order", cases=both())
def R_5_3_1_each_send_takes_one_receive(b, role):
    """Each Send of the peer completes the oldest receive, also a Send that is empty or shorter than
    the receive."""
    link = Link(b, role)
    places = [link.qp.recv(100) for _ in range(6)]
    datas = [b"", b"1", bytes(100), b"", random_octets(50), b"last"]
    for n, data in enumerate(datas):
        link.peer.send(data, 30, op=SEND_SE if n % 2 else SEND)
    for place, data in zip(places, datas):
        link.qp.received(place, data)
    link.dut.nothing_completes()


@rule("R-5.3-1: one receive, with the octets of five segments",
      "D-5.4-1: the length of the completion, to which three of five segments add nothing",
      "D-7.1-4: three segments without octets do not move the MO that is due", cases=both())
def R_5_3_1_empty_segments_of_a_send(b, role):
    """The peer's Send has empty segments at its start, middle and end: they do not change what the
    device places."""
    link = Link(b, role)
    place = link.qp.recv(8)
    msn = link.peer.next_msn(0)
    for mo, data, last in ((0, b"", False), (0, b"data", False), (4, b"", False),
                           (4, b"more", False), (8, b"", True)):
        link.peer.ulpdu(rdmap.untagged(SEND, data, msn=msn, mo=mo, last=last))
    link.qp.received(place, b"datamore")
    link.works()


@rule("R-5.3-1: each of five pieces has its part",
      "D-5.4-1: the length in the completion", cases=both())
def R_5_3_1_scatter_list(b, role):
    """A receive has several SGEs, and the Send's segments do not end where the SGEs end: the device
    must place each byte in the right SGE."""
    link = Link(b, role)
    data = random_octets(3000)
    pieces = [link.dut.mr(size, LOCAL_WRITE, shift=size % 7) for size in (1, 1500, 7, 999, 800)]
    link.qp.recv(sges=[piece.sge() for piece in pieces])
    link.peer.send(data, 700)
    link.qp.received(None, data)
    at = 0
    for piece in pieces:
        part = data[at:at + piece.size]
        piece.expect(part)
        at += len(part)


@rule("R-5.3-2 T-14: an event for SEND_SE, none for SEND, and none for the next Send",
      cases=both((SEND, False), (SEND_SE, True)))
def R_5_3_2_solicited_events(b, op, solicited, role):
    """If the CQ is armed for solicited completions only, a Send with SE causes an event, and one
    without SE does not."""
    link = Link(b, role, dut=Dut(b, channel=True))
    link.verbs.do("arm rcq solicited")
    place = link.qp.recv()
    link.peer.send(b"data", op=op)
    if solicited:
        link.verbs.completion_event("rcq")
        link.qp.received(place, b"data")
    else:
        link.qp.received(place, b"data")
        link.verbs.nothing_happens()
    # The command "arm", which is ibv_req_notify_cq(), asks for one event only.
    place = link.qp.recv()
    link.peer.send(b"more", op=SEND)
    link.qp.received(place, b"more")
    link.verbs.nothing_happens()


@rule("R-5.3-2 T-14: an event for either Send", cases=both((SEND,), (SEND_SE,)))
def R_5_3_2_any_event(b, op, role):
    link = Link(b, role, dut=Dut(b, channel=True))
    link.verbs.do("arm rcq any")
    place = link.qp.recv()
    link.peer.send(b"data", op=op)
    link.verbs.completion_event("rcq")
    link.qp.received(place, b"data")


@rule("R-5.3-2 T-14: no event for a Send that left, one for a work request that failed",
      cases=both())
def R_5_3_2_sends_are_not_solicited(b, role):
    """On a CQ armed for solicited completions a Send that succeeds causes no event; one that fails
    does."""
    link = Link(b, role, dut=Dut(b, channel=True))
    link.verbs.do("arm scq solicited")
    link.qp.send(b"data", SIGNALED | SOLICITED)
    equal(link.peer.hear_message(SEND_SE), b"data", "Send")
    link.qp.sent()
    link.verbs.nothing_happens()
    link.qp.post(link.qp.wr(WR_SEND, ["0x1000,8,0x99"]))
    link.verbs.completion_event("scq")
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))


@rule("R-5.3-2: no event for what was there, and one for two that came",
      cases=both(("any",), ("solicited",)))
def R_5_3_2_arming_is_for_what_comes_next(b, how, role):
    """Arming a CQ causes no event for completions that are there already, and one event for later
    ones, however often the CQ was armed."""
    link = Link(b, role, dut=Dut(b, channel=True))
    places = [link.qp.recv() for _ in range(4)]
    link.peer.send(b"0", op=SEND_SE)
    link.qp.received(places[0], b"0")
    link.peer.send(b"1", op=SEND_SE)
    link.pong()
    check(poll(lambda: link.verbs.do("peek rcq.ring 40 1") == ["DATA 01"]), "no completion")
    for _ in range(2):
        link.verbs.do(f"arm rcq {how}")
    link.verbs.nothing_happens()
    link.peer.send(b"2", op=SEND_SE)
    link.verbs.completion_event("rcq")
    link.peer.send(b"3", op=SEND_SE)
    for place, data in zip(places[1:], (b"1", b"2", b"3")):
        link.qp.received(place, data)
    link.verbs.nothing_happens()


@rule("R-5.3-2 T-14: an event for a receive that is flushed", cases=both())
def R_5_3_2_errors_wake_too(b, role):
    """A flushed receive causes an event on a CQ that is armed for solicited completions."""
    link = Link(b, role, dut=Dut(b, channel=True))
    link.qp.recv()
    link.verbs.do("arm rcq solicited")
    link.peer.send(b"data", qn=5)
    link.peer.hear_terminate_of(rdmap.UNTAGGED_QN, link.peer.last)
    link.verbs.completion_event("rcq")
    link.peer.hear_end()
    link.ended("QP_REQ_ERR")


@rule("R-5.3-2: the opcode of the segment, with and without SOLICITED",
      cases=both((WR_SEND, SIGNALED, SEND), (WR_SEND, SIGNALED | SOLICITED, SEND_SE)))
def R_5_3_2_opcode_that_is_sent(b, opcode, flags, op, role):
    link = Link(b, role)
    link.qp.send(b"data", flags, opcode)
    equal(link.peer.hear_message(op), b"data", "Send")
    equal(link.qp.sent().opcode, WC_SEND, "opcode")


@rule("R-5.3-5: Terminate 0/2/09, and a receive that does not succeed",
      "T-5: Terminate 0/2/09 for a wrong key",
      cases=both(*[(op, which) for op in (SEND_INV, SEND_SE_INV)
                   for which in ("index", "key", "zero", "ones")]))
def R_5_3_5_invalidate_of_no_valid_stag(b, op, which, role):
    link = Link(b, role)
    mr = link.dut.mr(64, MAY_WRITE)
    stag = {"index": mr.rkey ^ 0x770000, "key": mr.rkey ^ 1, "zero": 0, "ones": 0xffffffff}[which]
    link.qp.recv().forget()
    link.peer.send(b"data", op=op, inv=stag)
    failed_receive(link, rdmap.CANNOT_INVALIDATE)


def failed_receive(link, error):
    """Check that the peer gets a Terminate with the code of `error`, and that the receive which the
    peer's Send used fails."""
    link.peer.hear_terminate_of(error, link.peer.last)
    link.peer.hear_end()
    link.ended(event_of(error), flush=False)
    wc, = link.qp.wait_recv()
    check(wc.status != SUCCESS, f"{wc} is a success")
    link.dut.nothing_completes()


@rule("R-5.3-6: the status of the receive",
      "R-5.3-5: Terminate 0/2/09", cases=both((0,), (1,)))
def R_5_3_6_failed_invalidate_fails_the_receive(b, size, role):
    """A Send with Invalidate of a bad STag fails its receive, also if it has no data."""
    link = Link(b, role)
    link.qp.recv().forget()
    link.peer.send(bytes(size), op=SEND_INV, inv=0x12345678)
    failed_receive(link, rdmap.CANNOT_INVALIDATE)


@rule("R-8.1.1-7: Terminate 0/2/09, and a Write of another connection that lands in the region",
      cases=both())
def R_8_1_1_7_region_of_a_process_is_not_invalidated(b, role):
    """Several QPs can use a region that a process has registered, so a Send with Invalidate from
    one peer must not invalidate the region."""
    needs.need("user")
    link = Link(b, role)
    mr = link.dut.mr(64, MAY_WRITE)
    link.qp.recv().forget()
    link.peer.send(b"data", op=SEND_INV, inv=mr.rkey)
    failed_receive(link, rdmap.CANNOT_INVALIDATE)
    other = Link(b.another(), role, dut=link.dut, name="2")
    other.peer.write(mr.rkey, mr.start, b"still")
    other.works()
    mr.expect(b"still")


@rule("R-5.3-7: no completion of the RTR message, without a receive; the next Send has MSN 2",
      cases=[()])
def R_5_3_7_send_as_rtr_message(b):
    """The peer's RTR message is a Send: it has MSN 1, but uses no receive of the device. The ULP
    posts its first receive later, for the Send with MSN 2."""
    link = Link(b, "responder", rtr=mpa.SEND)
    equal(link.frame.rtr, mpa.SEND, "RTR message that the device takes")
    link.dut.nothing_completes()
    place = link.qp.recv()
    link.peer.send(b"data", msn=2)
    link.peer.next_msn(0)
    link.qp.received(place, b"data")


@rule("R-5.3-7: no completion of the RTR message; the ULP's first Send has MSN 2",
      "X-02-2: a Send for RTR message, where the Reply has the bits of Send and Write", cases=[()])
def R_5_3_7_send_as_rtr_message_is_sent(b):
    """The device's RTR message is a Send, which has MSN 1: so the ULP's first Send has MSN 2."""
    link = Link(b, "initiator", rtr=mpa.SEND)
    link.dut.nothing_completes()
    link.qp.send(b"data")
    equal(link.peer.hear(SEND).msn, 2, "MSN")
    link.qp.sent()


# --- framings --------------------------------------------------------------------------------

@rule("F-4.1-4: data both ways without CRCs",
      "F-4.3-6: data of 5000 octets that come with Markers",
      "R-5.1-1: each Write's octets, and no completion for it",
      "R-5.2.1-3: each response's octets",
      "R-5.3-1: each receive's octets and length",
      "F-4.3-8: Markers in one direction, data in both",
      cases=both(*[(framing,) for framing in FRAMINGS]))
def F_4_3_8_each_message_in_every_framing(b, framing, role):
    """With each MPA startup and format of FPDUs in FRAMINGS (such as MPA revision 1, or Markers),
    device and peer exchange each type of message: empty, short, and of many segments."""
    link = Link(b, role, **FRAMINGS[framing])
    dut, peer, qp = link.dut, link.peer, link.qp
    mr, into = dut.mr(5000, MAY_WRITE | REMOTE_READ), dut.mr(5000, LOCAL_WRITE)
    for size in (0, 1, 5000):
        data = random_octets(size)
        place = qp.recv(5000)
        peer.write(mr.rkey, mr.start, data, 1300)
        peer.send(data, 1300)
        qp.received(place, data)
        mr.expect(data)
        peer.read(mr.rkey, mr.start, size)
        equal(peer.hear_message(READ_RESPONSE), data, "response")
        link.pong(data)
        qp.write(data, 0x1000, 0x77)
        equal(peer.hear_message(WRITE), data, "what was written")
        qp.sent(WC_WRITE)
        qp.read(into.sge(0, size), 0x9000, 0x99)
        peer.respond(peer.hear(READ_REQUEST).read, data, 1300)
        qp.sent(WC_READ)
        into.expect(data)


# --- a QP that is used again -----------------------------------------------------------------

class Again(Link):
    """A second connection of the QP whose first connection, which has ended, was `before`"""

    def __init__(self, b, role, before, **kw):
        self.before = before
        super().__init__(b, role, dut=before.dut, name="2", **kw)

    def _make_qp(self, dut, words):
        self.dut, self.verbs, self.qp = dut, dut.verbs, self.before.qp


@rule("D-6.2.2-1: all of the first stream's completions, and none of them later",
      "D-4.3-2: MSN begins at 1 again, both ways, which the peer's own counters check",
      "R-5.3-1: 20 receives of the second stream get its Sends",
      cases=both(("own",), ("peer",), ("end",)))
def D_6_2_2_1_qp_is_used_again(b, how, role):
    """A QP is connected again after a WR with a bad SGE, after a bad segment of the peer within a
    Send, or after a close by FIN. MSNs must begin at 1 again, and no completion or receive of the
    first stream may remain."""
    link = Link(b, role)
    link.works()
    link.qp.recv().forget()
    link.qp.recv()
    if how == "own":
        link.qp.post(link.qp.wr(WR_SEND, ["0x1000,8,0x99"]), link.qp.wr(WR_SEND))
        link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(LOC_PROT_ERR,))
    elif how == "peer":
        link.peer.ulpdu(link.peer.send_segments(b"datadata", 4)[0])
        link.peer.send(b"data", qn=9)
        link.refused(rdmap.UNTAGGED_QN)
    else:
        link.verbs.do(f"disconnect {link.id}")
        link.peer.hear_end()
        link.ended(None)
    for state in (RESET, INIT):
        check(poll(lambda: not link.verbs.ask(f"modify qp {state}")[1]), "it cannot be reset")
    again = Again(b.another(), role, link)
    for _ in range(20):
        again.works()
    again.qp.recv()
    again.peer.send(b"data", qn=9)
    again.refused(rdmap.UNTAGGED_QN)


# --- which work requests are allowed ---------------------------------------------------------

@rule("R-5.1-3: the octets of a Send and of a Write that were inline",
      cases=both((1,), (79,), (80,)))
def R_5_1_3_inline_data(b, size, role):
    """Inline data is copied when the WR is posted, so its memory need not be registered."""
    link = Link(b, role)
    data = random_octets(size)
    words = link.verbs.words("memory own - 4096")
    base = int(words[0], 0)
    link.verbs.do(f"poke own 5 {data.hex()}")
    for opcode, op in ((WR_SEND, SEND), (WR_WRITE, WRITE)):
        link.qp.post(link.qp.wr(opcode, [f"{base + 5:#x},{size},0"], SIGNALED | INLINE))
        equal(link.peer.hear_message(op), data, "message")
        link.qp.sent()
