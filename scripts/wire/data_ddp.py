# SPDX-License-Identifier: GPL-2.0
"""DDP on the wire: segments, queues, buffers and STags (RFC 5041, sections 4, 5 and 7)."""

import needs
import rdmap
from harness import equal
from link import Link, both
from peer import random_octets
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, TERMINATE, WRITE
from registry import rule
from verbs import (LOC_LEN_ERR, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, SUCCESS, WR_SEND,
                   WR_WRITE)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE


def sink(link, size=64, access=MAY_WRITE, **kw):
    """Return a region with the rights `access`, by default those that let the peer write."""
    return link.dut.mr(size, access, **kw)


def source(link, size=64, **kw):
    """Return a region that the peer may read, and the random bytes that are in it."""
    mr = link.dut.mr(size, REMOTE_READ, **kw)
    data = random_octets(size)
    mr.put(data)
    return mr, data


# --- what the device sends -------------------------------------------------------------------

def message_of(link, kind, size):
    """Have the device send one Send, Write or Read Response; return the segments the peer gets."""
    data = random_octets(size)
    if kind == "send":
        link.qp.send(data)
        op = SEND
    elif kind == "write":
        link.qp.write(data, 0x4001, 0x77)
        op = WRITE
    else:
        mr = link.dut.mr(max(size, 1), REMOTE_READ)
        mr.put(data)
        link.peer.read(mr.rkey, mr.start, size)
        op = READ_RESPONSE
    at = len(link.peer.heard)
    equal(link.peer.hear_message(op), data, "what was sent")
    if kind != "response":
        link.qp.sent()
    return link.peer.heard[at:]


@rule("D-4.1-1: L of each segment, for sizes around whole segments",
      "D-4.2-1: STag and opcode of the segments of a Write and of a response",
      "D-4.3-1: QN, MSN and Invalidate STag of a Send's segments",
      "D-5.2-1: as many segments as MULPDU makes necessary, and all the data",
      cases=both(("send",), ("write",), ("response",)))
