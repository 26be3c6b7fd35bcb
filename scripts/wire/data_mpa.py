# SPDX-License-Identifier: GPL-2.0
"""MPA in Full Operation on the wire: FPDUs, CRCs, Markers, the end of a stream (RFC 5044)."""

import random
import socket
import struct
import subprocess

import fpdu
import mpa
import needs
import rdmap
from harness import LIMIT, check, equal, poll
from kernel import hw_counter
from link import FATAL, REQUEST, Link, both
from peer import FIN, random_octets
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, WRITE
from registry import rule
from sniffer import Sniffer
from storms import Ground, run
from verbs import (ERR, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, WR_FLUSH_ERR, WR_SEND, WR_WRITE,
                   Verbs)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE

# The bytes of the FPDUs in figures 5 and 6 of RFC 5044
FIGURE_5 = ("00000000" "002a4143" "00000000" "00000000" "00000001" "00000000" + "00" * 24 +
            "52239983")
FIGURE_6 = ("002a4143" "00000000" "00000000" "00000002" "00000000" "00000014" + "00" * 24 +
            "84925898")


def sink(link, size=64, **kw):
    return link.dut.mr(size, MAY_WRITE, **kw)


# --- framing ---------------------------------------------------------------------------------

@rule("F-3-1: as many FPDUs as five messages need, posted at once", cases=both())
def F_3_1_a_ulpdu_is_an_fpdu(b, role):
    """The ULP posts five Sends by one call: the device must send each short one in an FPDU of its
    own, and the long one in as few FPDUs as MULPDU allows."""
    link = Link(b, role)
    qp = link.qp
    sizes = [10, 0, 24, 5000, 1]
    qp.post(*(qp.wr(WR_SEND, [link.dut.out(bytes(size))] if size else []) for size in sizes))
    room = link.mulpdu - 18
    at = len(link.peer.fpdus)
    for size in sizes:
        link.peer.hear_message(SEND)
    equal(len(link.peer.fpdus) - at, sum(max((size + room - 1) // room, 1) for size in sizes),
          "FPDUs")
    qp.wait_send(len(sizes))


@rule("F-3-3: 64768 octets in TCP segments of 536, in memory and in a receive",
      cases=both((0, 0), (4096, 0), (0, 1), (4096, 1)))
def F_3_3_longest_fpdu_in_short_segments(b, rmem, markers, role):
    """The peer sends a Write and a Send whose ULPDU has 64768 bytes, the most that MPA allows, in
    TCP segments of 536 bytes. rmem: size of the device's TCP receive buffer, 0 for the default"""
    if rmem:
        b.put("/proc/sys/net/ipv4/tcp_rmem", f"{rmem} {rmem} {rmem}")
    link = Link(b, role, mss=536 + 12, settings={"markers": markers})
    size = fpdu.MAX_ULPDU - 14
    mr = sink(link, size)
    data = random_octets(size)
    link.peer.write(mr.rkey, mr.start, data)
    data2 = random_octets(fpdu.MAX_ULPDU - 18)
    place = link.qp.recv(len(data2))
    link.peer.send(data2)
    link.qp.received(place, data2)
    mr.expect(data)
    link.works()


@rule("F-4.1-1 F-4.4-1: figure 5 without its Marker, with a CRC computed bit by bit", cases=both())
def F_4_1_1_fpdu_of_the_rfc(b, role):
    """The device sends a Send of 24 zero bytes as its first FPDU, on a stream without Markers: that
    is the FPDU of RFC 5044, figure 5, without its Marker. As the CRC in the figure covers the
    Marker, the CRC of the device's FPDU is another one."""
    link = Link(b, role, rtr=0)
    link.qp.send(bytes(24))
    link.peer.hear(SEND)
    want = bytes.fromhex(FIGURE_5)[4:-4]
    want += struct.pack("<I", fpdu.crc32c_slowly(want))
    equal(link.peer.fpdus[-1].raw.hex(), want.hex(), "FPDU")


@rule("F-4.1-2: the whole length of each FPDU sent, and the data that come through either way",
      "F-4.1-1: ULPDU_Length of each Write sent", "F-4.1-3: the pad of each FPDU sent, which is 0",
      cases=both())
def F_4_1_2_padding(b, role):
    """Device and peer exchange Sends and Writes of all lengths modulo 4. fpdu.Reader checks that
    each pad of the device is 0."""
    link = Link(b, role)
    mr = sink(link, 256)
    for size in range(9):
        data = random_octets(size)
        link.ping(data)
        link.pong(data)
        link.qp.write(data, 0x100, 0x200)
        equal(link.peer.hear_message(WRITE), data, "what was written")
        raw = link.peer.fpdus[-1].raw
        equal((len(raw), raw[:2]), (fpdu.plain_size(14 + size) + 4, bytes([0, 14 + size])), "FPDU")
        link.qp.sent()
        link.peer.write(mr.rkey, mr.start + 16 * size, data)
        link.ping()
        mr.expect(data, 16 * size)


@rule("F-4.1-3: the data of a Send whose pad is not 0, under a CRC of that pad",
      cases=both((1,), (2,), (3,)))
def F_4_1_3_pad_is_ignored_yet_in_the_crc(b, pad, role):
    link = Link(b, role)
    data = bytes(8 - pad)
    place = link.qp.recv()
    ulpdu, = link.peer.send_segments(data)
    equal(-(len(ulpdu) + 2) % 4, pad, "octets of pad")
    link.peer.ulpdu(ulpdu, pad=b"\xff" * pad)
    link.qp.received(place, data)
    link.works()


@rule("F-4.1-3 F-4.4-3: Terminate 2/0/02 for a pad under the CRC of zeroes", cases=both())
def F_4_1_3_changed_pad_is_a_wrong_crc(b, role):
    link = Link(b, role)
    link.qp.recv()
    ulpdu, = link.peer.send_segments(b"1")
    octets = bytearray(link.peer.make(ulpdu))
    octets[-5] ^= 0xff
    link.peer.raw(octets)
    link.refused(rdmap.MPA_CRC)


@rule("F-4.1-4: Sends with three values in the field arrive; FPDUs sent have room for it",
      cases=both())
def F_4_1_4_crc_field_without_crc(b, role):
    """Without CRCs an FPDU still has the CRC field (RFC 5044, 4.1): the device accepts any four
    bytes in the field, and its own FPDUs have the field."""
    link = Link(b, role, crc=False)
    check(not link.frame.flags & mpa.C, "the device wants CRCs")
    for field in (bytes(4), b"\xff" * 4, b"junk"):
        place = link.qp.recv()
        ulpdu, = link.peer.send_segments(b"data!")
        link.peer.ulpdu(ulpdu, check=lambda _, field=field: field)
        link.qp.received(place, b"data!")
    link.works()
    mr = link.dut.mr(3000, REMOTE_READ)
    link.peer.read(mr.rkey, mr.start, 3000)
    link.peer.hear_message(READ_RESPONSE)


# ULPDUs shorter than their header: (is it tagged?, number of bytes); in ALL_RUNTS (opcode, number)
RUNTS = [(1, length) for length in (0, 1, 2, 13)] + [(0, length) for length in (2, 14, 17)]
ALL_RUNTS = [(op, length) for op in range(8) for length in range(14 if op in rdmap.TAGGED else 18)]


def runt(link, header, length):
    link.qp.recv()
    bad = header[:length]
    link.peer.ulpdu(bad)
    link.peer.ulpdu(rdmap.write(1, 2, b"behind"))
    link.refused(rdmap.UNSPECIFIED, bad)


@rule("F-4.1-5 T-20: Terminate 0/2/FF without a header, and no other for the bad Write behind it",
      cases=both(*RUNTS))
def F_4_1_5_ulpdu_shorter_than_its_header(b, tagged, length, role):
    link = Link(b, role)
    header = rdmap.write(1, 2) if tagged else rdmap.untagged(SEND, msn=1)
    runt(link, header, length)


@rule("F-4.1-5 T-20: Terminate 0/2/FF for each length of each opcode", cases=(),
      soak=both(*ALL_RUNTS))
def F_4_1_5_each_length_of_each_opcode(b, op, length, role):
    link = Link(b, role)
    header = rdmap.tagged(op, 1, 2) if op in rdmap.TAGGED else rdmap.untagged(op, msn=1)
    runt(link, header, length)


# --- CRC -------------------------------------------------------------------------------------

FLIPS = (2, 3, 4, 7, 8, 12, 16, 20, 24, 26, 28, 29, 31)      # offsets in an FPDU of 32 bytes


def flip(b, role, offset, bit):
    link = Link(b, role)
    link.qp.recv()
    ulpdu, = link.peer.send_segments(b"1234567")
    octets = bytearray(link.peer.make(ulpdu))
    octets[offset] ^= bit
    link.peer.raw(octets)
    link.refused(rdmap.MPA_CRC)


@rule("F-4.4-3: Terminate 2/0/02 for one changed bit, and the posted receive is flushed",
      "R-6.2.1-1: Terminate 2/0/02 for one changed bit",
      cases=both(*[(offset, 1) for offset in FLIPS]),
      soak=both(*[(offset, 1 << bit) for offset in range(2, 32) for bit in range(8)]))
def F_4_4_3_changed_octet(b, offset, bit, role):
    flip(b, role, offset, bit)


@rule("F-4.4-3: Terminate 2/0/02 for a length that the CRC does not belong to",
      cases=both((0,), (1,)))
def F_4_4_3_changed_length(b, offset, role):
    """If ULPDU_Length is changed, the device takes other bytes for the CRC, which do not match."""
    link = Link(b, role)
    link.qp.recv()
    ulpdu, = link.peer.send_segments(b"1234567")
    octets = bytearray(link.peer.make(ulpdu))
    octets[offset] ^= 4
    link.peer.raw(octets + bytes(2048))
    link.refused(rdmap.MPA_CRC)


@rule("F-6-1 T-10: memory while the last octet of the CRC is missing, and at the end, when it "
      "was wrong",
      "F-8-4: the Terminate, then FIN", cases=both())
def F_6_1_nothing_is_placed_before_the_crc(b, role):
    """The peer sends a Write without the last byte of its CRC, and later that byte, which is wrong.
    The device must place no byte of the Write, neither before that byte arrives nor after."""
    link = Link(b, role)
    mr = sink(link, 4096)
    octets = bytearray(link.peer.make(rdmap.write(mr.rkey, mr.start, random_octets(4000))))
    octets[-1] ^= 0x80
    link.peer.raw(octets[:-1])
    link.peer.silent()
    equal(mr.get(), bytes([0xa5]) * 4096, "memory before the CRC has come")
    link.peer.raw(octets[-1:])
    link.refused(rdmap.MPA_CRC)


@rule("F-6-1 T-10: the sink's memory, which is compared at the end", cases=both())
def F_6_1_response_with_a_wrong_crc(b, role):
    link = Link(b, role)
    into = link.dut.mr(1000, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    read = link.peer.hear(READ_REQUEST).read
    octets = bytearray(link.peer.make(rdmap.response(read.sink_stag, read.sink_to, bytes(1000))))
    octets[-1] ^= 1
    link.peer.raw(octets)
    link.refused(rdmap.MPA_CRC)


@rule("F-6-2: memory, of which a Write cut by FIN changes nothing",
      "F-8-1: QP_FATAL for FIN within an FPDU, without a Terminate",
      cases=both((1,), (2,), (15,), (16,), (100,), (1019,)))
def F_6_2_half_an_fpdu(b, size, role):
    """The peer sends the first bytes of a Write's FPDU, then FIN: the device must place no byte."""
    link = Link(b, role)
    mr = sink(link, 1000)
    link.qp.recv()
    octets = link.peer.make(rdmap.write(mr.rkey, mr.start, random_octets(1000)))
    link.peer.raw(octets[:size])
    link.peer.fin()
    link.aborted()


@rule("F-7.1.2-1: not one FPDU before the end",
      "M-7.1.2-10: nothing is sent in answer to a first FPDU that is bad",
      cases=[("crc",), ("long",)])
def F_7_1_2_1_first_fpdu_is_bad(b, how):
    """A responder must not send an FPDU before it has received a valid one (RFC 5044, 7.1.2), so it
    cannot answer a bad first FPDU by a Terminate."""
    link = Link(b, "responder", first=False)
    if how == "crc":
        octets = bytearray(link.peer.make(rdmap.write(1, 0)))
        octets[-1] ^= 1
        link.peer.raw(octets)
    else:
        link.peer.raw(b"\xff\xff" + bytes(70000))
    link.peer.hear_until_end()
    check(not link.peer.heard, f"it says {link.peer.heard}")
    link.close()
    link.qp.flushed()


FIRST = {
    "runt": (rdmap.UNSPECIFIED, b""),
    "ddp_version": (rdmap.TAGGED_VERSION, rdmap.write(1, 0, dv=2)),
    "rdmap_version": (rdmap.RDMAP_VERSION, rdmap.write(1, 0, rv=2)),
    "opcode": (rdmap.OPCODE_ERROR, rdmap.tagged(12, 1, 0)),
    "queue": (rdmap.UNTAGGED_QN, rdmap.untagged(SEND, msn=1, qn=4)),
    "stag": (rdmap.TAGGED_STAG, rdmap.write(1, 0, b"data")),
}


@rule("F-7.1.2-1: the Terminate, compared whole, and FIN",
      "R-6.2.1-1: one Terminate for each kind of fault",
      "D-4.1-3: 1/1/04 for DV 2 in a Write",
      "R-4.1-1: 0/2/05 for RV 2 in a Write", cases=[(which,) for which in FIRST])
def F_7_1_2_1_first_fpdu_is_good_for_mpa_alone(b, which):
    """The peer's first FPDU has a right CRC, but an error of DDP or RDMAP: MPA allows the
    responder, here the device, to send now, so the device must report the error in a Terminate."""
    error, ulpdu = FIRST[which]
    link = Link(b, "responder", first=False)
    link.qp.recv()
    link.peer.ulpdu(ulpdu)
    equal(link.peer.hear_terminate().body.hex(), rdmap.terminate_body(error, ulpdu).hex(),
          "Terminate")
    link.peer.hear_end()
    link.close()
    link.qp.flushed()


@rule("F-8-5: memory, which two good Writes behind a bad FPDU do not change",
      "F-8-4: the Terminate, then FIN", cases=both())
def F_8_5_nothing_behind_an_error_is_placed(b, role):
    """The device must not place good Writes that follow an FPDU with a wrong CRC, neither those in
    the same TCP segment nor later ones."""
    link = Link(b, role)
    mr = sink(link)
    bad = bytearray(link.peer.make(rdmap.write(mr.rkey, mr.start, b"bad")))
    bad[-1] ^= 1
    good = link.peer.make(rdmap.write(mr.rkey, mr.start, b"good"))
    link.peer.raw(bytes(bad) + good)
    link.peer.raw(good)
    link.refused(rdmap.MPA_CRC)


@rule("F-8-3: Terminate 2/0/02, which is no code of startup", cases=both())
def F_8_3_startup_frame_in_full_operation(b, role):
    """The peer sends an MPA Request in Full Operation: the device must take its bytes for an FPDU,
    and report the wrong CRC."""
    link = Link(b, role)
    link.peer.raw(mpa.request(b"hello") + bytes(0x4d50))
    link.refused(rdmap.MPA_CRC)


@rule(cases=both())
def counters_of_a_stream(b, role):
    """The device's hw_counters must count the FPDUs, the bytes of ULPDUs and the RTR messages that
    it sends and receives."""
    names = "tx_fpdus", "tx_octets", "tx_rtr", "rx_fpdus", "rx_octets", "rx_rtr"
    before = {name: hw_counter(name) for name in names}
    link = Link(b, role)
    link.pong(random_octets(3000))
    link.ping(random_octets(100))
    heard = [len(one.ulpdu) for one in link.peer.fpdus]
    said = [14] * (role == "responder") + [18 + 100]    # the first FPDU is the RTR message
    want = (len(heard), sum(heard), int(role == "initiator"), len(said), sum(said),
            int(role == "responder"))
    got = lambda: tuple(hw_counter(name) - before[name] for name in names)
    check(poll(lambda: got() == want), f"{got()} more, {want} expected: {names}")



LOSS = "tc", "qdisc", "replace", "dev", "lo", "root", "netem", "loss", "100%"
NO_LOSS = "tc", "qdisc", "del", "dev", "lo", "root"


@rule("F-8-1: QP_FATAL, DISCONNECTED and a flushed receive when TCP gives up", cases=both())
def F_8_1_time_out_of_tcp(b, role):
    """lo drops all packets, so that the device's TCP gets no ACK, no FIN and no RST, and gives up
    after its retransmissions: the ULP must get QP_FATAL and DISCONNECTED."""
    b.put("/proc/sys/net/ipv4/tcp_retries2", "3")
    b.may_reset = True      # TCP answers the peer's FIN for a socket that no longer exists by RST
    link = Link(b, role)
    link.works()
    link.qp.recv()
    b.things.append(lambda: subprocess.run(NO_LOSS, check=False, stderr=subprocess.DEVNULL))
    subprocess.run(LOSS, check=True)
    link.qp.send(b"nobody hears it")
    link.verbs.async_event(f"{FATAL} {link.qp.name}", 60)
    subprocess.run(NO_LOSS, check=True)
    link.disconnected()
    check(poll(lambda: link.qp.state() == ERR), f"the QP is in state {link.qp.state()}")
    link.qp.wait_send()
    equal([wc.status for wc in link.qp.wait_recv()], [WR_FLUSH_ERR], "status of the receive")
    link.verbs.nothing_happened()


def killed(link):
    needs.need("here")
    link.verbs.proc.kill()
    link.verbs.proc.wait(LIMIT)


def network_down(link):
    """Kill the ULP, verbs_probe, while the device's network interface is down. Then bring the
    interface up, so that the bytes which the device sends because of the kill reach the peer."""
    run("ip link set storm0 down")
    killed(link)
    run("ip link set storm0 up")
    link.close()


def network_gone(link):
    """Delete the network interface, and so the RDMA device. Then give the interface's IP address to
    lo, so that the bytes which the RDMA device sent last still reach the peer."""
    link.b.things.append(lambda: run("ip addr del 10.1.0.1/32 dev lo 2>/dev/null || true"))
    run("ip link delete storm1")
    run("ip addr add 10.1.0.1/32 dev lo")
    killed(link)
    link.close()


def link_deleted(link):
    run("rdma link delete siw1")
    killed(link)


ENDS_OF_THIS_SIDE = {
    "modify": lambda link: link.qp.modify(ERR),
    "destroy": lambda link: link.verbs.do(f"destroy {link.qp.name}"),
    "disconnect": lambda link: link.verbs.do(f"disconnect {link.id}"),
    "kill": killed,
    "network_down": network_down,
    "network_gone": network_gone,
    "link_deleted": link_deleted,
}


def full_write(link, size):
    """Post a Write that is longer than the peer's TCP receive window, and wait until the window is
    closed. Return all FPDUs of the Write, joined, as the device must send them."""
    data = random_octets(size)
    link.qp.write(data, 0x1000, 0x55)
    check(link.peer.wait_full(), "the window does not close")
    writer = fpdu.Writer()
    return b"".join(writer.fpdu(ulpdu) for ulpdu in
                    link.peer.write_segments(0x55, 0x1000, data, link.mulpdu - 14))


@rule("F-8-3: each octet from the last message to the end, for seven ways in which this end can "
      "end the stream: none, or those of the Write that was on its way, so no Terminate",
      cases=both(*[(how, when) for how in ENDS_OF_THIS_SIDE for when in ("idle", "amid")]))
def F_8_3_end_of_this_side(b, how, when, role):
    """The device's ULP, or the removal of the device, ends the stream. The peer may get further
    bytes of a posted Write, but no Terminate, as no error was found."""
    if how not in ("modify", "destroy", "disconnect"):
        # The ULP is killed. kverbs cannot be, and the removal of its device would wait for it.
        needs.need("user")
    ground = Ground(b)
    b.address = b.listen_address = ground.address
    b.may_reset = True      # TCP answers bytes for a socket that no longer exists by RST
    link = Link(b, role, narrow=True)
    Verbs.end_spare()       # the spare verbs_probe has this device open, which will be removed
    link.pong()
    want = full_write(link, 60000) if when == "amid" else b""
    at = len(link.peer.fpdus)
    ENDS_OF_THIS_SIDE[how](link)
    link.peer.allow_cut()
    end = link.peer.hear_until_end()
    said = b"".join(one.raw for one in link.peer.fpdus[at:]) + bytes(link.peer.inward.buffer)
    check(want.startswith(said), f"{len(said)} octets before {end}, and not those of the Write: "
          f"{said[-64:].hex()}")
    if how == "disconnect":
        equal(len(said), len(want), "octets of an end that lets out what was posted")


# --- sizes -----------------------------------------------------------------------------------

@rule("F-4.5-1: the length of a full ULPDU, against figures worked out by hand",
      cases=both((1460, 1442), (1459, 1438), (1458, 1438), (1457, 1438), (1472, 1454)))
def F_4_5_1_mulpdu(b, mss, want, role):
    link = Link(b, role, mss=mss)
    link.need_segments()
    equal(link.mulpdu, want, "MULPDU by RFC 5044 4.5")
    link.qp.send(random_octets(10000))
    link.peer.hear_message(SEND)
    equal(len(link.peer.heard[-2].ulpdu), want, "octets of a ULPDU")


@rule("F-4.5-2: the length of a full ULPDU, against figures worked out by hand",
      cases=both((1460, 1430), (1459, 1426), (8960, 8870), (1036, 1010)))
def F_4_5_2_mulpdu_with_markers(b, mss, want, role):
    link = Link(b, role, mss=mss, markers=True)
    link.need_segments()
    equal(link.mulpdu, want, "MULPDU by RFC 5044 4.5")
    link.qp.send(random_octets(30000))
    link.peer.hear_message(SEND)
    equal(len(link.peer.heard[-2].ulpdu), want, "octets of a ULPDU")


@rule("F-4.5-3 F-3-2: a full ULPDU has 128 octets on segments of 100, 130 and 146",
      cases=both((100,), (130,), (146,)))
def F_4_5_3_least_mulpdu(b, mss, role):
    """The device's MULPDU is at least 128 bytes, however short TCP's segments are."""
    link = Link(b, role, mss=mss)
    data = random_octets(1000)
    link.qp.send(data)
    equal(link.peer.hear_message(SEND), data, "what was sent")
    equal(len(link.peer.heard[-2].ulpdu), 128, "octets of a ULPDU")


@rule("F-3-2: no ULPDU above 64768 octets where TCP would take longer ones", cases=both())
def F_3_2_longest_ulpdu_that_is_sent(b, role):
    """Over loopback TCP's segments have room for longer ULPDUs than 64768 bytes: the device must
    not send longer ones, as 64768 is MPA's limit."""
    link = Link(b, role, mss=None)
    for _ in range(4):
        data = random_octets(100000)
        link.qp.send(data)
        equal(link.peer.hear_message(SEND), data, "what was sent")
        link.qp.sent()
    check(max(len(segment.ulpdu) for segment in link.peer.heard) <= fpdu.MAX_ULPDU, "too long")


def large_bit(role):
    """Return the flag by which the peer offers FPDUs longer than a TCP segment: in its Request if
    the device is the responder, else in its Reply."""
    return mpa.REQ_LARGE if role == "responder" else mpa.REP_LARGE


@rule("F-4.5-1: ULPDUs of several TCP segments, where both ends have said so, and none too long; such "
      "ones from the peer are placed", cases=both((True, 1), (False, 1), (True, 2)))
def F_4_5_1_large_fpdus_if_both_ends_say_so(b, crc, rev, role):
    link = Link(b, role, mss=1460, large=large_bit(role), says_large=True, rev=rev, crc=crc,
                settings={"large_fpdu": 1})
    for _ in range(8):
        data = random_octets(100000)
        link.qp.send(data)
        equal(link.peer.hear_message(SEND), data, "what was sent")
        link.qp.sent()
    longest = max(len(segment.ulpdu) for segment in link.peer.heard)
    check(longest > 4 * 1460, f"the longest ULPDU has {longest} octets")
    check(longest <= fpdu.MAX_ULPDU, f"a ULPDU of {longest} octets")
    data = random_octets(60000)
    place = link.qp.recv(len(data))
    link.peer.send(data)
    link.qp.received(place, data)
    link.works()


@rule("F-4.5-1: no ULPDU of more than one TCP segment where one end has not said so, or there are "
      "Markers", cases=both(
          ("silent", 1, "none"), ("allows", 0, "none"), ("echo", 1, "none"),
          ("allows", 1, "markers_in"), ("allows", 1, "markers_out")))
def F_4_5_1_no_large_fpdus_else(b, peer, own, more, role):
    """Without an offer of both ends, or with Markers, the device must send no FPDU longer than a
    TCP segment. Case "echo": the peer's Request has the flag by which a Reply offers such FPDUs, or
    its Reply that of a Request, as if the peer had copied the device's flag."""
    markers = more == "markers_out"
    bits = {"silent": 0, "allows": large_bit(role),
            "echo": large_bit("initiator" if role == "responder" else "responder")}[peer]
    settings = {"large_fpdu": own, "markers": int(more == "markers_in")}
    # With large_fpdu=1 the device offers FPDUs longer than a TCP segment in each Request in which
    # it does not set M, but in a Reply only if the connection will use such FPDUs.
    says = role == "initiator" and bool(own) and more != "markers_in"
    link = Link(b, role, mss=1460, large=bits, markers=markers, settings=settings, says_large=says)
    link.peer.conduct.mulpdu = link.mulpdu = fpdu.mulpdu(1460 - 12, markers)
    for _ in range(4):
        data = random_octets(100000)
        link.qp.send(data)
        equal(link.peer.hear_message(SEND), data, "what was sent")
        link.qp.sent()
    longest = max(len(segment.ulpdu) for segment in link.peer.heard)
    equal(longest, link.mulpdu, "octets of the longest ULPDU")
    link.works()


@rule("F-4.5-4: the longest of the last ULPDUs fits the new MTU, and all Writes arrive whole",
      cases=both())
def F_4_5_4_mulpdu_follows_the_path(b, role):
    """The MTU of lo is reduced while the device sends: the FPDUs that it has already passed to TCP
    keep their length, and later ones must fit the new MTU."""
    needs.need("here")
    link = Link(b, role, mss=None)
    mtu = subprocess.run(["cat", "/sys/class/net/lo/mtu"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip()
    b.things.append(lambda: subprocess.run(["ip", "link", "set", "lo", "mtu", mtu], check=True))
    data = random_octets(1 << 17)
    for n in range(4):
        link.qp.write(data, n << 20, 0x55)
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    for n in range(8):
        if n < 4:
            link.qp.write(data, (4 + n) << 20, 0x55)
        equal(link.peer.hear_message(WRITE), data, f"Write {n}")
    emss = 1500 - 40 - 12
    equal(max(len(segment.ulpdu) for segment in link.peer.heard[-20:]), fpdu.mulpdu(emss),
          "octets of a ULPDU")
    link.qp.wait_send(8)
    link.works()


def sizes(sniffer):
    """Yield (sequence number, length of the data) of each captured TCP segment that was sent from
    sniffer.port. A GSO packet counts as the segments into which the network device would cut it."""
    for segment in sniffer.segments():
        if segment.source == sniffer.port:
            size = len(segment.data)
            for at in range(0, size, segment.gso or size or 1):
                yield (segment.seq + at) & rdmap.MAX32, min(segment.gso or size, size - at)


def in_flight(sniffer):
    """Return how many captured segments with new data were sent from sniffer.port while data before
    them were unacknowledged."""
    sent = acked = None
    count = 0
    for segment in sniffer.segments():
        if segment.source != sniffer.port:
            acked = segment.ack
        elif segment.data and (sent is None or segment.seq == sent):
            count += acked is not None and segment.seq != acked
            sent = (segment.seq + len(segment.data)) & rdmap.MAX32
    return count


@rule("F-5.1-1: nine of ten FPDUs begin a captured TCP segment, and all but the last are full",
      cases=both())
def F_5_1_1_fpdus_begin_segments(b, role):
    """The device sends a long Write over lo, which loses no packet: all FPDUs but the last must be
    full, and nine of ten must begin a TCP segment. The peer's receive window has room for the whole
    Write: at the edge of a smaller window TCP would send a part of an FPDU."""
    b.put("/proc/sys/net/ipv4/tcp_rmem", f"4096 {1 << 20} {1 << 20}")
    link = Link(b, role)
    link.ping()
    port = link.tcp.sock.getpeername()[1]
    sniffer = Sniffer(b, port)
    size = 1 << 17
    link.qp.write(bytes(size), 0, 1)
    at = len(link.peer.fpdus)
    link.peer.hear_message(WRITE)
    link.qp.sent()
    fpdus = link.peer.fpdus[at:]
    got = sorted(sizes(sniffer))
    check(got, "no segment was seen")
    first = got[0][0]
    starts = {(seq - first) & rdmap.MAX32 for seq, _ in got}
    offset, aligned = 0, 0
    for one in fpdus:
        aligned += offset in starts
        offset += len(one.raw)
    check(aligned >= len(fpdus) * 9 // 10, f"{aligned} of {len(fpdus)} FPDUs begin a segment")
    full = sum(len(one.ulpdu) == link.mulpdu for one in fpdus)
    check(full >= len(fpdus) - 1, f"{full} of {len(fpdus)} FPDUs are full")


@rule("F-5.1-1: a captured segment that leaves before an earlier one is acknowledged",
      cases=both())
def F_5_1_1_short_messages_do_not_wait(b, role):
    """The device's TCP must not delay short messages by Nagle's algorithm, that is until the bytes
    before are acknowledged. The peer delays its acknowledgments, and sends no data with them."""
    link = Link(b, role)
    link.ping()
    sock = link.tcp.sock
    sniffer = Sniffer(b, sock.getpeername()[1])
    for n in range(40):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        for data in (bytes([n]), b"behind"):
            link.qp.send(data)
        for data in (bytes([n]), b"behind"):
            equal(link.peer.hear_message(SEND), data, "Send")
        link.qp.wait_send(2)
    check(in_flight(sniffer), "no segment left while one before it was unacknowledged")


# --- segments of TCP -------------------------------------------------------------------------

@rule("F-5.2-1: receives and memory, from a stream in segments by chance, which TCP counts",
      cases=both((5,), (44,)))
def F_5_2_1_boundaries_are_not_those_of_tcp(b, seed, role):
    """The peer's stream arrives in TCP segments of random sizes: an FPDU may extend over many
    segments, and a segment may contain many FPDUs."""
    link = Link(b, role)
    dice = random.Random(seed)
    mr = sink(link, 4000)
    stream, sends, written = b"", [], {}
    for n in range(12):
        data = dice.randbytes(dice.choice((0, 1, 3, 30, 200)))
        sends.append((link.qp.recv(256), data))
        stream += b"".join(link.peer.make(u) for u in link.peer.send_segments(data, 64))
        written[n] = dice.randbytes(dice.choice((0, 2, 100, 300)))
        stream += b"".join(link.peer.make(u) for u in
                           link.peer.write_segments(mr.rkey, mr.start + 300 * n, written[n], 111))
    while stream:
        size = dice.choice((1, 2, 3, 7, 50, 600))
        link.peer.in_pieces(stream[:size], size)
        stream = stream[size:]
    for place, data in sends:
        link.qp.received(place, data)
    link.works()
    for n, data in written.items():
        mr.expect(data, 300 * n)


@rule("F-5.2-1: a Send, a Write and both sides of a Read, from segments of 1 to 3 octets",
      "F-4.3-7: a Send, a Write and a Read of which each field is cut",
      cases=both((1,), (2,), (3,)))
def F_5_2_1_segments_of_so_many_octets(b, size, role):
    """A Write, a Read Response, a Read Request and a Send arrive in TCP segments of 1, 2 or 3
    bytes."""
    link = Link(b, role)
    mr, into = sink(link), link.dut.mr(24, LOCAL_WRITE)
    source = link.dut.mr(24, REMOTE_READ)
    source.put(b"what the peer reads here")
    link.qp.read(into.sge(), 0x9000, 0x99)
    read = link.peer.hear(READ_REQUEST).read
    place = link.qp.recv()
    ulpdus = [*link.peer.write_segments(mr.rkey, mr.start, b"12345", 3),
              *link.peer.response_segments(read, b"what the device has read", 13),
              link.peer.read_segment(rdmap.Read(0xabc, 0xdef, 24, source.rkey, source.start)),
              *link.peer.send_segments(b"a Send", 4)]
    link.peer.in_pieces(b"".join(link.peer.make(ulpdu) for ulpdu in ulpdus), size)
    link.peer.conduct.answered()
    equal(link.peer.hear_message(READ_RESPONSE), b"what the peer reads here", "response")
    link.qp.received(place, b"a Send")
    link.qp.sent()
    mr.expect(b"12345")
    into.expect(b"what the device has read")


@rule("F-5.2-1: 31 receives, of FPDUs in two segments", cases=both())
def F_5_2_1_an_fpdu_cut_at_each_octet(b, role):
    """FPDUs of 32 bytes arrive in two TCP segments each, divided behind each of the first 31 bytes
    in turn."""
    link = Link(b, role, qp={"recvs": 16})
    for cut in range(1, 32):
        place = link.qp.recv()
        octets = link.peer.make(link.peer.send_segments(b"1234567")[0])
        link.peer.in_pieces(octets[:cut], cut)
        link.peer.raw(octets[cut:])
        link.qp.received(place, b"1234567")


# --- Markers that the device sends -----------------------------------------------------------

@rule("F-4.4-1: the octets of figures 5 and 6, with their CRCs",
      "F-4.3-1: the Marker 512 octets behind the frame, in figure 6",
      "F-4.3-3: FPDUPTR 20 in figure 6", cases=both())
def F_4_4_1_figures_5_and_6(b, role):
    """As the first FPDU of a stream a Send of 24 zero bytes must have the bytes of figure 5 of
    RFC 5044; as the second one, if the first has 492 bytes, it must have those of figure 6."""
    link = Link(b, role, rtr=0, rev=1, markers=True)
    if role == "responder":
        equal(link.frame.flags & mpa.R, 0, "R")
    link.qp.send(bytes(24))
    link.peer.hear(SEND)
    equal(link.peer.fpdus[-1].raw.hex(), FIGURE_5, "figure 5")
    other = Link(b.another(), role, rtr=0, rev=1, markers=True, dut=link.dut, name="2")
    # The 492 bytes are: a Marker (4), ULPDU_Length (2), the DDP header (18), data, and the CRC (4).
    other.qp.send(bytes(492 - 4 - 2 - 18 - 4))
    other.peer.hear(SEND)
    equal(len(other.peer.fpdus[-1].raw), 492, "octets of the first FPDU")
    other.qp.send(bytes(24))
    other.peer.hear(SEND)
    equal(other.peer.fpdus[-1].raw.hex(), FIGURE_6, "figure 6")


@rule("F-4.3-1: the positions of all Markers, for own frames of eight lengths",
      cases=both(*[(size,) for size in range(8)]))
def F_4_3_1_markers_begin_behind_the_frame(b, size, role):
    """The device's first Marker directly follows its Request or Reply, whatever length that has."""
    link = Link(b, role, markers=True, dut_pd=bytes(size))
    data = random_octets(3000)
    link.qp.send(data)
    equal(link.peer.hear_message(SEND), data, "what was sent")
    at = [position for one in link.peer.fpdus for position, _ in one.markers]
    equal(at, list(range(0, link.peer.inward.position, 512)), "Markers")


@rule("F-4.3-2: silence before the first FPDU, and its Marker, which is 0",
      "M-7.1.2-13: the first octets of the first FPDU are a Marker of 0", cases=both())
def F_4_3_2_first_marker_comes_with_the_first_fpdu(b, role):
    link = Link(b, role, markers=True, rtr=0)
    link.peer.silent()
    equal(link.peer.unread(), 0, "octets before the first FPDU")
    link.pong()
    equal(link.peer.fpdus[0].markers, [(0, 0)], "Markers of the first FPDU")


@rule("F-4.3-4 F-4.3-3: each pointer, with nine and more Markers in an FPDU, and with many FPDUs "
      "to a Marker",
      "M-4.3-1: Markers at each 512 octets, which point to their FPDU", cases=both())
def F_4_3_4_markers_point_to_their_fpdu(b, role):
    """The device sends FPDUs with many Markers each, then many FPDUs between two Markers: each
    Marker must point to the FPDU in which it is. fpdu.Reader checks that."""
    link = Link(b, role, markers=True, mss=8960)
    link.need_segments()
    data = random_octets(20000)
    link.qp.send(data)
    equal(link.peer.hear_message(SEND), data, "what was sent")
    check(max(len(one.markers) for one in link.peer.fpdus) > 8, "no FPDU with 8 Markers")
    link.qp.sent()
    for _ in range(8):
        link.qp.post(*(link.qp.wr(WR_WRITE, (), raddr=1, rkey=2) for _ in range(16)))
        for _ in range(16):
            link.peer.hear(WRITE)
        link.qp.wait_send(16)


def up_to(link, distance):
    """Return data for a Send of the device: if the device sends it in its next FPDU, that FPDU ends
    `distance` bytes in front of a Marker."""
    at = link.peer.inward.position
    # header, length and CRC have 24 bytes; the FPDU may begin with a Marker
    for size in range(0, 1200, 4):
        probe = fpdu.Writer(True, True)
        probe.skip(at)
        probe.fpdu(bytes(18 + size + 2))
        if fpdu.until_marker(probe.position) == distance:
            return bytes(size + 2)
    raise AssertionError("no such size")


@rule("F-4.3-5: silence behind an FPDU that ends there, and the pointer of the next, which is 0",
      cases=both())
def F_4_3_5_marker_between_two_fpdus(b, role):
    """A Marker between two FPDUs has FPDUPTR 0, and is sent together with the second FPDU."""
    link = Link(b, role, markers=True)
    link.pong(up_to(link, 0))
    equal(link.peer.inward.position % 512, 0, "end of the FPDU")
    link.peer.silent()
    link.pong()
    equal([pointer for _, pointer in link.peer.fpdus[-1].markers], [0], "FPDUPTR")


@rule("F-4.4-2: the CRCs of FPDUs with a Marker in either place", cases=both())
def F_4_4_2_markers_at_the_edges_of_an_fpdu(b, role):
    """The CRC of an FPDU, which fpdu.Reader checks, covers a Marker directly in front of the FPDU,
    and also one between its pad and its CRC."""
    link = Link(b, role, markers=True)
    link.pong(up_to(link, 0))
    link.pong(b"12")
    equal([pointer for _, pointer in link.peer.fpdus[-1].markers], [0], "in front of it")
    link.pong(up_to(link, 24))
    link.pong(b"12")        # 2 of length, 18 of header, 2 of data and 2 of pad are 24
    equal([pointer for _, pointer in link.peer.fpdus[-1].markers], [24], "in front of the CRC")


@rule("F-4.3-8: whether the device's FPDUs have Markers, where the peer's have none",
      "M-7.1.1-5 M-7.1.1-6: Markers of the device, or none, as M of the peer says",
      cases=both((True,), (False,)))
def F_4_3_8_markers_are_of_one_direction(b, markers, role):
    link = Link(b, role, markers=markers)
    equal(link.frame.flags & mpa.M, 0, "M of the device, which does not ask for them")
    for size in (2000, 700):
        link.ping(random_octets(size))
        link.pong(random_octets(size))
    equal(any(one.markers for one in link.peer.fpdus), markers, "Markers of the device")


# --- Markers that the device receives --------------------------------------------------------

def receiving(b, role, **kw):
    """Return a connection for which the device asked for Markers, so that the peer sends them."""
    b.set(markers=1)
    link = Link(b, role, **kw)
    if not link.frame.flags & mpa.M and not needs.Place.ours:
        raise needs.Unsupported("to receive Markers")
    check(link.frame.flags & mpa.M, "the device does not ask for Markers")
    return link


def change_marker(change):
    """Return a function for the argument marker= of peer.make(): it changes the first Marker of the
    FPDU before the CRC is computed."""
    done = []

    def marker(octets):
        if done:
            return octets
        done.append(True)
        return change(octets)
    return marker


@rule("F-4.3-6: memory, receive and sink have the pattern without its Markers",
      "F-4.3-8: the device's own FPDUs, which are read as ones without Markers", cases=both())
def F_4_3_6_markers_reach_nobody(b, role):
    """The peer sends a Write, a Send and a Read Response with at least 8 Markers each: the device
    must place the data without the Markers."""
    link = receiving(b, role)
    data = random_octets(4096)
    mr, into = sink(link, 4096), link.dut.mr(4096, LOCAL_WRITE)
    link.peer.write(mr.rkey, mr.start, data)
    place = link.qp.recv(4096)
    link.peer.send(data)
    link.qp.received(place, data)
    mr.expect(data)
    link.qp.read(into.sge(), 0x9000, 0x99)
    link.peer.respond(link.peer.hear(READ_REQUEST).read, data)
    link.qp.sent()
    into.expect(data)


@rule("F-4.3-7: Sends with Markers arrive from segments of 1, 3 and 511 octets",
      "F-5.2-1: Sends of two FPDUs each", cases=both((1,), (3,), (511,)))
def F_4_3_7_markers_cut_anywhere(b, size, role):
    link = receiving(b, role)
    data = random_octets(700)
    for _ in range(3):
        place = link.qp.recv(700)
        octets = b"".join(link.peer.make(u) for u in link.peer.send_segments(data, 350))
        link.peer.in_pieces(octets, size)
        link.qp.received(place, data)


@rule("F-4.2-1: the data of a Send whose Marker begins with ones, under a CRC of them",
      cases=both())
def F_4_2_1_zero_bits_of_a_marker_are_ignored(b, role):
    link = receiving(b, role)
    data = random_octets(600)
    place = link.qp.recv(600)
    link.peer.ulpdu(link.peer.send_segments(data)[0],
                    marker=change_marker(lambda octets: b"\xff\xff" + octets[2:]))
    link.qp.received(place, data)
    link.works()


@rule("F-4.2-2: the data of a Send with both bits set", cases=both())
def F_4_2_2_low_bits_of_fpduptr_are_ignored(b, role):
    link = receiving(b, role)
    data = random_octets(600)
    place = link.qp.recv(600)
    link.peer.ulpdu(link.peer.send_segments(data)[0],
                    marker=change_marker(lambda octets: octets[:3] + bytes([octets[3] | 3])))
    link.qp.received(place, data)
    link.works()


@rule("F-4.2-1 F-4.4-1: Terminate 2/0/02 for a Marker under the CRC of another", cases=both())
def F_4_2_1_markers_are_in_the_crc(b, role):
    """A Marker is changed after the CRC was computed: the CRC covers Markers, and so is wrong."""
    link = receiving(b, role)
    link.qp.recv(600)
    octets = bytearray(link.peer.make(link.peer.send_segments(bytes(600))[0]))
    at = -(link.peer.out.position - len(octets)) % 512
    octets[at] ^= 0xff
    link.peer.raw(octets)
    link.refused(rdmap.MPA_CRC)


@rule("F-8-2: Terminate 2/0/03, with a right CRC", cases=both((4,), (-4,), (256,)))
def F_8_2_marker_that_points_elsewhere(b, delta, role):
    link = receiving(b, role)
    link.qp.recv(1200)

    def elsewhere(octets):
        pointer, = struct.unpack(">H", octets[2:])
        return octets[:2] + struct.pack(">H", (pointer + delta) & 0xfffc)
    link.peer.ulpdu(link.peer.send_segments(bytes(1200))[0], marker=change_marker(elsewhere))
    link.refused(rdmap.MPA_MARKER)


@rule("F-4.3-1: eight Sends arrive, behind frames of four lengths",
      "F-4.3-3: eight Sends, whose Markers the device would refuse if it computed others",
      cases=both(*[(size,) for size in range(4)]))
def F_4_3_1_markers_of_the_peer_begin_behind_its_frame(b, size, role):
    link = receiving(b, role, pd=bytes(size))
    for n in range(8):
        link.ping(random_octets(100 * n))


# --- the ends of a stream --------------------------------------------------------------------

@rule("F-8-1: FIN, DISCONNECTED, and no asynchronous event",
      "D-6.2.1-2: FIN of the device behind the peer's", cases=both())
def F_8_1_fin_between_fpdus_is_an_orderly_end(b, role):
    link = Link(b, role)
    link.works()
    link.qp.recv()
    link.peer.fin()
    link.peer.hear_end(FIN)
    link.ended(None)


@rule("F-8-1: QP_FATAL, without a Terminate", cases=both(("send",), ("write",)))
def F_8_1_fin_within_a_message_is_an_abort(b, kind, role):
    link = Link(b, role)
    link.qp.recv().forget()
    link.peer.ulpdu(link.peer.send_segments(b"datadata", 4)[0] if kind == "send" else
                    rdmap.write(1, 2, last=False))
    link.peer.fin()
    link.aborted()


@rule("F-8-1: QP_FATAL, and the Read is flushed", cases=both())
def F_8_1_fin_with_a_read_open_is_an_abort(b, role):
    link = Link(b, role)
    into = link.dut.mr(64, LOCAL_WRITE)
    link.qp.read(into.sge(), 0x9000, 0x99)
    link.peer.hear(READ_REQUEST)
    link.peer.fin()
    link.aborted()


@rule("F-8-1: QP_FATAL, though it is a timer that ends the stream",
      cases=both(*[(cut, how) for cut in ("send", "read") for how in ("silent", "full")]))
def F_8_1_end_that_halts_within_a_message_is_an_abort(b, cut, how, role):
    """While a Send or a Read is incomplete, the ULP disconnects, and the peer sends nothing more;
    or the peer sends FIN, and reads nothing more. The timer linger_timeout_ms must end the stream,
    and the ULP must get QP_FATAL."""
    b.set(linger_timeout_ms=1000)
    link = Link(b, role, narrow=True)
    link.qp.recv().forget()
    if cut == "send":
        link.peer.ulpdu(link.peer.send_segments(b"datadata", 4)[0])
    else:
        link.qp.read(link.dut.mr(64, LOCAL_WRITE).sge(), 0x9000, 0x99)
        link.peer.hear(READ_REQUEST)
    if how == "silent":
        link.verbs.do(f"disconnect {link.id}")
    else:
        full_write(link, 60000)
        link.peer.fin()
        link.verbs.async_event(f"QP_FATAL {link.qp.name}")
        return
    link.aborted()


@rule("F-8-1: QP_FATAL and DISCONNECTED",
      "D-6.2.2-1: both receives are flushed, once each", cases=both((0,), (1,), (30,)))
def F_8_1_reset(b, size, role):
    """The peer sends RST after the first `size` bytes of an FPDU; size 0: between two FPDUs."""
    link = Link(b, role)
    link.qp.recv()
    link.qp.recv()
    if size:
        link.peer.raw(link.peer.make(link.peer.send_segments(bytes(100))[0])[:size])
    link.peer.reset()
    link.ended(FATAL)


@rule("F-8-1: QP_FATAL, the counter err_URGENT, and memory that no Write behind the mark has "
      "changed", "R-6.2.1-1: Terminate 0/0/00", cases=both((0, 1), (9, 1), (9, 3000)))
def F_8_1_urgent_data(b, size, more, role):
    """TCP would take an urgent byte out of the stream. If an urgent byte arrives, between FPDUs or
    within one, the device sends a Terminate, adds 1 to its counter err_URGENT, and places no byte
    behind the urgent one."""
    before = hw_counter("err_URGENT")
    link = Link(b, role)
    link.works()
    mr = sink(link)
    link.qp.recv()
    b.may_be_cut = True
    if size:
        link.peer.raw(link.peer.make(link.peer.send_segments(bytes(100))[0])[:size])
    link.tcp.urgent(b"u" * more)
    try:
        for _ in range(100):
            link.peer.write(mr.rkey, mr.start, random_octets(64))
    except OSError:
        pass
    link.peer.hear_terminate_of(rdmap.LOCAL_CATASTROPHIC)
    link.peer.hear_until_end()
    link.ended(FATAL)
    check(poll(lambda: hw_counter("err_URGENT") == before + 1), "it is not counted")


@rule("F-7.2-1 D-6.2.1-4: a Send behind the device's FIN completes a receive",
      "M-7.2-1: behind our FIN what the peer sends is received", cases=both())
def F_7_2_1_the_other_half_still_works(b, role):
    """After its own FIN the device must still deliver a Send of the peer to the ULP."""
    link = Link(b, role)
    place = link.qp.recv()
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.peer.send(b"late")
    link.qp.received(place, b"late")
    link.ended(None)


@rule("F-7.2-1: QP_REQ_ERR, so that what came behind FIN was read; and no RST", cases=both())
def F_7_2_1_fin_is_the_last_octet(b, role):
    """After its FIN the device sends nothing, not even a Terminate in answer to an error."""
    link = Link(b, role)
    link.qp.recv()
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.peer.send(b"bad", qn=9)
    equal(link.verbs.any_async(), f"{REQUEST} {link.qp.name}", "asynchronous event")
    link.peer.settle()
    check(not link.peer.is_reset(), "an RST behind the FIN")
    link.ended(None)
