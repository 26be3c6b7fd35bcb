# SPDX-License-Identifier: GPL-2.0
"""The device under test is the initiator: its MPA Request, and its reaction to the test's Reply."""

import contextlib
import errno
import select
import socket
import subprocess
import time

import mpa
import needs
from device import device, need_depths, need_repeats, need_sent_rtr
from harness import CRC_FIELDS, QUIET, SLOW, Failed, check, equal, no_sooner_than, poll
from kernel import DEBUGFS, counter, fresh_log, lines_of
from mpa import C, M, R, READ, S, SEND, WRITE
from registry import rule

PD_SEEN = 255           # bytes of private data that fit into struct iw_cm_event
ULP = 0x3fff
DEPTHS = (0, 1, 4, 127, 128, 129, 0x3ffe, 0x3fff)

REJECTED = {-errno.ECONNREFUSED, -errno.ECONNRESET}


TYPES = {"SEND": SEND, "WRITE": WRITE, "READ": READ}


def up(client, peer, frame, rtr="WRITE", crc=True):
    if rtr and device().asks_rtr:
        need_sent_rtr(TYPES[rtr])
    peer.send(frame)
    if rtr and device().asks_rtr:
        fpdu = peer.recv_fpdu(crc)
        equal(fpdu.op, rtr, "RTR")
        if rtr == "READ":
            peer.send(mpa.read_response(fpdu, crc=crc))
    ev = client.event("ESTABLISHED")
    equal(ev.status, 0, "status")
    return ev


def fails(client, names, status=None):
    ev = client.event()
    check(ev.name in names, f"{ev!r}, not one of {names}")
    check(ev.status != 0, "status is 0")
    if status:
        equal(ev.status, status, "status")
    client.no_event()
    return ev


def any_crc_field_will_do(probe, peer):
    """No CRCs were negotiated: have the peer send one Send for each of CRC_FIELDS, with that value,
    or for None the right CRC, in the CRC field; each Send must complete a receive. The caller has
    sent the Send with MSN 1."""
    for msn, field in enumerate(CRC_FIELDS, 2):
        octets = mpa.send(b"pong", msn)
        probe.do("recv")
        peer.send(octets[:-4] + field if field else octets)
        probe.received(4)


def data_flows(client, peer, crc=True):
    """Check that the client, the device's ULP, sends and receives a Send. The caller has read the
    client's RTR message, if any."""
    client.do("send 8")
    equal(peer.recv_fpdu(crc).op, "SEND", "what the client sends first")
    client.do("recv")
    peer.send(mpa.send(b"pong", crc=crc))
    while True:
        said = client.do("wc")
        if said == ["WC RECV success 4"]:
            return
        equal(said[0][:16], "WC SEND success ", "completion")


# --- the Request -------------------------------------------------------------------------

@rule("M-7.1.1-1 M-7.1.2-1: key, length and each field of the Request",
      "M-4.4-1: C of the Request, with no setting changed", "E-9.2-1: A of the Request",
      "E-9.2-2: B, C and D of the Request, which are what the device can send",
      "E-6-1: the reserved bits of the Request", "E-9-1: IRD and ORD of the Request", defaults=True)
def request_by_default(b):
    _, _, req = b.connecting(ird=3, ord=7, pd=b"hello")
    equal((req.rev, req.flags), (2, C | S), "revision and flags")
    equal((req.a, req.rtr), (1, device().sent_rtr), "A and RTR types")
    equal((req.ird, req.ord), (3, 7), "IRD and ORD")
    equal(req.pd, b"hello", "private data")


@rule("E-9.2-10: A of the Request", "E-9.2-12: B, C and D of the Request")
def request_client_server(b):
    b.set(peer_to_peer=0)
    client, peer, req = b.connecting()
    equal((req.a, req.rtr), (0, 0), "A and RTR types")
    up(client, peer, mpa.reply2(ird=4, ord=4), rtr=None)
    data_flows(client, peer)


@rule("M-7.1.1-11: Rev of the Request", "E-10-3: S of the Request, and all of its private data")
def request_v1(b):
    b.set(mpa_rev=1)
    client, peer, req = b.connecting(pd=b"12345678")
    equal((req.rev, req.flags, req.pd), (1, C, b"12345678"), "Request")
    ev = up(client, peer, mpa.reply(b"abc"), rtr=None)
    equal(ev.pd, b"abc", "private data")
    data_flows(client, peer)


@rule("M-7.1.1-14: PD_Length of the Request, and each octet that it counts",
      cases=[(size,) for size in (0, 1, 56, 148, 196)])
def private_data_of_request(b, size):
    pd = bytes(range(size))
    _, _, req = b.connecting(pd=pd)
    equal(req.pd, pd, "private data")


# --- when A is set in a Request ----------------------------------------------------------

SOURCE_PORT = 31000
ASKED_WHEN = {      # sysctls, the device's attribute peer_to_peer (None: not set), A of the Request
    "namespace_off": ({"peer_to_peer": 0}, None, 0),
    "device_off": ({}, 0, 0),
    "device_on": ({"peer_to_peer": 0}, 1, 1),
    "device_default": ({}, "default", 1),
    "remote_port_on": ({"peer_to_peer": 0, "peer_to_peer_ports": "remote"}, None, 1),
    "remote_port_off": ({"client_server_ports": "remote"}, 1, 0),
    "local_port_on": ({"peer_to_peer_ports": "local"}, 0, 1),
    "local_port_off": ({"client_server_ports": "local"}, None, 0),
    "other_ports": ({"peer_to_peer_ports": "1-19999", "client_server_ports": "60000"}, 0, 0),
    "both_lists": ({"peer_to_peer_ports": "local", "client_server_ports": "remote"}, 0, 1),
}


@rule("E-5-1: A of the Request, by the setting that applies",
      "E-9.2-1 E-9.2-10: A of the Request, in either model",
      "E-9.2-12: B, C and D of the Request", cases=[(name,) for name in ASKED_WHEN])
