# SPDX-License-Identifier: GPL-2.0
"""Verbs that only kernel ULPs can call: fast registration, invalidation, drain (see kverbs.py)."""

import ctypes
import errno
import mmap
import time

import needs
import rdmap
from device import driver_name
from harness import SLOW, check, equal, poll
from kernel import SlowPoint, hw_counter
from kverbs import (FENCE, LOCAL_WRITE, MEMORY, REMOTE_READ, REMOTE_WRITE, SIGNALED,
                    WITH_INVALIDATE, CpuGoes, KernelLink)
from link import Link, both
from peer import FIN, random_octets
from rdmap import (READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE_INV, WRITE, Read)
from registry import rule
from verbs import (INIT, LOC_PROT_ERR, LOC_QP_OP_ERR, REM_INV_REQ_ERR, RTR, WR_FLUSH_ERR,
                   of_another_user)

RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ
REMOTE_ATOMIC, MW_BIND = 8, 16


def region(link, n=0, pieces=((0, 4096),), access=RIGHTS, **kw):
    """Return region `n` of kverbs, the tests' kernel ULP: mapped, then registered by IB_WR_REG_MR.
    """
    mr = link.kv.mr(n, pieces, **kw)
    link.kv.register(n, 0x100 + n, access)
    return mr


# --- fast registration -----------------------------------------------------------------------

@rule("R-8.1.1-4: memory, piece by piece, and a response of all of it",
      "D-7.1-10: Terminate 1/1/01 for one octet behind the region",
      cases=both(([(0, 4096)], 0, 0), ([(0, 8192), (12288, 100)], 0, 0),
                 ([(100, 3996), (8192, 50)], 0, 0),
                 ([(0, 4096), (8192, 4096)], 0, 300),
                 ([(7, 100), (5000, 33), (200, 1)], 1, 0)))
def R_8_1_1_4_fast_registered_region(b, pieces, type_, offset, role):
    """A region of whole pages, of pieces that begin or end within a page, with an offset into the
    scatterlist, or with gaps: Writes and Reads must access the memory of the scatterlist."""
    link = KernelLink(b, role)
    mr = region(link, pieces=pieces, type_=type_, offset=offset)
    size = sum(piece[1] for piece in pieces) - offset
    equal((mr.count, mr.size), (len(pieces), size), "what was mapped")
    data = random_octets(size)
    link.peer.write(mr.rkey, mr.start, data, 1000)
    link.ping()
    at = 0
    for start, length in pieces:
        skip = min(offset, length)
        offset -= skip
        part = data[at:at + length - skip]
        link.kv.expect(start + skip, part)
        at += len(part)
    link.peer.read(mr.rkey, mr.start, size)
    equal(link.peer.hear_message(READ_RESPONSE), data, "response")
    link.peer.write(mr.rkey, mr.start + size - 1, b"xy")
    link.refused(rdmap.TAGGED_BOUNDS, flush=())


@rule("R-8.1.1-4: the process's memory, a response, and Terminate 1/1/00 behind the "
      "deregistration", cases=both())
def R_8_1_1_4_memory_of_a_process_that_a_kernel_ulp_registers(b, role):
    """A kernel ULP calls ib_reg_user_mr(): the driver gets NULL for udata, and must not use it."""
    link = KernelLink(b, role)
    with mmap.mmap(-1, 8192) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + 100
        rkey = int(link.kv.do(f"user 0 {start:x} 5000")[0].split()[1], 0)
        data = random_octets(5000)
        link.peer.write(rkey, start, data, 1400)
        link.ping()
        equal(memory[100:5100], data, "memory of the process")
        link.peer.read(rkey, start, 5000)
        equal(link.peer.hear_message(READ_RESPONSE), data, "response")
        link.kv.do("free 0")
        link.peer.write(rkey, start, b"late")
        link.refused(rdmap.TAGGED_STAG, flush=())
        equal(memory[100:5100], data, "memory of the process")


NO_RIGHTS = {   # set of IB_ACCESS_* -> errno
    REMOTE_WRITE: errno.EINVAL,                 # without LOCAL_WRITE
    REMOTE_WRITE | REMOTE_READ: errno.EINVAL,
    REMOTE_ATOMIC: errno.EINVAL,
    LOCAL_WRITE | MW_BIND: errno.EOPNOTSUPP,
    LOCAL_WRITE | 1 << 10: errno.EOPNOTSUPP,
}


@rule("R-8.1.1-4: the errno of a registration with rights that no region can have, and a Write into "
      "one with good rights", cases=[("reg",), ("user",)])