def D_4_1_1_segments_of_a_message(b, kind, role):
    """The device sends messages whose sizes are multiples of a full segment's data, or a byte less
    or more. Conduct (conduct.py) checks STag, TO, MSN and MO of each segment against the one
    before."""
    link = Link(b, role)
    room = link.mulpdu - (18 if kind == "send" else 14)
    for size in (1, room - 1, room, room + 1, 2 * room - 1, 2 * room, 2 * room + 1, 5 * room + 3):
        segments = message_of(link, kind, size)
        equal(len(segments), (size + room - 1) // room, f"segments of {size} octets")
        equal([segment.last for segment in segments], [False] * (len(segments) - 1) + [True], "L")


@rule("D-4.3-4: MO of both segments of 2048 octets", cases=both())
def D_4_3_4_offsets_of_a_send(b, role):
    link = Link(b, role)
    room = link.mulpdu - 18
    segments = message_of(link, "send", 2048)
    equal([segment.mo for segment in segments], [0, room], "MO")


@rule("D-5.2-3: TO of both segments of 2048 octets at 16384", cases=both())
def D_5_2_3_offsets_of_a_write(b, role):
    link = Link(b, role)
    data = random_octets(2048)
    link.qp.write(data, 16384, 0x1234)
    equal(link.peer.hear_message(WRITE), data, "what was written")
    equal([(segment.stag, segment.to) for segment in link.peer.heard[-2:]],
          [(0x1234, 16384), (0x1234, 16384 + link.mulpdu - 14)], "STag and TO")


@rule("D-4.3-2: MSN of each Send and Read Request, which the peer counts, and its own, which are "
      "taken", cases=both())
def D_4_3_2_message_numbers_of_each_queue(b, role):
    """Device and peer send Sends and Read Requests in turn: each of these kinds has its own MSNs.
    Conduct (conduct.py) checks the MSNs of the device."""
    link = Link(b, role)
    mr, data = source(link, 3000)
    into = link.dut.mr(3000, LOCAL_WRITE)
    for turn in range(3):
        message_of(link, "send", 3000 - turn)
        link.qp.read(into.sge(), 0x9000, 0x99)
        read = link.peer.hear(READ_REQUEST).read
        link.peer.respond(read, data, 1400)
        link.qp.sent()
        into.expect(data)
        place = link.qp.recv(3000)
        link.peer.send(data, 1000)
        link.qp.received(place, data)
        link.peer.read(mr.rkey, mr.start, 3000)
        equal(link.peer.hear_message(READ_RESPONSE), data, "response")


@rule("D-5.2-4: L and the length of a Send, a Write, a Read Request and a response", cases=both())
def D_5_2_4_messages_of_nothing(b, role):
    """The device sends a message without data as one segment with L, and completes its WR."""
    link = Link(b, role)
    link.qp.send()
    link.qp.write(b"", 0x10, 0x20)
    link.qp.read("", 0x30, 0x40)
    got = [link.peer.hear() for _ in range(3)]
    equal([(s.op, s.last, len(s.ulpdu)) for s in got],
          [(SEND, True, 18), (WRITE, True, 14), (READ_REQUEST, True, 46)], "messages")
    equal(got[2].read.size, 0, "size of the Read")
    link.peer.respond(got[2].read)
    link.qp.wait_send(3)
    link.peer.read(rdmap.MAX32, rdmap.MAX64, 0)
    equal(link.peer.hear_message(READ_RESPONSE), b"", "response")


@rule("D-5.3-1: eight messages in the order of the list, and none amid another",
      "R-5.5-13: the order in which eight posted messages come", cases=both())
def D_5_3_1_messages_leave_in_the_order_of_posting(b, role):
    """The ULP posts a list of WRs by one call: the device must send the messages in the list's
    order. Conduct (conduct.py) refuses interleaved segments of two messages."""
    link = Link(b, role)
    dut, qp = link.dut, link.qp
    sizes = [3000, 1, 0, 4000, 1442, 17, 2000, 100]
    posted, wrs = [], []
    for turn, size in enumerate(sizes):
        data = random_octets(size)
        is_write = turn % 3 == 1
        posted.append((WRITE if is_write else SEND, data))
        wrs.append(qp.wr(WR_WRITE if is_write else WR_SEND, [dut.out(data)] if data else [],
                         SIGNALED, 0x1000 * turn, turn))
    qp.post(*wrs)
    for op, data in posted:
        equal(link.peer.hear_message(op), data, "what was posted")
    equal([wc.status for wc in qp.wait_send(len(sizes))], [SUCCESS] * len(sizes), "statuses")


# --- what the device must take ---------------------------------------------------------------

@rule("D-4.1-2: Writes, Reads and a Send work with each of the bits set", cases=both())
def D_4_1_2_reserved_bits_are_ignored(b, role):
    link = Link(b, role)
    mr = sink(link)
    src, data = source(link)
    place = link.qp.recv()
    for bits in (0x04, 0x08, 0x10, 0x20, 0x3c):
        link.peer.write(mr.rkey, mr.start, data, ddp_reserved=bits)
        link.peer.read(src.rkey, src.start, 64, ddp_reserved=bits)
        equal(link.peer.hear_message(READ_RESPONSE), data, "response")
    link.peer.send(data, 30, ddp_reserved=0x3c)
    link.qp.received(place, data)
    mr.expect(data)
    link.works()


@rule("D-4.2-2: memory, for eight offsets and odd lengths", cases=both())
def D_4_2_2_any_offset_of_a_write(b, role):
    link = Link(b, role)
    mr = sink(link, 256)
    for shift in range(8):
        data = random_octets(17 + shift)
        link.peer.write(mr.rkey, mr.start + 24 * shift + shift, data, 5)
        link.ping()
        mr.expect(data, 24 * shift + shift)


@rule("D-5.2-5: traffic goes on behind Writes to STags that do not exist", cases=both())
def D_5_2_5_write_of_nothing_is_not_looked_up(b, role):
    link = Link(b, role)
    link.peer.write(rdmap.MAX32, rdmap.MAX64)
    link.peer.write(0, 0)
    link.works()


@rule("D-5.2-6 T-1: Terminate 1/1/00 for the segment with octets", cases=both())
def D_5_2_6_empty_segment_vouches_for_none_behind_it(b, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.ulpdu(rdmap.write(0xdead00, 0x1000, b"", last=False))
    link.peer.ulpdu(rdmap.write(0xdead00, 0x1000, bytes(8)))
    link.refused(rdmap.TAGGED_STAG)


@rule("D-5.2-6 T-1: memory has the good segment's octets, and traffic goes on", cases=both())
def D_5_2_6_empty_segments_before_good_ones(b, role):
    """Empty segments of a Write place nothing, and do not change what its other segments place."""
    link = Link(b, role)
    mr = sink(link)
    link.peer.ulpdu(rdmap.write(mr.rkey, mr.start, b"", last=False))
    link.peer.ulpdu(rdmap.write(mr.rkey, mr.start, b"abcd", last=False))
    link.peer.ulpdu(rdmap.write(mr.rkey, mr.start + 4, b"", last=True))
    link.ping()
    mr.expect(b"abcd")
    link.works()


@rule("D-5.3-2: a receive, a region and a sink, each whole, from mixed segments", cases=both())
def D_5_3_2_states_of_messages_are_apart(b, role):
    """The peer interleaves the segments of a Send, a Write and a Read Response: for each message
    the device must keep a state of its own, by which it places the message's segments."""
    link = Link(b, role)
    mr, into = sink(link, 200), link.dut.mr(100, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    read = link.peer.hear(READ_REQUEST).read
    data, written, response = random_octets(90), random_octets(200), random_octets(100)
    place = link.qp.recv(90)
    send = link.peer.send_segments(data, 30)
    write = link.peer.write_segments(mr.rkey, mr.start, written, 50)
    reply = link.peer.response_segments(read, response, 40)
    for ulpdu in (send[0], write[0], reply[0], write[1], send[1], reply[1], write[2], reply[2],
                  send[2], write[3]):
        link.peer.ulpdu(ulpdu)
    link.peer.conduct.answered()
    link.qp.received(place, data)
    link.qp.sent()
    link.ping()
    mr.expect(written)
    into.expect(response)


@rule("D-5.4-1: the length of five completions, from one segment up to 572", cases=both())
def D_5_4_1_length_of_a_message(b, role):
    link = Link(b, role)
    for size, cut in ((0, 1), (1, 1), (100, 33), (4000, 1442), (4000, 7)):
        data = random_octets(size)
        place = link.qp.recv(4096)
        link.peer.send(data, cut)
        link.qp.received(place, data)


@rule("D-5.3-3: the number in each of 500 messages, which the receiver compares with its own "
      "count", cases=both((500,)), soak=both((100000,)))
def D_5_3_3_each_message_once_and_in_order(b, count, role):
    needs.need("user")      # the ULP is verbs_probe, by its command "sink"
    link = Link(b, role, qp={"recvs": 64})
    place = link.dut.into(64 * 64)
    link.verbs.tell(f"sink {link.qp.name} rcq {count} 64 64 {place.mr.start + place.at:#x} "
                    f"{place.mr.lkey:#x}")
    equal(link.verbs.answer(), "SINK", "sink")
    # Never send more messages than receives are posted: verbs_probe posts 64, and then one for each
    # that completes, and reports how many have completed.
    sent = done = 0
    while done < count:
        burst = []
        while sent < count and sent - done < 64:
            burst += link.peer.send_segments(sent.to_bytes(4, "big") + bytes(sent % 61), 40)
            sent += 1
        link.peer.together(*burst)
        done = int(link.verbs.answer().split()[1])
    equal(link.verbs.answer(), "OK sink", "sink")
    place.forget()
    link.dut.nothing_completes()


# --- what the device must refuse -------------------------------------------------------------

@rule("D-4.1-3: Terminate 1/1/04, and memory", cases=both((0,), (2,), (3,)))
def D_4_1_3_version_of_a_tagged_segment(b, dv, role):
    link = Link(b, role)
    mr = sink(link)
    link.peer.write(mr.rkey, mr.start, b"data", dv=dv)
    link.refused(rdmap.TAGGED_VERSION)


@rule("D-4.1-3: Terminate 1/2/06", cases=both((0,), (2,), (3,)))
def D_4_1_3_version_of_an_untagged_segment(b, dv, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.send(b"data", dv=dv)
    link.refused(rdmap.UNTAGGED_VERSION)


@rule("D-4.3-5: Terminate 0/2/06", cases=both((SEND_INV,), (rdmap.SEND_SE,)))
def D_4_3_5_opcode_changes_within_a_send(b, op, role):
    link = Link(b, role)
    link.qp.recv().forget()
    first, second = link.peer.send_segments(b"datadata", 4)
    link.peer.ulpdu(first)
    link.peer.ulpdu(rdmap.untagged(op, b"data", msn=1, mo=4, inv=0))
    link.refused(rdmap.OPCODE_ERROR)


@rule("D-4.3-5: the receive has both segments", cases=both())
def D_4_3_5_first_segment_counts(b, role):
    """The two segments of a Send differ in the field for the Invalidate STag, which is reserved in
    a Send: the device, which receives the Send, must ignore this field."""
    link = Link(b, role)
    place = link.qp.recv()
    msn = link.peer.next_msn(0)
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=msn, inv=0x11, last=False))
    link.peer.ulpdu(rdmap.untagged(SEND, b"more", msn=msn, mo=4, inv=0x22))
    link.qp.received(place, b"datamore")


@rule("D-7.1-1: Terminate 1/2/01, and the receive, which is flushed",
      cases=both((3,), (4,), (0xffffffff,)))
def D_7_1_1_queue_that_is_not(b, qn, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.send(b"data", qn=qn)
    link.refused(rdmap.UNTAGGED_QN)


@rule("D-7.1-2: Terminate 1/2/02", cases=both((1,), (1000,)))
def D_7_1_2_send_without_a_receive(b, size, role):
    link = Link(b, role)
    link.peer.send(bytes(size))
    link.refused(rdmap.UNTAGGED_BUFFER)


@rule("D-7.1-2: the first Send's receive, and Terminate 1/2/02 for the second", cases=both())
def D_7_1_2_the_second_send_has_no_receive(b, role):
    link = Link(b, role)
    place = link.qp.recv()
    link.peer.together(*link.peer.send_segments(b"one"), *link.peer.send_segments(b"two"))
    link.qp.received(place, b"one")
    link.refused(rdmap.UNTAGGED_BUFFER)


@rule("D-7.1-2: Terminate 1/2/02, and another QP, which works on", cases=both())
def D_7_1_2_shared_receive_queue_is_empty(b, role):
    link = Link(b, role)
    other = b.another()
    dut = link.dut
    dut.srq("srq")
    second = Link(other, role, dut=dut, name="2", qp={"srq": "srq"})
    second.peer.send(b"data")
    second.refused(rdmap.UNTAGGED_BUFFER)
    link.works()


@rule("D-7.1-6: Terminate 1/2/02", cases=both())
def D_7_1_6_send_of_nothing_without_a_receive(b, role):
    link = Link(b, role)
    link.peer.send()
    link.refused(rdmap.UNTAGGED_BUFFER)


@rule("D-7.1-6: Terminates 1/2/01, 1/2/03 and 1/2/04",
      cases=both(("qn", 7, rdmap.UNTAGGED_QN), ("msn", 2, rdmap.UNTAGGED_MSN),
                 ("mo", 1, rdmap.UNTAGGED_MO)))
def D_7_1_6_send_of_nothing_is_checked(b, field, value, error, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.send(**{field: value})
    link.refused(error)


@rule("D-7.1-3: Terminate 1/2/03 where 2 is due",
      cases=both((0,), (1,), (3,), (4,), (rdmap.MAX32,)))
def D_7_1_3_number_of_a_send(b, msn, role):
    """After a Send with MSN 1 the device must refuse a Send with any MSN but 2."""
    link = Link(b, role)
    link.ping()
    link.qp.recv()
    link.peer.send(b"data", msn=msn)
    link.refused(rdmap.UNTAGGED_MSN)


@rule("D-7.1-3: Terminate 1/2/03 where 1 is due", cases=both((0,), (2,)))
def D_7_1_3_number_of_a_read_request(b, msn, role):
    link = Link(b, role)
    mr, _ = source(link)
    link.peer.read(mr.rkey, mr.start, 8, good=False, msn=rdmap.MAX32 + 1 if msn == 0 else msn)
    link.refused(rdmap.UNTAGGED_MSN)


@rule("D-7.1-3: Terminate 1/2/03, though a second receive is there", cases=both())
def D_7_1_3_number_changes_within_a_send(b, role):
    link = Link(b, role)
    link.qp.recv().forget()
    link.qp.recv()
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=1, last=False))
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=2, mo=4))
    link.refused(rdmap.UNTAGGED_MSN)