def rtr_policy(b, name):
    settings, device, asked = ASKED_WHEN[name]
    ports = {"remote": b.port, "local": SOURCE_PORT}
    b.set(**{name: ports.get(value, value) for name, value in settings.items()})
    if device is not None:
        b.set_device("peer_to_peer", device)
    sock = b.listen()
    client = b.client(str(SOURCE_PORT))
    client.do("connect 4 4 -")
    peer = b.take(sock)
    req = peer.recv_request()
    equal((req.a, bool(req.rtr)), (asked, bool(asked)), "A, and any of B, C, D")
    peer.reset()


@rule(cases=[("mpa_rev", "0"), ("mpa_rev", "3"), ("crc", "-1"), ("reply_timeout_ms", "0")])
def bad_value_is_refused(b, name, value):
    refused(b, name, value)


@rule("E-5-1: EINVAL for what is no policy, and no list of ports",
      cases=[("peer_to_peer", "2"), ("peer_to_peer", "yes"), ("peer_to_peer_ports", "65536"),
             ("client_server_ports", "20-10")])
def bad_policy_is_refused(b, name, value):
    refused(b, name, value)


def refused(b, name, value):
    try:
        b.set(**{name: value})
    except OSError as err:
        equal(err.errno, errno.EINVAL, "errno")
        return
    raise Failed("it was taken")


@rule("E-5-1: EINVAL for what is no policy of a device")
def bad_value_of_the_device_is_refused(b):
    try:
        b.set_device("peer_to_peer", "maybe")
    except OSError as err:
        equal(err.errno, errno.EINVAL, "errno")
        return
    raise Failed("it was taken")


# --- RTR ---------------------------------------------------------------------------------

@rule("E-5-2: the first FPDU is the RTR message", "E-9.2-8: its type is one that the Reply names",
      "M-7.1.2-6: no ESTABLISHED before the Reply", "M-7.1.2-9: ESTABLISHED, and Sends both ways",
      "C-07", "F-rtr",
      cases=[(WRITE, "WRITE"), (READ, "READ"), (WRITE | READ, "WRITE"),
             (SEND | WRITE | READ, "WRITE"), (SEND | READ, "READ"), (SEND | WRITE, "WRITE")])
def rtr_of_the_reply(b, rtr, op):
    client, peer, _ = b.connecting()
    client.no_event()
    up(client, peer, mpa.reply2(a=1, rtr=rtr, ird=4, ord=4), op)
    data_flows(client, peer)


def ends_without_answer(client, peer):
    equal(client.event("ESTABLISHED").status, 0, "status")
    peer.close()
    client.event("DISCONNECTED")


def ends_by_error(client, peer):
    equal(client.event("ESTABLISHED").status, 0, "status")
    client.do("fail_qp")
    peer.close()
    client.event("DISCONNECTED")


def ends_at_once(client, peer):
    peer.reset()
    client.event()


def ends_by_answer(client, peer, answer):
    equal(client.event("ESTABLISHED").status, 0, "status")
    peer.send(answer)
    client.event("DISCONNECTED")


def asked_by_read(b):
    """Connect a client, the device's ULP, to the test, whose Reply selects Read as RTR type. Return
    the client, the test's end of the connection, and the Read Request that is the RTR message."""
    need_sent_rtr(READ)
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=READ, ird=4, ord=4))
    read = peer.recv_fpdu()
    equal(read.op, "READ", "RTR")
    return client, peer, read


def answer_with_another_stag(read):
    good = mpa.read_response(read)
    return mpa.fpdu(good[2:4] + b"\xff\xff\xff\x00" + good[8:16])


@rule("F-rtr", cases=[("bad_crc",), ("too_long",)])
def rtr_with_a_bad_answer_does_not_complete(b, how):
    client, peer, read = asked_by_read(b)
    ends_by_answer(client, peer, {
        "bad_crc": mpa.read_response(read, bad_crc=True),
        "too_long": mpa.fpdu(mpa.read_response(read)[2:16] + b"data"),
    }[how])
    client.do("no_wc")


@rule("F-rtr", only="siw_mpa")
def rtr_answered_with_another_stag_does_not_complete(b):
    client, peer, read = asked_by_read(b)
    ends_by_answer(client, peer, answer_with_another_stag(read))
    client.do("no_wc")


@rule("F-rtr", only="srnic")
def rtr_answered_with_another_stag_is_answered(b):
    """The device must accept a Read Response without data, whatever STag it has (RFC 5041, 5.2)."""
    client, peer, read = asked_by_read(b)
    equal(client.event("ESTABLISHED").status, 0, "status")
    peer.send(answer_with_another_stag(read))
    client.do("no_wc")
    data_flows(client, peer)


@rule("F-rtr", cases=[(how, rtr) for how in ("without_answer", "by_error", "at_once")
                      for rtr in ("WRITE", "READ")])
def rtr_is_nobodys_work_request(b, how, rtr):
    """The RTR message is not a WR of the ULP: however the connection ends, the ULP must get no
    completion for it."""
    ends = {"without_answer": ends_without_answer, "by_error": ends_by_error,
            "at_once": ends_at_once}[how]
    need_sent_rtr(TYPES[rtr])
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=TYPES[rtr], ird=4, ord=4))
    if how != "at_once":
        equal(peer.recv_fpdu().op, rtr, "RTR")
    ends(client, peer)
    client.do("no_wc")


@rule("E-8-1 E-9.2-9: a Terminate message of 2/0/7, compared whole, then FIN",
      "E-12-1: flags that make no sense end it", "C-01", "I-05")
def no_rtr_in_common(b):
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=0, ird=4, ord=4))
    peer.expect_refusal(7)
    fails(client, {"CONNECT_ERROR"})


@rule("E-8-1 E-9.2-9: a Terminate message of 2/0/7, compared whole, then FIN", only="siw_mpa")
def rtr_that_the_device_has_not(b):
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=SEND, ird=4, ord=4))
    peer.expect_refusal(7)
    fails(client, {"CONNECT_ERROR"})


@rule("E-5-2: the first FPDU is a Send of no octets", "E-9.2-8: its type is one that the Reply names",
      only="srnic")
def rtr_of_the_reply_is_send(b):
    client, peer, _ = b.connecting()
    up(client, peer, mpa.reply2(a=1, rtr=SEND, ird=4, ord=4), "SEND")
    data_flows(client, peer)


