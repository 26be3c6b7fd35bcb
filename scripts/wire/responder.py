# SPDX-License-Identifier: GPL-2.0
"""The device under test is the responder: its answers to what the test's initiator sends."""

import errno
import socket
import time

import mpa
import needs
import rdmap
from harness import CRC_FIELDS, SLOW, Failed, check, equal, no_sooner_than, poll
from device import device
from initiator import PD_SEEN, any_crc_field_will_do, one_end_is_counted
from kernel import counter, hw_counter
from mpa import C, M, R, READ, S, SEND, WRITE
from registry import rule
from sniffer import FIN, Sniffer

ULP = 0x3fff
DEPTHS = (0, 1, 4, 127, 128, 129, 0x3ffe, 0x3fff)
NOT_BY_TIME = 600000    # ms: longer than any test waits


def up(server, peer, rtr=None, **kw):
    """Send the peer's first FPDU, `rtr` or by default a zero-length Write, and expect ESTABLISHED
    at the server, the device's ULP. Return that event."""
    peer.send(rtr or mpa.rtr_write(**kw))
    ev = server.event("ESTABLISHED")
    equal(ev.status, 0, "status")
    return ev


def data_flows(server, peer, crc=True, responses=0, msn=1):
    """Check that the device answers the peer's Reads, receives a Send and sends one. responses:
    number of Read Responses that must come before any other FPDU; msn: MSN of the peer's Send"""
    for _ in range(responses):
        equal(peer.recv_fpdu(crc).op, "RESPONSE", "answer to the Read")
    server.do("recv")
    peer.send(mpa.send(b"ping", msn, crc=crc))
    equal(server.do("wc"), ["WC RECV success 4"], "receive")
    server.do("send 8")
    equal(peer.recv_fpdu(crc).op, "SEND", "what the server sends")


# --- revisions and formats ---------------------------------------------------------------

@rule("E-6-3 E-10-4: a connection that works both ways, with mpa_rev 1 and 2",
      "E-10-2: revision and S of the Reply",
      "M-7.1.1-3: the key of the Reply", "M-7.1.2-2: no octet before the Request",
      "M-7.1.2-5: R of the Reply; the first FPDU is received", cases=[(1,), (2,)])
def v1_request(b, mpa_rev):
    b.set(mpa_rev=mpa_rev)
    server = b.server()
    peer = b.dial()
    peer.expect_quiet()
    peer.send(mpa.request(b"hello"))
    equal(server.event("CONNECT_REQUEST").pd, b"hello", "private data")
    server.do("accept 4 4 776f726c64")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & (S | R)), (1, 0), "revision and flags")
    equal(reply.pd, b"world", "private data of the Reply")
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer)


@rule("E-10-2: revision, S and length of the Reply", "E-10-4: CONNECT_REQUEST and ESTABLISHED",
      "C-03", "I-02")
def v2_unenhanced_request(b):
    server, peer, ev = b.asked(mpa.request(b"12345678", rev=2))
    equal(ev.pd, b"12345678", "private data, of which nothing is stripped")
    server.do("accept 4 4 -")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & S, reply.pd_length), (2, 0, 0), "Reply")
    server.event("ESTABLISHED")


@rule("E-10-1: revision and S of the Reply, with mpa_rev 1 and 2", "E-9.2-11: A of the Reply",
      "E-9.2-12: B, C and D of the Reply", "I-04", cases=[(1,), (2,)])
def v2_client_server(b, mpa_rev):
    b.set(mpa_rev=mpa_rev)
    server, _, reply = b.accepted(mpa.request2(ird=8, ord=8))
    check(reply.flags & S, "the Reply is not enhanced")
    equal((reply.rev, reply.a, reply.rtr), (2, 0, 0), "revision, A, RTR")
    equal(server.event("ESTABLISHED").status, 0, "status")


@rule("E-9.2-13: A, B, C and D of the Reply; ESTABLISHED without an RTR message",
      "E-12-1: flags that make no sense are ignored")
def rtr_flags_without_a_are_ignored(b):
    server, _, reply = b.accepted(mpa.request2(a=0, rtr=SEND | WRITE | READ, ird=4, ord=4))
    equal((reply.a, reply.rtr), (0, 0), "A and RTR")
    server.event("ESTABLISHED")


@rule("E-6-1 M-7.1.1-10: a Request with all of them set is accepted; those of the Reply are 0",
      "M-7.1.1-9: a Request with R is accepted, and R of the Reply is 0", "B-16")
def reserved_bits_and_r_are_ignored_and_not_echoed(b):
    frame = mpa.request2(flags=C | R | 0x0f, a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, reply = b.accepted(frame)
    equal(reply.flags, C | S, "flags of the Reply")
    up(server, peer)


@rule("E-6-2: what looks like enhanced data is private data; the Reply has no S")
def s_bit_of_revision_1_is_reserved(b):
    server, peer, ev = b.asked(mpa.request(b"\x80\x01\xc0\x01data", flags=C | S))
    equal(ev.pd, b"\x80\x01\xc0\x01data", "private data")
    server.do("accept 4 4 -")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & S), (1, 0), "Reply")


