# SPDX-License-Identifier: GPL-2.0
"""Fuzzing: peers and processes with random errors, by the thousand; each case prints its seeds.

A stream is first made of good messages: Writes, Sends, Read Requests and Read Responses. Then bits
are flipped, FPDUs are cut, repeated, swapped and merged, and fields get values at limits that the
device checks, with right CRCs and wrong ones. In all cases the device must keep the rules for
senders to the end of the stream, the stream must end, no byte may change except where the peer may
write, later connections and those of other processes must work, and no kernel object may leak.

Processes write random elements into their rings, random bytes all over them, and random uverbs
commands.
"""

import collections
import random
import socket
import struct

import kernel
import mpa
import rdmap
import rings
import uverbs
from harness import LIMIT, Failed, Peer, check, poll
from link import Link, both
from peer import FIN, RST, RdmapPeer
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, WRITE, Read
from registry import rule, say
from verbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, Dut

RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ
EDGES = (0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xfffe, 0xffff,
         0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 1 << 32, (1 << 63) - 1, 1 << 63,
         (1 << 64) - 8, (1 << 64) - 1)
EVERY = 25          # after so many bad streams the test checks that a good connection works
SLABS = ("TCP", "TCPv6", "sock_inode_cache", "request_sock_TCP")


class Target:
    """The process that peers attack: verbs_probe as a server that accepts each connection, and its
    regions with different rights, whose STags the peers use"""

    def __init__(self, b):
        self.b = b
        self.dut = dut = Dut(b)
        v = self.v = dut.verbs
        self.writable = dut.mr(2000, RIGHTS)
        self.readable = dut.mr(2000, REMOTE_READ)
        self.local = dut.mr(2000, LOCAL_WRITE)
        v.do("pd other")
        self.foreign = dut.mr(2000, RIGHTS, pd="other")
        places = dut.mr(9 * 256, LOCAL_WRITE)
        for mr in (self.writable, places):
            mr.forget()
        v.do(f"listen listener {b.address} {b.port}")
        v.do(f"serve pd {places.start:#x} {places.lkey:#x}")
        self.ends = collections.Counter()   # how the peer's streams ended -> their number

    def regions(self):
        return self.writable, self.readable, self.local, self.foreign

    def note_end(self, peer, how):
        self.ends["a Terminate" if peer.conduct.terminated else how] += 1

    def show_ends(self, count):
        """Print how many streams ended by a Terminate, by FIN and by RST. Check that many ended by
        a Terminate and some did not: otherwise the test has hardly checked whether anything follows
        a Terminate, or how streams end without a Terminate."""
        say(", ".join(f"{number} with {how}" for how, number in sorted(self.ends.items())))
        check(self.ends["a Terminate"] >= count // 4, f"few Terminates: {dict(self.ends)}")
        others = self.ends[FIN] + self.ends[RST]
        check(others >= count // 30, f"few streams without one: {dict(self.ends)}")

    def finished(self):
        """Return [number of connections that the server accepted, number of those that ended]."""
        return [int(word) for word in self.v.words("served")]


class Stream:
    """One stream of a peer: the messages and errors are random, and a seed determines all of
    them"""

    def __init__(self, target, seed):
        self.target, self.seed = target, seed
        self.dice = random.Random(seed)
        self.msn = {0: 1, 1: 1, 2: 1}

    def number(self, qn):
        self.msn[qn] += 1
        return self.msn[qn] - 1

    def message(self):
        """Return the ULPDUs of one well-formed message. It may exceed a region's bounds, or name a
        region that lacks the right for this message, or one of another PD."""
        dice = self.dice
        mr = dice.choice(self.target.regions())
        size = dice.choice((0, 1, 3, 64, 200, 256, 1000))
        to = mr.start + dice.choice((0, 1, 1000, 1999, 2000))
        op = dice.choice((WRITE, WRITE, READ_REQUEST, SEND, SEND, SEND_SE, SEND_INV, READ_RESPONSE))
        data = dice.randbytes(size)
        cut = dice.choice((7, 100, 1400))
        if op == WRITE:
            return RdmapPeer.write_segments(mr.rkey, to, data, cut)
        if op == READ_REQUEST:
            read = Read(dice.getrandbits(32), dice.getrandbits(64), size, mr.rkey, to)
            return [rdmap.read_request(read, msn=self.number(1))]
        if op == READ_RESPONSE:
            return [rdmap.response(0x4242, 0x1000, data[:256])]
        msn = self.number(0)
        inv = mr.rkey if op == SEND_INV else 0
        return rdmap.cut(lambda part, mo, last: rdmap.untagged(op, part, msn=msn, mo=mo, last=last,
                                                               inv=inv), data[:256], cut)

    def change(self, ulpdu):
        """Flip bits of a ULPDU, or set a field to one of EDGES (numbers at the limits of fields and
        checks), before the CRC is computed."""
        octets = bytearray(ulpdu)
        # An earlier change may have made the ULPDU empty, so that there are no bits to flip.
        if self.dice.random() < 0.5 and octets:
            for _ in range(self.dice.choice((1, 1, 2, 8))):
                octets[self.dice.randrange(min(len(octets), 46))] ^= 1 << self.dice.randrange(8)
        else:
            width = self.dice.choice((1, 4, 4, 8))
            at = self.dice.choice((0, 1, 2, 6, 10, 14, 18, 22, 30, 34, 38))
            value = self.dice.choice(EDGES) & ((1 << 8 * width) - 1)
            octets[at:at + width] = value.to_bytes(width, "big")
        return bytes(octets)

    def ulpdus(self):
        """Return ULPDUs of well-formed messages, some of them repeated, swapped, merged, cut or
        changed."""
        dice = self.dice
        all_ = [u for _ in range(dice.randrange(1, 7)) for u in self.message()]
        for _ in range(dice.choice((0, 1, 1, 1, 2))):
            at, to = dice.randrange(len(all_)), dice.randrange(len(all_))
            how = dice.randrange(6)
            if how == 0:
                all_.insert(to, all_[at])
            elif how == 1:
                all_[at], all_[to] = all_[to], all_[at]
            elif how == 2:
                all_[at] = all_[at] + all_[to]
            elif how == 3:
                all_[at] = all_[at][:dice.randrange(len(all_[at]) + 1)]
            else:
                all_[at] = self.change(all_[at])
        return all_

    def octets(self, peer):
        """Return the stream's FPDUs. In 30 % of all streams one FPDU is changed after its CRC was
        computed."""
        dice = self.dice
        fpdus = [peer.make(ulpdu[:60000]) for ulpdu in self.ulpdus()]
        if dice.random() < 0.3:
            at = dice.randrange(len(fpdus))
            octets = bytearray(fpdus[at])
            how = dice.randrange(4)
            if how == 0:
                octets[dice.randrange(len(octets))] ^= 1 << dice.randrange(8)
            elif how == 1:
                del octets[dice.randrange(len(octets)):]
            elif how == 2:
                octets[dice.randrange(len(octets)):0] = dice.randbytes(dice.randrange(1, 40))
            else:
                octets += dice.randbytes(4)
            fpdus[at] = bytes(octets)
        return b"".join(fpdus)

    def play(self, sock):
        """Play the stream on a connected socket, from the MPA Request to the connection's end."""
        dice = self.dice
        tcp = Peer(sock)
        tcp.send(mpa.request2(b"", mpa.C, a=1, rtr=mpa.WRITE, ird=4, ord=4))
        tcp.recv_reply()
        peer = RdmapPeer(tcp, bench=self.target.b)
        peer.conduct.is_strict = False
        peer.allow_cut()
        peer.write(1, 0)
        octets = self.octets(peer)
        how = dice.random()
        try:
            if how < 0.2:
                while octets:
                    size = dice.choice((1, 5, 50, 500, 2000))
                    tcp.send(octets[:size])
                    octets = octets[size:]
            else:
                tcp.send(octets)
            if how > 0.95:
                peer.reset()
                self.target.ends["reset by the peer"] += 1
                return
            peer.fin()
        except OSError:
            pass
        end = peer.hear_until_end()
        self.target.note_end(peer, end)


def dial(b, target):
    sock = socket.create_connection((b.address, target.b.port), LIMIT)
    b.peers.append(("initiator", sock.getsockname()[1], target.b.port))
    return sock


@rule("R-8.1.1-1: memory without the right of remote write, and of another domain",
      "R-5.4-4: nothing behind a Terminate, in 60 streams", cases=[(1, 60)],
      soak=[(1000 * n, 1000) for n in range(1, 22)])
def R_8_1_1_1_streams_that_err_by_chance(b, seed, count):
    """One peer after the other connects to the device and sends a stream with random errors."""
    say(f"seeds {seed} to {seed + count - 1}")
    target = Target(b)
    beside = Link(b.another(), "responder")
    before = kernel.slabs(SLABS)
    for n in range(seed, seed + count):
        try:
            with dial(b, target) as sock:
                Stream(target, n).play(sock)
        except (Failed, rdmap.Bad, OSError) as err:
            raise Failed(f"seed {n}: {err}") from None
        if n % EVERY == 0:
            beside.works()
    beside.works()
    target.show_ends(count)
    check(poll(lambda: len(set(target.finished())) == 1), f"not all ended: {target.finished()}")
    check(poll(lambda: all(now <= before[name] + 60
                           for name, now in kernel.slabs(SLABS).items())),
          f"{kernel.slabs(SLABS)} in slabs, {before} before")


@rule("R-8.1.1-1: memory without the right of remote write, and of another domain",
      "R-5.4-4: nothing behind a Terminate, in 12 streams", cases=[(1, 12)],
      soak=[(10000, 1000)])
def R_8_1_1_1_streams_that_err_by_chance_to_an_initiator(b, seed, count):
    say(f"seeds {seed} to {seed + count - 1}")
    target = Target(b)
    dut = target.dut
    for n in range(seed, seed + count):
        link = Link(b.another(), "initiator", dut=dut, name=f"n{n}")
        stream = Stream(target, n)
        place = [link.qp.recv(256) for _ in range(4)]
        for one in place:
            one.forget()
        link.peer.conduct.is_strict = False
        link.peer.allow_cut()
        try:
            link.peer.raw(stream.octets(link.peer))
            link.peer.fin()
        except OSError:
            pass
        try:
            target.note_end(link.peer, link.peer.hear_until_end())
        except (Failed, rdmap.Bad) as err:
            raise Failed(f"seed {n}: {err}") from None
        link.disconnected()
        link.qp.rq.posted.clear()
        dut.verbs.do(f"poll {link.qp.rcq}")
        link.tcp.close()
        dut.verbs.do(f"destroy {link.qp.name} {link.id}")
        dut.verbs.asyncs.clear()
    target.show_ends(count)


# --- elements of rings -----------------------------------------------------------------------

def element(dice, mrs):
    """Return an element for an SQ ring: most of its fields are valid, and some are random."""
    mr = dice.choice(mrs)
    sges = []
    for _ in range(dice.randrange(0, 7)):
        mr2 = dice.choice(mrs)
        length = dice.choice((0, 1, 8, 100, 64, *EDGES[-14:])) & rdmap.MAX32
        sges.append(rings.sge(mr2.start + dice.choice((0, 0, 1, 63, 64, -1)), length,
                              mr2.lkey ^ dice.choice((0, 0, 0, 1))))
    octets = bytearray(rings.sqe(
        dice.getrandbits(64), dice.choice((0, 1, 3, 5, 3, 0, dice.randrange(256))), sges,
        flags=rings.VALID | dice.choice((4, 4, 6, 12, 20, dice.getrandbits(16))), rkey=mr.rkey,
        raddr=dice.choice((mr.start, *EDGES)),
        num_sge=dice.choice((len(sges), len(sges), len(sges), dice.randrange(256)))))
    if dice.random() < 0.3:
        octets[dice.randrange(120)] ^= 1 << dice.randrange(8)
        octets[8] |= rings.VALID
    return bytes(octets)


@rule("R-8.1.2-1: whole messages, an end of each stream, and another process's connection, which "
      "works", cases=[(1, 40)], soak=[(1000, 3000)])
def R_8_1_2_1_elements_made_by_chance(b, seed, count):
    """For each seed a process writes random elements into the SQ and RQ rings of a QP: the peer
    must get nothing but whole messages and a Terminate."""
    say(f"seeds {seed} to {seed + count - 1}")
    beside = Link(b, "responder")
    victim = Dut(b)
    mrs = [victim.mr(64, RIGHTS), victim.mr(64, 0)]
    victim.memory.forget(0, victim.memory.size)
    for n in range(seed, seed + count):
        dice = random.Random(n)
        link = Link(b.another(), "responder", dut=victim, name=f"n{n}")
        link.peer.allow_cut()
        try:
            for slot in range(dice.randrange(1, 4)):
                octets = element(dice, mrs)
                victim.verbs.do(f"poke {link.qp.name}.sq {slot * rings.SQE} {octets.hex()}")
            victim.verbs.ask(f"doorbell {link.qp.name}")
            place = victim.into(64)
            receive = bytearray(rings.rqe(5, [rings.sge(place.mr.start, 64, place.mr.lkey)] * 2))
            receive[dice.randrange(8, 48)] ^= 1 << dice.randrange(8)
            victim.verbs.do(f"poke {link.qp.name}.rq 0 {bytes(receive).hex()}")
            try:
                link.peer.send(bytes(dice.choice((0, 8, 100))))
                link.peer.fin()
            except OSError:
                pass
            link.peer.hear_until_end()
        except (Failed, rdmap.Bad) as err:
            raise Failed(f"seed {n}: {err}") from None
        link.disconnected()
        link.tcp.close()
        victim.verbs.do(f"destroy {link.qp.name} {link.id} listener{link.name}")
        victim.verbs.asyncs.clear()
        if n % EVERY == 0:
            beside.works()
    beside.works()


# --- rings, all of them at once --------------------------------------------------------------

SCRIBBLED = "qp.sq", "srq.ring", "scq.ring", "rcq.ring"


def scribble_on(link, dice, turns):
    """Have threads of verbs_probe write random bytes into all of its rings while it sends and
    receives."""
    victim = link.dut
    data = victim.out(b"x")
    for ring in SCRIBBLED:
        # scribble on the whole ring, on its first 64 bytes, or on bytes 8 to 15
        at, size = dice.choice(((0, victim.rings[ring][0]), (0, 64), (8, 8)))
        victim.verbs.do(f"scribble {ring} {at} {size} {dice.getrandbits(63)}")
    for n in range(turns):
        try:
            link.peer.send(bytes(dice.choice((0, 1, 64, 65))))
        except OSError:
            break
        victim.verbs.ask(f"send {link.qp.name} {dice.choice((0, 2, 4))} 2 {n} 0 0 {data}")
        victim.verbs.ask(f"doorbell {link.qp.name}")
        victim.verbs.ask(f"arm scq {dice.choice(('any', 'solicited'))}")
    victim.verbs.calm()


@rule("R-8.1.2-1: another process's connection works, and no object is left", cases=both((1, 6)),
      soak=both((1000, 200), (2000, 200)))
def R_8_1_2_1_all_rings_scribbled_over_by_chance(b, seed, count, role):
    """A process has an SQ, an SRQ and two CQs, and for each of these rings a thread that writes
    random bytes into it. The connections of other processes must work on, and the process must be
    able to exit at any time."""
    say(f"seeds {seed} to {seed + count - 1}")
    beside = Link(b, role)
    beside.works()
    before = uverbs.resources()
    for n in range(seed, seed + count):
        dice = random.Random(n)
        victim = Dut(b)
        victim.srq("srq")
        link = Link(b.another(), role, dut=victim, qp={"srq": "srq"})
        link.peer.conduct.is_strict = False
        link.peer.allow_cut()
        for _ in range(8):
            link.qp.recv()
        victim.memory.forget(0, victim.memory.size)
        scribble_on(link, dice, dice.randrange(1, 20))
        beside.works()
        victim.verbs.end()
        try:
            link.peer.hear_until_end()
        except (Failed, rdmap.Bad) as err:
            raise Failed(f"seed {n}: {err}") from None
        link.tcp.close()
    beside.works()
    check(poll(lambda: uverbs.resources() == before),
          f"objects are left: {uverbs.resources()}, {before} before")


# --- commands of uverbs ----------------------------------------------------------------------

MODIFY_QP, QUERY_QP, MODIFY_SRQ, QUERY_SRQ = 26, 25, 33, 34


def good_commands(link):
    """Return (number, valid body) for uverbs commands on CQs, QPs, SRQs and memory regions."""
    pd, cq, srq, qp = (uverbs.handle(link, name) for name in ("pd", "scq", "srq", "qp"))
    mr = link.dut.memory.base
    wr = struct.pack("<QIIIIQII", 1, 1, 2, 2, 0, mr, 1, 0) + bytes(16) + rings.sge(mr, 8, 1)
    rwr = struct.pack("<QII", 2, 1, 0) + rings.sge(mr, 8, 1)
    return (
        (uverbs.CREATE_CQ, struct.pack("<QQIIiI", 0, 1, 16, 0, -1, 0)),
        (uverbs.CREATE_SRQ, struct.pack("<QQIIII", 0, 1, pd, 16, 1, 0)),
        (uverbs.CREATE_QP, struct.pack("<QQIIIIIIIIIBBBB", 0, 1, pd, cq, cq, srq, 16, 16, 1, 1,
                                           0, 0, 2, 0, 0)),
        (uverbs.REG_MR, struct.pack("<QQQQII", 0, mr, 4096, mr, pd, 1)),
        (uverbs.POST_SEND, struct.pack("<QIIII", 0, qp, 1, 1, 56) + wr),
        (uverbs.POST_RECV, struct.pack("<QIIII", 0, qp, 1, 1, 16) + rwr),
        (uverbs.POST_SRQ_RECV, struct.pack("<QIIII", 0, srq, 1, 1, 16) + rwr),
        (uverbs.POLL_CQ, struct.pack("<QII", 0, cq, 4)),
        (uverbs.REQ_NOTIFY, struct.pack("<II", cq, 0)),
        (uverbs.RESIZE_CQ, struct.pack("<QII", 0, cq, 32)),
        (MODIFY_QP, bytes(32) + struct.pack("<QI", 1, qp) + bytes(72)),
        (QUERY_QP, struct.pack("<QII", 0, qp, 1)),
        (MODIFY_SRQ, struct.pack("<IIII", srq, 2, 16, 4)),
        (QUERY_SRQ, struct.pack("<QII", 0, srq, 0)),
    )


def odd_command(dice, number, body):
    """Return a uverbs command: `body`, of which words may be changed, and which may then be cut or
    lengthened, behind a header whose sizes may be wrong, too."""
    octets = bytearray(body)
    for _ in range(dice.choice((0, 0, 1, 1, 2))):
        at = 4 * dice.randrange(len(octets) // 4)
        octets[at:at + 4] = (dice.choice(EDGES) & rdmap.MAX32).to_bytes(4, "little")
    if dice.random() < 0.4:
        del octets[dice.randrange(len(octets)):]
    elif dice.random() < 0.4:
        octets += dice.randbytes(dice.choice((1, 2, 4, 8, 12, 16, 40, 512, 4000)))
    words = dice.choice((None, None, None, 0, 1, len(octets) // 4, 0xffff))
    return uverbs.command(number, bytes(octets), in_words=words,
                              out_words=dice.choice((0, 1, 2, 4, 16, 64, 1000)))


@rule("R-8.1.2-1: another process's connection works, and no object is left", cases=[(1, 300)],
      soak=[(1000, 30000)])
def R_8_1_2_1_commands_made_by_chance(b, seed, count):
    """A process issues random uverbs commands. Each may succeed or fail; no object outlives the
    process."""
    say(f"seeds {seed} to {seed + count - 1}")
    beside = Link(b, "responder")
    beside.works()
    before = uverbs.resources()
    for first in range(seed, seed + count, 300):
        victim = Dut(b)
        victim.srq("srq")
        link = Link(b.another(), "responder", dut=victim)
        link.peer.conduct.is_strict = False
        link.peer.allow_cut()
        victim.memory.forget(0, victim.memory.size)
        good = good_commands(link)
        for n in range(first, min(first + 300, seed + count)):
            dice = random.Random(n)
            octets = odd_command(dice, *dice.choice(good))
            uverbs.wrote(link, octets, 8 if len(octets) >= 16 else "-")
        beside.works()
        victim.verbs.end()
        link.peer.hear_until_end()
        link.tcp.close()
    check(poll(lambda: uverbs.resources() == before),
          f"objects are left: {uverbs.resources()}, {before} before")