@rule("E-9.2-13: no RTR message, whatever C says; Sends both ways")
def reply_without_a(b):
    client, peer, _ = b.connecting()
    up(client, peer, mpa.reply2(a=0, rtr=WRITE, ird=4, ord=4), rtr=None)
    data_flows(client, peer)


@rule("X-02-2: the first FPDU: an RTR message, the ULP's Send, or a Terminate message of 2/0/7",
      cases=[(send, write, read) for send in (0, 1) for write in (0, 1) for read in (0, 1)])
def reply_of_draft_02(b, send, write, read):
    """A responder that follows draft -02 of RFC 6581 has control flags Send, Write and Read where
    the RFC has the bits A, B and C: the device reads them as A, B and C."""
    client, peer, _ = b.connecting()
    answer = mpa.reply2(a=send, rtr=(SEND if write else 0) | (WRITE if read else 0), ird=4, ord=4)
    if send and not read and not (write and device().sent_rtr & SEND):
        peer.send(answer)
        peer.expect_refusal(7)
        fails(client, {"CONNECT_ERROR"})
        return
    up(client, peer, answer, ("WRITE" if read else "SEND") if send else None)
    data_flows(client, peer)


@rule("E-9.2-8: no RTR message to a Reply with A that nobody asked for", cases=[(0,), (WRITE,)])
def reply_with_a_that_was_not_asked_for(b, rtr):
    """The device sent A=0 in its Request, for the client-server model. A Reply with A=1 does not
    change the model: the device must send no RTR message."""
    b.set(peer_to_peer=0)
    client, peer, req = b.connecting()
    equal((req.a, req.rtr), (0, 0), "A and RTR types")
    up(client, peer, mpa.reply2(a=1, rtr=rtr, ird=4, ord=4), rtr=None)
    peer.expect_quiet()
    data_flows(client, peer)


@rule("E-9.1-3: a Read for RTR message though the ULP wants no depth")
def read_rtr_with_ord_0(b):
    client, peer, req = b.connecting(ird=0, ord=0)
    equal((req.ird, req.ord), (0, 0), "IRD and ORD")
    up(client, peer, mpa.reply2(a=1, rtr=READ, ird=1, ord=0), "READ")
    equal(client.depths(), (0, 1), "IRD and ORD of the QP")


# --- IRD and ORD -------------------------------------------------------------------------

@rule("E-9-1: IRD and ORD of the Request", "E-9.1-6: ORD of the QP", "R-03",
      cases=[(0, 0), (0, 1), (1, 0), (127, 128), (128, 127), (255, 255)])
def own_depths(b, ird, ord):  # pylint: disable=redefined-builtin
    """The ULP asks for an IRD and an ORD. For 255 librdmacm takes the device's limit, 128 with
    srnic and siw_mpa. The values 129 to 254 are not tested, as librdmacm itself refuses them."""
    client, peer, req = b.connecting(ird=ird, ord=ord)
    equal((req.ird, req.ord), (min(ird, device().most_ird), min(ord, device().most_ord)), "IRD and ORD")
    up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=req.ord, ord=req.ird))
    equal(client.depths(), device().depths(req.ird, req.ord), "IRD and ORD of the QP")


def programmed(own, peer_ird, peer_ord):
    """Return IRD and ORD that the initiator's QP must have if its Request had `own` as IRD and as
    ORD, and the Reply had peer_ird as IRD and peer_ord as ORD (RFC 6581, 9.1)."""
    return device().depths(own if peer_ord == ULP else max(own, peer_ord),
                      own if peer_ird == ULP else min(own, peer_ird))


@rule("E-9.1-5 E-9.1-12: IRD of the QP", "E-9.1-6 E-9.1-10: ORD of the QP",
      "E-9.1-7 E-8-1: a Terminate message of 2/0/6, compared whole, then FIN",
      "E-9.1-8: the depths of ESTABLISHED",
      "E-12-1: depths that the device has not end the connection", "B-13", "B-14", "Q-02", "R-06",
      cases=[(i, o) for i in DEPTHS for o in (0, 128, 129, 0x3fff)] +
            [(4, o) for o in DEPTHS])
def depths_of_the_reply(b, ird, ord):  # pylint: disable=redefined-builtin
    client, peer, _ = b.connecting(ird=16, ord=16)
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=ird, ord=ord))
    if ord != ULP and ord > device().most_ird:
        peer.expect_refusal(6)
        fails(client, {"CONNECT_ERROR"})
        return
    equal(peer.recv_fpdu().op, "WRITE", "RTR")
    ev = client.event("ESTABLISHED")
    equal((ev.ird, ev.ord), (min(ird, 255), min(ord, 255)), "what the ULP sees")
    equal(client.depths(), programmed(16, ird, ord), "IRD and ORD of the QP")


@rule("E-9.1-7: a Terminate message of 2/0/6, compared whole, then FIN")
def strict_initiator_does_not_raise(b):
    b.set(strict_ird_ord=1)
    client, peer, _ = b.connecting(ird=4, ord=4)
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=5))
    peer.expect_refusal(6)
    fails(client, {"CONNECT_ERROR"})


# --- CRC and Markers ---------------------------------------------------------------------

@rule("M-7.1.1-7: with C nowhere, FPDUs with anything in the CRC field are received",
      "M-7.1.1-8: with C in either frame, the CRC of what is sent; a wrong one ends the connection",
      "M-4.4-2: the CRC of each FPDU sent, with C in one frame alone", "B-17",
      cases=[(own, peer) for own in (0, 1) for peer in (0, 1)])
def crc(b, own, peer):
    b.set(crc=own)
    client, conn, req = b.connecting()
    equal(bool(req.flags & C), bool(own), "C of the Request")
    on = bool(own or peer)
    up(client, conn, mpa.reply2(flags=C if peer else 0, a=1, rtr=WRITE, ird=4, ord=4), crc=on)
    data_flows(client, conn, on)
    if not on:
        any_crc_field_will_do(client, conn)
        return
    client.do("recv")
    conn.send(mpa.send(b"pong", 2, bad_crc=True))
    client.event("DISCONNECTED")


@rule("E-9.2-9: the CRC of the Terminate message, as it was agreed on", "B-18", "C-01", "I-05",
      cases=[(own, peer) for own in (0, 1) for peer in (0, 1)])