def R_8_1_1_4_rights_that_no_region_can_have(b, how):
    """Rights that no region can have are refused with an errno, both in a registration by work
    request and in ib_reg_user_mr(); the QP works on."""
    link = KernelLink(b, "responder")
    with mmap.mmap(-1, 8192) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        mr = link.kv.mr(1, [(0, 4096)])
        for access, want in NO_RIGHTS.items():
            line = f"post reg {SIGNALED} 1 1 {access}" if how == "reg" else \
                f"user 0 {start:x} 8192 {access}"
            equal(link.kv.fails(line), want, f"errno of {line}")
        link.kv.register(1, 2, RIGHTS)
        link.peer.write(mr.rkey, mr.start, b"octets")
        link.ping()
        link.kv.expect(0, b"octets")
        link.works()


@rule("R-8.1.1-4: 40000 octets of memory, with three page sizes",
      cases=both((4096,), (16384,), (65536,)))
def R_8_1_1_4_page_size_of_a_region(b, page_size, role):
    link = KernelLink(b, role)
    mr = region(link, pieces=[(0, 40000)], page_size=page_size)
    data = random_octets(40000)
    link.peer.write(mr.rkey, mr.start, data, 1400)
    link.ping()
    link.kv.expect(0, data)


@rule("R-8.1.1-4: Terminate 1/1/00 for a Write, 0/1/02 for a Read",
      "D-7.1-9: Terminate 1/1/00 for a Write, with two sets of rights",
      cases=both(("write", REMOTE_READ), ("write", LOCAL_WRITE),
                 ("read", LOCAL_WRITE | REMOTE_WRITE), ("read", 0)))
def R_8_1_1_4_rights_of_a_fast_registered_region(b, what, access, role):
    link = KernelLink(b, role)
    mr = region(link, access=access)
    if what == "write":
        link.peer.write(mr.rkey, mr.start, b"data")
        link.refused(rdmap.TAGGED_STAG, flush=())
    else:
        link.peer.read(mr.rkey, mr.start, 8, good=False)
        link.refused(rdmap.READ_RIGHT, flush=())


@rule("D-7.1-7: Terminate 1/1/00 for a Write",
      "R-8.1.1-4: Terminate 1/1/00 for a Write, 0/1/00 for a Read",
      cases=both(("write",), ("read",)))
def D_7_1_7_region_that_is_not_registered_yet(b, what, role):
    """The region is allocated and mapped, but no IB_WR_REG_MR was posted: the device must refuse
    the peer's access to it."""
    link = KernelLink(b, role)
    mr = link.kv.mr(0, [(0, 4096)])
    if what == "write":
        link.peer.write(mr.rkey, mr.start, b"data")
        link.refused(rdmap.TAGGED_STAG, flush=())
    else:
        link.peer.read(mr.rkey, mr.start, 8, good=False)
        link.refused(rdmap.READ_STAG, flush=())


@rule("R-8.1.1-4: a Write lands before the invalidation; behind it 1/1/00 or 0/1/00",
      "D-7.1-7: 1/1/00, and memory as it was", cases=both(("write",), ("read",)))
def R_8_1_1_4_invalidated_by_its_owner(b, what, role):
    link = KernelLink(b, role)
    mr = region(link)
    link.peer.write(mr.rkey, mr.start, b"octets")
    link.ping()
    link.kv.expect(0, b"octets")
    link.kv.do(f"post inv {SIGNALED} 1 {mr.rkey}")
    link.kv.wc(1)
    if what == "write":
        link.peer.write(mr.rkey, mr.start, b"late")
        link.refused(rdmap.TAGGED_STAG, flush=())
    else:
        link.peer.read(mr.rkey, mr.start, 8, good=False)
        link.refused(rdmap.READ_STAG, flush=())


@rule("R-8.1.1-4: a Write by the new key lands, one by the old key is 1/1/00", cases=both())
def R_8_1_1_4_registered_again_with_another_key(b, role):
    """A region is invalidated, and registered with another key: the old STag stays invalid, and the
    region keeps the pages that were mapped."""
    link = KernelLink(b, role)
    mr = region(link)
    link.kv.do(f"post inv {SIGNALED} 1 {mr.rkey}")
    link.kv.wc(1)
    rkey = link.kv.key(0, (mr.rkey + 1) & 0xff)
    equal(rkey >> 8, mr.rkey >> 8, "index")
    link.kv.register(0, 2, RIGHTS)
    link.peer.write(rkey, mr.start, b"octets")
    link.ping()
    link.kv.expect(0, b"octets")
    link.peer.write(mr.rkey, mr.start, b"late")
    link.refused(rdmap.TAGGED_STAG, flush=())


