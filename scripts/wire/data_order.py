# SPDX-License-Identifier: GPL-2.0
"""Order and completion of messages, IRD and ORD (RFC 5040, sections 5.5 and 6.1, appendix B)."""

import data_term
import rdmap
from harness import SLOW, check, equal
from link import FATAL, Link, both
from peer import SETTLE, random_octets
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, TERMINATE, WRITE, Read
from registry import rule
from verbs import (FENCE, LOC_QP_OP_ERR, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, SUCCESS,
                   WC_READ, WC_SEND, WC_WRITE, WR_READ, WR_SEND, WR_WRITE)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE
LONG = 1 << 18
ULP = 0x3fff          # RFC 6581 9.1
OWN_IRD, OWN_ORD = 4, 6


def owing(link, size=LONG):
    """Have the peer send a Read Request for `size` bytes, and not read from its socket, so that the
    device cannot send all of the response. Return the region that is read."""
    mr = link.dut.mr(size, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, size)
    check(link.peer.wait_full(), "the window does not close")
    return mr


# --- at the sink -----------------------------------------------------------------------------

@rule("R-5.5-10: memory, when the Send's completion is there, 20 times", cases=both())
def R_5_5_10_writes_before_a_send_are_there(b, role):
    """When a Send of the peer completes a receive, the device must have placed all Writes that the
    peer sent before that Send, whether they arrived in the same TCP segment or in earlier ones."""
    link = Link(b, role)
    mr = link.dut.mr(20000, MAY_WRITE)
    for turn in range(20):
        data = random_octets(100 if turn % 2 else 20000)
        place = link.qp.recv()
        link.peer.together(*link.peer.write_segments(mr.rkey, mr.start, data, 1400),
                           *link.peer.send_segments(b"look"))
        link.qp.received(place, b"look")
        mr.expect(data)


@rule("R-5.5-10 R-5.3-1 R-B-1: 16 Sends complete 16 receives in order, each with its octets",
      cases=both())
def R_5_5_10_sends_are_delivered_in_order(b, role):
    link = Link(b, role)
    places = [link.qp.recv() for _ in range(16)]
    link.peer.together(*(ulpdu for n in range(16)
                         for ulpdu in link.peer.send_segments(bytes([n] * 40), 17)))
    for n, place in enumerate(places):
        link.qp.received(place, bytes([n] * 40))


@rule("R-5.5-12 R-B-2: 30 responses have what the Write before them wrote", cases=both())
def R_5_5_12_read_sees_what_was_written_before(b, role):
    """The peer sends a Write and a Read Request for the same memory in one TCP segment: the
    response must have the bytes of the Write."""
    link = Link(b, role)
    mr = link.dut.mr(200, MAY_WRITE | REMOTE_READ)
    for turn in range(30):
        data = random_octets(200)
        read = Read(turn, turn, 200, mr.rkey, mr.start)
        link.peer.together(*link.peer.write_segments(mr.rkey, mr.start, data, 50),
                           link.peer.read_segment(read))
        equal(link.peer.hear_message(READ_RESPONSE), data, "response")
        mr.expect(data)


@rule("R-B-2 R-5.5-12: 20 responses have what the Send before them brought", cases=both())
def R_B_2_read_sees_the_send_before_it(b, role):
    """The peer sends a Send, and a Read Request for the memory of the Send's receive: the response
    must have the bytes of the Send."""
    link = Link(b, role)
    mr = link.dut.mr(64, LOCAL_WRITE | REMOTE_READ)
    for turn in range(20):
        data = random_octets(64)
        link.qp.recv(sges=[mr.sge()])
        link.peer.together(*link.peer.send_segments(data, 30),
                           link.peer.read_segment(Read(turn, 0, 64, mr.rkey, mr.start)))
        equal(link.peer.hear_message(READ_RESPONSE), data, "response")
        link.qp.received(None, data)
        mr.expect(data)


@rule("R-5.5-18: a receive completes while the window is closed; then all octets of the response "
      "come", cases=both())
def R_5_5_18_send_is_delivered_while_a_response_is_owed(b, role):
    link = Link(b, role, narrow=True)
    place = link.qp.recv()
    owing(link)
    link.peer.send(b"overtakes")
    link.qp.received(place, b"overtakes")
    equal(len(link.peer.hear_message(READ_RESPONSE)), LONG, "octets of the response")