def crc_of_a_terminate_message(b, own, peer):
    b.set(crc=own)
    client, conn, _ = b.connecting()
    conn.send(mpa.reply2(flags=C if peer else 0, a=1, rtr=0, ird=4, ord=4))
    conn.expect_refusal(7, bool(own or peer))
    fails(client, {"CONNECT_ERROR"})


@rule("M-4.3-1: not an octet, and FIN, for a Reply with M where the device has no Markers",
      only="siw_mpa")
def markers_that_the_device_has_not(b):
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(flags=C | M, a=1, rtr=WRITE, ird=4, ord=4))
    peer.expect_fin()
    fails(client, {"CONNECT_ERROR"})


# --- bad Replies -------------------------------------------------------------------------

BAD = {
    "request_key": mpa.request2(a=1, rtr=WRITE, ird=4, ord=4),
    "garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "rev_0": mpa.reply(rev=0),
    "rev_3": mpa.reply(rev=3),
    "rev_255": mpa.reply(rev=255),
    "s_without_data": mpa.frame(mpa.KEY_REP, C | S, 2, b""),
    "s_with_1_octet": mpa.frame(mpa.KEY_REP, C | S, 2, b"\x80"),
    "s_with_2_octets": mpa.frame(mpa.KEY_REP, C | S, 2, b"\x80\x01"),
    "s_with_3_octets": mpa.frame(mpa.KEY_REP, C | S, 2, b"\x80\x01\xc0"),
    "reject_s_with_3_octets": mpa.frame(mpa.KEY_REP, C | S | R, 2, b"\x80\x01\xc0"),
    "pd_length_513": mpa.reply(pd_length=513) + bytes(513),
    "pd_length_65535": mpa.reply(pd_length=65535),
    "reject_pd_length_513": mpa.reply(flags=C | R, pd_length=513) + bytes(513),
    "reject_pd_length_65535": mpa.reply(flags=C | R, pd_length=65535),
    "accept_v2_pd_length_513": mpa.frame(mpa.KEY_REP, C | S, 2, mpa.enhanced(4, 4) + bytes(509)),
}
REASON = {      # name of a Reply -> iw_mpa's counter that it must increment; others: reason_of()
    "request_key": "SAME_ROLE", "garbage": "BAD_KEY", "rev_0": "BAD_REV", "rev_3": "BAD_REV",
    "rev_255": "BAD_REV",
}


def reason_of(name):
    pd = "BAD_PD_LENGTH" if "pd_length" in name else "SHORT_ENHANCED"
    return REASON.get(name, pd)


@rule("M-7.1.1-4 M-7.1.2-11: garbage ends the connection, as BAD_KEY; the ULP has CONNECT_ERROR",
      "M-7.1.1-12: revisions 0, 3 and 255 end it, as BAD_REV",
      "M-7.1.1-15 M-7.1.2-16: a PD_Length above 512 ends it, as BAD_PD_LENGTH",
      "M-7.1.2-14: the key of a Request ends it, as SAME_ROLE",
      "E-6-4: S with less than 4 octets ends it, as SHORT_ENHANCED",
      "M-7.1.2-7 M-8-2: the end comes without a time-out, and without an octet before it",
      "B-03", "B-04", "C-05", "F-malformed", cases=[(name,) for name in BAD])
def bad_reply_is_closed(b, name):
    before = counter(reason_of(name))
    client, peer, _ = b.connecting()
    peer.send(BAD[name])
    peer.expect_end()
    ev = fails(client, {"CONNECT_ERROR"})
    equal(ev.pd, b"", "private data that never came whole")
    check(poll(lambda: counter(reason_of(name)) == before + 1), f"it is no {reason_of(name)}")


@contextlib.contextmanager
def one_end_is_counted(timeout):
    """Check that during the with statement's body iw_mpa ends one connection: because it cannot
    read on from TCP or, if TCP reports no error, by a timer. iw_mpa counts the first in TCP_ERROR,
    the second in the counter that `timeout` names: the sum of both counters must grow by one."""
    total = lambda: counter("TCP_ERROR") + counter(timeout)
    before = total()
    yield
    check(poll(lambda: total() == before + 1),
          f"TCP_ERROR and {timeout} were {before}, now they are {total()}")


@rule("M-7.1.2-17: an end, not an octet before it, and one more TCP_ERROR or TIMEOUT_REPLY",
      cases=[(0,), (9,), (24,)])
def urgent_data_in_a_reply(b, offset):
    """TCP takes an urgent byte out of the stream, so the device never gets the whole Reply: it must
    end the connection, because of the urgent data or when reply_timeout_ms has passed."""
    b.set(reply_timeout_ms=1000 * SLOW)
    client, peer, _ = b.connecting()
    octets = mpa.reply2(b"private data", a=1, rtr=WRITE, ird=4, ord=4)
    with one_end_is_counted("TIMEOUT_REPLY"):
        peer.send_with_urgent(octets, offset)
        peer.expect_end()
        fails(client, {"CONNECT_ERROR", "UNREACHABLE"})


@rule("M-7.1.2-16: a Reply that is not whole gives the ULP no private data", "B-05",
      cases=[("fin",), ("reset",)])
def reply_that_stops(b, how):
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(b"x" * 200, a=1, rtr=WRITE)[:34])
    if how == "fin":
        peer.fin()
    else:
        peer.reset()
    ev = fails(client, {"REJECTED"}, -errno.ECONNRESET)
    equal(ev.pd, b"", "private data that never came whole")


@rule("M-7.1.2-17: UNREACHABLE with ETIMEDOUT, no sooner than the time is over, and FIN", "P-01",
      "Q-03")
def silence_instead_of_a_reply(b):
    b.set(reply_timeout_ms=400)
    with no_sooner_than(400):
        client, peer, _ = b.connecting()
        fails(client, {"UNREACHABLE"}, -errno.ETIMEDOUT)
    peer.expect_fin()


