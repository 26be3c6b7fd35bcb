# SPDX-License-Identifier: GPL-2.0
"""Access control: what a peer may read and write, by STag, bounds, rights and Protection Domain,
and how a process is kept from other processes' rings and QPs (RFC 5040, sections 7.2 and 8.1)."""

import errno
import re
import subprocess

import mpa
import needs
import rdmap
import rings
from harness import SLOW, check, equal, poll
from kernel import SlowPoint, counted_as, lines_of
from link import ACCESS, Link, both
from peer import random_octets
from rdmap import READ_RESPONSE, Read
from registry import rule
from verbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, Dut, Qp, of_another_user

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE


# --- Read Requests ---------------------------------------------------------------------------

@rule("R-7.2-1: Terminate 0/1/00 with the request, for five STags",
      cases=both(("index",), ("key",), ("zero",), ("ones",), ("gone",)))
def R_7_2_1_read_of_no_valid_stag(b, which, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    if which == "gone":
        mr.destroy()
    stag = {"index": mr.rkey ^ 0x770000, "key": mr.rkey ^ 1, "zero": 0, "ones": 0xffffffff,
            "gone": mr.rkey}[which]
    link.peer.read(stag, mr.start, 8, good=False)
    link.refused(rdmap.READ_STAG)


@rule("R-7.2-2 R-8.1.1-1: Terminate 0/1/03 in place of a response", cases=both())
def R_7_2_2_read_of_another_protection_domain(b, role):
    link = Link(b, role)
    link.verbs.do("pd other")
    mr = link.dut.mr(64, REMOTE_READ, pd="other")
    link.peer.read(mr.rkey, mr.start, 8, good=False)
    link.refused(rdmap.READ_ASSOCIATION)


@rule("R-7.2-3 T-2: Terminate 0/1/02 in place of a response, for three sets of rights",
      cases=both((0,), (LOCAL_WRITE,), (MAY_WRITE,)))
def R_7_2_3_read_without_the_right(b, access, role):
    link = Link(b, role)
    mr = link.dut.mr(64, access)
    mr.put(random_octets(64))
    link.peer.read(mr.rkey, mr.start, 64, good=False)
    link.refused(rdmap.READ_RIGHT)


@rule("R-7.2-4: Terminate 0/1/01 for one octet in front, behind and over",
      cases=both((-1, 1), (-1, 2), (64, 1), (63, 2), (0, 65), (4096, 4096)))
def R_7_2_4_read_out_of_bounds(b, at, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start + at, size, good=False)
    link.refused(rdmap.READ_BOUNDS)


@rule("R-7.2-4: the whole region, its first octet and its last, in responses",
      cases=both((1,), (64,), (4097,), (20000,)))
def R_7_2_4_read_of_all_there_is(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(size, REMOTE_READ, shift=4096 - 21)
    data = random_octets(size)
    mr.put(data)
    for at, part in ((0, size), (0, 1), (size - 1, 1)):
        link.peer.read(mr.rkey, mr.start + at, part)
        equal(link.peer.hear_message(READ_RESPONSE), data[at:at + part], "response")


@rule("R-7.2-5 T-11: Terminate 0/1/04", cases=both((8,), (16,), (0xffffffff,)))
def R_7_2_5_read_that_wraps(b, size, role):
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    link.peer.read(mr.rkey, 0xfffffffffffffff8, size, good=False)
    link.refused(rdmap.READ_WRAP)


@rule("R-7.2-5: a response with 16 octets from the end of the region, near 2^64",
      "R-7.2-4: Terminate 0/1/01 for one octet more", cases=both())
def R_7_2_5_addresses_at_the_end_of_the_space(b, role):
    link = Link(b, role)
    top = 0xfffffffffffff000
    mr = link.dut.mr(0xff0, REMOTE_READ, shift=0, iova=top)
    data = random_octets(0xff0)
    mr.put(data)
    link.peer.read(mr.rkey, top + 0xfe0, 16)
    equal(link.peer.hear_message(READ_RESPONSE), data[-16:], "response")
    link.peer.read(mr.rkey, top + 0xfe1, 16, good=False)
    link.refused(rdmap.READ_BOUNDS)


@rule("R-7.2-1: the Terminate has the header of the third request, though a fourth follows",
      "R-6.2.1-1: the Terminate of the third of four Reads, compared whole", cases=both())
def R_7_2_1_failed_read_behind_good_ones(b, role):
    """The third of the peer's four Read Requests has a bad STag: the device's Terminate must have
    the header of the third, and the fourth, which is good, gets no Read Response."""
    link = Link(b, role)
    mr = link.dut.mr(64, REMOTE_READ)
    data = random_octets(64)
    mr.put(data)
    good = [link.peer.read_segment(Read(n, n, 64, mr.rkey, mr.start)) for n in range(2)]
    bad = link.peer.read_segment(Read(5, 5, 64, mr.rkey ^ 1, mr.start), good=False)
    behind = link.peer.read_segment(Read(6, 6, 64, mr.rkey, mr.start), good=False)
    link.peer.together(*good, bad, behind)
    link.refused(rdmap.READ_STAG, bad)


# Error counter of the device -> what the peer sends to make the device count that error. The region
# `mr` allows remote Reads and Writes.
COUNTED = {
    "err_WRITE_STAG": lambda peer, mr: peer.write(mr.rkey ^ 1, mr.start, b"x"),
    "err_WRITE_BOUNDS": lambda peer, mr: peer.write(mr.rkey, mr.start + 64, b"x"),
    "err_WRITE_WRAP": lambda peer, mr: peer.write(mr.rkey, (1 << 64) - 1, b"xyz"),
    "err_READ_STAG": lambda peer, mr: peer.read(mr.rkey ^ 1, mr.start, 1, good=False),
    "err_READ_BOUNDS": lambda peer, mr: peer.read(mr.rkey, mr.start + 64, 1, good=False),
    "err_READ_WRAP": lambda peer, mr: peer.read(mr.rkey, (1 << 64) - 1, 3, good=False),
    "err_RESP_NONE": lambda peer, mr: peer.ulpdu(rdmap.response(mr.rkey, mr.start, b"x")),
    "err_INV_STAG": lambda peer, mr: peer.send(op=rdmap.SEND_INV, inv=mr.rkey ^ 1),
    "err_CRC": lambda peer, mr: peer.ulpdu(rdmap.write(mr.rkey, mr.start, b"x"),
                                           check=lambda field: field[::-1]),
}


@rule(cases=both(*[(name,) for name in COUNTED]))
def counter_of_an_error(b, name, role):
    """One error of the peer adds 1 to the counter of that error, and to no other error counter."""
    with counted_as(name):
        link = Link(b, role)
        mr = link.dut.mr(64, MAY_WRITE | REMOTE_READ)
        link.qp.recv().forget()
        COUNTED[name](link.peer, mr)
        link.peer.hear_terminate()
        link.peer.hear_end()
        link.close()
        link.disconnected()


# --- memory ----------------------------------------------------------------------------------

@rule("R-8.1.1-1: all memory around a region into which six Writes went", cases=both())
def R_8_1_1_1_not_an_octet_beside_the_buffer(b, role):
    """The peer sends six Writes to one region. When the test ends, verbs.Dut.end() checks that the
    bytes around the region are still those from before the Writes."""
    link = Link(b, role)
    mr = link.dut.mr(300, MAY_WRITE, shift=4096 - 150)
    for at, size in ((0, 300), (0, 1), (299, 1), (149, 2), (150, 1), (1, 298)):
        data = random_octets(size)
        link.peer.write(mr.rkey, mr.start + at, data, 97)
        link.ping()
        mr.expect(data, at)


@rule("R-8.1.1-1 D-7.1-8: Terminate 1/1/02, and both regions' memory", cases=both())
def R_8_1_1_1_each_connection_has_its_domain(b, role):
    """A process has two QPs in two PDs: the peer of each QP may write only to regions of that QP's
    PD."""
    link = Link(b, role)
    link.verbs.do("pd other")
    mine, others = link.dut.mr(64, MAY_WRITE), link.dut.mr(64, MAY_WRITE, pd="other")
    other = Link(b.another(), role, dut=link.dut, name="2", qp={"pd": "other"})
    other.peer.write(others.rkey, others.start, b"good")
    link.peer.write(mine.rkey, mine.start, b"good")
    link.ping()
    other.pong()
    mine.expect(b"good")
    link.peer.write(others.rkey, others.start, b"bad")
    link.refused(rdmap.TAGGED_ASSOCIATION)
    others.expect(b"good")
    other.pong()


@rule("R-8.1.1-4: the code of the Terminate",
      "R-8.1.1-6 T-22: what the program puts there behind the very call stays", cases=both())
def R_8_1_1_6_no_octet_after_the_region_is_gone(b, role):
    """While the peer floods a region with Writes, the ULP deregisters the region, and fills its
    memory as soon as ibv_dereg_mr() returns. No Write may change the memory after that."""
    link = Link(b, role)
    mr = link.dut.mr(60000, MAY_WRITE)
    segments = link.peer.write_segments(mr.rkey, mr.start, b"\x11" * 60000, 1400)
    octets = b"".join(link.peer.make(ulpdu) for ulpdu in segments)
    link.peer.raw(octets)
    link.verbs.tell(f"revoke {mr.name} 0xee")
    try:
        for _ in range(20):
            link.peer.raw(octets)
    except OSError:
        pass
    equal(link.verbs.answer(), "OK revoke", "answer")
    try:
        link.peer.raw(octets)
    except OSError:
        pass
    check(link.peer.hear_terminate().body in
          {rdmap.terminate_body(rdmap.TAGGED_STAG, ulpdu) for ulpdu in segments}, "Terminate")
    link.peer.hear_end()
    link.ended(ACCESS)
    mr.expect(b"\xee" * 60000)


@rule("R-8.1.1-6 T-22: deregistered between the check of a Write and its octets, which take their "
      "time: what the program puts there behind the call stays",
      cases=both())
def R_8_1_1_6_deregistration_waits_for_who_places(b, role):
    link = Link(b, role)
    mr = link.dut.mr(4096, MAY_WRITE)
    slow = SlowPoint(b, "srnic_place_bytes", 500 * SLOW)
    with link.peer.writing(mr.rkey, mr.start, b"\x11" * 4096):
        check(poll(slow.is_in, step=0.01), "nothing is placed")
        slow.end()
        link.verbs.do(f"revoke {mr.name} 0xee")
    link.works()
    mr.expect(b"\xee" * 4096)


@rule("R-8.1.1-6: deregistered while the bytes of a response are read from the region, which takes "
      "its time: the response has what was there before the call", cases=both())
def R_8_1_1_6_deregistration_waits_for_who_reads(b, role):
    """All the response fits in one FPDU: after the call the sender would read no second one."""
    link = Link(b, role)
    mr = link.dut.mr(1000, REMOTE_READ)
    data = random_octets(1000)
    mr.put(data)
    slow = SlowPoint(b, "srnic_hold_read", 500 * SLOW)
    link.peer.read(mr.rkey, mr.start, 1000)
    check(poll(slow.is_in, step=0.01), "nothing is read")
    slow.end()
    link.verbs.do(f"revoke {mr.name} 0xee")
    equal(link.peer.hear_message(READ_RESPONSE), data, "response")
    link.works()
    mr.expect(b"\xee" * 1000)


@rule("R-8.1.1-4: memory and a response by three STags of the same octets, and Terminate 0/1/01 "
      "for one octet more", cases=both())
def R_8_1_1_4_rights_are_of_the_region(b, role):
    """The same bytes are registered three times: each STag gives only the rights and bounds of its
    own registration."""
    link = Link(b, role)
    dut = link.dut
    offset = dut.memory.allocate(64)
    reader = dut.mr(64, REMOTE_READ, offset=offset)
    writer = dut.mr(64, MAY_WRITE, offset=offset)
    part = dut.mr(8, MAY_WRITE | REMOTE_READ, offset=offset + 8)
    link.peer.write(writer.rkey, writer.start, b"x" * 64)
    link.peer.write(part.rkey, part.start, b"y" * 8)
    want = b"x" * 8 + b"y" * 8 + b"x" * 48
    link.peer.read(reader.rkey, reader.start, 64)
    equal(link.peer.hear_message(READ_RESPONSE), want, "response")
    writer.expect(want)
    link.peer.read(part.rkey, part.start, 9, good=False)
    link.refused(rdmap.READ_BOUNDS)


@rule("R-8.1.1-8: 1000 STags: how many differ, their keys, how many indices are near the one "
      "before, and how many above it", cases=[()])
def R_8_1_1_8_stags_are_hard_to_guess(b):
    """A peer must not be able to guess an STag from others: 1000 new STags must have no pattern."""
    link = Link(b, "responder")
    offset = link.dut.memory.allocate(64)
    # The regions stay registered: otherwise the index that was freed last might always be the next one.
    stags = [link.dut.mr(64, 0, offset=offset).rkey for _ in range(1000)]
    check(len(set(stags)) > 990, f"{len(set(stags))} STags of 1000 registrations")
    check(0 not in {stag >> 8 for stag in stags}, "index 0 is in use")
    keys = {stag & 0xff for stag in stags}
    check(len(keys) > 128, f"{len(keys)} keys")
    steps = [(second >> 8) - (first >> 8) for first, second in zip(stags, stags[1:])]
    near = sum(abs(step) <= 16 for step in steps)
    check(near < 10, f"{near} of 999 indices are next to the one before")
    ascending = sum(step > 0 for step in steps)
    check(350 < ascending < 650, f"{ascending} of 999 indices are above the one before")


@rule("R-8.1.1-10: Terminate 0/2/07, CQ_ERR and QP_FATAL; another QP works",
      "R-4.8-7: the DDP header of the Send that did not complete, in the Terminate", cases=both((2,), (4,)))
def R_8_1_1_10_completion_queue_overflows(b, cqes, role):
    """A CQ overflows: the QP that uses this CQ fails, and a QP with another CQ works on."""
    link = Link(b, role)
    size = link.dut.cq("tiny", cqes)
    other = Link(b.another(), role, dut=link.dut, name="2", qp={"rcq": "tiny", "recvs": size + 2})
    for _ in range(size + 2):
        other.qp.recv().forget()
    sends = [u for n in range(size + 2) for u in other.peer.send_segments(bytes([n]))]
    other.peer.together(*sends)
    other.overflowed("tiny", sends[size])
    link.works()


@rule("R-8.1.2-1: mmap fails with EINVAL for the keys that another process alone has, for those of "
      "nobody, for too many pages, and for a private copy; a key that both have is an own ring",
      cases=[()])
def R_8_1_2_1_pages_of_others(b):
    """A process can map only the rings of its own queues: mmap fails with the key (offset) of
    another process's ring, and with a key that belongs to no ring."""
    link, other = Link(b, "responder"), Link(b.another(), "responder")
    for n in range(4):
        link.dut.cq(f"more{n}", 64)
    own = {key for _, key in other.dut.rings.values()}
    foreign = {key for _, key in link.dut.rings.values()} - own
    check(foreign, "no key is the other's alone")
    for key in foreign | {0, 0x1000, 0x7ffff000, 1 << 40}:
        other.verbs.fails(f"map_key stolen {key:#x} 4096", errno.EINVAL)
    # The same mmap key belongs to different rings in different processes. One process writes a
    # pattern to the last, still unused entry of its ring: the other process, which maps a ring by
    # the same key, must not find the pattern.
    size, key = link.dut.rings["scq.ring"]
    check(key in own, "the first keys are not the same")
    at = size - rings.CQE
    link.verbs.do(f"poke scq.ring {at} {b'pattern!'.hex()}")
    other.verbs.do(f"map_key same {key:#x} {size}")
    equal(other.verbs.do(f"peek same {at} 8"), ["DATA " + "00" * 8], "octets of an own ring")
    # A process must not map more pages than its own ring has, nor map a ring with MAP_PRIVATE.
    for size, key in other.dut.rings.values():
        other.verbs.fails(f"map_key more {key:#x} {size + 4096}", errno.EINVAL)
        other.verbs.fails(f"map_key copy {key:#x} 4096 private", errno.EINVAL)
    link.works()
    other.works()


@rule("R-8.1.2-1: EINVAL for the number of another user's QP, by connect, by accept, and by another "
      "accept of the same request; the owner's connection with it afterwards",
      cases=[("connect",), ("accept",), ("again",)])
def R_8_1_2_1_qp_of_another_user(b, call):
    """librdmacm passes a QP to the kernel by its number, so a program can pass the number of
    another user's QP: the kernel must refuse it."""
    there = b.another()
    owner, program = Dut(b), of_another_user(there)
    qp = Qp(owner, "qp", "pd", "scq", "rcq")
    if call == "connect":
        there.listen()
        program.do(f"resolve id {there.listen_address} {there.port}")
        program.fails(f"connect_number id {qp.number}", errno.EINVAL)
    else:
        program.do(f"listen listener {there.address} {there.port}")
        peer = there.dial()
        peer.send(mpa.request2(a=1, rtr=mpa.WRITE, ird=4, ord=4))
        asked = program.event("CONNECT_REQUEST").id
        if call == "again":     # rdma_accept() returns before ESTABLISHED
            program.do("pd pd")
            program.do("cq cq 4")
            own = int(program.do("qp own pd cq cq - 4 4 1 1 0 0")[0].split()[1], 0)
            program.do(f"accept_number {asked} {own}")
        program.fails(f"accept_number {asked} {qp.number}", errno.EINVAL)
        peer.recv_reply()
        program.do(f"destroy {asked}")      # else iw_cm keeps its reference on the program's own QP
    sock = b.listen()
    owner.verbs.do(f"resolve id {b.listen_address} {b.port}")
    owner.verbs.do(f"connect_number id {qp.number}")
    peer = b.take(sock)
    peer.recv_request()
    peer.send(mpa.reply(flags=mpa.R))
    owner.verbs.event("REJECTED")


UNPRIVILEGED = "setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock"


@rule("R-8.1.2-1: ENOMEM for one page more than a process may lock, and not when others have "
      "gone; an errno for memory that may not be written, is not there, or wraps", cases=[()])
def R_8_1_2_1_memory_that_a_process_may_not_lock(b):
    room = 65536
    # Two more pages are for the rings of the two CQs that Dut creates at first.
    dut = Dut(b, before=(*UNPRIVILEGED, "prlimit", f"--memlock={room + 2 * 4096}"))
    v = dut.verbs
    for turn in range(3):
        v.do(f"mr first{turn} pd memory {room} {room} {LOCAL_WRITE}")
        v.fails(f"mr second pd memory 0 4096 {LOCAL_WRITE}", errno.ENOMEM)
        v.do(f"destroy first{turn}")
    v.do("memory constant - 8192")
    v.do("protect constant")
    v.fails(f"mr written pd constant 0 8192 {LOCAL_WRITE}", errno.EFAULT)
    v.do("mr read pd constant 0 8192 0")
    v.fails(f"mr nowhere pd memory {1 << 46} 4096 {LOCAL_WRITE}", errno.EFAULT)
    v.fails(f"mr wraps pd memory 0 {(1 << 64) - 4096} {LOCAL_WRITE}", errno.EINVAL)


# Queues whose rings have 8 to 14 pages: RLIMIT_MEMLOCK of 16 pages has room for one, not for two
QUEUES = {
    "completions": "cq big 1023",
    "shared_receives": "srq big pd 512 1 0",
    "sends": "qp big pd scq rcq - 256 1 1 1 0 0",
    "receives": "qp big pd scq rcq - 1 256 1 1 0 0",
}


@rule("R-8.1.2-1: ENOMEM for a queue that is longer than a process may lock, alone and beside a region, "
      "and not when others have gone", cases=[(what,) for what in QUEUES])
def R_8_1_2_1_queues_that_a_process_may_not_lock(b, what):
    """The kernel allocates the rings of queues, and must charge them to RLIMIT_MEMLOCK: otherwise a
    process could use up all memory."""
    room = 16 * 4096
    dut = Dut(b, before=(*UNPRIVILEGED, "prlimit", f"--memlock={room}"))
    v = dut.verbs
    line = QUEUES[what]
    v.do(line)
    v.fails(line.replace("big", "second"), errno.ENOMEM)
    v.do("destroy big")
    for _ in range(3):
        v.do(f"mr region pd memory 0 {room // 2} {LOCAL_WRITE}")
        v.fails(line, errno.ENOMEM)
        v.do("destroy region")
        v.do(line)
        v.fails(f"mr region pd memory 0 {room // 2} {LOCAL_WRITE}", errno.ENOMEM)
        v.do("destroy big")


@rule(cases=[()])
def device_says_who_it_is(b):
    """ibv_devinfo and "rdma dev" show the version of the module srnic as firmware version. For
    ibv_devinfo, libsiw formats this version as three numbers."""
    caps = dict(word.split("=") for word in Dut(b).verbs.words("device"))
    version, = lines_of("/sys/module/srnic/version")
    numbers = re.match(r"\d+(\.\d+){,2}", version).group().split(".")
    equal(caps["fw"], ".".join([*numbers, "0", "0"][:3]), "firmware")
    equal((int(caps["vendor"], 0), caps["part"]), (int.from_bytes(b"srn", "big"), "1"), "vendor and part")
    said = subprocess.run(["rdma", "dev", "show", needs.Place.ib_device], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    equal(said[said.index("fw") + 1], version, "firmware of rdma dev")
    # The largest size of one region; a process has no address space of 2^47 bytes or more.
    check(1 << 30 < int(caps["mr_size"]) < 1 << 47, f"size of a region: {caps['mr_size']}")


@rule("R-8.1.2-1: EINVAL for one more than query_device says of what is in an object", cases=[()])
def R_8_1_2_1_limits(b):
    """CQs, QPs and SRQs with one entry or SGE more than the limits that ibv_query_device() reports
    are refused."""
    link = Link(b, "responder")
    v = link.verbs
    caps = dict(word.split("=") for word in v.words("device"))
    v.fails(f"cq big {int(caps['cqe']) + 1}", errno.EINVAL)
    v.fails(f"qp big pd scq rcq - {int(caps['qp_wr']) + 1} 1 1 1 0 0", errno.EINVAL)
    v.fails(f"qp big pd scq rcq - 1 {int(caps['qp_wr']) + 1} 1 1 0 0", errno.EINVAL)
    v.fails(f"qp big pd scq rcq - 1 1 {int(caps['sge']) + 1} 1 0 0", errno.EINVAL)
    v.fails(f"qp big pd scq rcq - 1 1 1 {int(caps['sge']) + 1} 0 0", errno.EINVAL)
    v.fails("qp big pd scq rcq - 1 1 1 1 100000 0", errno.EINVAL)
    v.fails(f"srq big pd {int(caps['srq_wr']) + 1} 1 0", errno.EINVAL)
    v.fails(f"srq big pd 1 {int(caps['srq_sge']) + 1} 0", errno.EINVAL)
    v.do(f"srq fits pd {caps['srq_wr']} {caps['srq_sge']} 0")
    v.do("destroy fits")
    link.works()
