# SPDX-License-Identifier: GPL-2.0
"""The responder under test: what a raw initiator sends, and what it gets."""

import errno
import time

import mpa
from harness import SLOW, Failed, check, equal
from mpa import C, M, R, READ, S, SEND, WRITE
from registry import rule

LIMIT_IRD = LIMIT_ORD = 128     # siw_mpa's
ACCEPTED = WRITE | READ         # the RTR types that siw_mpa takes
ULP = 0x3fff
DEPTHS = (0, 1, 4, 127, 128, 129, 0x3ffe, 0x3fff)


def up(server, peer, rtr=None, **kw):
    """Bring a connection up: the first FPDU, and ESTABLISHED."""
    peer.send(rtr or mpa.rtr_write(**kw))
    ev = server.event("ESTABLISHED")
    equal(ev.status, 0, "status")
    return ev


def data_flows(server, peer, crc=True):
    """Both ways; the peer's side by hand."""
    server.do("recv")
    peer.send(mpa.send(b"ping", crc=crc))
    equal(server.do("wc"), ["WC RECV success 4"], "receive")
    server.do("send 8")
    while True:
        fpdu = peer.recv_fpdu(crc)
        if fpdu.op == "SEND":
            return


# --- revisions and formats ---------------------------------------------------------------

@rule("E-6-3", "E-10-2", "E-10-4", "M-7.1.1-3", "M-7.1.2-2", "M-7.1.2-5")
def v1_request(b):
    server, peer, ev = b.asked(mpa.request(b"hello"))
    equal(ev.pd[:5], b"hello", "private data")
    server.do("accept 4 4 776f726c64")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & (S | R)), (1, 0), "revision and flags")
    equal(reply.pd, b"world", "private data of the Reply")
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer)


@rule("E-10-2", "E-10-4", "C-03", "I-02")
def v2_unenhanced_request(b):
    server, peer, ev = b.asked(mpa.request(b"12345678", rev=2))
    equal(ev.pd, b"12345678", "private data, of which nothing is stripped")
    server.do("accept 4 4 -")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & S, reply.pd_length), (2, 0, 0), "Reply")
    server.event("ESTABLISHED")


@rule("E-10-1", "E-9.2-11", "E-9.2-12", "I-04")
def v2_client_server(b):
    server, _, reply = b.accepted(mpa.request2(ird=8, ord=8))
    check(reply.flags & S, "the Reply is not enhanced")
    equal((reply.rev, reply.a, reply.rtr), (2, 0, 0), "revision, A, RTR")
    equal(server.event("ESTABLISHED").status, 0, "status")


@rule("E-9.2-13")
def rtr_flags_without_a_are_ignored(b):
    server, _, reply = b.accepted(mpa.request2(a=0, rtr=SEND | WRITE | READ, ird=4, ord=4))
    equal((reply.a, reply.rtr), (0, 0), "A and RTR")
    server.event("ESTABLISHED")