@rule("M-7.1.2-17: UNREACHABLE with ETIMEDOUT, no sooner than the time is over", "P-03", "Q-03")
def silence_instead_of_tcp(b):
    """The test's listener has a full backlog, so TCP drops the device's SYNs: connect_timeout_ms
    must end the connect, long before TCP gives up."""
    b.set(connect_timeout_ms=400)
    sock = socket.create_server((b.listen_address, b.port), family=b.family, backlog=0)
    b.things.append(sock.close)
    for fill in [socket.socket(b.family) for _ in range(4)]:
        b.things.append(fill.close)
        fill.setblocking(False)
        fill.connect_ex((b.listen_address, b.port))
    client = b.client()
    with no_sooner_than(400):
        client.do("connect 4 4 -")
        fails(client, {"UNREACHABLE"}, -errno.ETIMEDOUT)


@rule("M-7.1.2-17: what comes in time is not cut off by the timer of a state that is over", "P-01")
def timers_end_with_their_states(b):
    b.set(connect_timeout_ms=2000 * SLOW, reply_timeout_ms=5000 * SLOW)
    client, peer, _ = b.connecting()
    time.sleep(2.4 * SLOW)
    client.no_event()
    peer.send(mpa.reply2(a=1, rtr=WRITE | READ, ird=4, ord=4))
    equal(peer.recv_fpdu().op, "WRITE", "RTR")
    client.event("ESTABLISHED")
    time.sleep(3 * SLOW)
    client.no_event()
    data_flows(client, peer)


@rule("E-9.2-8: each octet of the RTR message, and of its repeats")
def rtr_is_repeated_for_a_peer_that_names_one_type(b):
    """If the Reply offers only Write as RTR type, the device repeats the RTR message, at most five
    times, until the peer sends an FPDU: here after the second repeat."""
    need_repeats()
    b.set(rtr_repeat_ms=250)     # the interval grows: the third repeat is due 4 s after the second
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    client.event("ESTABLISHED")
    for what in "RTR", "first repeat", "second repeat":
        equal(peer.recv_fpdu().raw, mpa.rtr_write(), what)
    client.do("recv")
    peer.send(mpa.send(b"I am here"))
    equal(client.do("wc"), ["WC RECV success 9"], "receive")
    peer.expect_quiet()


@rule("E-9.2-8: each octet of the RTR message and of five Writes more, and nothing behind them, "
      "with no setting changed", defaults=True)
def rtr_of_the_reply_by_default(b):
    """The Reply offers only Write as RTR type, and the peer sends nothing: with the default
    settings the device repeats the RTR message five times."""
    need_repeats()
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    equal(client.event("ESTABLISHED").status, 0, "status")
    for n in range(6):
        equal(peer.recv_fpdu().raw, mpa.rtr_write(), f"Write {n}")
    peer.expect_quiet()
    data_flows(client, peer)


@rule("E-9.2-8: one RTR message, and not a second", cases=[(0, WRITE), (20, WRITE | READ)])
def rtr_is_not_repeated(b, repeat_ms, rtr):
    """The device does not repeat the RTR message if rtr_repeat_ms is 0, or if the Reply offers
    another RTR type besides Write."""
    b.set(rtr_repeat_ms=repeat_ms)
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=rtr, ird=4, ord=4))
    client.event("ESTABLISHED")
    equal(peer.recv_fpdu().op, "WRITE", "RTR")
    peer.expect_quiet()
    data_flows(client, peer)


@rule("E-9.2-8: one RTR message of the type that the Reply names, and no Write behind it")
def rtr_read_is_not_repeated(b):
    need_sent_rtr(READ)
    b.set(rtr_repeat_ms=20)
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=READ, ird=4, ord=4))
    equal(peer.recv_fpdu().op, "READ", "RTR")
    client.event("ESTABLISHED")
    peer.expect_quiet()


@rule("M-7.1-1: the octets behind the Reply are FPDUs, wherever TCP cuts", "F-fragments", "I-08",
      cases=[(size,) for size in (1, 2, 7, 16, 19, 20, 21, 24)])
def reply_in_segments_of(b, size):
    client, peer, _ = b.connecting()
    peer.send_split(mpa.reply2(b"private data", a=1, rtr=WRITE, ird=4, ord=4), size)
    equal(peer.recv_fpdu().op, "WRITE", "RTR")
    equal(client.event("ESTABLISHED").pd, b"private data", "private data")
    data_flows(client, peer)


@rule("M-7.1-1 M-7.1.5-1 M-7.1.5-2: a Send in the segment of the Reply completes a receive", "D-01",
      "I-09")
def fpdu_behind_the_reply_is_left_for_the_driver(b):
    b.set(peer_to_peer=0)
    client, peer, _ = b.connecting()
    client.do("recv")
    peer.send(mpa.reply2(ird=4, ord=4) + mpa.send(b"early"))
    client.event("ESTABLISHED")
    equal(client.do("wc"), ["WC RECV success 5"], "receive")


# --- Reject ------------------------------------------------------------------------------

@rule("M-7.1.2-8: REJECTED with all of the private data; FIN without an octet before it", "B-15",
      "B-22", "Q-04",
      cases=[("v1", 0), ("v1", 2), ("v1", 8), ("v2", 0), ("v2", 8)])
def rejected(b, rev, size):
    pd = bytes(range(1, size + 1))
    client, peer, _ = b.connecting()
    peer.send(mpa.reply(pd, C | R) if rev == "v1" else mpa.reply2(pd, C | R, ird=1, ord=9))
    ev = fails(client, {"REJECTED"}, -errno.ECONNREFUSED)
    equal(ev.pd, pd, "private data")
    peer.expect_fin()


SIZES = (0, 1, 2, 3, 4, 251, 252, 253, 254, 255, 256, 257, 508, 511, 512)


@rule("M-7.1.1-14 M-7.1.1-16: each octet that the ULP can see, and PD_Length in the trace",
      "E-7-4: 512 octets are taken, enhanced data included",
      "B-04", "C-04", "I-01", "Q-01",
      cases=[(kind, rev, size) for kind in ("accept", "reject") for rev in ("v1", "v2")
             for size in SIZES if rev == "v1" or size <= 508])
def private_data_of_reply(b, kind, rev, size):
    pd = bytes(1 + i % 255 for i in range(size))
    flags = C | (R if kind == "reject" else 0)
    trace = b.trace()
    client, peer, _ = b.connecting()
    if rev == "v1":
        peer.send(mpa.reply(pd, flags))
    else:
        peer.send(mpa.reply2(pd, flags, ird=4, ord=4))
    if kind == "reject":
        ev = fails(client, {"REJECTED"}, -errno.ECONNREFUSED)
    else:
        ev = client.event("ESTABLISHED")
    equal(ev.pd, pd[:PD_SEEN], "private data")
    check(any(" received Reply " in line and line.endswith(f" pd_len={size}") for line in trace()),
          "its length is not in the trace")
    if kind == "accept":
        data_flows(client, peer)        # works only if the device read the Reply and no FPDU