@rule("R-8.1.1-4: the Write lands where the valid registration says", cases=both())
def R_8_1_1_4_mapping_does_not_disturb_what_is_registered(b, role):
    """ib_map_mr_sg() on a valid region has no effect before the region is registered again."""
    link = KernelLink(b, role)
    mr = region(link)
    link.kv.map(0, [(8192, 4096)])
    link.peer.write(mr.rkey, mr.start, b"octets")
    link.ping()
    link.kv.expect(0, b"octets")


@rule("R-8.1.1-4: a Write with the later key lands where the later mapping says", cases=both())
def R_8_1_1_4_mapped_again_before_it_is_registered(b, role):
    """A ULP that could not post what belongs to a registration gives the request up, and maps the region again for
    another one. The registration, which has waited behind a Read, must have no effect."""
    if driver_name() != "srnic":
        raise needs.Unsupported("to void a registration that was not executed when the ULP maps again")
    link = KernelLink(b, role)
    sink = region(link, 1, [(32768, 64)], access=LOCAL_WRITE)
    mr = link.kv.mr(0, [(0, 4096)])
    link.kv.do(f"post read {SIGNALED} 1 0x9000 0x99 0,64,{sink.rkey},{sink.start} ; "
               f"reg {SIGNALED | FENCE} 2 0 {RIGHTS}")
    read = link.peer.hear(READ_REQUEST).read
    link.kv.map(0, [(8192, 4096)])
    rkey = link.kv.key(0, (mr.rkey + 1) & 0xff)
    link.kv.do(f"post reg {SIGNALED} 3 0 {RIGHTS}")
    data = random_octets(64)
    link.peer.respond(read, data)
    for wr_id in 1, 2, 3:
        link.kv.wc(wr_id)
    link.kv.expect(32768, data)
    link.peer.write(rkey, mr.start, b"octets")
    link.ping()
    link.kv.expect(8192, b"octets")


def flood(link, octets):
    """Have the peer send `octets`; ignore an error, as the device may have ended the stream."""
    try:
        link.peer.raw(octets)
    except OSError:
        pass


@rule("R-8.1.1-6 T-22: what is put there within the completion stays",
      cases=both(("inv",), ("peer",)))
def R_8_1_1_6_no_octet_after_the_invalidation(b, how, role):
    """Under a flood of Writes a region is invalidated, by a work request or by the peer's Send. The
    completion handler of that work request, or of the receive, fills the region's memory at once.
    No Write may change the memory after that."""
    link = KernelLink(b, role)
    mr = region(link, pieces=[(0, 32768)])
    done = 1 if how == "inv" else 7
    link.kv.fill(done, 0, 32768, 0xee)
    segments = link.peer.write_segments(mr.rkey, mr.start, b"\x11" * 32768, 1400)
    octets = b"".join(link.peer.make(ulpdu) for ulpdu in segments)
    link.kv.do("recv 7 65000,8")
    link.peer.raw(octets * 3)
    if how == "inv":
        link.kv.do(f"post inv {SIGNALED} 1 {mr.rkey}")
    else:
        link.peer.send(op=SEND_INV, inv=mr.rkey)
    flood(link, octets)
    link.kv.wc(done)
    flood(link, octets)
    check(link.peer.hear_terminate().body in
          {rdmap.terminate_body(rdmap.TAGGED_STAG, ulpdu) for ulpdu in segments}, "Terminate")
    link.peer.hear_end()
    link.ended("QP_ACCESS_ERR", flush=(7,) if how == "inv" else ())
    link.kv.expect(0, b"\xee" * 32768)


@rule("R-8.1.1-6 T-22: invalidated between the check of a Write and its octets, which take their "
      "time: what the completion puts there stays",
      cases=both())
def R_8_1_1_6_invalidation_waits_for_who_places(b, role):
    link = KernelLink(b, role)
    mr = region(link)
    link.kv.fill(1, 0, 4096, 0xee)
    slow = SlowPoint(b, "srnic_place_bytes", 500 * SLOW)
    with link.peer.writing(mr.rkey, mr.start, b"\x11" * 4096):
        check(poll(slow.is_in, step=0.01), "nothing is placed")
        slow.end()
        link.kv.do(f"post inv {SIGNALED} 1 {mr.rkey}")
        link.kv.wc(1)
    link.works()
    link.kv.expect(0, b"\xee" * 4096)


@rule("R-8.1.1-6: invalidated by the peer while the bytes of a response are read from the region, "
      "which takes its time: the response has what was there before the completion", cases=both())
