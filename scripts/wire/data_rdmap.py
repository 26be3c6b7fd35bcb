# SPDX-License-Identifier: GPL-2.0
"""RDMAP's headers on the wire: RFC 5040, sections 4.1 to 4.4 and 4.8."""

import struct

import rdmap
from data_term import traced
from harness import check, equal, poll
from kernel import counted_as, hw_counter
from link import FRAMINGS, Link, both
from peer import random_octets
from rdmap import (READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, TERMINATE, WRITE, Read)
from registry import rule
from verbs import (LOC_LEN_ERR, LOC_PROT_ERR, LOCAL_WRITE, READ_FAILED, REM_INV_REQ_ERR,
                   REMOTE_READ, REMOTE_WRITE, WR_FLUSH_ERR, WR_SEND)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE
ALL_RIGHTS = MAY_WRITE | REMOTE_READ


def message(link, op, mr, **kw):
    """Return the ULPDU of a good message, in which `kw` may set fields to bad values. For a Read
    Response the device is first made to send a Read Request."""
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


# --- the RDMAP byte -------------------------------------------------------------------------

@rule("R-4.1-1 T-16: a Write, a Send and a Read with RV 0 work, and are three in the counter",
      cases=both())
def R_4_1_1_version_0_is_accepted(b, role):
    """The device accepts RDMAP version 0 but sends version 1, which rdmap.Segment checks."""
    link = Link(b, role)
    before = hw_counter("rx_rdmap_v0")
    mr = link.dut.mr(64, ALL_RIGHTS)
    mr.put(b"octets")
    place = link.qp.recv()
    link.peer.write(mr.rkey, mr.start, b"octets", rv=0)
    link.peer.send(b"a Send", rv=0)
    link.qp.received(place, b"a Send")
    link.peer.read(mr.rkey, mr.start, 6, rv=0)
    equal(link.peer.hear_message(READ_RESPONSE), b"octets", "response")
    link.works()
    check(poll(lambda: hw_counter("rx_rdmap_v0") == before + 3),
          f"rx_rdmap_v0 is {hw_counter('rx_rdmap_v0')}, {before} before")


@rule("R-4.1-1 T-16: Terminate 0/2/05 for RV 2 and 3, for four opcodes",
      cases=both(*[(op, rv) for op in (WRITE, READ_REQUEST, READ_RESPONSE, SEND)
                   for rv in (2, 3)]))
def R_4_1_1_version_is_refused(b, op, rv, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(message(link, op, mr, rv=rv))
    link.refused(rdmap.RDMAP_VERSION)


@rule("R-4.1-2: a Write, a Send and a Read work with each of the bits set", cases=both())
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


@rule("R-4.1-3 T-9: Terminate 0/2/06 for each opcode with the other T",
      cases=both(*[(op,) for op in range(7)]))
def R_4_1_3_t_is_not_the_opcodes(b, op, role):
    """Bit T is wrong for the opcode, but the DDP header is of the type that T says: only RDMAP's
    check of the opcode can find the error."""
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    if op in rdmap.TAGGED:
        link.peer.ulpdu(rdmap.untagged(op, b"octets", msn=1))
    else:
        link.peer.ulpdu(rdmap.tagged(op, mr.rkey, mr.start, bytes(28)))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-4 T-8: Terminate 0/2/06 for Sends and Read Requests on the queues of others",
      cases=both((SEND, 1), (SEND, 2), (SEND_SE, 1), (READ_REQUEST, 0),
                 (READ_REQUEST, 2), (SEND_INV, 1)))
def R_4_1_4_queue_is_not_the_opcodes(b, op, qn, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(message(link, op, mr, qn=qn, msn=1))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-5: Terminate 0/2/06 for opcodes 8 to 15, with either T",
      cases=both(*[(op, t) for op in range(8, 16) for t in (0, 1)]))