@rule("M-7.1.1-13: the revision in the trace", cases=[(1,), (2,)])
def revision_of_the_peer_is_in_the_trace(b, rev):
    """iw_mpa must write the revision of the peer's Request to the trace, as iw_cm has no field in
    which the ULP would get it."""
    trace = b.trace()
    b.asked(mpa.request(b"data", rev=rev))
    check(any("iw_mpa_frame: " in line and f" received Request rev={rev} " in line
              for line in trace()), "the Request is not in the trace")


@rule("M-7.1.1-12: the end, and the counter BAD_REV",
      "M-7.1.2-3 M-8-2: the end, without an octet before it", cases=[(0,), (3,), (255,)])
def bad_revision_is_closed(b, rev):
    before = counter("BAD_REV")
    server = b.server()
    peer = b.dial()
    peer.send(mpa.request(rev=rev))
    peer.expect_end()
    server.no_event()
    equal(counter("BAD_REV"), before + 1, "BAD_REV")


BAD = {
    "reply_key": mpa.reply(),
    "garbage": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeroes": bytes(20),
    "last_octet_of_key": mpa.KEY_REQ[:15] + b"X" + bytes(4),
    "s_without_data": mpa.frame(mpa.KEY_REQ, C | S, 2, b""),
    "s_with_3_octets": mpa.frame(mpa.KEY_REQ, C | S, 2, b"\x80\x01\xc0"),
    "pd_length_513": mpa.request(pd_length=513) + bytes(513),
    "pd_length_65535": mpa.request(pd_length=65535),
    "v2_pd_length_513": mpa.frame(mpa.KEY_REQ, C | S, 2, mpa.enhanced(4, 4) + bytes(509)),
}
REASON = {      # name of a Request -> iw_mpa's counter that it must increment; others: reason_of()
    "reply_key": "SAME_ROLE", "s_without_data": "SHORT_ENHANCED",
    "s_with_3_octets": "SHORT_ENHANCED",
}


def reason_of(name):
    return REASON.get(name, "BAD_PD_LENGTH" if "pd_length" in name else "BAD_KEY")


@rule("M-7.1.1-2 M-7.1.2-11: garbage ends the connection, as BAD_KEY",
      "M-7.1.1-15 M-7.1.2-16: a PD_Length above 512 ends it, as BAD_PD_LENGTH",
      "M-7.1.2-14: the key of a Reply ends it, as SAME_ROLE",
      "E-6-4: S with less than 4 octets ends it, as SHORT_ENHANCED",
      "M-7.1.2-3 M-8-2: the end comes without an octet before it, and the ULP has no event",
      "I-03", "C-05", cases=[(name,) for name in BAD])
def bad_request_is_closed(b, name):
    before = counter(reason_of(name))
    server = b.server()
    peer = b.dial()
    peer.send(BAD[name])
    peer.expect_end()
    server.no_event()
    equal(counter(reason_of(name)), before + 1, reason_of(name))
    good = b.dial()
    good.send(mpa.request())
    server.event("CONNECT_REQUEST")


@rule("M-7.1.1-2: the end, as BAD_KEY, without the rest of a header", cases=[(1,), (8,), (15,)])
def garbage_shorter_than_a_header_is_closed_at_once(b, size):
    before = counter("BAD_KEY")
    b.server()
    peer = b.dial()
    peer.send(b"\xff" * size)
    peer.expect_end()
    check(poll(lambda: counter("BAD_KEY") == before + 1), "not for BAD_KEY")


@rule("M-7.1.2-17: an end, not an octet before it, and one more TCP_ERROR or TIMEOUT_REQUEST",
      cases=[(0,), (9,), (24,)])
def urgent_data_in_a_request(b, offset):
    """TCP takes an urgent byte out of the stream, so the device never gets the whole Request: it
    must end the connection, because of the urgent data or when request_timeout_ms has passed."""
    b.set(request_timeout_ms=1000 * SLOW)
    server = b.server()
    peer = b.dial()
    octets = mpa.request2(b"private data", a=1, rtr=WRITE, ird=4, ord=4)
    with one_end_is_counted("TIMEOUT_REQUEST"):
        peer.send_with_urgent(octets, offset)
        peer.expect_end()
    server.no_event()


# --- private data ------------------------------------------------------------------------

def was_received(trace, pd_len):
    return any(" received Request " in line and line.endswith(f" pd_len={pd_len}")
               for line in trace())


@rule("M-7.1.1-14 M-7.1.1-16: each octet that the ULP can see, and PD_Length in the trace",
      "E-7-4: 512 octets are taken", "B-23", "C-04",
      cases=[(size,) for size in (0, 1, 2, 3, 4, 251, 252, 253, 254, 255, 256, 257, 508, 511, 512)])