@rule("E-9.1-8 E-9.1-1: the depths of a Reject in the trace")
def depths_of_a_reject_are_in_the_trace(b):
    """iw_mpa must write IRD and ORD of a Reject to the trace, as rdma_cm does not pass them to the
    ULP."""
    trace = b.trace()
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(b"", C | R, ird=5, ord=300))
    fails(client, {"REJECTED"}, -errno.ECONNREFUSED)
    check(any("iw_mpa_frame: " in line and "received Reply rev=2" in line and " R=1 " in line and
              " ird=5 ord=300 " in line for line in trace()), "the Reject is not in the trace")


@rule("E-9.1-8 E-9.1-1: the depths of ESTABLISHED, and those above 255 in the trace")
def depths_above_8_bits_are_in_the_trace(b):
    need_depths(100, 0)
    trace = b.trace()
    client, peer, _ = b.connecting()
    ev = up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=0x3ffe, ord=100))
    equal((ev.ird, ev.ord), (255, 100), "what fits through rdma_cm")
    check(any("iw_mpa_handoff: " in line and " peer_ird=16382 peer_ord=100 " in line
              for line in trace()), "the depths are not in the trace")


# --- revisions ---------------------------------------------------------------------------

# Name for a test's case -> sysctls, and the attribute peer_to_peer of the device (None: not set).
# With each of the last five the device must not accept a connection of MPA revision 1.
WISHES = {
    "defaults": ({}, None),
    "client_server": ({"peer_to_peer": 0}, None),
    "port_of_clients_of_a_device": ({"client_server_ports": "port"}, 1),
    "no_fallback": ({"v1_fallback": 0}, None),
    "strict": ({"strict_ird_ord": 1}, None),
    "port": ({"peer_to_peer": 0, "peer_to_peer_ports": "port"}, None),
    "device": ({"peer_to_peer": 0}, 1),
    "no_fallback_client_server": ({"v1_fallback": 0, "peer_to_peer": 0}, None),
}
DOES_WITHOUT = list(WISHES)[:3]
NEEDS_MORE = list(WISHES)[3:]


def wish(b, name):
    settings, device_says = WISHES[name]
    b.set(**{name: b.port if value == "port" else value for name, value in settings.items()})
    if device_says is not None:
        b.set_device("peer_to_peer", device_says)


@contextlib.contextmanager
def deaf(b):
    """Have nftables drop segments with PSH to the test's port. TCP's handshake still works, but the
    test's TCP gets no data, and so acknowledges none."""
    needs.need("here")
    table = f"deaf_{b.port}"
    subprocess.run(["nft", "-f", "-"], check=True, text=True, input=f"""
        table inet {table} {{
            chain input {{
                type filter hook input priority 0
                tcp dport {b.port} tcp flags & psh == psh drop
            }}
        }}""")
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", "inet", table], check=True)


def called(b, pd=b""):
    """Start a cm_probe, the ULP, that connects to the test. Return it, and the socket at which the
    test listens."""
    sock = b.listen()
    client = b.client()
    client.do(f"connect 4 4 {pd.hex() or '-'}")
    return client, sock


def closes(peer, how):
    """Close the peer's connection by FIN if how is "fin", else by RST. The peer must have read the
    Request before, as otherwise Linux would send RST for unread bytes."""
    if how == "fin":
        peer.close()
    else:
        peer.reset()


def no_further_call(sock):
    ready, _, _ = select.select([sock], [], [], QUIET)
    check(not ready, "a further connection")


def counted(*names):
    """Return a function that returns by how much each counter of iw_mpa in `names` has grown since
    the call of counted()."""
    before = [counter(name) for name in names]
    return lambda: [counter(name) - was for name, was in zip(names, before)]


@rule("E-10-6: a second Request, of revision 1, and a connection", "C-09",
      cases=[(name,) for name in DOES_WITHOUT])
def v1_is_tried_when_v2_was_read_and_refused(b, name):
    """The peer reads the device's Request of revision 2, and sends FIN, as peers do that support
    only revision 1. The device must then send a Request of revision 1."""
    wish(b, name)
    moved = counted("v2_again", "v1_fallback")
    client, sock = called(b, b"abc")
    peer = b.take(sock)
    equal(peer.recv_request().rev, 2, "revision")
    peer.close()
    peer = b.take(sock)
    req = peer.recv_request()
    equal((req.rev, req.flags & S, req.pd), (1, 0, b"abc"), "second Request")
    up(client, peer, mpa.reply(), rtr=None)
    data_flows(client, peer)
    equal(moved(), [0, 1], "tries with revision 2, with revision 1")


@rule("E-10-6: a second Request, which is the first one, and a peer-to-peer connection",
      cases=[("unread",), ("reset",)])
def v2_is_offered_again_when_nothing_shows_that_it_was_refused(b, how):
    """The peer sends RST, or FIN before its TCP has acknowledged the Request. A restart or overload
    of a peer that supports revision 2 can cause that, too: the device must try revision 2 again."""
    moved = counted("v2_again", "v1_fallback")
    client, sock = called(b, b"abc")
    if how == "unread":
        with deaf(b):
            b.take(sock).close()
            peer = b.take(sock)
    else:
        b.take(sock).reset()
        peer = b.take(sock)
    req = peer.recv_request()
    equal((req.rev, req.a, req.ird, req.ord, req.pd), (2, 1, 4, 4, b"abc"), "second Request")
    up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    data_flows(client, peer)
    equal(moved(), [1, 0], "tries with revision 2, with revision 1")


@rule("E-10-6: a third Request, of revision 1, and a connection",
      cases=[("reset", "reset"), ("reset", "fin"), ("unread", "reset"), ("unread", "unread")])