@rule("E-6-1", "M-7.1.1-9", "M-7.1.1-10", "B-16")
def reserved_bits_and_r_are_ignored_and_not_echoed(b):
    frame = mpa.request2(flags=C | R | 0x0f, a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, reply = b.accepted(frame)
    equal(reply.flags, C | S, "flags of the Reply")
    up(server, peer)


@rule("E-6-2")
def s_bit_of_revision_1_is_reserved(b):
    server, peer, ev = b.asked(mpa.request(b"\x80\x01\xc0\x01data", flags=C | S))
    equal(ev.pd, b"\x80\x01\xc0\x01data", "private data")
    server.do("accept 4 4 -")
    reply = peer.recv_reply()
    equal((reply.rev, reply.flags & S), (1, 0), "Reply")


@rule("M-7.1.1-13", cases=[(1,), (2,)])
def revision_of_the_peer_is_in_the_trace(b, rev):
    """iw_cm cannot tell the ULP."""
    trace = b.trace()
    b.asked(mpa.request(b"data", rev=rev))
    check(any("iw_mpa_frame: " in line and f" received Request rev={rev} " in line
              for line in trace()), "the Request is not in the trace")


@rule("M-7.1.1-12", "M-7.1.2-3", "M-8-2", cases=[(0,), (3,), (255,)])
def bad_revision_is_closed(b, rev):
    server = b.server()
    peer = b.dial()
    peer.send(mpa.request(rev=rev))
    peer.expect_end()
    server.no_event()


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


@rule("M-7.1.1-2", "M-7.1.1-15", "M-7.1.2-3", "M-7.1.2-11", "M-7.1.2-14", "M-7.1.2-16", "M-8-2",
      "E-6-4", "E-12-1", "I-03", "C-05", cases=[(name,) for name in BAD])
def bad_request_is_closed(b, name):
    server = b.server()
    peer = b.dial()
    peer.send(BAD[name])
    peer.expect_end()
    server.no_event()
    good = b.dial()
    good.send(mpa.request())
    server.event("CONNECT_REQUEST")


@rule("M-7.1.1-2", cases=[(1,), (8,), (15,)])
def garbage_shorter_than_a_header_is_closed_at_once(b, size):
    b.server()
    peer = b.dial()
    peer.send(b"\xff" * size)
    peer.expect_end()


# --- private data ------------------------------------------------------------------------

@rule("M-7.1.1-14", "M-7.1.1-16", "E-7-4", "B-23", "C-04",
      cases=[(size,) for size in (0, 1, 2, 3, 4, 251, 252, 253, 254, 255, 256, 257, 508, 511, 512)])
def private_data_v1(b, size):
    pd = bytes(i & 0xff for i in range(size))
    server, peer, ev = b.asked(mpa.request(pd))
    # iw_cm and the user ABI have 8 bits for the length and pad to what they have
    equal(ev.pd[:min(size, 196)], pd[:min(size, 196)], "private data")
    server.do("accept 4 4 -")
    equal(peer.recv_reply().pd_length, 0, "length in the Reply")


@rule("M-7.1.1-14", "E-7-4", "I-01",
      cases=[(size,) for size in (0, 1, 4, 192, 196, 247, 248, 255, 508)])
def private_data_v2(b, size):
    pd = bytes(i & 0xff for i in range(size))
    server, peer, ev = b.asked(mpa.request2(pd, ird=4, ord=4))
    equal(ev.pd[:min(size, 196)], pd[:min(size, 196)], "private data")
    server.do("accept 4 4 -")
    equal(peer.recv_reply().pd_length, 4, "length in the Reply")


@rule("M-7.1.1-14", cases=[(size,) for size in (1, 100, 196)])
def private_data_of_reply(b, size):
    pd = bytes(range(size))
    _, _, reply = b.accepted(mpa.request2(ird=4, ord=4), pd=pd)
    equal(reply.pd, pd, "private data")


# --- how it comes ------------------------------------------------------------------------

@rule("M-7.1-1", "I-08", "F-fragments",
      cases=[(size,) for size in (1, 2, 3, 7, 16, 19, 20, 21, 24)])
def request_in_segments_of(b, size):
    server = b.server()
    peer = b.dial()
    peer.send_split(mpa.request2(b"private data", a=1, rtr=WRITE, ird=4, ord=4), size)
    equal(server.event("CONNECT_REQUEST").pd[:12], b"private data", "private data")
    server.do("accept 4 4 -")
    peer.recv_reply()
    up(server, peer)
    data_flows(server, peer)


@rule("M-7.1-1", "M-7.1.5-2", "I-09")
def fpdu_behind_the_request_is_left_for_the_driver(b):
    frame = mpa.request2(a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, _ = b.asked(frame + mpa.rtr_write())
    server.do("accept 4 4 -")
    peer.recv_reply()
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer)


# --- RTR ---------------------------------------------------------------------------------

@rule("E-9.2-4", "E-9.2-5", "E-9.2-6", "E-9.2-7", "E-9.2-3", "C-07", "C-08", "F-rtr",
      cases=[(rtr,) for rtr in range(8)])
def rtr_offer(b, rtr):
    server, peer, reply = b.accepted(mpa.request2(a=1, rtr=rtr, ird=4, ord=4))
    equal(reply.a, 1, "A")
    equal(reply.rtr, rtr & ACCEPTED or ACCEPTED, "RTR types")
    server.no_event()
    up(server, peer, mpa.rtr_read() if reply.rtr == READ else mpa.rtr_write())
    data_flows(server, peer)


@rule("E-9.1-3")
def read_rtr_with_ord_0_gets_an_ird(b):
    server, peer, reply = b.accepted(mpa.request2(a=1, rtr=READ, ird=0, ord=0), ird=0, ord=0)
    equal((reply.ird, reply.ord), (1, 0), "IRD and ORD")
    up(server, peer, mpa.rtr_read())
    equal(peer.recv_fpdu().op, "RESPONSE", "answer to the RTR")


@rule("E-5-2", "M-7.1.2-10", "B-09", "P-04")
def established_waits_for_the_whole_rtr(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    rtr = mpa.rtr_write()
    peer.send(rtr[:1])
    server.no_event()
    peer.send(rtr[1:19])
    server.no_event()
    peer.send(rtr[19:])
    equal(server.event("ESTABLISHED").status, 0, "status")


@rule("M-7.1.2-10", cases=[(kind, size) for kind in ("write", "read") for size in (1, 2, 3, 17)])
def rtr_in_segments_of(b, kind, size):
    rtr = WRITE if kind == "write" else READ
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=rtr, ird=4, ord=4))
    peer.send_split(mpa.rtr_write() if kind == "write" else mpa.rtr_read(), size)
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, peer)