def private_data_v1(b, size):
    pd = bytes(1 + i % 255 for i in range(size))
    trace = b.trace()
    server, peer, ev = b.asked(mpa.request(pd))
    equal(ev.pd, pd[:PD_SEEN], "private data")
    check(was_received(trace, size), "its length is not in the trace")
    server.do("accept 4 4 -")
    equal(peer.recv_reply().pd_length, 0, "length in the Reply")
    data_flows(server, peer)        # works only if the device read the Request and no FPDU


@rule("M-7.1.1-14: each octet that the ULP can see, and the length of the Reply",
      "E-7-4: 512 octets are taken, enhanced data included", "I-01",
      cases=[(size,) for size in (0, 1, 4, 192, 196, 247, 248, 255, 508)])
def private_data_v2(b, size):
    pd = bytes(1 + i % 255 for i in range(size))
    trace = b.trace()
    server, peer, ev = b.asked(mpa.request2(pd, ird=4, ord=4))
    equal(ev.pd, pd[:PD_SEEN], "private data")
    check(was_received(trace, size), "its length is not in the trace")
    server.do("accept 4 4 -")
    equal(peer.recv_reply().pd_length, 4, "length in the Reply")
    data_flows(server, peer)


@rule("M-7.1.1-14: PD_Length of the Reply, and each octet that it counts",
      cases=[(size,) for size in (1, 100, 196)])
def private_data_of_reply(b, size):
    pd = bytes(range(size))
    _, _, reply = b.accepted(mpa.request2(ird=4, ord=4), pd=pd)
    equal(reply.pd, pd, "private data")


# --- segments of the Request -------------------------------------------------------------

@rule("M-7.1-1: the octets behind the Request are FPDUs, wherever TCP cuts", "I-08", "F-fragments",
      cases=[(size,) for size in (1, 2, 3, 7, 16, 19, 20, 21, 24)])
def request_in_segments_of(b, size):
    server = b.server()
    peer = b.dial()
    peer.send_split(mpa.request2(b"private data", a=1, rtr=WRITE, ird=4, ord=4), size)
    equal(server.event("CONNECT_REQUEST").pd, b"private data", "private data")
    server.do("accept 4 4 -")
    peer.recv_reply()
    up(server, peer)
    data_flows(server, peer)


@rule("M-7.1-1 M-7.1.5-2: an RTR message in the segment of the Request is received", "I-09")
def fpdu_behind_the_request_is_left_for_the_driver(b):
    frame = mpa.request2(a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, _ = b.asked(frame + mpa.rtr_write())
    server.do("accept 4 4 -")
    peer.recv_reply()
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer)


@rule("M-7.1.5-2: RST, and one EARLY_DATA, for the octet behind 16 KiB before the Reply",
      "E-9.3-1: RST, and not an octet before it, for that octet",
      cases=[("in_order",), ("urgent",)])
def octets_before_the_reply_are_kept_up_to_a_limit(b, how):
    before = counter("EARLY_DATA")
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    octets = bytes(16384)
    if how == "urgent":
        peer.urgent(octets[:1])
        octets = octets[1:]
    peer.send(octets)
    peer.expect_quiet()
    peer.send(b"!")
    equal(peer.expect_end(), "RST", "end of the connection")
    check(poll(lambda: counter("EARLY_DATA") == before + 1), "it is not counted")
    server.no_event()
    check(server.fails("accept 4 4 -"), "accept of an ended connection")


# --- RTR ---------------------------------------------------------------------------------

@rule("E-9.2-4: A of the Reply",
      "E-9.2-3 E-9.2-5 E-9.2-6 E-9.2-7: B, C and D of the Reply, for each set that is offered; an "
      "RTR message of a type named there is taken", "C-07", "C-08", "F-rtr",
      cases=[(rtr,) for rtr in range(8)])
def rtr_offer(b, rtr):
    server, peer, reply = b.accepted(mpa.request2(a=1, rtr=rtr, ird=4, ord=4))
    equal(reply.a, 1, "A")
    equal(reply.rtr, rtr & device().rtr or device().rtr, "RTR types")
    server.no_event()
    kind = {READ: mpa.rtr_read, SEND: mpa.rtr_send}.get(reply.rtr, mpa.rtr_write)
    up(server, peer, kind())
    data_flows(server, peer, responses=int(reply.rtr == READ), msn=1 + int(reply.rtr == SEND))


def draft_02(send, write, read):
    """Return the control flags of draft -02 of RFC 6581 as bits A, B and C of the RFC (section 9):
    Send has the place of A, Write that of B (RTR type Send), and Read that of C (Write)."""
    return {"a": send, "rtr": (SEND if write else 0) | (WRITE if read else 0)}


DRAFT_02 = [(send, write, read) for send in (0, 1) for write in (0, 1) for read in (0, 1)]


@rule("X-02-1: A, B, C and D of the Reply; ESTABLISHED, and a Send, behind each type that the "
      "draft makes of them; which Send has the receive",
      cases=[(*flags, first) for flags in DRAFT_02
             for first in (("send", "write", "read") if flags[0] else ("send",))])