def v1_is_tried_when_v2_was_offered_twice(b, first, second):
    """The peer ends the first connection by RST, or by FIN before its TCP has acknowledged the
    Request, and the second one in any way. As some peers of revision 1 answer revision 2 by RST,
    the device must then try revision 1."""
    client, sock = called(b, b"abc")
    for how in (first, second):
        if how == "unread":
            with deaf(b):
                b.take(sock).close()
            continue
        peer = b.take(sock)
        equal(peer.recv_request().rev, 2, "revision")
        closes(peer, how)
    peer = b.take(sock)
    req = peer.recv_request()
    equal((req.rev, req.flags & S, req.pd), (1, 0, b"abc"), "third Request")
    up(client, peer, mpa.reply(), rtr=None)
    data_flows(client, peer)


@rule("E-10-6: no Request behind that of revision 1, and REJECTED",
      cases=[(first, last) for first in ("fin", "reset") for last in ("fin", "reset")])
def v1_is_tried_once(b, first, last):
    client, sock = called(b)
    for _ in range(1 if first == "fin" else 2):
        peer = b.take(sock)
        peer.recv_request()
        closes(peer, first)
    peer = b.take(sock)
    equal(peer.recv_request().rev, 1, "revision")
    closes(peer, last)
    fails(client, {"REJECTED"}, -errno.ECONNRESET)
    no_further_call(sock)


@rule("E-10-6: no second Request, and REJECTED with its private data, after a Reject and FIN",
      cases=[(name, rev) for name in WISHES for rev in ("v1", "v2")])
def reject_is_no_refusal_of_v2(b, name, rev):
    wish(b, name)
    moved = counted("NO_REV_2", "v2_again", "v1_fallback")
    client, sock = called(b)
    peer = b.take(sock)
    peer.recv_request()
    peer.send(mpa.reply(b"no", C | R) if rev == "v1" else mpa.reply2(b"no", C | R, ird=4, ord=4))
    peer.close()
    equal(fails(client, {"REJECTED"}, -errno.ECONNREFUSED).pd, b"no", "private data")
    no_further_call(sock)
    equal(moved(), [0, 0, 0], "counters")


@rule("E-10-6: no second Request, and REJECTED, where revision 1 will not do",
      cases=[(name, how) for name in NEEDS_MORE for how in ("fin", "unread", "reset")])
def no_further_try_where_v1_will_not_do(b, name, how):
    wish(b, name)
    moved = counted("NO_REV_2", "PEER_CLOSED", "PEER_RESET", "v2_again", "v1_fallback")
    client, sock = called(b)
    if how == "unread":
        with deaf(b):
            b.take(sock).close()
    else:
        peer = b.take(sock)
        equal(peer.recv_request().rev, 2, "revision")
        closes(peer, how)
    fails(client, {"REJECTED"}, -errno.ECONNRESET)
    no_further_call(sock)
    equal(moved(), [1, 0, 0, 0, 0], "counters")


@rule("E-10-6: no second Request of an initiator that offers revision 1, and REJECTED",
      cases=[(how, port) for how in ("fin", "reset") for port in (0, 1)])
def v1_of_the_settings_is_offered_once(b, how, port):
    b.set(mpa_rev=1, peer_to_peer_ports=b.port if port else "\n")
    moved = counted("NO_REV_2", "PEER_CLOSED", "PEER_RESET", "v2_again", "v1_fallback")
    client, sock = called(b)
    peer = b.take(sock)
    equal(peer.recv_request().rev, 1, "revision")
    closes(peer, how)
    fails(client, {"REJECTED"}, -errno.ECONNRESET)
    no_further_call(sock)
    equal(moved(), [0, int(how == "fin"), int(how == "reset"), 0, 0], "counters")


@rule("E-10-6: REJECTED, and no further Request, where nobody listens for the second",
      cases=[("unread",), ("reset",)])
def listener_goes_before_the_second_try(b, how):
    moved = counted("TCP_REFUSED", "v2_again", "v1_fallback")
    client, sock = called(b)
    if how == "unread":
        with deaf(b):
            peer = b.take(sock)
            sock.close()
            peer.close()
            fails(client, {"REJECTED"}, -errno.ECONNRESET)
    else:
        peer = b.take(sock)
        peer.recv_request()
        sock.close()
        peer.reset()
        fails(client, {"REJECTED"}, -errno.ECONNRESET)
    equal(moved(), [1, 1, 0], "counters")


@rule("M-7.1.2-17: UNREACHABLE within connect_timeout_ms and reply_timeout_ms, all tries together",
      cases=[("fin",), ("reset",)])
def silence_ends_all_tries_together(b, how, ms=2000 * SLOW):
    b.set(connect_timeout_ms=ms, reply_timeout_ms=ms)
    client, sock = called(b)
    start = time.monotonic()
    for pause in (0.5, 0.5, 0)[how == "fin":]:
        peer = b.take(sock)
        peer.recv_request()
        time.sleep(pause * ms / 1000)
        if pause:
            closes(peer, how)
    fails(client, {"UNREACHABLE"}, -errno.ETIMEDOUT)
    took = (time.monotonic() - start) * 1000
    check(0.9 * ms < took < 2.9 * ms, f"it took {took:.0f} ms")


@rule("M-7.1.2-7: REJECTED, and no second Request, when a part of the Reply has come",
      cases=[(how, size) for how in ("fin", "reset") for size in (1, 19, 20, 23)])
def reply_that_is_cut_is_no_refusal_of_v2(b, how, size):
    moved = counted("TRUNCATED", "PEER_RESET", "v2_again", "v1_fallback")
    client, sock = called(b)
    peer = b.take(sock)
    peer.recv_request()
    peer.send_split(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4)[:size], size)
    closes(peer, how)
    fails(client, {"REJECTED"}, -errno.ECONNRESET)
    no_further_call(sock)
    equal(moved(), [int(how == "fin"), int(how == "reset"), 0, 0], "counters")


LOST_WHY = {        # how the peer grants less than the Request asks for -> the reason in the log
    "fin": "it closed on revision 2",
    "reset": "it closed on revision 2",
    "v1_reply": "its Reply is not enhanced",
    "reply_without_s": "its Reply is not enhanced",
    "reply_without_a": "its Reply declines",
}