@rule("R-5.5-20 R-B-1: the sizes and data of three responses, in the order asked for",
      cases=both())
def R_5_5_20_responses_come_in_order(b, role):
    """The device must send a long, a short and an empty response in the order of the peer's Read
    Requests; Conduct (conduct.py) compares each with the oldest request."""
    link = Link(b, role)
    mr = link.dut.mr(LONG, REMOTE_READ)
    data = random_octets(LONG)
    mr.put(data)
    for size in (LONG, 10, 0):
        link.peer.read(mr.rkey, mr.start, size)
    for size in (LONG, 10, 0):
        equal(link.peer.hear_message(READ_RESPONSE), data[:size], "response")


# --- at the source ---------------------------------------------------------------------------

@rule("R-5.5-14: each message has what was in memory when it was posted, though that changed at "
      "its completion", cases=both((WR_SEND, SEND), (WR_WRITE, WRITE)))
def R_5_5_14_memory_may_change_after_the_completion(b, opcode, op, role):
    """The ULP overwrites a WR's memory when the WR has completed, before the peer reads from its
    socket: the peer must get the bytes that were there when the WR was posted."""
    link = Link(b, role)
    mr = link.dut.mr(16384, 0)
    sent = []
    for turn in range(40):
        data = bytes([turn]) * 16384
        mr.put(data)
        link.qp.post(link.qp.wr(opcode, [mr.sge()], raddr=0, rkey=1))
        done = link.dut.wait("scq", 1, SLOW) if turn < 4 else link.dut.poll("scq")
        sent.append(data)
        if not done:
            break
        equal([wc.status for wc in done], [SUCCESS], "statuses")
    # If the last WR has not completed, the loop has ended before it overwrote the WR's memory.
    for data in sent:
        equal(link.peer.hear_message(op), data, "message")
    if not done:
        link.qp.sent()


@rule("R-5.5-15 T-6: no completion while the Read is open, then both in order",
      cases=both((WR_SEND, SEND, WC_SEND), (WR_WRITE, WRITE, WC_WRITE)))