def request_of_draft_02(b, send, write, read, first):
    """The test's initiator follows draft -02 of RFC 6581, which has flags Send, Write and Read in
    the places of A, B and C, in Request and Reply. If A of the Request is 1, the device must accept
    a Send, a Write or a Read as the first FPDU; if A is 0, a Send."""
    server, peer, reply = b.accepted(mpa.request2(ird=8, ord=8, **draft_02(send, write, read)))
    offered = draft_02(send, write, read)["rtr"]
    equal((reply.a, reply.rtr), (send, (offered & device().rtr or device().rtr) if send else 0),
          "flags")
    server.do("recv")
    peer.send({"send": mpa.rtr_send, "write": mpa.rtr_write, "read": mpa.rtr_read}[first]())
    equal(server.event("ESTABLISHED").status, 0, "status")
    if first == "read":
        equal(peer.recv_fpdu().op, "RESPONSE", "answer to the RTR")
    elif first == "write" or reply.rtr & SEND:
        # The RTR message, Write or Send, consumed no receive: the next Send completes the only
        # receive that was posted.
        peer.send(mpa.send(b"x", msn=2 if first == "send" else 1))
        server.received(1)
    else:
        server.received(0)
    server.do("send 8")
    equal(peer.recv_fpdu().op, "SEND", "what the server says")


@rule("X-02-3: IRD and ORD of the Reply and of the QP, with either field the larger one",
      cases=[(2, 8, 8, 2), (8, 2, 4, 4)])
def depths_of_draft_02(b, ird, ord, own_ird, own_ord):  # pylint: disable=redefined-builtin
    """The Request's IRD limits the ORD of the device, which is the responder; the IRD of its QP is
    at least the Request's ORD."""
    server, _, reply = b.accepted(mpa.request2(ird=ird, ord=ord, **draft_02(0, 0, 0)))
    equal((reply.ird, reply.ord), (own_ird, own_ord), "IRD and ORD of the Reply")
    server.event("ESTABLISHED")
    equal(server.depths(), (own_ird, own_ord), "IRD and ORD of the QP")


@rule("E-9.1-3: IRD of the Reply and of the QP; the Read is answered")
def read_rtr_with_ord_0_gets_an_ird(b):
    server, peer, reply = b.accepted(mpa.request2(a=1, rtr=READ, ird=0, ord=0), ird=0, ord=0)
    equal((reply.ird, reply.ord), (1, 0), "IRD and ORD")
    up(server, peer, mpa.rtr_read())
    equal(server.depths(), (1, 0), "IRD and ORD of the QP")
    equal(peer.recv_fpdu().op, "RESPONSE", "answer to the RTR")


@rule("M-7.1.2-10: no ESTABLISHED before the last octet of the RTR message", "B-09", "P-04")
def established_waits_for_the_whole_rtr(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    rtr = mpa.rtr_write()
    peer.send(rtr[:1])
    server.no_event()
    peer.send(rtr[1:19])
    server.no_event()
    peer.send(rtr[19:])
    equal(server.event("ESTABLISHED").status, 0, "status")


@rule("M-7.1.2-10: ESTABLISHED, and Sends both ways, wherever TCP cuts",
      cases=[(kind, size) for kind in ("write", "read") for size in (1, 2, 3, 17)])
def rtr_in_segments_of(b, kind, size):
    rtr = WRITE if kind == "write" else READ
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=rtr, ird=4, ord=4))
    peer.send_split(mpa.rtr_write() if kind == "write" else mpa.rtr_read(), size)
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer, responses=int(kind == "read"))


@rule("M-7.1.2-10: a Send in answer to the first FPDU, wherever TCP cuts", "F-fragments",
      cases=[(size,) for size in (1, 2, 3, 30, 41, 53, 82, 83)])
def first_fpdu_with_data_in_segments_of(b, size):
    server, peer, _ = b.accepted(mpa.request2(ird=4, ord=4))
    server.event("ESTABLISHED")
    server.do("recv")
    peer.send_split(mpa.send(bytes(60)), size)
    equal(server.do("wc"), ["WC RECV success 60"], "receive")
    server.do("send 8")
    equal(peer.recv_fpdu().op, "SEND", "answer")


def failed_by_crc(said, size):
    """Check `said`, cm_probe's line for the completion of a receive after a Send with a wrong CRC:
    for srnic and siw_mpa it must be device().bad_crc, for other devices a line with any error."""
    want = device().bad_crc
    check(said == want.format(size=size) if want else " success " not in said,
          f"receive with a bad CRC: {said}")


@rule("F-fragments", cases=[(size, cut) for size in (4, 5, 6, 7) for cut in (1, 2, 3, 23 + size)])
def fpdus_in_segments_of(b, size, cut):
    """The device receives FPDUs with each length of the pad, in TCP segments that end at each byte
    of pad and CRC."""
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(mpa.rtr_write())
    server.event("ESTABLISHED")
    for msn in (1, 2):
        server.do("recv")
        peer.send_split(mpa.send(bytes(size), msn), cut)
        equal(server.do("wc"), [f"WC RECV success {size}"], "receive")
    server.do("recv")
    peer.send_split(mpa.send(bytes(size), 3, bad_crc=True), cut)
    failed_by_crc(server.do("wc")[0], size)