def R_8_1_1_6_invalidation_waits_for_who_reads(b, role):
    """The peer invalidates, and not the ULP: the QP's sender, which reads, would do that itself, and
    so only after it has read."""
    link = KernelLink(b, role)
    mr = region(link)
    data = random_octets(1000)
    link.kv.put(0, data)
    link.kv.fill(7, 0, 1000, 0xee)
    link.kv.do(f"recv 7 {MEMORY - 64},64")
    slow = SlowPoint(b, "srnic_hold_read", 500 * SLOW)
    link.peer.read(mr.rkey, mr.start, 1000)
    check(poll(slow.is_in, step=0.01), "nothing is read")
    slow.end()
    link.peer.send(op=SEND_INV, inv=mr.rkey)
    link.kv.wc(7)
    equal(link.peer.hear_message(READ_RESPONSE), data, "response")
    link.works()
    link.kv.expect(0, b"\xee" * 1000)


# --- invalidation by the peer ----------------------------------------------------------------

@rule("R-5.3-3: the STag in the completion, the Send's octets, and 1/1/00 for a Write behind it",
      "R-8.1.1-7: a fast-registered region is invalidated",
      cases=both(*[(op, size) for op in (SEND_INV, SEND_SE_INV)
                   for size in (0, 40)]))
def R_5_3_3_send_with_invalidate(b, op, size, role):
    """The completion of the receive has the STag that the Send has invalidated, and from then on a
    Write with this STag is refused."""
    link = KernelLink(b, role)
    before = hw_counter("remote_invalidated")
    mr = region(link)
    link.kv.do(f"recv 5 {MEMORY - 64},64")
    data = random_octets(size)
    link.peer.write(mr.rkey, mr.start, b"before")
    link.peer.send(data, 17, op=op, inv=mr.rkey)
    wc = link.kv.wc(5)
    equal((wc.length, wc.flags & WITH_INVALIDATE, wc.stag), (size, WITH_INVALIDATE, mr.rkey), "WC")
    link.kv.expect(MEMORY - 64, data)
    link.kv.expect(0, b"before")
    check(poll(lambda: hw_counter("remote_invalidated") == before + 1), "it is not counted")
    link.peer.write(mr.rkey, mr.start, b"behind")
    link.refused(rdmap.TAGGED_STAG, flush=())


@rule("R-5.3-3: the STag in the completion is the first segment's", cases=both())
def R_5_3_3_segments_name_the_first_ones_stag(b, role):
    """The receiver takes the Invalidate STag of a Send from the first segment only."""
    link = KernelLink(b, role)
    mr = region(link)
    link.kv.do(f"recv 5 {MEMORY - 64},64")
    link.peer.ulpdu(rdmap.untagged(SEND_INV, b"octe", msn=1, inv=mr.rkey, last=False))
    link.peer.ulpdu(rdmap.untagged(SEND_INV, b"ts", msn=1, mo=4, inv=0x99))
    link.peer.next_msn(0)
    equal(link.kv.wc(5).stag, mr.rkey, "STag")
    link.kv.expect(MEMORY - 64, b"octets")
    link.works()


@rule("R-5.3-5: Terminate 0/2/09, and a receive that fails",
      "T-5: Terminate 0/2/09 for a wrong key", cases=both(("key",), ("twice",), ("unregistered",)))
def R_5_3_5_invalidate_of_a_region_that_is_not_valid(b, which, role):
    link = KernelLink(b, role)
    mr = link.kv.mr(0, [(0, 4096)]) if which == "unregistered" else region(link)
    if which == "twice":
        link.kv.do(f"recv 4 {MEMORY - 64},64")
        link.peer.send(op=SEND_INV, inv=mr.rkey)
        link.kv.wc(4)
    link.kv.do(f"recv 5 {MEMORY - 64},64")
    link.peer.send(op=SEND_INV, inv=mr.rkey ^ (which == "key"))
    link.kv.forget(MEMORY - 64, 64)
    link.peer.hear_terminate_of(rdmap.CANNOT_INVALIDATE, link.peer.last)
    link.peer.hear_end()
    link.kv.async_event("QP_ACCESS_ERR")
    wc = link.kv.any_wc()
    check(wc.id == 5 and wc.status, f"{wc}")


@rule("R-5.3-5: Terminate 0/2/09, and a receive that fails, for two sets of rights",
      "R-8.1.1-7: Terminate 0/2/09 for a fast-registered region that is not for peers",
      cases=both((LOCAL_WRITE,), (0,)))
def R_8_1_1_7_invalidate_of_a_region_without_a_remote_right(b, access, role):
    """The region is valid and in the PD of the QP, but has no remote access right: the peer must
    not be able to invalidate it."""
    link = KernelLink(b, role)
    mr = region(link, access=access)
    link.kv.do(f"recv 5 {MEMORY - 64},64")
    link.kv.forget(MEMORY - 64, 64)
    link.peer.send(b"data", op=SEND_INV, inv=mr.rkey)
    link.peer.hear_terminate_of(rdmap.CANNOT_INVALIDATE, link.peer.last)
    link.peer.hear_end()
    link.kv.async_event("QP_ACCESS_ERR")
    link.kv.wc(5, REM_INV_REQ_ERR)