def R_5_5_15_nothing_completes_before_an_earlier_read(b, opcode, op, wc_opcode, role):
    """The message of a WR behind a Read has been sent, but the WR must not complete before the
    Read, which still waits for its response."""
    link = Link(b, role)
    into = link.dut.mr(8, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    link.qp.post(link.qp.wr(opcode, [link.dut.out(b"later")], raddr=1, rkey=2))
    read = link.peer.hear(READ_REQUEST).read
    equal(link.peer.hear_message(op), b"later", "message")
    link.ping()
    link.peer.settle()
    link.dut.nothing_completes("scq")
    link.peer.respond(read, b"octets..")
    equal([(wc.opcode, wc.status) for wc in link.qp.wait_send(2)],
          [(WC_READ, SUCCESS), (wc_opcode, SUCCESS)], "completions")
    into.expect(b"octets..")


@rule("R-5.5-15 T-6: no completion while an unsignalled Read is open, then the Send's alone",
      cases=both())
def R_5_5_15_unsignalled_ones_count(b, role):
    """A signaled Send must not complete before an unsignaled Read that was posted before it."""
    link = Link(b, role)
    into = link.dut.mr(8, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99, flags=0)
    link.qp.send(b"one", flags=0)
    link.qp.send(b"two")
    read = link.peer.hear(READ_REQUEST).read
    for data in (b"one", b"two"):
        equal(link.peer.hear_message(SEND), data, "Send")
    link.ping()
    link.dut.nothing_completes("scq")
    link.peer.respond(read, b"octets..")
    link.qp.sent(WC_SEND)
    into.expect(b"octets..")
    link.dut.nothing_completes("scq")


@rule("R-5.5-15: three turns of a ring in which few are signalled", cases=both())
def R_5_5_15_unsignalled_ones_make_room(b, role):
    """In each turn around a short SQ only the last WR is signaled: its completion must free the
    slots of all WRs of the turn, so that the WRs of the next turn can be posted."""
    link = Link(b, role, qp={"sends": 4})
    size = link.qp.caps[0]
    for turn in range(3 * size):
        data = bytes([turn])
        link.qp.send(data, SIGNALED if turn % size == size - 1 else 0)
        equal(link.peer.hear_message(SEND), data, "Send")
        if turn % size == size - 1:
            link.qp.sent()


@rule("R-5.5-19: no completion before the last segment, then one of the whole length",
      cases=both())
def R_5_5_19_read_completes_with_its_last_segment(b, role):
    link = Link(b, role)
    into = link.dut.mr(96, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    read = link.peer.hear(READ_REQUEST).read
    data = random_octets(96)
    ulpdus = link.peer.response_segments(read, data, 32)
    for ulpdu in ulpdus[:2]:
        link.peer.ulpdu(ulpdu)
    link.ping()
    link.dut.nothing_completes("scq")
    link.peer.ulpdu(ulpdus[2])
    link.peer.conduct.answered()
    equal(link.qp.sent(WC_READ).length, 96, "length")
    into.expect(data)


@rule("R-5.5-20: one completion behind each of three responses, and its octets", cases=both())
def R_5_5_20_each_response_completes_its_read(b, role):
    link = Link(b, role)
    into = link.dut.mr(3 * 50, LOCAL_WRITE)
    for n in range(3):
        link.qp.read(into.sge(50 * n, 50), n, n)
    reads = [link.peer.hear(READ_REQUEST).read for _ in range(3)]
    for n, read in enumerate(reads):
        data = random_octets(50)
        link.peer.respond(read, data, 20)
        link.qp.sent(WC_READ)
        into.expect(data, 50 * n)
        link.dut.nothing_completes("scq")


@rule("R-B-3: silence of a fenced work request until the Read is answered; one without a fence "
      "has left", cases=both((WR_SEND, SEND), (WR_WRITE, WRITE), (WR_READ, READ_REQUEST)))
def R_B_3_fence(b, opcode, op, role):
    """The device must send a fenced WR only when the Reads in front of it are complete, and a WR
    without a fence at once."""
    link = Link(b, role)
    into = link.dut.mr(32, LOCAL_WRITE)
    link.qp.read(into.sge(0, 8), 0x9000, 0x99)
    link.qp.send(b"no fence")
    link.qp.post(link.qp.wr(opcode, [into.sge(8, 8)], SIGNALED | FENCE, 5, 6))
    read = link.peer.hear(READ_REQUEST).read
    equal(link.peer.hear_message(SEND), b"no fence", "Send")
    link.peer.silent()
    link.peer.respond(read, b"octets..")
    segment = link.peer.hear(op)
    if op == READ_REQUEST:
        link.peer.respond(segment.read, b"more....")
        into.expect(b"octets..")
    equal([wc.status for wc in link.qp.wait_send(3)], [SUCCESS] * 3, "statuses")
    into.expect(b"octets..")
    into.forget(8, 8)


@rule("R-B-3: no Read is open when a fenced Send comes, and the order of all",
      "R-6.1-2: never more Reads open than agreed, as the peer counts them",
      cases=both(*[(n,) for n in (1, 2, 3, 4)]))
def R_B_3_fences_and_depths(b, ord, role):  # pylint: disable=redefined-builtin
    """The ULP posts four Reads and a fenced Send, twice: at most ORD Reads may be open at a time,
    and no Read when the peer gets a Send."""
    link = Link(b, role, ord=ord, peer_ird=ord)
    into = link.dut.mr(8 * 16, LOCAL_WRITE)
    qp = link.qp
    wrs = []
    for n in range(4):
        wrs += [qp.wr(WR_READ, [into.sge(16 * n + 8 * i, 8)], SIGNALED, n, i) for i in range(2)]
        if n % 2:
            wrs.append(qp.wr(WR_SEND, [link.dut.out(bytes([n]))], SIGNALED | FENCE))
    qp.post(*wrs)
    reads, heard = [], []
    while len(heard) < 10:
        segment = link.peer.next_segment(SETTLE) or answer(link, reads, heard)
        if not segment:
            continue
        if segment.op == READ_REQUEST:
            reads.append(segment.read)
        else:
            equal(reads, [], "Reads that are open when the fenced Send comes")
        heard.append(segment)
    while reads:
        answer(link, reads, heard)
    equal([segment.op == SEND for segment in heard], ([False] * 4 + [True]) * 2, "order")
    equal([wc.status for wc in qp.wait_send(10)], [SUCCESS] * 10, "statuses")
    into.forget()


def answer(link, reads, _heard):
    """Have the peer answer the device's oldest open Read, if there is one."""
    if reads:
        link.peer.respond(reads.pop(0), bytes(8))


# --- depths ----------------------------------------------------------------------------------

@rule("R-6.1-2: silence behind as many Read Requests as agreed; one more for each response",
      cases=both((1,), (2,), (3,), (5,)))
def R_6_1_2_reads_that_are_open(b, depth, role):
    """Of ten posted Reads the device sends as many as ORD at first, and one more after each
    response."""
    link = Link(b, role, ord=depth, peer_ird=depth, qp={"sends": 16})
    into = link.dut.mr(80, LOCAL_WRITE)
    link.qp.post(*(link.qp.wr(WR_READ, [into.sge(8 * n, 8)], raddr=n, rkey=n) for n in range(10)))
    reads = [link.peer.hear(READ_REQUEST).read for _ in range(depth)]
    link.peer.silent()
    for n in range(10):
        link.peer.respond(reads[n], bytes([n] * 8))
        if len(reads) < 10:
            reads.append(link.peer.hear(READ_REQUEST).read)
            equal(reads[-1].to, len(reads) - 1, "order")
    equal([wc.status for wc in link.qp.wait_send(10)], [SUCCESS] * 10, "statuses")
    into.expect(b"".join(bytes([n] * 8) for n in range(10)))


@rule("R-6.1-2: silence behind the first Read",
      "R-5.5-13: the Send behind the second Read, not before", cases=both())
def R_6_1_2_what_is_behind_a_waiting_read_waits(b, role):
    link = Link(b, role, ord=1, peer_ird=1)
    into = link.dut.mr(16, LOCAL_WRITE)
    link.qp.read(into.sge(0, 8), 0, 0)
    link.qp.read(into.sge(8, 8), 1, 1)
    link.qp.send(b"behind")
    first = link.peer.hear(READ_REQUEST).read
    link.peer.silent()
    link.peer.respond(first, b"octets..")
    second = link.peer.hear(READ_REQUEST).read
    equal(link.peer.hear_message(SEND), b"behind", "Send")
    link.peer.respond(second, b"more....")
    link.qp.wait_send(3)
    into.expect(b"octets..more....")


@rule("R-6.1-3 T-13: as many are taken as agreed, and Terminate 1/2/02 for one more",
      "R-5.2.1-1: those that are open are Reads of nothing, but for the first",
      cases=both((1,), (3,), (5,), (4,)))
def R_6_1_3_one_read_too_many(b, depth, role):
    """The peer has as many Reads open as IRD, as the device cannot send the first response (see
    owing()): the device must refuse one more."""
    as_many_reads_are_taken(Link(b, role, narrow=True, ird=depth, peer_ord=depth), depth)


@rule("R-5.2.1-1: of three slots Reads of nothing take one each: 1/2/02 for a fourth Read, of "
      "nothing or not; when they are answered three more of nothing are taken",
      cases=both(*[(sizes, more) for sizes in ((0, 0, 0), (0, 8, 0), (8, 0, 8))
                   for more in (0, 8, None)]))
def R_5_2_1_1_reads_of_nothing(b, sizes, more, role):
    """A long Write of the device closes the peer's receive window, so that the device cannot send a
    response: each Read of the peer, even one of 0 bytes, stays open and counts for the device's
    IRD, which is 3."""
    link = Link(b, role, narrow=True, ird=3, peer_ord=3)
    mr = link.dut.mr(8, REMOTE_READ)
    mr.put(b"octets..")
    data_term.long_write(link, LONG)
    for size in sizes:
        link.peer.read(mr.rkey, mr.start, size)
    if more is not None:
        link.peer.read(mr.rkey, mr.start, more, good=False)
        check(link.peer.wait_taken(), "no acknowledgement")
        link.refused(rdmap.UNTAGGED_BUFFER)
        return
    equal(len(link.peer.hear_message(WRITE)), LONG, "octets of the Write")
    for size in sizes:
        equal(link.peer.hear_message(READ_RESPONSE), b"octets.."[:size], "response")
    link.qp.sent()
    link.peer.together(*[link.peer.read_segment(Read(n, n, 0, mr.rkey, mr.start))
                         for n in range(3)])
    for _ in range(3):
        equal(link.peer.hear_message(READ_RESPONSE), b"", "response")
    link.works()


@rule("R-6.1-3 T-13: as many responses as Reads, all open at once",
      cases=both((1,), (3,), (4,), (128,)))
def R_6_1_3_as_many_reads_as_agreed(b, depth, role):
    link = Link(b, role, narrow=True, ird=depth, peer_ord=depth)
    owing(link)
    for _ in range(depth - 1):
        link.peer.read(1, 1, 0)
    equal(len(link.peer.hear_message(READ_RESPONSE)), LONG, "octets of the first response")
    for _ in range(depth - 1):
        equal(link.peer.hear_message(READ_RESPONSE), b"", "response")
    link.works()


@rule("R-6.1-4 T-21: 300 responses, each asked for as soon as the one before was there",
      "R-5.2.1-1: the same with Reads of nothing",
      cases=both(*[(depth, 300, size) for depth in (1, 2) for size in (0, 8)]),
      soak=both((1, 30000, 8), (4, 100000, 8)))
def R_6_1_4_next_read_at_the_limit(b, depth, count, size, role):
    """As many Reads are open as IRD allows. As soon as the peer has a response it may send the next
    Read: the device must accept this Read, and so must have freed the answered Read's slot."""
    link = Link(b, role, ird=depth, peer_ord=depth)
    mr = link.dut.mr(8, REMOTE_READ)
    mr.put(b"octets..")
    for _ in range(depth):
        link.peer.read(mr.rkey, mr.start, size)
    for _ in range(count):
        equal(link.peer.hear(READ_RESPONSE).data, b"octets.."[:size], "response")
        link.peer.heard.clear()
        link.peer.fpdus.clear()
        link.peer.read(mr.rkey, mr.start, size)
    for _ in range(depth):
        link.peer.hear(READ_RESPONSE)
    link.works()


@rule("R-6.1-5: Terminate 1/2/02 for the first Read", cases=both())
def R_6_1_5_depth_0_of_the_responder_of_reads(b, role):
    link = Link(b, role, ird=0, peer_ord=0)
    mr = link.dut.mr(8, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 8, good=False)
    link.refused(rdmap.UNTAGGED_BUFFER)


@rule("R-6.1-5: LOC_QP_OP_ERR of the Read, Terminate 0/0/00 and FIN, and nothing before them",
      cases=both())
def R_6_1_5_depth_0_of_the_reader(b, role):
    """With ORD 0 a Read can never be sent, so posting one is an error of the ULP: the Read
    completes in error, and the peer gets a Terminate."""
    link = Link(b, role, ord=0, peer_ird=0)
    link.qp.recv()
    into = link.dut.mr(8, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    link.peer.hear_terminate_of(rdmap.LOCAL_CATASTROPHIC)
    link.peer.hear_end()
    check(all(segment.op == TERMINATE or not segment.data for segment in link.peer.heard),
          f"it said {link.peer.heard}")
    link.ended(FATAL, (LOC_QP_OP_ERR,))


@rule("R-6.1-5: a Write, and Sends both ways", cases=both())
def R_6_1_5_no_depths_at_all(b, role):
    """If IRD and ORD of both ends are 0, Sends and Writes must work."""
    link = Link(b, role, ird=0, ord=0, peer_ird=0, peer_ord=0)
    mr = link.dut.mr(8, MAY_WRITE)
    link.peer.write(mr.rkey, mr.start, b"octets..")
    link.works()
    mr.expect(b"octets..")


def as_many_reads_leave(link, depth):
    """Post `depth` + 2 Reads; check that no more than `depth` are open at any time."""
    into = link.dut.mr(8 * (depth + 2), LOCAL_WRITE)
    link.qp.post(*(link.qp.wr(WR_READ, [into.sge(8 * n, 8)], raddr=n, rkey=n)
                   for n in range(depth + 2)))
    reads = [link.peer.hear(READ_REQUEST).read for _ in range(depth)]
    link.peer.silent()
    for n in range(depth + 2):
        link.peer.respond(reads[n], bytes([n] * 8))
        if len(reads) < depth + 2:
            reads.append(link.peer.hear(READ_REQUEST).read)
    equal([wc.status for wc in link.qp.wait_send(depth + 2)], [SUCCESS] * (depth + 2), "statuses")
    into.expect(b"".join(bytes([n] * 8) for n in range(depth + 2)))


def as_many_reads_are_taken(link, depth):
    """Have the peer send `depth` Reads, which stay open, as the device cannot send the responses;
    check that the device refuses one more by a Terminate."""
    owing(link)
    for _ in range(depth - 1):
        link.peer.read(1, 1, 0)
    link.peer.read(1, 1, 0, good=False)
    # Link.refused() reads from the peer's socket, which lets the device send responses, after which
    # it would accept one more Read. So first wait until the device has got all Reads.
    check(link.peer.wait_taken(), "no acknowledgement")
    link.refused(rdmap.UNTAGGED_BUFFER)


@rule("E-9.1-5 E-9.1-12: IRD of the initiator's QP; one Read more than that is refused",
      "E-9.1-9: IRD of the responder's QP, likewise",
      "E-9.1-6 E-9.1-10: ORD of the initiator's QP; of more Reads only as many leave",
      "E-9.1-2b E-9.1-11: ORD of the responder's QP, likewise",
      cases=both((2, 9), (3, 0), (6, 4), (ULP, 5), (5, ULP), (ULP, ULP)))
def E_9_1_depths_of_the_qp(b, peer_ird, peer_ord, role):
    """In both roles the QP gets an IRD of at least the peer's ORD, and an ORD of at most the peer's
    IRD. Where the peer sends 0x3fff, the QP gets the IRD or ORD that the device's ULP asked for."""
    link = Link(b, role, ird=OWN_IRD, ord=OWN_ORD, peer_ird=peer_ird, peer_ord=peer_ord,
                narrow=True, qp={"sends": 16})
    want_ird = OWN_IRD if peer_ord == ULP else max(OWN_IRD, peer_ord)
    want_ord = OWN_ORD if peer_ird == ULP else min(OWN_ORD, peer_ird)
    equal(link.qp.depths(), (want_ird, want_ord), "IRD and ORD of the QP")
    as_many_reads_leave(link, want_ord)
    as_many_reads_are_taken(link, want_ird)


@rule("R-8.1.1-11: what query_device says, and the depths of a Reply to a peer that asks for more",
      cases=[()])
def R_8_1_1_11_depths_have_a_cap(b):
    """The Reply to a Request with the highest IRD and ORD, 0x3ffe (0x3fff has another meaning),
    has the limits that ibv_query_device() reports."""
    link = Link(b, "responder")
    words = link.verbs.words("device")
    caps = dict(word.split("=") for word in words)
    ird, ord_ = int(caps["qp_rd_atom"]), int(caps["qp_init_rd_atom"])
    check(0 < ird < 0x3fff and 0 < ord_ < 0x3fff, f"depths {ird}/{ord_}")
    other = Link(b.another(), "responder", dut=link.dut, name="2", ird=min(255, ird),
                 ord=min(255, ord_), peer_ird=0x3ffe, peer_ord=0x3ffe)
    equal((other.frame.ird, other.frame.ord), (min(255, ird), min(255, ord_)), "IRD and ORD")
    equal(other.qp.depths(), (min(255, ird), min(255, ord_)), "IRD and ORD of the QP")


@rule("R-5.5-1: a Send leaves while a Write comes in half", cases=both())
def R_5_5_1_no_order_between_directions(b, role):
    """The device must be able to send a message while it has received only half of a Write."""
    link = Link(b, role)
    mr = link.dut.mr(100, MAY_WRITE)
    first, second = link.peer.write_segments(mr.rkey, mr.start, bytes(100), 50)
    link.peer.ulpdu(first)
    link.pong()
    link.peer.ulpdu(second)
    link.works()
    mr.expect(bytes(100))