@rule("M-7.1.1-8 M-8-1: the ULP is told of an error", "M-8-3: no receive completes", "B-09")
def rtr_with_a_bad_crc_is_no_rtr(b):
    b.set(rtr_timeout_ms=NOT_BY_TIME)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.do("recv")
    peer.send(mpa.rtr_write(bad_crc=True))
    try:
        peer.send(mpa.send(b"good"))
    except OSError:
        pass
    check(server.event().status != 0, "the connection came up")
    peer.expect_end()
    said, = server.do("wc")
    check(" success " not in said, f"received behind an error: {said}")


SHORT = {
    "of_0_octets": b"",
    "write_of_13_octets": mpa.RTR_WRITE[:13],
    "read_of_14_octets": b"\x41\x41" + bytes(12),
    "opcode_8": b"\x41\x48" + bytes(12),
}


@rule("M-7.1.2-10: before the end no octet but the Terminate message of a device that has seen "
      "the CRC to be good",
      "M-8-1: the ULP is told, and one stream that the driver has given up is counted",
      cases=[(name,) for name in SHORT])
def first_fpdu_is_too_short_for_its_opcode(b, name):
    """The first FPDU has a right CRC, but an undefined opcode or fewer bytes than the headers of
    its opcode: the device must end the connection for that."""
    b.set(rtr_timeout_ms=NOT_BY_TIME)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    before = counter("STREAM")
    peer.send(mpa.fpdu(SHORT[name]))
    status = server.event("ESTABLISHED").status
    if device().tells_of_runts is not None:
        equal(not status, device().tells_of_runts, f"the connection comes up, status {status}")
    if not status:
        told = mpa.fpdu(rdmap.terminate(rdmap.terminate_body(rdmap.UNSPECIFIED)))
        equal(peer.recv(len(told)).hex(), told.hex(), "Terminate message")
        peer.expect_fin()
        peer.fin()
        server.event("DISCONNECTED")
    else:
        server.event("DISCONNECTED")    # iw_cm needs a CLOSE event for each accepted connection
        peer.expect_end()
    check(poll(lambda: counter("STREAM") == before + 1), "it is not counted")


@rule("M-8-1: DISCONNECTED, and one stream is counted as ended for it")
def urgent_data_ends_the_connection(b):
    """The peer sends urgent data within an FPDU, then bytes that are no FPDU. The device must end
    the stream because of the urgent data, not because of these bytes: the device's counter of such
    ends must grow."""
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    up(server, peer)
    before = hw_counter(device().urgent)
    server.do("recv")
    peer.send(mpa.send(b"x")[:9])
    peer.urgent(b"yyyy")
    peer.send(b"z" * 64)
    server.event("DISCONNECTED")
    check(poll(lambda: hw_counter(device().urgent) == before + 1), "it is not counted")


@rule("M-7.1.2-10: ESTABLISHED, though FIN came with the RTR message, in one captured segment",
      "M-7.2-1: DISCONNECTED behind it")