@rule("R-5.3-4 T-5: Terminate 0/1/09, and a Write by the owner's stream, which lands",
      cases=both(("kernel",), ("process",)))
def R_5_3_4_invalidate_of_another_domain(b, whose, role):
    """A Send with Invalidate names a region of another PD, which has to stay valid."""
    link = Link(b, role)
    link.qp.recv().forget()
    if whose == "kernel":
        other = KernelLink(b.another(), role)
        mr = region(other)
    else:
        link.verbs.do("pd other")
        mr = link.dut.mr(64, RIGHTS, pd="other")
        other = Link(b.another(), role, dut=link.dut, name="2", qp={"pd": "other"})
    link.peer.send(b"data", op=SEND_INV, inv=mr.rkey)
    link.peer.hear_terminate_of(rdmap.FOREIGN_INVALIDATE, link.peer.last)
    link.peer.hear_end()
    link.ended("QP_ACCESS_ERR", flush=False)
    wc, = link.qp.wait_recv()
    check(wc.status, f"{wc} is a success")
    other.peer.write(mr.rkey, mr.start, b"still")
    other.ping()
    if whose == "kernel":
        other.kv.expect(0, b"still")
    else:
        mr.expect(b"still")


@rule("R-8.1.1-1: Terminate 1/1/00 for a Write to the key of all memory", cases=both())
def R_8_1_1_7_key_of_all_memory_is_not_the_peers(b, role):
    """A peer cannot use the PD's local_dma_lkey, which covers all memory, as STag of a Write."""
    link = KernelLink(b, role)
    link.peer.write(link.kv.dma_key, 0xffff888000000000, b"data")
    link.refused(rdmap.TAGGED_STAG, flush=())


@rule("R-7.2-1 R-8.1.1-1: Terminate 0/1/00 in place of a response", cases=both())
def R_7_2_1_key_of_all_memory_is_not_the_peers(b, role):
    """A peer cannot use the PD's local_dma_lkey, which covers all memory, as STag of a Read."""
    link = KernelLink(b, role)
    link.peer.read(link.kv.dma_key, 0xffff888000000000, 4096, good=False)
    link.refused(rdmap.READ_STAG, flush=())


@rule("R-8.1.1-1: EOPNOTSUPP for a domain with a key of all memory for peers", cases=both())
def R_8_1_1_1_no_key_of_all_memory_for_peers(b, role):
    """The device must refuse a PD with IB_PD_UNSAFE_GLOBAL_RKEY, for which some kernel ULPs ask, as
    its key would let peers access all memory."""
    link = KernelLink(b, role)
    equal(link.kv.fails("unsafe"), errno.EOPNOTSUPP, "errno")
    link.works()


@rule("R-8.1.2-1: EINVAL for a region of 513 pieces, and not for one of 512", cases=both())
def R_8_1_2_1_pieces_of_a_region(b, role):
    link = KernelLink(b, role)
    link.kv.do("mr 0 0 512 0")
    link.kv.do("mr 1 0 512 1")
    for type_ in (0, 1):
        equal(link.kv.fails(f"mr 2 0 513 {type_}"), errno.EINVAL, "errno")
    link.works()


@rule("R-5.3-5: Terminate 0/2/09",
      "R-8.1.1-7: Terminate 0/2/09 for the key of all memory", cases=both())
def R_5_3_5_key_of_all_memory_is_not_invalidated(b, role):
    link = KernelLink(b, role)
    link.kv.do(f"recv 5 {MEMORY - 64},64")
    link.kv.forget(MEMORY - 64, 64)
    link.peer.send(b"data", op=SEND_INV, inv=link.kv.dma_key)
    link.peer.hear_terminate_of(rdmap.CANNOT_INVALIDATE, link.peer.last)


# --- work requests ---------------------------------------------------------------------------

@rule("R-8.1.1-4: the sink's octets, and 1/1/00 for a Write behind the Read's completion",
      cases=both())
def R_5_2_2_5_read_with_invalidate(b, role):
    """When a Read with local invalidation completes, its data is in the sink, and the sink's STag
    is invalid."""
    link = KernelLink(b, role)
    mr = region(link, access=LOCAL_WRITE | REMOTE_WRITE)
    link.kv.do(f"post read_inv {SIGNALED} 9 0x9000 0x99 {mr.rkey} 0,500,{mr.rkey},{mr.start}")
    segment = link.peer.hear(READ_REQUEST)
    equal(segment.read.size, 500, "size")
    data = random_octets(500)
    link.peer.respond(segment.read, data, 200)
    link.kv.wc(9)
    link.kv.expect(0, data)
    link.peer.write(mr.rkey, mr.start, b"late")
    link.refused(rdmap.TAGGED_STAG, flush=())