@rule("M-7.1.2-10", "F-fragments", cases=[(size,) for size in (1, 2, 3, 30, 41, 53, 82, 83)])
def first_fpdu_with_data_in_segments_of(b, size):
    server, peer, _ = b.accepted(mpa.request2(ird=4, ord=4))
    server.event("ESTABLISHED")
    server.do("recv")
    peer.send_split(mpa.send(bytes(60)), size)
    equal(server.do("wc"), ["WC RECV success 60"], "receive")
    server.do("send 8")
    equal(peer.recv_fpdu().op, "SEND", "answer")


@rule("F-fragments", cases=[(size, cut) for size in (4, 5, 6, 7) for cut in (1, 2, 3, 23 + size)])
def fpdus_in_segments_of(b, size, cut):
    """Any padding, and a cut at any octet of the trailer"""
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(mpa.rtr_write())
    server.event("ESTABLISHED")
    for msn in (1, 2):
        server.do("recv")
        peer.send_split(mpa.send(bytes(size), msn), cut)
        equal(server.do("wc"), [f"WC RECV success {size}"], "receive")
    server.do("recv")
    peer.send_split(mpa.send(bytes(size), 3, bad_crc=True), cut)
    equal(server.do("wc"), [f"WC RECV general error {size}"], "receive with a bad CRC")