def v1_peer_takes(b, sock, how):
    """Play peers that support only revision 1: end each connection on which the device sends a
    Request of revision 2. Return the peer that gets a Request of revision 1, and a Reply, which the
    caller has to send."""
    while True:
        peer = b.take(sock)
        if peer.recv_request().rev == 1:
            return peer, mpa.reply()
        closes(peer, how)


@rule("E-10-6: debugfs, the trace and the log say what was lost", "X-02-2: the same of such a Reply",
      cases=[(how, p2p) for how in LOST_WHY for p2p in (1, 0) if p2p or how != "reply_without_a"])
def what_was_asked_for_in_vain_is_said(b, how, p2p):
    b.set(peer_to_peer=p2p)
    log, trace = fresh_log(b), b.trace()
    client, sock = called(b)
    if how in ("fin", "reset"):
        peer, reply = v1_peer_takes(b, sock, how)
    else:
        peer = b.take(sock)
        peer.recv_request()
        reply = {"v1_reply": mpa.reply(), "reply_without_s": mpa.reply(rev=2),
                 "reply_without_a": mpa.reply2(ird=4, ord=4)}[how]
    up(client, peer, reply, rtr=None)
    data_flows(client, peer)
    p2p = p2p and "p2p"
    depths = how != "reply_without_a" and "depths"
    lost = ",".join(filter(None, (p2p, depths)))
    line, = (line for line in lines_of(DEBUGFS + "endpoints") if f":{b.port} " in line)
    check(line.endswith(f" lost={lost}"), line)
    check(any(line.endswith(f" lost={lost}") and " iw_mpa_loss: " in line for line in trace()),
          "not in the trace")
    words = " and ".join(filter(None, (p2p and "the peer-to-peer model", depths)))
    line, = log()
    check(line.endswith(f": comes up without {words} ({LOST_WHY[how]})"), line)


@rule("E-10-6: nothing is lost, and nothing is said, where all was granted")
def nothing_lost_is_not_said(b):
    log, trace = b.kernel_log(), b.trace()
    client, peer, _ = b.connecting()
    up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    line, = (line for line in lines_of(DEBUGFS + "endpoints") if f":{b.port} " in line)
    check(line.endswith(" lost=none"), line)
    check(not any(" iw_mpa_loss: " in line for line in trace()), "a loss in the trace")
    equal(log(), [], "the log")


@rule("X-02-2: REJECTED, and FIN without an octet before it, where revision 1 will not do",
      cases=[(name, rev) for name in NEEDS_MORE for rev in (1, 2)])
def unenhanced_reply_where_v1_will_not_do(b, name, rev):
    wish(b, name)
    moved = counted("NO_REV_2")
    client, peer, _ = b.connecting()
    peer.send(mpa.reply(b"abcdefgh", rev=rev))
    fails(client, {"REJECTED"}, -errno.ECONNRESET)
    peer.expect_fin()
    equal(moved(), [1], "counter")


@rule("E-8-1 E-9.3-1: a Terminate message of 2/0/5, compared whole, then FIN", "I-05",
      cases=[(own, peer) for own in (0, 1) for peer in (0, 1)])
def local_error_of_the_initiator(b, own, peer):
    b.set(crc=own)
    client, conn, _ = b.connecting()
    client.do("fail_qp")
    conn.send(mpa.reply2(flags=C if peer else 0, a=1, rtr=WRITE, ird=4, ord=4))
    conn.expect_refusal(5, bool(own or peer))
    fails(client, {"CONNECT_ERROR"})


@rule("E-9.3-1: FIN without a Terminate message, for a peer of revision 1")
def local_error_is_told_to_nobody_who_speaks_v1(b):
    client, peer, _ = b.connecting()
    client.do("fail_qp")
    peer.send(mpa.reply())
    peer.expect_fin()
    fails(client, {"CONNECT_ERROR"})


@rule("X-02-2: an unenhanced Reply, which has S clear: no RTR message, and private data whole",
      "Q-01")
def unenhanced_reply_to_an_enhanced_request(b):
    client, peer, _ = b.connecting()
    ev = up(client, peer, mpa.reply(b"abcdefgh"), rtr=None)
    equal(ev.pd, b"abcdefgh", "private data, of which nothing is stripped")
    data_flows(client, peer)


@rule("Q-04")
def nobody_listens(b):
    client = b.client()
    client.do("connect 4 4 -")
    fails(client, {"REJECTED"}, -errno.ECONNRESET)      # ECONNREFUSED would be a ULP's Reject


@rule("M-7.1.2-8: REJECTED with the private data, though FIN came with it",
      "M-7.2-1: ESTABLISHED, then DISCONNECTED", cases=[("accept",), ("reject",)])
def reply_and_fin_in_one_segment(b, kind):
    b.set(peer_to_peer=0)
    client, peer, _ = b.connecting()
    peer.cork()
    peer.send(mpa.reply2(b"data", C | (R if kind == "reject" else 0), ird=4, ord=4))
    peer.fin()
    if kind == "reject":
        ev = fails(client, {"REJECTED"}, -errno.ECONNREFUSED)
    else:
        ev = client.event("ESTABLISHED")
        client.event("DISCONNECTED")
    equal(ev.pd, b"data", "private data")


# --- the end of a connection -------------------------------------------------------------

@rule("M-7.2-1: one DISCONNECTED; FIN in answer to FIN", cases=[("fin",), ("reset",), ("term",)])
def peer_ends_the_connection(b, how):
    client, peer, _ = b.connecting()
    up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    if how == "fin":
        peer.fin()
    elif how == "reset":
        peer.reset()
    else:
        peer.send(mpa.terminate(5))
    client.event("DISCONNECTED")
    client.no_event()
    if how == "fin":
        peer.expect_fin()


@rule("M-7.2-1: FIN, and DISCONNECTED", "P-10", cases=[("disconnect",), ("destroy_qp",)])
def ulp_ends_the_connection(b, how):
    client, peer, _ = b.connecting()
    up(client, peer, mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    client.do(how)
    peer.expect_fin()
    client.event("DISCONNECTED")


@rule("P-11", "E-9.3-1: FIN, and no octet before it, as the Reply is still awaited")
def qp_destroyed_while_the_reply_is_awaited(b):
    client, peer, _ = b.connecting()
    client.do("destroy_qp")
    peer.expect_fin()
    fails(client, {"CONNECT_ERROR"})