@rule("R-5.5-13: a Write that the Send has asked for lands: the registration was before it",
      cases=both())
def R_5_5_13_registration_and_send_in_one_list(b, role):
    """Storage ULPs post a registration and a Send with the new STag by one ib_post_send(): the peer
    may use the STag as soon as it has the Send."""
    link = KernelLink(b, role)
    mr = link.kv.mr(0, [(0, 4096)])
    for turn in range(10):
        link.kv.put(8192, bytes([turn]) * 16)
        link.kv.do(f"post reg 0 1 0 {RIGHTS} ; send {SIGNALED} 2 0 0 8192,16")
        link.peer.hear_message(SEND)
        link.peer.write(mr.rkey, mr.start, bytes([turn] * 100))
        link.kv.wc(2)
        link.ping()
        link.kv.expect(0, bytes([turn] * 100))
        link.kv.do(f"post inv {SIGNALED} 3 {mr.rkey}")
        link.kv.wc(3)


@rule("R-5.5-15 T-6: no completion of the invalidation while the Read is open",
      "R-B-3: with a fence the Read's octets land, and then both complete",
      cases=both((0,), (FENCE,)))
def R_5_5_15_invalidation_behind_a_read(b, fence, role):
    """A local invalidation of a Read's sink completes after the Read. Without a fence the Read may
    fail; with a fence the invalidation starts only when the Read is complete."""
    link = KernelLink(b, role)
    mr = region(link, access=LOCAL_WRITE)
    link.kv.do(f"post read {SIGNALED} 1 0x9000 0x99 0,64,{mr.rkey},{mr.start} ; "
               f"inv {SIGNALED | fence} 2 {mr.rkey}")
    read = link.peer.hear(READ_REQUEST).read
    link.kv.nothing_happens()
    if not fence:
        link.kv.forget(0, 64)
        link.peer.reset()
        return
    data = random_octets(64)
    link.peer.respond(read, data)
    link.kv.wc(1)
    link.kv.wc(2)
    link.kv.expect(0, data)


@rule("R-7.1-1: the whole Terminate, QP_FATAL, and the status of the work request",
      cases=both(("inv",), ("lkey",), ("reg",)))
def R_7_1_1_work_request_that_cannot_be(b, what, role):
    """A WR that invalidates an STag which does not exist, sends with a wrong lkey, or registers a
    region that is registered already, must fail, and the peer must get a Terminate."""
    link = KernelLink(b, role)
    mr = region(link)
    text, status = {
        "inv": (f"inv {SIGNALED} 1 0x12345678", LOC_QP_OP_ERR),
        "lkey": (f"send {SIGNALED} 1 0 0 0,10,{mr.rkey ^ 1},{mr.start}", LOC_PROT_ERR),
        "reg": (f"reg {SIGNALED} 1 0 {RIGHTS}", LOC_QP_OP_ERR)}[what]
    link.kv.do("post " + text)
    link.refused(rdmap.LOCAL_CATASTROPHIC, b"", statuses=(status,), flush=(1,))


@rule("R-5.1-3: the octets of Sends whose memory changed at their completion, and of a Write of "
      "two pieces", cases=both((1,), (100,), (4096,)))
def R_5_1_3_memory_of_a_slab(b, size, role):
    """Storage ULPs send headers from slab memory, and reuse it when the Send completes. After the
    completion, TCP must not refer to that memory, not even for a retransmission."""
    link = KernelLink(b, role)
    for turn in range(4):
        data = random_octets(size)
        link.kv.put(MEMORY, data)
        link.kv.do(f"post send {SIGNALED} 1 0 0 {MEMORY},{size}")
        link.kv.wc(1)
        link.kv.put(MEMORY, bytes(size))
        equal(link.peer.hear_message(SEND), data, "Send")
    link.kv.put(MEMORY, random_octets(4096))
    link.kv.put(0, random_octets(30000))
    want = link.kv.get(0, 30000) + link.kv.get(MEMORY, size)
    link.kv.do(f"post write {SIGNALED} 2 0x1000 0x77 0,30000 {MEMORY},{size}")
    equal(link.peer.hear_message(WRITE), want, "Write")
    link.kv.wc(2)


@rule("R-8.1.2-1: EINVAL for each number of a QP, by a user who has none; the ULP's own connect afterwards",
      cases=[("initiator",)])