@rule("D-7.1-4: Terminate 1/2/04 for a gap, an overlap, 0 and FFFFFFF0",
      cases=both((5,), (3,), (0,), (0xfffffff0,)))
def D_7_1_4_offset_of_a_send(b, mo, role):
    """The first segment of a Send had four bytes: in the second one the device must refuse any MO
    but 4."""
    link = Link(b, role)
    link.qp.recv().forget()
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=1, last=False))
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=1, mo=mo))
    link.refused(rdmap.UNTAGGED_MO)


@rule("D-7.1-4: Terminate 1/2/04", cases=both((4,), (0xfffffff0,)))
def D_7_1_4_first_offset_of_a_send(b, mo, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.ulpdu(rdmap.untagged(SEND, b"data", msn=1, mo=mo))
    link.refused(rdmap.UNTAGGED_MO)


@rule("D-7.1-5 T-11: Terminate 1/2/05 with the header of the segment that is over, LOC_LEN_ERR, "
      "and memory around the receive", cases=both((65, 65), (64 + 65, 64), (1000, 500)))
def D_7_1_5_send_is_too_long(b, size, cut, role):
    """A Send of the peer is longer than the device's receive of 64 bytes: the first segment exceeds
    the receive, or only the second does."""
    link = Link(b, role)
    link.qp.recv(64).forget()
    link.qp.recv(64)
    ulpdus = link.peer.send_segments(bytes(size), cut)
    bad = ulpdus[64 // cut]
    for ulpdu in ulpdus:
        link.peer.ulpdu(ulpdu)
    link.refused(rdmap.UNTAGGED_LENGTH, bad, statuses=(LOC_LEN_ERR,))


STAGS = {
    "index": lambda mr: mr.rkey ^ 0x00770000,
    "key": lambda mr: mr.rkey ^ 0x01,
    "zero": lambda mr: 0,
    "ones": lambda mr: 0xffffffff,
}


@rule("D-7.1-7: Terminate 1/1/00, and memory", cases=both(*[(which,) for which in STAGS]))
def D_7_1_7_write_to_no_valid_stag(b, which, role):
    link = Link(b, role)
    mr = sink(link)
    link.peer.write(STAGS[which](mr), mr.start, b"data")
    link.refused(rdmap.TAGGED_STAG)


@rule("D-7.1-7: Terminate 1/1/00, and memory, which has the octets of before", cases=both())
def D_7_1_7_write_to_a_stag_of_the_past(b, role):
    link = Link(b, role)
    mr = sink(link)
    link.peer.write(mr.rkey, mr.start, b"data")
    link.ping()
    mr.expect(b"data")
    mr.destroy()
    link.peer.write(mr.rkey, mr.start, b"late")
    link.refused(rdmap.TAGGED_STAG)


@rule("D-7.1-8: Terminate 1/1/02, and memory", cases=both())
def D_7_1_8_write_to_another_protection_domain(b, role):
    link = Link(b, role)
    link.verbs.do("pd other")
    mr = sink(link, pd="other")
    link.peer.write(mr.rkey, mr.start, b"data")
    link.refused(rdmap.TAGGED_ASSOCIATION)


@rule("D-7.1-9: Terminate 1/1/00, and memory, for four sets of rights",
      cases=both((0,), (LOCAL_WRITE,), (REMOTE_READ,), (LOCAL_WRITE | REMOTE_READ,)))
def D_7_1_9_write_without_the_right(b, access, role):
    link = Link(b, role)
    mr = sink(link, access=access)
    link.peer.write(mr.rkey, mr.start, b"data")
    link.refused(rdmap.TAGGED_STAG)


@rule("D-7.1-10: Terminate 1/1/01, and memory in and around the region",
      cases=both((-1, 1), (-1, 2), (64, 1), (63, 2), (0, 65), (-64, 64), (4096, 1)))
def D_7_1_10_write_out_of_bounds(b, at, size, role):
    link = Link(b, role)
    mr = sink(link, shift=64)   # so that no offset wraps, where that is the offset in a page
    link.peer.write(mr.rkey, mr.start + at, bytes(size))
    link.refused(rdmap.TAGGED_BOUNDS)


@rule("D-7.1-10: memory, to the first octet and to the last",
      cases=both((1,), (64,), (4096,), (10000,)))
def D_7_1_10_write_of_all_there_is(b, size, role):
    """The peer may write to the first byte of a region, to the last, and to all bytes."""
    link = Link(b, role)
    mr = sink(link, size, shift=4096 - 33)
    data = random_octets(size)
    link.peer.write(mr.rkey, mr.start, data[:1])
    link.peer.write(mr.rkey, mr.start + size - 1, data[-1:])
    link.ping()
    mr.expect(data[:1])
    mr.expect(data[-1:], size - 1)
    data = random_octets(size)
    link.peer.write(mr.rkey, mr.start, data, 1400)
    link.ping()
    mr.expect(data)


@rule("D-7.1-11 T-11: Terminate 1/1/03", cases=both((8,), (16,), (7 + 8,)))
def D_7_1_11_write_that_wraps(b, size, role):
    link = Link(b, role)
    mr = sink(link)
    link.peer.write(mr.rkey, 0xfffffffffffffff8, bytes(size))
    link.refused(rdmap.TAGGED_WRAP)


@rule("D-7.1-11: memory, of a Write that ends 16 octets before 2^64",
      "D-7.1-10: Terminate 1/1/01 for one octet behind the region", cases=both())
def D_7_1_11_addresses_at_the_end_of_the_space(b, role):
    """A Write to TOs just below 2^64 is placed if it ends within its region, as its TO plus length
    does not wrap."""
    link = Link(b, role)
    top = 0xfffffffffffff000
    mr = sink(link, 0xff0, shift=0, iova=top)
    link.peer.write(mr.rkey, top + 0xfe0, b"0123456789abcdef")
    link.ping()
    mr.expect(b"0123456789abcdef", 0xfe0)
    link.peer.write(mr.rkey, top + 0xfef, b"xy")
    link.refused(rdmap.TAGGED_BOUNDS)


@rule("D-7.1-12 T-22: Terminate 1/1/00 for the second, and memory with the first alone",
      cases=both())
def D_7_1_12_region_goes_between_two_segments(b, role):
    link = Link(b, role)
    mr = sink(link)
    first, second = link.peer.write_segments(mr.rkey, mr.start, b"gooddead", 4)
    link.peer.ulpdu(first)
    link.ping()
    mr.expect(b"good")
    mr.destroy()
    link.peer.ulpdu(second)
    link.refused(rdmap.TAGGED_STAG)


@rule("D-7.1-13 F-8-5: memory, and a flushed receive, though five good segments follow",
      "R-7.1-2: the code of the first fault, though a second follows", cases=both())
def D_7_1_13_good_segments_behind_a_bad_one(b, role):
    """The peer sends a bad segment, then good ones and another bad one, by one write to TCP, and
    then further good ones. The device places none of them; its Terminate reports the first
    error."""
    link = Link(b, role)
    mr = sink(link)
    link.qp.recv()
    bad = rdmap.write(mr.rkey ^ 1, mr.start, b"bad")
    good = rdmap.write(mr.rkey, mr.start, b"good")
    link.peer.together(bad, good, *link.peer.send_segments(b"good"),
                       rdmap.untagged(SEND, b"", msn=9, qn=8))
    for _ in range(3):
        link.peer.ulpdu(good)
    link.refused(rdmap.TAGGED_STAG, bad)


@rule("D-7.1-12: Terminate 1/1/00 for another STag in the second, and the first one's octets",
      cases=both())
def D_7_1_12_each_segment_is_checked_for_itself(b, role):
    """The second segment of a Write has the STag of another region, which the peer may not write:
    the device must refuse this segment, though the first one was good."""
    link = Link(b, role)
    mr, mute = sink(link), sink(link, access=LOCAL_WRITE)
    link.peer.ulpdu(rdmap.write(mr.rkey, mr.start, b"good", last=False))
    link.peer.ulpdu(rdmap.write(mute.rkey, mute.start, b"bad"))
    link.refused(rdmap.TAGGED_STAG)
    mr.expect(b"good")


@rule("D-7.1-3: QP_FATAL for MSN 2, and no Terminate", cases=both())
def D_7_1_3_terminate_queue_has_one_number(b, role):
    """The peer sends a Terminate with a wrong MSN: that is an error, but the device must not answer
    a Terminate by a Terminate."""
    link = Link(b, role)
    link.peer.ulpdu(rdmap.untagged(TERMINATE, bytes(4), msn=2))
    link.aborted()
