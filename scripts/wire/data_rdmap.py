# SPDX-License-Identifier: GPL-2.0
"""RDMAP's headers on the wire: RFC 5040, sections 4.1 to 4.4 and 4.8."""

import struct

import rdmap
from harness import check, equal
from link import Link, both
from peer import random_octets
from rdmap import (READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, TERMINATE, WRITE, Read)
from registry import rule
from verbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, WR_SEND

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE
ALL_RIGHTS = MAY_WRITE | REMOTE_READ


def message(link, op, mr, **kw):
    """The ULPDU of one good message of this opcode; a Read Response needs a Read of the device."""
    if op == WRITE:
        return rdmap.write(mr.rkey, mr.start, b"octets", **kw)
    if op == READ_REQUEST:
        return link.peer.read_segment(Read(0xabc, 0x123, 6, mr.rkey, mr.start), good=False, **kw)
    if op == READ_RESPONSE:
        into = link.dut.mr(6, LOCAL_WRITE)
        link.qp.read(into.sge(), 0x9000, 0x99)
        read = link.peer.hear(READ_REQUEST).read
        return rdmap.response(read.sink_stag, read.sink_to, b"octets", **kw)
    return rdmap.untagged(op, b"octets" if op != TERMINATE else bytes(4),
                          msn=kw.pop("msn", None) or link.peer.next_msn(rdmap.QUEUE[op]), **kw)


# --- the RDMAP octet -------------------------------------------------------------------------

@rule("R-4.1-1", "T-16", cases=both())
def R_4_1_1_version_0_is_accepted(b, role):
    """What the device sends has version 1: rdmap.Segment checks each."""
    link = Link(b, role)
    mr = link.dut.mr(64, ALL_RIGHTS)
    mr.put(b"octets")
    place = link.qp.recv()
    link.peer.write(mr.rkey, mr.start, b"octets", rv=0)
    link.peer.send(b"a Send", rv=0)
    link.qp.received(place, b"a Send")
    link.peer.read(mr.rkey, mr.start, 6, rv=0)
    equal(link.peer.hear_message(READ_RESPONSE), b"octets", "response")
    link.works()


@rule("R-4.1-1", "T-16", cases=both(*[(op, rv) for op in (WRITE, READ_REQUEST, READ_RESPONSE, SEND)
                                      for rv in (2, 3)]))
def R_4_1_1_version_is_refused(b, op, rv, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(message(link, op, mr, rv=rv))
    link.refused(rdmap.RDMAP_VERSION)


@rule("R-4.1-2", cases=both())
def R_4_1_2_reserved_bits_are_ignored(b, role):
    link = Link(b, role)
    mr = link.dut.mr(64, ALL_RIGHTS)
    mr.put(b"before")
    for bits in (0x10, 0x20, 0x30):
        link.peer.write(mr.rkey, mr.start, b"octets", rdmap_reserved=bits)
        place = link.qp.recv()
        link.peer.send(b"a Send", rdmap_reserved=bits)
        link.qp.received(place, b"a Send")
        mr.expect(b"octets")
        link.peer.read(mr.rkey, mr.start, 6, rdmap_reserved=bits)
        equal(link.peer.hear_message(READ_RESPONSE), b"octets", "response")
    link.works()


@rule("R-4.1-3", "T-9", cases=both(*[(op,) for op in range(7)]))
def R_4_1_3_t_is_not_the_opcodes(b, op, role):
    """All else is as it would be with this T, so that nobody else can complain."""
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    if op in rdmap.TAGGED:
        link.peer.ulpdu(rdmap.untagged(op, b"octets", msn=1))
    else:
        link.peer.ulpdu(rdmap.tagged(op, mr.rkey, mr.start, bytes(28)))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-4", "T-8", cases=both((SEND, 1), (SEND, 2), (SEND_SE, 1), (READ_REQUEST, 0),
                                   (READ_REQUEST, 2), (SEND_INV, 1)))