def R_8_1_2_1_qp_of_a_kernel_ulp(b, role):
    """A kernel ULP's QP has a number before the ULP connects it. No program may connect the QP by
    that number: the test tries each number up to 63."""
    class Named(KernelLink):
        def initiator(self):
            there = self.b.another()
            there.listen()
            said = self.kv.do(f"resolve {self.b.listen_address} {self.b.port}")
            self.kv.dma_key = int(said[0].split()[1], 0)
            program = of_another_user(there)
            program.do(f"resolve id {there.listen_address} {there.port}")
            for number in range(1, 64):
                program.fails(f"connect_number id {number}", errno.EINVAL)
            super().initiator()

        def _connect(self):
            self.kv.do(f"connect {self.ird} {self.ord}")
    Named(b, role).works()


# --- drain -----------------------------------------------------------------------------------

@rule("D-6.2.2-1: each work request has completed, once and in order, when it returns",
      cases=both(("idle",), ("busy",), ("reads",), ("closed",)))
def D_6_2_2_1_drain(b, when, role):
    """When ib_drain_qp() returns, all posted WRs have completed, each once, and in order."""
    link = KernelLink(b, role)
    want = []
    if when != "idle":
        for n in range(5):
            link.kv.do(f"recv {0x20 + n} {MEMORY - 64},64")
            want.append(0x20 + n)
    sends = []
    if when == "reads":
        for n in range(8):
            link.kv.do(f"post read {SIGNALED} {n} 0 0 {64 * n},64")
            sends.append(n)
    elif when == "busy":
        for n in range(20):
            link.kv.do(f"post write {SIGNALED} {n} 0x1000 0x77 0,60000")
            sends.append(n)
    if when == "closed":
        link.peer.fin()
        link.peer.hear_end(FIN)
    link.peer.allow_cut()
    link.kv.do("drain")
    while link.kv.take():
        pass
    got = [wc.id for wc in link.kv.wcs]
    equal([n for n in got if n >= 0x20], want, "receives")
    equal([n for n in got if n < 0x20], sends, "WRs of the send queue")
    statuses = [wc.status for wc in link.kv.wcs]
    check(set(statuses) <= {0, WR_FLUSH_ERR}, f"{statuses}")
    link.kv.wcs.clear()


@rule("D-6.2.2-1: each work request has completed when it returns, and the next connection is up, while a CPU goes "
      "offline", cases=both(("end",), ("begin",)))
def D_6_2_2_1_drain_while_a_cpu_goes_offline(b, what, role):
    """A CPU that goes offline waits for block I/O, which may wait for a connection to end or to
    come up. A deadlock would follow if the connection, in turn, had to wait for this CPU."""
    link = KernelLink(b, role) if what == "end" else None
    goes = CpuGoes(b)
    link = link or KernelLink(b, role)
    link.works()
    for n in range(5):
        link.kv.do(f"recv {0x20 + n} {MEMORY - 64},64")
    link.peer.allow_cut()
    link.kv.do("drain")
    check(goes.lasts(), "it waited for the CPU")
    for n in range(5):
        link.kv.wc(0x20 + n, WR_FLUSH_ERR)
    goes.end()


@rule("D-6.2.2-1: 30 Reads of which none asks for a completion, and 20 receives, have completed when "
      "it returns, though the ULP has asked for a completion queue of 4", cases=both())
def D_6_2_2_1_drain_with_a_small_completion_queue(b, role):
    """nvmet, isert and ksmbd ask for as many CQEs as they have signaled WRs, but unsignaled WRs
    that are flushed complete, too. The device must lose no CQE, as ib_drain_qp() waits for the
    last one."""
    counted = driver_name() == "srnic"
    before = counted and hw_counter("cqe_lost")
    link = KernelLink(b, role, cq=4)
    for n in range(20):
        link.kv.do(f"recv {0x20 + n} {MEMORY - 64},64")
    for n in range(30):
        link.kv.do(f"post read 0 {n} 0 0 0,64")
    link.peer.hear(READ_REQUEST)
    link.peer.allow_cut()
    link.kv.do("drain")
    while link.kv.take():
        pass
    got = [(wc.id, wc.status) for wc in link.kv.wcs]
    equal(sorted(got), [(n, WR_FLUSH_ERR) for n in (*range(30), *range(0x20, 0x34))],
          "what has completed")
    if counted:
        equal(hw_counter("cqe_lost"), before, "cqe_lost")
    link.kv.wcs.clear()


SRQ_ROOM = 8


def shared(b, role):
    """Return a connection whose QP uses an SRQ with five receives, of wr_ids 0x20 to 0x24."""
    link = KernelLink(b, role, srq=SRQ_ROOM)
    for n in range(5):
        link.kv.do(f"recv {0x20 + n} {4096 * n},100")
    return link


@rule("R-5.3-1: four Sends take the oldest receive each, and the event comes at the limit, once, and "
      "at once if fewer are left",
      cases=both())