@rule("M-7.1.1-8", "M-8-1", "M-8-3", "B-09")
def rtr_with_a_bad_crc_is_no_rtr(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(mpa.rtr_write(bad_crc=True))
    check(server.event().status != 0, "the connection came up")
    peer.expect_end()


SHORT = {
    "of_0_octets": b"\x00\x00\x41\x41",
    "read_of_14_octets": b"\x00\x0e\x41\x41" + bytes(12),
    "opcode_8": b"\x00\x0e\x41\x48" + bytes(12),
}


@rule("M-7.1.2-10", "M-8-1", cases=[(name,) for name in SHORT])
def fpdu_too_short_for_its_opcode_is_no_rtr(b, name):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(SHORT[name] + b"\xff" * 4)
    check(server.event().status != 0, "the connection came up")


@rule("M-8-1")
def urgent_data_ends_the_connection(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    up(server, peer)
    server.do("recv")
    peer.send(mpa.send(b"x")[:9])
    peer.urgent(b"yyyy")
    peer.send(b"z" * 64)
    server.event("DISCONNECTED")


@rule("M-7.1.2-9", "M-7.2-1")
def rtr_and_fin_in_one_segment(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.cork()
    peer.send(mpa.rtr_write())
    peer.fin()
    equal(server.event("ESTABLISHED").status, 0, "status")
    server.event("DISCONNECTED")


@rule("M-7.1.2-10", cases=[("v1",), ("client_server",)])
def nothing_is_sent_before_the_first_fpdu(b, kind):
    frame = mpa.request() if kind == "v1" else mpa.request2(ird=4, ord=4)
    server, peer, _ = b.accepted(frame)
    server.event("ESTABLISHED")
    server.do("recv")
    server.do("send 8")
    peer.expect_quiet()
    peer.send(mpa.send(b"go"))
    equal(peer.recv_fpdu().op, "SEND", "the first FPDU")


@rule("M-7.1.2-10", cases=[("v1",), ("client_server",)])
def fence_that_the_administrator_took_away(b, kind):
    b.set(fence=0)
    server, peer, _ = b.accepted(mpa.request() if kind == "v1" else mpa.request2(ird=4, ord=4))
    server.event("ESTABLISHED")
    server.do("send 8")
    equal(peer.recv_fpdu().op, "SEND", "what the server said first")
    server.do("recv")
    peer.send(mpa.send(b"ping"))


@rule("E-9.2-8", cases=[("write",), ("read",)])
def unnegotiated_rtr_after_v1(b, kind):
    server, peer, _ = b.accepted(mpa.request())
    server.event("ESTABLISHED")
    peer.send(mpa.rtr_write() if kind == "write" else mpa.rtr_read())
    data_flows(server, peer)


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
        peer.send(b"\xff" * 64)


@rule("M-7.1.2-17", "M-7.2-1", "M-8-1", "B-07", "B-10", "P-01", "P-02",
      cases=[(how,) for how in ENDS])
def no_rtr_but(b, how):
    b.set(rtr_timeout_ms=500)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    end_with(peer, how)
    check(server.event().status != 0, "the connection came up")


@rule("M-7.1.2-17", "B-07", "B-10", "P-02", "P-11", cases=[(how,) for how in ENDS])
def qp_destroyed_while_rtr_is_awaited_then(b, how):
    b.set(rtr_timeout_ms=500)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.do("destroy_qp")
    end_with(peer, how)
    check(server.event().status != 0, "the connection came up")


@rule("M-7.1.2-15", "I-10")
def silence_instead_of_a_request(b):
    b.set(request_timeout_ms=300)
    b.server()
    peer = b.dial()
    peer.expect_end()


@rule("M-7.1.2-17")
def request_that_stops(b):
    b.set(request_timeout_ms=300)
    b.server()
    peer = b.dial()
    peer.send(mpa.request(b"data")[:22])
    peer.expect_end()


@rule("M-7.1.2-17", "P-01")
def ulp_that_never_answers(b):
    b.set(verdict_timeout_ms=300)
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    peer.close()
    check(server.fails("accept 4 4 -"), "accept of an ended connection")


@rule("M-7.1.2-17", "P-01")
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


@rule("M-7.1.2-16", "P-07", cases=[("fin",), ("reset",)])
def peer_gone_before_accept(b, how):
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    end_with(peer, how)
    server.no_event()
    server.fails("accept 4 4 -")


# --- wrong use, overload -----------------------------------------------------------------

@rule("M-7.1.2-12", cases=[("peer_closes",), ("rtr",), ("silence",)])
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
    server.do("destroy_id")     # iw_cm keeps the QP for a rejected id until then


@rule("M-7.1.2-9", cases=[("rtr",), ("silence",)])
def accept_after_accept(b, then):
    b.set(rtr_timeout_ms=1000 * SLOW if then == "silence" else 20000)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    equal(server.fails("accept_again"), errno.EINVAL, "errno")
    if then == "rtr":
        up(server, peer)
        data_flows(server, peer)
    else:
        check(server.event().status != 0, "the connection came up")


@rule("M-7.1.2-17", "H-03")
def half_open_connections_yield_the_oldest_first(b):
    b.set(half_open_max=4, request_timeout_ms=20000)
    server = b.server()
    peers = [b.dial() for _ in range(6)]
    for peer in peers[:2]:
        peer.expect_end()
    for peer in peers[2:]:
        peer.expect_quiet()
    peers[2].send(mpa.request())
    server.event("CONNECT_REQUEST")
    peers.append(b.dial())
    peers[-1].send(mpa.request())
    server.event("CONNECT_REQUEST")


@rule("M-7.1.2-17", "H-03")
def half_open_listener_yields_its_own(b):
    """A crowd at one port does not push out who waits at another."""
    b.set(half_open_listener_max=2, request_timeout_ms=20000)
    servers = [b.server(), b.another().server()]
    old = b.others[0].dial()
    peers = [b.dial() for _ in range(4)]
    for peer in peers[:2]:
        peer.expect_end()
    for peer in peers[2:]:
        peer.expect_quiet()
    old.send(mpa.request())
    servers[1].event("CONNECT_REQUEST")
    peers[2].send(mpa.request())
    servers[0].event("CONNECT_REQUEST")


@rule("M-7.1.2-4")
def rejected_peer_that_floods(b):
    server, peer, _ = b.asked(mpa.request())
    server.do("reject -")
    peer.recv_reply()
    try:
        for _ in range(200):
            peer.send(bytes(65536))
    except OSError:
        return
    raise Failed("the flood was taken")


# --- IRD and ORD -------------------------------------------------------------------------

def want_ird(mine, peer_ord):
    if peer_ord == ULP:
        return ULP
    return max(mine, min(peer_ord, LIMIT_IRD))


def want_ord(mine, peer_ird):
    return ULP if peer_ird == ULP else min(mine, peer_ird)


@rule("E-9-1", "E-9.1-2a", "E-9.1-2b", "E-9.1-9", "E-9.1-11", "I-07",
      cases=[(i, o) for i in DEPTHS for o in (0, 128, 129, 0x3fff)] +
            [(4, o) for o in DEPTHS])
def depths(b, ird, ord):  # pylint: disable=redefined-builtin
    _, _, reply = b.accepted(mpa.request2(ird=ird, ord=ord), ird=16, ord=16)
    equal(reply.ird, want_ird(16, ord), "IRD")
    equal(reply.ord, want_ord(16, ird), "ORD")


@rule("E-9-1", "E-9.1-2a", "I-07", "R-03",
      cases=[(0, 0), (0, 1), (1, 0), (127, 128), (128, 127), (128, 128)])
def own_depths(b, ird, ord):  # pylint: disable=redefined-builtin
    _, _, reply = b.accepted(mpa.request2(ird=0x3ffe, ord=0), ird=ird, ord=ord)
    equal((reply.ird, reply.ord), (min(ird, LIMIT_IRD), min(ord, LIMIT_ORD)), "IRD and ORD")


@rule("E-9.1-1", "B-14", "I-06", cases=[(3, 7), (0, 0), (300, 255), (0x3fff, 0x3fff)])
def ulp_sees_the_peers_depths(b, ird, ord):  # pylint: disable=redefined-builtin
    _, _, ev = b.asked(mpa.request2(ird=ird, ord=ord))
    equal((ev.ird, ev.ord), (min(ird, 255), min(ord, 255)), "IRD and ORD")


@rule("E-9.1-1", "B-14", "R-06")
def ulp_sees_the_peers_depths_when_established(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=3, ord=7))
    ev = up(server, peer)
    equal((ev.ird, ev.ord), (3, 7), "IRD and ORD")


@rule("E-9.1-4", "E-8-1")
def strict_responder_rejects_and_says_what_it_wanted(b):
    b.set(strict_ird_ord=1)
    server, peer, _ = b.asked(mpa.request2(ird=2, ord=2))
    server.fails("accept 4 9 -")
    reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    equal(reply.ord, 9, "ORD")
    equal(peer.recv_fpdu().term, 6, "TERM code")
    peer.expect_quiet()     # the initiator closes


@rule("E-8-1", "E-9.3-1", "P-06", cases=[("v1",), ("v2",)])
def local_error_of_the_responder(b, rev):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    up(server, peer)
    other = b.dial()
    other.send(mpa.request() if rev == "v1" else mpa.request2(ird=4, ord=4))
    server.event("CONNECT_REQUEST")
    equal(server.fails("accept_busy"), errno.EBUSY, "errno")
    check(other.recv_reply().flags & R, "no Reject")
    if rev == "v2":
        equal(other.recv_fpdu().term, 5, "TERM code")
    other.expect_quiet()
    data_flows(server, peer)


# --- CRC and Markers ---------------------------------------------------------------------

@rule("M-4.4-1", "M-4.4-2", "M-7.1.1-7", "M-7.1.1-8", "B-17",
      cases=[(own, peer) for own in (0, 1) for peer in (0, 1)])
def crc(b, own, peer):
    b.set(crc=own)
    server, conn, reply = b.accepted(mpa.request2(flags=C if peer else 0, a=1, rtr=WRITE,
                                                  ird=4, ord=4))
    on = bool(own or peer)
    equal(bool(reply.flags & C), on, "C of the Reply")
    conn.send(mpa.rtr_write(crc=on))
    equal(server.event("ESTABLISHED").status, 0, "status")
    data_flows(server, conn, on)


@rule("M-7.1.1-5", "M-7.1.1-6")
def markers_that_the_device_has_not_are_rejected(b):
    server, peer, _ = b.asked(mpa.request2(flags=C | M, ird=4, ord=4))
    server.fails("accept 4 4 -")
    reply = peer.recv_reply()
    check(reply.flags & R, "no Reject")
    check(not reply.flags & M, "M is set")
    peer.expect_quiet()     # it would not understand a TERM message without Markers


# --- Reject ------------------------------------------------------------------------------

@rule("M-7.1.2-4", "M-7.1.2-12", cases=[("v1", 0), ("v1", 8), ("v1", 148), ("v2", 0), ("v2", 148)])
def reject(b, rev, size):
    pd = bytes(range(size))
    frame = mpa.request() if rev == "v1" else mpa.request2(a=1, rtr=WRITE, ird=4, ord=4)
    server, peer, _ = b.asked(frame)
    server.do("reject " + (pd.hex() or "-"))
    reply = peer.recv_reply()
    check(reply.flags & R, "R is not set")
    equal(bool(reply.flags & S), rev == "v2", "S")
    equal(reply.pd, pd, "private data")
    peer.expect_quiet()     # MPA is left, TCP is not closed


@rule("M-7.1.2-4")
def reject_ends_when_nobody_closes(b):
    b.set(linger_timeout_ms=300)
    server, peer, _ = b.asked(mpa.request())
    server.do("reject -")
    peer.recv_reply()
    peer.expect_end()


@rule("E-9.2-12", "C-06")
def reject_of_a_client_server_request_has_no_rtr(b):
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    server.do("reject -")
    reply = peer.recv_reply()
    equal((reply.a, reply.rtr), (0, 0), "A and RTR")