def R_4_1_5_opcode_that_is_not(b, op, t, role):
    link = Link(b, role)
    link.qp.recv()
    mr = link.dut.mr(64, ALL_RIGHTS)
    link.peer.ulpdu(rdmap.tagged(op, mr.rkey, mr.start, bytes(28)) if t else
                    rdmap.untagged(op, bytes(28), msn=1))
    link.refused(rdmap.OPCODE_ERROR)


@rule("R-4.1-6: a Read from and a Write to the region whose STag stood in four other opcodes",
      cases=both())
def R_4_1_6_invalidate_stag_of_others_is_ignored(b, role):
    """Untagged messages that invalidate nothing have a reserved field in place of the Invalidate
    STag: the device ignores it, and sends it as 0, which rdmap.Segment checks."""
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

@rule("R-4.4-1: the 46 octets of the Read Request, but for its SinkSTag, at odd addresses; of one "
      "for nothing, its size, STag and TO",
      cases=both((1, 0x1), (77, 0x8877665544332211), (0, 0),
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


@rule("R-4.4-4 T-12: the size in the request, the first octets in memory, and no completion",
      cases=both())
def R_4_4_4_read_of_3_gib(b, role):
    """The device sends a Read of 3 GiB, whose size no signed 32-bit number can hold: it must be
    right in the Read Request and when the response is placed."""
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


@rule("R-4.4-4 T-12 R-7.2-4: Terminate 0/1/01 for sizes around 2^31 and of 2^32 - 1",
      cases=both((0x80000000,), (0xffffffff,), (0x7fffffff,)))
def R_4_4_4_long_read_of_little(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, size, good=False)
    link.refused(rdmap.READ_BOUNDS)


@rule("R-4.4-2 T-8: Terminate 1/2/05", cases=both((29,), (60,), (1000,)))
def R_4_4_2_read_request_that_is_too_long(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    body = rdmap.read_body(Read(1, 2, 8, mr.rkey, mr.start)) + bytes(size - 28)
    link.peer.read(mr.rkey, mr.start, 8, good=False, body=body)
    link.refused(rdmap.UNTAGGED_LENGTH)


@rule("R-4.4-2 T-8: Terminate 0/2/FF", cases=both((0,), (1,), (27,)))
def R_4_4_2_read_request_that_is_too_short(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    body = rdmap.read_body(Read(1, 2, 8, mr.rkey, mr.start))[:size]
    link.peer.read(mr.rkey, mr.start, 8, good=False, body=body)
    link.refused(rdmap.UNSPECIFIED_MD)


@rule("R-4.4-2 T-8: Terminate 1/2/04", cases=both((4,), (28,), (0xfffffff0,)))
def R_4_4_2_read_request_with_an_offset(b, mo, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 8, good=False, mo=mo)
    link.refused(rdmap.UNTAGGED_MO)


@rule("R-4.4-2 T-8: Terminate 0/2/FF, for a request without L", cases=both())
def R_4_4_2_read_request_that_goes_on(b, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 8, good=False, last=False)
    link.refused(rdmap.UNSPECIFIED_MD)


@rule("R-4.4-3: STag and TO of each segment of the response, for four odd sinks",
      cases=both((0xdeadbeef, 0x8000000000000001), (0, 0), (0xffffffff, 3),
                 (1, 0xffffffffffffff00)))
def R_4_4_3_sink_is_the_peers_affair(b, stag, to, role):
    """The device copies SinkSTag and SinkTO of a Read Request to the response, whatever their
    values are; Conduct (conduct.py) checks each segment."""
    link = Link(b, role)
    mr = link.dut.mr(4000, REMOTE_READ)
    data = random_octets(4000)
    mr.put(data)
    for size in (1, 4000) if to < 2**63 else (1, 200):
        link.peer.read(mr.rkey, mr.start, size, sink_stag=stag, sink_to=to)
        equal(link.peer.hear_message(READ_RESPONSE), data[:size], "response")
    link.works()


# --- Terminates that are sent ----------------------------------------------------------------

@rule("R-4.8-2: the length in the Terminate, for segments of four lengths",
      "R-4.8-3: the header in the Terminate, with its reserved bits",
      "R-4.8-5: nothing behind the header",
      "T-15: the header in it, with its reserved bits", cases=both((0,), (1,), (5,), (700,)))
def R_4_8_2_length_and_header_are_those_of_the_offender(b, size, role):
    """The device's Terminate must copy length and header of the bad segment, with the reserved bits
    that the peer has set."""
    link = Link(b, role)
    link.peer.ulpdu(rdmap.write(0xdeadbe00, 0x0123456789abcdef, bytes(size + 1), ddp_reserved=0x3c,
                                rdmap_reserved=0x30, last=False))
    link.refused(rdmap.TAGGED_STAG)


@rule("R-4.8-3 T-15: the header in the Terminate, with reserved bits and Invalidate STag",
      cases=both())
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


def offend(link, which):
    """Make the device send the Terminate that KINDS has for `which`, by an error of the peer or of
    the device's ULP. Return the status with which the device's first WR then completes."""
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
        return REM_INV_REQ_ERR
    else:
        link.qp.post(link.qp.wr(WR_SEND, ["0x1000,8,0x99"]))
        return LOC_PROT_ERR
    return WR_FLUSH_ERR


@rule("R-4.8-7: M, D and R, and the octets of the Terminate, for seven kinds of error",
      "R-4.8-1 T-3: the four octets of Terminate Control, as constants",
      cases=both(*[(which,) for which in KINDS]))
def R_4_8_7_copies_by_kind_of_error(b, which, role):
    """For each kind of error in KINDS the device's Terminate must have the Terminate Control, and
    the length of Terminate Control and copied headers together, that KINDS gives."""
    error, control, size = KINDS[which]
    link = Link(b, role)
    link.qp.recv().forget()
    status = offend(link, which)
    link.refused(error, statuses=(status,))
    body = link.peer.conduct.terminated.body
    equal((body[:4].hex(), len(body)), (control, size), "Terminate")


@rule("R-4.8-7 R-4.8-3: the body of the Terminate, whole, in six framings",
      "R-5.4-1: QN, MSN, MO and L of the Terminate",
      "R-6.2.1-2: FIN behind the Terminate, and no RST",
      cases=both(*[(which, framing) for framing in FRAMINGS for which in KINDS
                   if which != "llp" or FRAMINGS[framing].get("crc", True)]))
def R_4_8_7_terminates_in_every_framing(b, which, framing, role):
    """The device's Terminate has the same bytes without CRCs, with Markers, and after each kind of
    MPA startup."""
    link = Link(b, role, **FRAMINGS[framing])
    link.qp.recv().forget()
    status = offend(link, which)
    link.refused(KINDS[which][0], statuses=(status,))


@rule("R-4.8-4: the 28 octets of the request in the Terminate",
      "T-15: the MSN of the request in the Terminate, behind 0, 1 and 3 good Reads",
      "R-7.2-1: code 0/1/00 of the Terminate", cases=both((0,), (1,), (3,)))
def R_4_8_4_request_of_a_failed_read(b, before, role):
    """The device's Terminate must copy the DDP header of the failed Read Request, and its RDMAP
    header of 28 bytes."""
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    for _ in range(before):
        link.peer.read(mr.rkey, mr.start, 8)
        link.peer.hear_message(READ_RESPONSE)
    link.peer.read(mr.rkey ^ 0x0100, 0x1122334455667788, 0x01020304, 0xa1b2c3d4,
                   0x99aabbccddeeff00, good=False)
    link.refused(rdmap.READ_STAG)
    equal(struct.unpack_from(">I", link.peer.heard[-1].data, 16)[0], before + 1, "MSN")


@rule("R-4.8-4: Terminate 1/2/02 without the request",
      "R-6.1-3: Terminate 1/2/02 for the second Read at a depth of 1", cases=both())
def R_4_8_4_no_request_where_ddp_found_it(b, role):
    """A Read Request in excess of IRD is an error of DDP (no buffer): the device's Terminate then
    has no copy of the RDMAP header."""
    link = Link(b, role, narrow=True, ird=1, peer_ord=1)
    blocked(link, 1)
    link.peer.read(1, 2, 3, good=False)
    link.refused(rdmap.UNTAGGED_BUFFER)


def blocked(link, reads, size=1 << 19):
    """Have the peer send Read Requests for long responses, and not read from its socket, so that
    the device cannot send all of them. Return the region that is read."""
    mr = link.dut.mr(size, REMOTE_READ)
    for _ in range(reads):
        link.peer.read(mr.rkey, mr.start, size)
    check(link.peer.wait_full(), "the window does not close")
    return mr


@rule("R-4.8-6: SinkTO, size and SourceTO in the Terminate, less what had come", cases=both())
def R_4_8_6_response_that_fails_halfway(b, role):
    """The ULP deregisters a region while the device sends a Read Response from it. In the Terminate
    the size and both TOs of the copied Read Request are those of the rest that was not sent."""
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


# --- two errors in one segment ---------------------------------------------------------------

class Two:
    """Makes DDP segments of the peer with two errors each; statuses: those with which the device's
    first WRs complete when the device refuses the segment"""

    def __init__(self, link):
        self.link = link
        self.statuses = (WR_FLUSH_ERR,)
        link.verbs.do("pd other")

    def region(self, access=ALL_RIGHTS, **kw):
        return self.link.dut.mr(64, access, **kw)

    def send(self, data=b"data", receive=True, op=SEND, **kw):
        if receive:
            self.link.qp.recv(64)
        return rdmap.untagged(op, data, **{"msn": 1, **kw})

    def read(self, mr, to=None, size=8, more=b"", **kw):
        body = rdmap.read_body(Read(1, 2, size, mr.rkey, mr.start if to is None else to))
        return rdmap.untagged(READ_REQUEST, body + more, **{"msn": 1, **kw})

    def response(self, xor=0, by=0, gone=False):
        into = self.link.dut.mr(64, LOCAL_WRITE)
        self.link.qp.read(into.sge(), 0x9000, 0x99)
        read = self.link.peer.hear(READ_REQUEST).read
        if gone:
            into.destroy()
        self.statuses = (READ_FAILED,)
        return rdmap.response(read.sink_stag ^ xor, read.sink_to + by, bytes(8), last=False)

    def too_long_to_invalidate(self):
        self.statuses = (LOC_LEN_ERR,)
        return self.send(bytes(100), op=SEND_INV, inv=0x99)


WRAP = 0xfffffffffffffff8
# Pairs of errors in one DDP segment. The device must report the one that it checks first, in this
# order: length of the header, DV, RV, opcode, T, QN; then, if untagged: MSN, buffer, MO, length;
# then L of a Read Request and the region to read, or the Invalidate STag of a Send; if tagged:
# in a Read Response STag and TO of the oldest open Read, then the region to write. The order for a
# region is STag, association, right, wrap, bounds.
PAIRS = {
    "room_dv": (rdmap.UNSPECIFIED, lambda two: rdmap.write(1, 2, dv=0)[:10]),
    "room_t": (rdmap.UNSPECIFIED, lambda two: rdmap.control(WRITE, t=False) + bytes(14)),
    "dv_rv_tagged": (rdmap.TAGGED_VERSION, lambda two: rdmap.write(1, 2, dv=2, rv=3)),
    "dv_rv_untagged": (rdmap.UNTAGGED_VERSION, lambda two: two.send(dv=0, rv=2, qn=9)),
    "rv_opcode": (rdmap.RDMAP_VERSION, lambda two: rdmap.tagged(12, 1, 2, rv=2)),
    "rv_t": (rdmap.RDMAP_VERSION, lambda two: rdmap.tagged(SEND, 1, 2, bytes(28), rv=3)),
    "opcode_qn": (rdmap.OPCODE_ERROR, lambda two: two.send(op=9, qn=7)),
    "t_qn": (rdmap.OPCODE_ERROR, lambda two: two.send(op=WRITE, qn=7)),
    "t_msn": (rdmap.OPCODE_ERROR, lambda two: two.send(op=READ_RESPONSE, msn=9)),
    "qn_msn": (rdmap.UNTAGGED_QN, lambda two: two.send(qn=7, msn=9)),
    "qn_buffer": (rdmap.UNTAGGED_QN, lambda two: two.send(receive=False, qn=3)),
    "queue_msn": (rdmap.OPCODE_ERROR, lambda two: two.send(qn=1, msn=9)),
    "queue_buffer": (rdmap.OPCODE_ERROR, lambda two: two.send(receive=False, qn=2)),
    "msn_buffer": (rdmap.UNTAGGED_MSN, lambda two: two.send(receive=False, msn=9)),
    "msn_mo": (rdmap.UNTAGGED_MSN, lambda two: two.send(msn=2, mo=4)),
    "buffer_mo": (rdmap.UNTAGGED_BUFFER, lambda two: two.send(receive=False, mo=4)),
    "mo_length": (rdmap.UNTAGGED_MO, lambda two: two.send(bytes(100), mo=4)),
    "length_body": (rdmap.UNTAGGED_LENGTH, Two.too_long_to_invalidate),
    "read_msn_mo": (rdmap.UNTAGGED_MSN, lambda two: two.read(two.region(), msn=2, mo=4)),
    "read_mo_length": (rdmap.UNTAGGED_MO, lambda two: two.read(two.region(), more=b"x", mo=4)),
    "read_length_form": (rdmap.UNTAGGED_LENGTH,
                         lambda two: two.read(two.region(), more=b"x", last=False)),
    "read_form_bounds": (rdmap.UNSPECIFIED_MD,
                         lambda two: two.read(two.region(), size=65, last=False)),
    "read_association_right": (rdmap.READ_ASSOCIATION,
                               lambda two: two.read(two.region(0, pd="other"))),
    "read_right_wrap": (rdmap.READ_RIGHT, lambda two: two.read(two.region(MAY_WRITE), WRAP, 16)),
    "read_right_bounds": (rdmap.READ_RIGHT, lambda two: two.read(two.region(0), size=65)),
    "write_association_right": (rdmap.TAGGED_ASSOCIATION, lambda two: rdmap.write(
        two.region(0, pd="other").rkey, 0, b"data")),
    "write_right_wrap": (rdmap.TAGGED_STAG, lambda two: rdmap.write(
        two.region(REMOTE_READ).rkey, WRAP, bytes(16))),
    "response_stag_offset": (rdmap.TAGGED_STAG, lambda two: two.response(xor=0x100, by=8)),
    "response_offset_gone": (rdmap.TAGGED_BOUNDS, lambda two: two.response(by=8, gone=True)),
}
# Error counter of the device -> pairs of which this counter counts the error, and no other counter
COUNTED = {
    "err_SHORT": ("room_dv", "room_t"),
    "err_DV_TAGGED": ("dv_rv_tagged",),
    "err_DV_UNTAGGED": ("dv_rv_untagged",),
    "err_RV": ("rv_opcode", "rv_t"),
    "err_OPCODE": ("opcode_qn", "t_qn", "t_msn", "queue_msn", "queue_buffer"),
    "err_QN": ("qn_msn", "qn_buffer"),
    "err_MSN": ("msn_buffer", "msn_mo", "read_msn_mo"),
    "err_NO_BUFFER": ("buffer_mo",),
    "err_MO": ("mo_length", "read_mo_length"),
    "err_TOO_LONG": ("length_body", "read_length_form"),
    "err_READ_FORM": ("read_form_bounds",),
    "err_READ_PD": ("read_association_right",),
    "err_READ_RIGHT": ("read_right_wrap", "read_right_bounds"),
    "err_WRITE_PD": ("write_association_right",),
    "err_WRITE_RIGHT": ("write_right_wrap",),
    "err_RESP_STAG": ("response_stag_offset",),
    "err_RESP_BOUNDS": ("response_offset_gone",),
}


@rule("R-7.1-2: the code of the first, for 29 pairs, and the one counter of errors that moves",
      "F-4.1-5: 0/2/FF comes before a wrong version",
      "D-4.1-3: 1/1/04 and 1/2/06 come before a wrong RV",
      "R-4.1-1: 0/2/05 comes before a wrong opcode or T",
      "R-4.1-3: 0/2/06 comes before a wrong queue or number",
      "R-4.1-4: 0/2/06 comes before a wrong number and a missing buffer",
      "D-7.1-3: 1/2/03 comes before a missing buffer and a wrong MO",
      "D-7.1-4: 1/2/04 comes before a message that is too long",
      cases=both(*[(which,) for which in PAIRS]))
def R_7_1_2_two_faults_in_one_segment(b, which, role):
    """The device checks a segment in one fixed order, and reports the first error that it finds."""
    error, segment = PAIRS[which]
    name, = [name for name, pairs in COUNTED.items() if which in pairs]
    with counted_as(name):
        link = Link(b, role)
        two = Two(link)
        link.peer.ulpdu(segment(two))
        link.refused(error, statuses=two.statuses)


@rule("R-7.1-2 F-4.4-3: Terminate 2/0/02, where the header is wrong in five things", cases=both())
def R_7_1_2_crc_is_looked_at_first(b, role):
    """If the CRC is wrong, each field of the header may be wrong, too: of several errors the device
    must report only that of the CRC."""
    link = Link(b, role)
    link.peer.ulpdu(rdmap.untagged(12, msn=9, qn=9, dv=0, rv=3), check=lambda field: field[::-1])
    link.refused(rdmap.MPA_CRC)


@rule("R-7.1-2: 1/2/03 for MSN, and 1/2/02 in place of 1/2/04 for MO",
      cases=both(("msn",), ("mo",)))
def R_7_1_2_no_slot_for_a_read_that_is_wrong(b, which, role):
    """With IRD 0 there is no buffer for a Read Request. If its MSN is wrong, the device reports
    that; if its MO is wrong, it reports the missing buffer."""
    link = Link(b, role, ird=0, peer_ord=0)
    body = rdmap.read_body(Read(1, 2, 3, 4, 5))
    link.peer.ulpdu(rdmap.untagged(READ_REQUEST, body, **{"msn": 1, **{which: 4}}))
    link.refused(rdmap.UNTAGGED_MSN if which == "msn" else rdmap.UNTAGGED_BUFFER)


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
# Bodies that have a whole DDP header after the length field: the size of the header in bytes
WHOLE = {"tagged": 14, "untagged": 18, "read": 18, "r_without_request": 18, "trailing": 14}


@rule("R-4.8-8: each field, and the header if all of it is there, in the trace",
      "R-4.8-1: 13 bits that are set, and QP_FATAL all the same",
      "R-5.4-3: QP_FATAL, and the trace", cases=both(*[(which,) for which in BODIES]))
def R_4_8_8_terminate_that_is_received(b, which, role):
    """Some of the peer's Terminates have unknown codes, or copies that do not match bits M, D and
    R. The device must trace the fields that are there, and send FIN but no Terminate of its own."""
    lines = b.trace("srnic")
    link = Link(b, role)
    link.qp.recv()
    body = BODIES[which]
    link.peer.ulpdu(rdmap.terminate(body))
    link.closed_without_terminate(event="QP_FATAL")
    traced(lines, "srnic_terminate", body[6:6 + WHOLE.get(which, 0)], f"layer={body[0] >> 4} ",
           f"etype={body[0] & 15} ", f"code={body[1]:#04x} ", f"hdrct={body[2] & 0xe0:#04x} ")
    check(not link.peer.conduct.terminated, "a Terminate answers a Terminate")