def rtr_and_fin_in_one_segment(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    sniffer = Sniffer(b, b.port)
    peer.cork()
    peer.send(mpa.rtr_write())
    peer.fin()
    check(poll(lambda: any(segment.flags & FIN and segment.data == mpa.rtr_write()
                           for segment in sniffer.segments())), "they were not one segment")
    equal(server.event("ESTABLISHED").status, 0, "status")
    server.event("DISCONNECTED")


@rule("M-7.1.2-10: a Send that is posted does not go out before an FPDU has come",
      cases=[("v1",), ("client_server",)])
def nothing_is_sent_before_the_first_fpdu(b, kind):
    frame = mpa.request() if kind == "v1" else mpa.request2(ird=4, ord=4)
    server, peer, _ = b.accepted(frame)
    server.event("ESTABLISHED")
    server.do("recv")
    server.do("send 8")
    peer.expect_quiet()
    peer.send(mpa.send(b"go"))
    equal(peer.recv_fpdu().op, "SEND", "the first FPDU")


@rule("M-7.1.2-10: a Send before the first FPDU, with fence 0 alone",
      cases=[("v1",), ("client_server",)])
def fence_that_the_administrator_took_away(b, kind):
    b.set(fence=0)
    server, peer, _ = b.accepted(mpa.request() if kind == "v1" else mpa.request2(ird=4, ord=4))
    server.event("ESTABLISHED")
    server.do("send 8")
    equal(peer.recv_fpdu().op, "SEND", "what the server said first")
    server.do("recv")
    peer.send(mpa.send(b"ping"))


@rule("F-rtr", cases=[("write",), ("read",)])
def unnegotiated_rtr_after_v1(b, kind):
    server, peer, _ = b.accepted(mpa.request())
    server.event("ESTABLISHED")
    peer.send(mpa.rtr_write() if kind == "write" else mpa.rtr_read())
    data_flows(server, peer, responses=int(kind == "read"))


# --- what ends the wait for the RTR ------------------------------------------------------

ENDS = ("fin", "reset", "term", "garbage", "silence")


def end_with(peer, how):
    if how == "fin":
        peer.fin()
    elif how == "reset":
        peer.reset()
    elif how == "term":
        peer.send(mpa.terminate(7))
    elif how == "garbage":
        peer.send(b"\x00\x3a" + b"\xff" * 62)     # a whole FPDU by ULPDU_Length, with a wrong CRC


@rule("M-7.1.2-17: silence ends in an error when its time is over, and not an octet comes before",
      "M-7.2-1: FIN ends in an error, long before the time is over",
      "M-8-1: RST, a Terminate message and garbage end in an error, long before the time is over",
      "E-9.3-1: but for RST, no Terminate message between the Reply and the first FPDU",
      "B-07", "B-10", "P-01", "P-02", cases=[(how,) for how in ENDS])
def no_rtr_but(b, how):
    b.set(rtr_timeout_ms=500 if how == "silence" else NOT_BY_TIME)
    with no_sooner_than(500 if how == "silence" else 0):
        server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
        end_with(peer, how)
        check(server.event().status != 0, "the connection came up")
    if how != "reset":
        peer.expect_end()


@rule("B-07", "B-10", "P-02", "P-11", cases=[(how,) for how in ENDS])
def qp_destroyed_while_rtr_is_awaited_then(b, how):
    b.set(rtr_timeout_ms=NOT_BY_TIME)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.do("destroy_qp")
    b.may_reset = how in ("garbage", "term")    # TCP answers bytes for a closed socket by RST
    end_with(peer, how)
    check(server.event().status != 0, "the connection came up")


@rule("M-7.1.2-15: FIN when the time is over", "I-10")
def silence_instead_of_a_request(b):
    b.set(request_timeout_ms=300)
    b.server()
    with no_sooner_than(300):
        b.dial().expect_fin()


@rule("M-7.1.2-17: FIN when the time is over")
def request_that_stops(b):
    b.set(request_timeout_ms=300)
    b.server()
    with no_sooner_than(300):
        peer = b.dial()
        peer.send(mpa.request(b"data")[:22])
        peer.expect_fin()


@rule("M-7.1.2-17: a Reject when the time is over",
      "E-9.3-1: a Terminate message of 2/0/5 behind it, compared whole; none to revision 1", "P-01",
      cases=[("v1",), ("v2",)])
def ulp_that_never_answers(b, rev):
    b.set(verdict_timeout_ms=300)
    with no_sooner_than(300):
        server, peer, _ = b.asked(mpa.request() if rev == "v1" else mpa.request2(ird=4, ord=4))
        reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    peer.expect_rejected(5 if rev == "v2" else None)
    check(server.fails("accept 4 4 -"), "accept of an ended connection")


@rule("M-7.1.2-17: what comes in time is not cut off by the timer of a state that is over", "P-01")
def timers_end_with_their_states(b):
    b.set(request_timeout_ms=2000 * SLOW, verdict_timeout_ms=5000 * SLOW,
          rtr_timeout_ms=2000 * SLOW)
    server, peer, _ = b.asked(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    time.sleep(2.4 * SLOW)
    server.do("accept 4 4 -")
    peer.recv_reply()
    up(server, peer)
    time.sleep(3 * SLOW)
    server.no_event()
    data_flows(server, peer)


@rule("P-07", cases=[("fin",), ("reset",)])
def peer_gone_before_accept(b, how):
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    end_with(peer, how)
    server.no_event()
    server.fails("accept 4 4 -")


# --- wrong use, overload -----------------------------------------------------------------

@rule(cases=[("peer_closes",), ("rtr",), ("silence",)])
def reject_after_accept(b, then):
    b.set(rtr_timeout_ms=1000 * SLOW)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.do("reject_accepted")
    if then == "rtr":
        try:
            peer.send(mpa.rtr_write())
        except OSError:
            pass
    elif then == "peer_closes":
        peer.close()
    else:
        time.sleep(1.2 * SLOW)
    server.no_event()
    server.do("destroy_id")     # else iw_cm keeps its reference on the QP of the rejected id


@rule(cases=[("rtr",), ("silence",)])
def accept_after_accept(b, then):
    b.set(rtr_timeout_ms=1000 * SLOW if then == "silence" else 20000 * SLOW)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    # A process asks for INIT itself, and is refused. For a ULP in the kernel rdma_cm asks, and must
    # not be refused: see D_6_2_2_1_a_kernel_ulp_accepts_again.
    if needs.Place.user:
        equal(server.fails("accept_again"), errno.EINVAL, "errno")
    else:
        server.do("accept_again")
    if then == "rtr":
        up(server, peer)
        data_flows(server, peer)
    else:
        check(server.event().status != 0, "the connection came up")


@rule("M-7.1.2-17: FIN for the oldest, nothing for the others", "H-03")
def half_open_connections_yield_the_oldest_first(b):
    b.set(half_open_max=4, request_timeout_ms=20000 * SLOW)
    server = b.server()
    peers = [b.dial() for _ in range(6)]
    for peer in peers[:2]:
        peer.expect_fin()
    for peer in peers[2:]:
        peer.expect_quiet()
    peers[2].send(mpa.request())
    server.event("CONNECT_REQUEST")
    peers.append(b.dial())
    peers[-1].send(mpa.request())
    server.event("CONNECT_REQUEST")


@rule("M-7.1.2-17: FIN for the oldest of the same listener, nothing for the others", "H-03")
def half_open_listener_yields_its_own(b):
    """More than half_open_listener_max connections without a Request at one listener must end the
    oldest ones of this listener, and no connection of another listener, even if it is older."""
    b.set(half_open_listener_max=2, request_timeout_ms=20000 * SLOW)
    servers = [b.server(), b.another().server()]
    old = b.others[0].dial()
    peers = [b.dial() for _ in range(4)]
    for peer in peers[:2]:
        peer.expect_fin()
    for peer in peers[2:]:
        peer.expect_quiet()
    old.send(mpa.request())
    servers[1].event("CONNECT_REQUEST")
    peers[2].send(mpa.request())
    servers[0].event("CONNECT_REQUEST")


@rule("H-03")
def rejected_peer_that_floods(b):
    server, peer, _ = b.asked(mpa.request())
    server.do("reject -")
    peer.recv_reply()
    try:
        for _ in range(200):
            peer.send(bytes(65536))
    except (ConnectionResetError, BrokenPipeError):
        return
    except socket.timeout:
        raise Failed("nobody reads the flood, nor ends it") from None
    raise Failed("the flood was taken")


# --- IRD and ORD -------------------------------------------------------------------------

def want_ird(mine, peer_ord):
    if peer_ord == ULP:
        return ULP
    return max(mine, min(peer_ord, device().most_ird))


def want_ord(mine, peer_ird):
    return ULP if peer_ird == ULP else min(mine, peer_ird)


@rule("E-9-1: IRD and ORD of the Reply",
      "E-9.1-2a E-9.1-2b: ORD of the Reply and of the QP, which are at most the peer's IRD",
      "E-9.1-9: IRD of the Reply is 0x3FFF, that of the QP what the ULP asked for",
      "E-9.1-11: ORD of the Reply is 0x3FFF, that of the QP what the ULP asked for",
      "E-12-1: of depths that the device has not, it takes what it has", "I-07",
      cases=[(i, o) for i in DEPTHS for o in (0, 128, 129, 0x3fff)] +
            [(4, o) for o in DEPTHS])
def depths(b, ird, ord):  # pylint: disable=redefined-builtin
    server, _, reply = b.accepted(mpa.request2(ird=ird, ord=ord), ird=16, ord=16)
    equal((reply.ird, reply.ord), (want_ird(16, ord), want_ord(16, ird)), "IRD and ORD")
    server.event("ESTABLISHED")
    equal(server.depths(), device().depths(16 if ord == ULP else want_ird(16, ord),
                                      16 if ird == ULP else want_ord(16, ird)),
          "IRD and ORD of the QP")


@rule("E-9-1 E-9.1-2a: IRD and ORD of the Reply, which are those of the QP", "I-07", "R-03",
      cases=[(0, 0), (0, 1), (1, 0), (127, 128), (128, 127), (128, 128)])
def own_depths(b, ird, ord):  # pylint: disable=redefined-builtin
    server, _, reply = b.accepted(mpa.request2(ird=0x3ffe, ord=0), ird=ird, ord=ord)
    equal((reply.ird, reply.ord), (min(ird, device().most_ird), min(ord, device().most_ord)), "IRD and ORD")
    server.event("ESTABLISHED")
    equal(server.depths(), device().depths(reply.ird, reply.ord), "IRD and ORD of the QP")


@rule("E-9.1-1: the depths of CONNECT_REQUEST", "B-14", "I-06",
      cases=[(3, 7), (0, 0), (300, 255), (0x3fff, 0x3fff)])
def ulp_sees_the_peers_depths(b, ird, ord):  # pylint: disable=redefined-builtin
    _, _, ev = b.asked(mpa.request2(ird=ird, ord=ord))
    equal((ev.ird, ev.ord), (min(ird, 255), min(ord, 255)), "IRD and ORD")


@rule("E-9.1-1: the depths of ESTABLISHED", "B-14", "R-06")
def ulp_sees_the_peers_depths_when_established(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=3, ord=7))
    ev = up(server, peer)
    equal((ev.ird, ev.ord), (3, 7), "IRD and ORD")


@rule("E-9.1-4: R and ORD of the Reply",
      "E-8-1: a Terminate message of 2/0/6 behind it, compared whole")
def strict_responder_rejects_and_says_what_it_wanted(b):
    b.set(strict_ird_ord=1)
    server, peer, _ = b.asked(mpa.request2(ird=2, ord=2))
    server.fails("accept 4 9 -")
    reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    equal(reply.ord, 9, "ORD")
    peer.expect_rejected(6)


@rule("E-8-1 E-9.3-1: a Terminate message of 2/0/5 behind the Reject, compared whole; none to "
      "revision 1", "P-06", cases=[("v1",), ("v2",)])
def local_error_of_the_responder(b, rev):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    up(server, peer)
    other = b.dial()
    other.send(mpa.request() if rev == "v1" else mpa.request2(ird=4, ord=4))
    server.event("CONNECT_REQUEST")
    equal(server.fails("accept_busy"), errno.EBUSY, "errno")
    check(other.recv_reply().flags & R, "no Reject")
    other.expect_rejected(5 if rev == "v2" else None)
    data_flows(server, peer)


# --- CRC and Markers ---------------------------------------------------------------------

@rule("M-4.4-1: C of the Reply is clear only with crc=0",
      "M-4.4-2: C of the Reply, and the CRC of each FPDU sent, with C in one frame alone",
      "M-7.1.1-7: with C nowhere, FPDUs with anything in the CRC field are received",
      "M-7.1.1-8: with C in either frame, the CRC of what is sent; a wrong one ends the connection",
      "B-17",
      cases=[(own, peer) for own in (0, 1) for peer in (0, 1)])
def crc(b, own, peer):
    b.set(crc=own)
    server, conn, reply = b.accepted(mpa.request2(flags=C if peer else 0, a=1, rtr=WRITE,
                                                  ird=4, ord=4))
    on = bool(own or peer)
    equal(bool(reply.flags & C), on, "C of the Reply")
    conn.send(mpa.rtr_write() if on else mpa.rtr_write()[:-4] + CRC_FIELDS[2])
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, conn, on)
    if not on:
        any_crc_field_will_do(server, conn)
        return
    server.do("recv")
    conn.send(mpa.send(b"ping", 2, bad_crc=True))
    server.event("DISCONNECTED")
    equal(server.do("wc"), ["WC SEND success 8"], "the Send")
    failed_by_crc(server.do("wc")[0], 4)