def R_4_1_4_queue_is_not_the_opcodes(b, op, qn, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(message(link, op, mr, qn=qn, msn=1))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-5", cases=both(*[(op, t) for op in range(8, 16) for t in (0, 1)]))
def R_4_1_5_opcode_that_is_not(b, op, t, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(rdmap.tagged(op, mr.rkey, mr.start, bytes(28)) if t else
                    rdmap.untagged(op, bytes(28), msn=1))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-6", cases=both())
def R_4_1_6_invalidate_stag_of_others_is_ignored(b, role):
    """What the device sends in its place is 0: rdmap.Segment checks it."""
    link = Link(b, role)
    mr = link.dut.mr(64, ALL_RIGHTS)
    mr.put(b"octets")
    for op in (SEND, SEND_SE):
        place = link.qp.recv()
        link.peer.send(b"a Send", op=op, inv=mr.rkey)
        link.qp.received(place, b"a Send")
    link.peer.read(mr.rkey, mr.start, 6, inv=mr.rkey)
    equal(link.peer.hear_message(READ_RESPONSE), b"octets", "response")
    link.peer.write(mr.rkey, mr.start, b"OCTETS")
    link.works()
    mr.expect(b"OCTETS")
    link.peer.terminate(rdmap.MPA_CRC, inv=mr.rkey)
    link.peer.hear_end()
    link.ended("QP_FATAL")


# --- Read Requests ---------------------------------------------------------------------------

@rule("R-4.4-1", "R-4.4-4", cases=both((1, 0x1), (77, 0x8877665544332211), (0, 0),
                                       (100, 0xfffffffffffffff0)))
def R_4_4_1_read_request_that_is_sent(b, size, to, role):
    link = Link(b, role)
    into = link.dut.mr(128, LOCAL_WRITE, shift=5)
    link.qp.read(into.sge(3, size) if size else "", to, 0xa1b2c3d4)
    segment = link.peer.hear(READ_REQUEST)
    want = struct.pack(">H", 0x4141) + struct.pack(">IIII", 0, 1, 1, 0) + \
        segment.ulpdu[18:22] + struct.pack(">Q", into.start + 3) + \
        struct.pack(">IIQ", size, 0xa1b2c3d4, to)
    if size:
        equal(segment.ulpdu.hex(), want.hex(), "Read Request")
    equal((segment.read.size, segment.read.stag, segment.read.to), (size, 0xa1b2c3d4, to), "Read")
    link.peer.respond(segment.read, bytes(range(size)))
    link.qp.sent()
    into.expect(bytes(range(size)), 3)


@rule("R-4.4-4", "T-12", cases=both())
def R_4_4_4_read_of_3_gib(b, role):
    """Its size is a 32-bit number without a sign, in the request and behind it."""
    link = Link(b, role)
    size = 3 << 30
    words = link.verbs.words(f"repeated big {1 << 20} {size >> 20}")
    base = int(words[0], 0)
    lkey, _ = (int(word, 0) for word in link.verbs.words(
        f"mr big pd big 0 {size} {LOCAL_WRITE}"))
    link.qp.read(f"{base:#x},{size},{lkey:#x}", 0x1000, 0x99)
    read = link.peer.hear(READ_REQUEST).read
    equal(read.size, size, "size of the Read")
    data = random_octets(4000)
    link.peer.ulpdu(rdmap.response(read.sink_stag, read.sink_to, data, last=False))
    link.ping()
    equal(link.verbs.do("peek big 0 4000")[0], "DATA " + data.hex(), "first octets")
    link.dut.nothing_completes("scq")


@rule("R-4.4-4", "T-12", "R-7.2-4", cases=both((0x80000000,), (0xffffffff,), (0x7fffffff,)))
def R_4_4_4_long_read_of_little(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, size, good=False)
    link.refused(rdmap.READ_BOUNDS)


@rule("R-4.4-2", "T-8", cases=both((29,), (60,), (1000,)))
def R_4_4_2_read_request_that_is_too_long(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    body = rdmap.read_body(Read(1, 2, 8, mr.rkey, mr.start)) + bytes(size - 28)
    link.peer.read(mr.rkey, mr.start, 8, good=False, body=body)
    link.refused(rdmap.UNTAGGED_LENGTH)


@rule("R-4.4-2", "T-8", cases=both((0,), (1,), (27,)))
def R_4_4_2_read_request_that_is_too_short(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    body = rdmap.read_body(Read(1, 2, 8, mr.rkey, mr.start))[:size]
    link.peer.read(mr.rkey, mr.start, 8, good=False, body=body)
    link.refused(rdmap.UNSPECIFIED_MD)


@rule("R-4.4-2", "T-8", cases=both((4,), (28,), (0xfffffff0,)))
def R_4_4_2_read_request_with_an_offset(b, mo, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 8, good=False, mo=mo)
    link.refused(rdmap.UNTAGGED_MO)


@rule("R-4.4-2", "T-8", cases=both())
def R_4_4_2_read_request_that_goes_on(b, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 8, good=False, last=False)
    link.refused(rdmap.UNSPECIFIED_MD)


@rule("R-4.4-3", cases=both((0xdeadbeef, 0x8000000000000001), (0, 0), (0xffffffff, 3),
                            (1, 0xffffffffffffff00)))
def R_4_4_3_sink_is_the_peers_affair(b, stag, to, role):
    """It comes back as it was, segment after segment: Conduct checks it."""
    link = Link(b, role)
    mr = link.dut.mr(4000, REMOTE_READ)
    data = random_octets(4000)
    mr.put(data)
    for size in (1, 4000) if to < 2**63 else (1, 200):
        link.peer.read(mr.rkey, mr.start, size, sink_stag=stag, sink_to=to)
        equal(link.peer.hear_message(READ_RESPONSE), data[:size], "response")
    link.works()


# --- Terminates that are sent ----------------------------------------------------------------

@rule("R-4.8-2", "R-4.8-3", "R-4.8-5", "T-15", cases=both((0,), (1,), (5,), (700,)))
def R_4_8_2_length_and_header_are_those_of_the_offender(b, size, role):
    """Reserved bits come back as they were."""
    link = Link(b, role)
    link.peer.ulpdu(rdmap.write(0xdeadbe00, 0x0123456789abcdef, bytes(size + 1), ddp_reserved=0x3c,
                                rdmap_reserved=0x30, last=False))
    link.refused(rdmap.TAGGED_STAG)


@rule("R-4.8-3", "T-15", cases=both())
def R_4_8_3_header_of_an_untagged_offender(b, role):
    link = Link(b, role)
    link.peer.send(b"data", ddp_reserved=0x14, rdmap_reserved=0x10, inv=0xa1a2a3a4)
    link.refused(rdmap.UNTAGGED_BUFFER)


KINDS = {
    "llp": (rdmap.MPA_CRC, "20020000", 4),
    "ddp_tagged": (rdmap.TAGGED_STAG, "1100c000", 20),
    "ddp_untagged": (rdmap.UNTAGGED_QN, "1201c000", 24),
    "operation": (rdmap.OPCODE_ERROR, "0206c000", 24),
    "protection": (rdmap.READ_STAG, "0100e000", 52),
    "invalidate": (rdmap.CANNOT_INVALIDATE, "0209c000", 24),
    "local": (rdmap.LOCAL_CATASTROPHIC, "00000000", 4),
}


@rule("R-4.8-7", "R-4.8-1", "T-3", cases=both(*[(which,) for which in KINDS]))
def R_4_8_7_copies_by_kind_of_error(b, which, role):
    """Terminate Control octet by octet, and how much is copied"""
    error, control, size = KINDS[which]
    link = Link(b, role)
    link.qp.recv().forget()
    peer = link.peer
    if which == "llp":
        peer.ulpdu(rdmap.write(1, 2), check=lambda field: field[::-1])
    elif which == "ddp_tagged":
        peer.write(0x99, 1, b"data")
    elif which == "ddp_untagged":
        peer.send(b"data", qn=3)
    elif which == "operation":
        peer.ulpdu(rdmap.untagged(SEND, b"data", msn=1, qn=1))
    elif which == "protection":
        peer.read(0x99, 1, 8, good=False)
    elif which == "invalidate":
        peer.send(b"data", op=SEND_INV, inv=0x99)
    else:
        link.qp.post(link.qp.wr(WR_SEND, ["0x1000,8,0x99"]))
    terminate = peer.hear_terminate()
    equal((terminate.body[:4].hex(), len(terminate.body)), (control, size), "Terminate")
    equal(terminate.body.hex(), rdmap.terminate_body(error, peer.last).hex(), "Terminate")


@rule("R-4.8-4", "T-15", "R-7.2-1", cases=both((0,), (1,), (3,)))
def R_4_8_4_request_of_a_failed_read(b, before, role):
    """The header of the request that failed, with its own MSN, and all 28 octets of it"""
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    for _ in range(before):
        link.peer.read(mr.rkey, mr.start, 8)
        link.peer.hear_message(READ_RESPONSE)
    link.peer.read(mr.rkey ^ 0x0100, 0x1122334455667788, 0x01020304, 0xa1b2c3d4,
                   0x99aabbccddeeff00, good=False)
    link.refused(rdmap.READ_STAG)
    equal(struct.unpack_from(">I", link.peer.heard[-1].data, 16)[0], before + 1, "MSN")


@rule("R-4.8-4", "R-6.1-3", cases=both())
def R_4_8_4_no_request_where_ddp_found_it(b, role):
    """One Read more than agreed: DDP has no buffer for it."""
    link = Link(b, role, narrow=True, ird=1, peer_ord=1)
    blocked(link, 1)
    link.peer.read(1, 2, 3, good=False)
    link.refused(rdmap.UNTAGGED_BUFFER)


def blocked(link, reads, size=1 << 19):
    """The device owes responses that it cannot send: the peer does not read. The MR"""
    mr = link.dut.mr(size, REMOTE_READ)
    for _ in range(reads):
        link.peer.read(mr.rkey, mr.start, size)
    check(link.peer.wait_full(), "the window does not close")
    return mr


@rule("R-4.8-6", cases=both())
def R_4_8_6_response_that_fails_halfway(b, role):
    """The region goes while it is sent: the request in the Terminate is what is left of it."""
    link = Link(b, role, narrow=True)
    size = 1 << 19
    mr = blocked(link, 1, size)
    request = link.peer.last
    link.peer.hear(READ_RESPONSE)
    mr.destroy()
    read = link.peer.conduct.asked[0]
    terminate = link.peer.hear_terminate()
    done = sum(len(segment.data) for segment in link.peer.heard
               if segment.op == READ_RESPONSE)
    check(0 < done < size, f"{done} octets were sent")
    left = Read(read.sink_stag, read.sink_to + done, size - done, read.stag, read.to + done)
    equal(terminate.body.hex(),
          rdmap.terminate_body(rdmap.READ_STAG, request[:18] + rdmap.read_body(left)).hex(),
          "body of the Terminate")
    link.peer.hear_end()
    link.ended("QP_ACCESS_ERR")


# --- Terminates that are received ------------------------------------------------------------

BODIES = {
    "no_copies": bytes([0x20, 0x02, 0, 0]),
    "reserved_bits": bytes([0x20, 0x02, 0x1f, 0xff]),
    "tagged": rdmap.terminate_body(rdmap.TAGGED_STAG, rdmap.write(1, 2, b"abc")),
    "untagged": rdmap.terminate_body(rdmap.UNTAGGED_BUFFER, rdmap.untagged(SEND, b"abc", msn=1)),
    "read": rdmap.terminate_body(rdmap.READ_STAG, rdmap.read_request(Read(1, 2, 3, 4, 5), msn=1)),
    "unknown_code": bytes([0x12, 0xee, 0, 0]),
    "local_with_a_code": bytes([0x00, 0x55, 0, 0]),
    "unknown_layer": bytes([0xff, 0xff, 0, 0]),
    "d_without_header": bytes([0x11, 0x00, 0xc0, 0]),
    "d_with_half_a_header": bytes([0x11, 0x00, 0xc0, 0, 0, 30]) + bytes(7),
    "r_without_d": bytes([0x01, 0x00, 0x20, 0]),
    "r_without_request": rdmap.terminate_body(rdmap.READ_STAG, rdmap.untagged(1, b"", msn=1)),
    "trailing": rdmap.terminate_body(rdmap.TAGGED_STAG, rdmap.write(1, 2)) + b"trailing octets",
    "long": bytes([0x20, 0x02, 0, 0]) + bytes(1000),
}


@rule("R-4.8-8", "R-4.8-1", "R-5.4-3", cases=both(*[(which,) for which in BODIES]))
def R_4_8_8_terminate_that_is_received(b, which, role):
    """Bits against length; what is not known is told, not refused. No answer, then FIN."""
    link = Link(b, role)
    link.qp.recv()
    link.peer.ulpdu(rdmap.terminate(BODIES[which]))
    link.closed_without_terminate(event="QP_FATAL")
    check(not link.peer.conduct.terminated, "a Terminate answers a Terminate")