def R_5_3_1_shared_receives_of_a_kernel_ulp(b, role):
    link = shared(b, role)
    link.kv.do("srq_limit 3")
    for n in range(4):
        data = random_octets(10 + n)
        link.peer.send(data, 7)
        equal(link.kv.wc(0x20 + n).length, len(data), "length")
        link.kv.expect(4096 * n, data)
        if n == 2:
            link.kv.async_event("SRQ_LIMIT_REACHED")
        link.kv.nothing_happened()
    link.kv.do(f"srq_limit {SRQ_ROOM}")
    link.kv.async_event("SRQ_LIMIT_REACHED")    # fewer receives are left than the limit
    equal(link.kv.fails(f"srq_limit {SRQ_ROOM + 1}"), errno.EINVAL, "errno")


@rule("D-6.2.2-1: the half-filled receive and the work requests have completed, once, when it "
      "returns; QP_LAST_WQE_REACHED; none of the SRQ's other receives does", cases=both())
def D_6_2_2_1_drain_with_a_shared_receive_queue(b, role):
    """Newer kernels' ib_drain_qp() for a QP with an SRQ waits for the event QP_LAST_WQE_REACHED, in
    some for ten seconds, in others for a minute: the device must report this event sooner."""
    link = shared(b, role)
    link.peer.send(b"octets")
    link.kv.wc(0x20)
    link.kv.expect(0, b"octets")
    link.peer.ulpdu(link.peer.send_segments(b"halfhalf", 4)[0])
    link.peer.read(0, 0, 0)
    link.peer.hear(READ_RESPONSE)       # the device has placed all data in front of the Read
    for n in range(3):
        link.kv.do(f"post read {SIGNALED} {n} 0 0 {MEMORY - 64},64")
        link.peer.hear(READ_REQUEST)
    link.kv.forget(4096, 4)
    link.peer.allow_cut()
    start = time.monotonic()
    link.kv.do("drain")
    took = time.monotonic() - start
    check(took < 8 * SLOW, f"it took {took:.1f} s")
    link.kv.async_event("QP_LAST_WQE_REACHED")
    got = sorted((wc.id, wc.status) for wc in (link.kv.any_wc() for _ in range(4)))
    equal(got, [(n, WR_FLUSH_ERR) for n in (0, 1, 2, 0x21)], "what has completed")
    link.peer.hear_until_end()
    link.kv.event("DISCONNECTED")
    link.kv.nothing_happens()


@rule("D-6.2.2-1: the receive is flushed", cases=[("initiator",)])
def D_6_2_2_1_drain_without_a_connection(b, role):
    """A QP without a connection has no stream whose end would flush its WRs: they must be flushed
    by ib_drain_qp()."""
    class Unconnected(KernelLink):
        def initiator(self):
            said = self.kv.do(f"resolve {self.b.listen_address} {self.b.port}")
            self.kv.dma_key = int(said[0].split()[1], 0)
            self.kv.do(f"recv 1 {MEMORY - 64},64")
            self.kv.do("drain")
            self.kv.wc(1, WR_FLUSH_ERR)
    Unconnected(b, role)


@rule("D-6.2.2-1: success without effect, before ESTABLISHED and after it", cases=both())
def D_6_2_2_1_a_kernel_ulp_accepts_again(b, role):
    """rdma_accept() of a kernel ULP modifies the QP to INIT and to RTR. iw_cm lets a ULP call it
    again until it has handled ESTABLISHED. If modify_qp then failed, rdma_cm would end the
    connection and reject it, and the event of that end would crash iw_cm."""
    class Twice(KernelLink):
        def accept(self):
            super().accept()
            self.kv.do(f"accept {self.ird} {self.ord}")
    link = Twice(b, role)
    link.works()
    for state in INIT, RTR:
        link.kv.do(f"modify {state}")
    link.works()


@rule("R-5.4-3: QP_FATAL",
      "D-6.2.2-1: three completions, all flushed", cases=both())
def R_5_4_3_kernel_ulp_is_told(b, role):
    link = KernelLink(b, role)
    link.kv.do(f"recv 1 {MEMORY - 64},64")
    link.kv.do(f"post read {SIGNALED} 2 0 0 0,64 ; send {SIGNALED} 3 0 0 0,8")
    link.peer.hear(READ_REQUEST)
    link.peer.hear(SEND)
    link.peer.terminate(rdmap.READ_STAG, rdmap.read_request(Read(1, 2, 3, 4, 5), msn=1))
    link.peer.hear_end()
    link.kv.async_event("QP_FATAL")
    got = [link.kv.any_wc() for _ in range(3)]
    equal({wc.id: wc.status for wc in got}, {n: WR_FLUSH_ERR for n in (1, 2, 3)}, "statuses")