@rule("M-4.3-1: a Reject without M, and no FPDU, where the device has no Markers", only="siw_mpa")
def markers_that_the_device_has_not_are_rejected(b):
    server, peer, _ = b.asked(mpa.request2(flags=C | M, ird=4, ord=4))
    server.fails("accept 4 4 -")
    reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    check(not reply.flags & M, "M is set")
    peer.expect_rejected()  # no Terminate: the peer asked for Markers, which the device cannot add


# --- Reject ------------------------------------------------------------------------------

@rule("M-7.1.2-4: nothing behind the Reply, and no FIN before the initiator's",
      "M-7.1.2-12: R of the Reply, with all of the private data",
      "E-9.2-4: A of the Reply that rejects",
      cases=[("v1", 0), ("v1", 8), ("v1", 148), ("v2", 0), ("v2", 148)])
def reject(b, rev, size):
    pd = bytes(range(size))
    frame = mpa.request() if rev == "v1" else mpa.request2(a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, _ = b.asked(frame)
    server.do("reject " + (pd.hex() or "-"))
    reply = peer.recv_reply()
    check(reply.flags & R, "R is not set")
    equal(bool(reply.flags & S), rev == "v2", "S")
    check(rev == "v1" or reply.a == 1, "A is not set")
    equal(reply.pd, pd, "private data")
    peer.expect_rejected()


def deepest(wanted):
    return ULP if wanted == ULP else min(wanted, device().most_ird)


@rule("E-9.1-8: IRD and ORD of the Reply, which are those that the Request asks for",
      "E-9.1-9 E-9.1-11: 0x3FFF for 0x3FFF",
      cases=[(strict, *depths) for strict in (0, 1)
             for depths in ((4, 8), (0, 0), (300, 500), (ULP, 3), (3, ULP), (ULP, ULP))])
def depths_of_a_reject(b, strict, ird, ord):  # pylint: disable=redefined-builtin
    """rdma_reject() passes no IRD and ORD: the Reject must have the Request's ORD as IRD, and the
    Request's IRD as ORD, but at most the device's limit; for 0x3FFF it must have 0x3FFF."""
    b.set(strict_ird_ord=strict)
    server, peer, _ = b.asked(mpa.request2(ird=ird, ord=ord))
    server.do("reject -")
    reply = peer.recv_reply()
    check(reply.flags & R, "R is not set")
    equal((reply.ird, reply.ord), (deepest(ord), deepest(ird)), "IRD and ORD")
    peer.expect_rejected()


@rule("M-7.1.2-4: FIN, when nobody else has closed and the time is over, and no sooner")
def reject_ends_when_nobody_closes(b):
    b.set(linger_timeout_ms=300)
    server, peer, _ = b.asked(mpa.request())
    with no_sooner_than(300):
        server.do("reject -")
        peer.recv_reply()
        peer.expect_fin()


@rule("E-9.2-12: A, B, C and D of the Reply", "C-06")
def reject_of_a_client_server_request_has_no_rtr(b):
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    server.do("reject -")
    reply = peer.recv_reply()
    equal((reply.a, reply.rtr), (0, 0), "A and RTR")
