#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tshark's verdict on the startup exchanges of a capture.

    judge.py [--exchanges N] [--map FILE] CAPTURE   one result line for each kind of check
    judge.py --selftest                             prove that it finds what is wrong

Each direction of each connection is read twice: by tshark with scripts/iw_mpa.lua, and by
scripts/guest/startup.py. Both have to see the same MPA frames and FPDUs, down to the last octet.
tshark must find nothing malformed, no expert error, and all CRCs good if either end wants CRC.
With the map of run.py, the peer of a test may err, and then tshark has to find that it does, and
what it complains of has to be what is wrong.

tshark is blind to frames that are not alone in a segment, to FPDUs in front of the Reply, and
to segments that others overtake, as on loopback between two processors. Connections with such
segments are written anew, with the frame in a segment of its own and not an octet changed, and are
judged so. Where an FPDU ends is for tshark to say there, too, but with Markers, which it knows only
in FPDUs that begin with a segment. It does not look for FPDUs behind a Reject, either: what is
there, a Terminate, is judged behind a copy of the Reply without R.
"""

import argparse
import copy
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter, namedtuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "guest"))

import fpdu         # noqa: E402
import judge_data   # noqa: E402
import judge_tshark  # noqa: E402
import mpa          # noqa: E402
import rdmap        # noqa: E402
import startup      # noqa: E402

# How tshark, or scripts/iw_mpa.lua in it, has to put what is wrong by our own reading
LOST = r"Malformed|tshark (cannot dissect|sees)|not DDP and RDMAP"
REASONS = [(re.compile(flaw), re.compile(words)) for flaw, words in (
    # Of a Reply that nobody has asked for tshark sees nothing.
    (r"a Request in place of", r"it sends a Request"),
    (r"a Reply in place of", r"tshark sees nothing"),
    (r"revision", r"there is no revision"),
    (r"reserved bits", r"reserved bits are set"),
    (r"S without", r"S is set, but IRD and ORD are missing"),
    (r"R in a Request", r"R is set in a Request"),
    (r"B, C or D", r"B, C or D without A"),
    (r"octets of private data", r"more (private data than )?512 (octets|bytes of Private Data)"),
    (r"an FPDU of", LOST),
    (r"a wrong CRC", r"CRC"),
    (r"nothing whole", LOST),
    (r"behind a Reject", r"behind a Reject"))]

MAX_PD = 512
TERMINATE = 7
SMALLEST = 8                # octets of an FPDU that tshark has to see at once
SYN, RST, ACK = 2, 4, 16
FIRST_PORT = 20000          # in captures of our own
TAIL = 4096                 # octets that are no MPA: so many of them will do
JOINED = 32768              # octets of FPDUs in one segment

# what: a tuple that judge_tshark.py makes, too; details: of an FPDU
Item = namedtuple("Item", "offset size what details", defaults=(None,))


# --- our own reading ---------------------------------------------------------------------------

def flaw_of_frame(frame, kind):
    if frame.kind != kind:
        return f"a {frame.kind} in place of the {kind}"
    if frame.rev not in (1, 2):
        return f"revision {frame.rev}"
    if frame.raw_res not in (0, 0x10) or frame.raw_res and frame.rev == 1:
        return f"reserved bits are {frame.raw_res:#x}"
    if frame.raw_res and not frame.enhanced:
        return "S without IRD and ORD"
    if kind == "Request" and frame.r:
        return "R in a Request"
    if frame.enhanced and not frame.enhanced.a and any(frame.enhanced[1:4]):
        return "B, C or D without A"
    return f"{frame.pd_len} octets of private data" if frame.pd_len > MAX_PD else None


def flaw_of_ulpdu(ulpdu):
    opcode = ulpdu[1] & 0xf
    least = 14 if ulpdu[0] & 0x80 else {1: 46, TERMINATE: 22}.get(opcode, 18)
    if opcode == TERMINATE and len(ulpdu) >= least and not ulpdu[0] & 0x80:
        least = 18 + judge_data.terminate_size(ulpdu[18:])
    if len(ulpdu) < least:
        return f"an FPDU of {len(ulpdu)} octets"
    return None


def cut_fpdu(octets):
    """The beginning of a DDP segment, and no more"""
    if len(octets) < 4:
        return True
    return octets[2] & 0x3f == 1 and octets[3] >> 4 == 4 and len(octets) < mpa.Fpdu.size(octets[:2])


class Octets:
    """What one end sent."""

    def __init__(self, direction, kind):
        self.data = bytes(direction.data)
        self.kind = kind
        self.packet_of = direction.packet_of
        self.starts = {offset for offset, _ in direction.arrived}
        self.overtaken = direction.overtaken
        self.items = []
        self.flaw = None
        self.markers = False
        self.is_led = False     # a Marker is directly in front of an FPDU
        self.end = 0            # of the last item
        self.frame = startup.parse_frame(self.data)
        if self.frame:
            f = self.frame
            self._add(f.size, (f.kind, f.rev, f.raw_res, f.m, f.c, f.r, f.pd_len,
                               tuple(f.enhanced) if f.enhanced else None))
            self.flaw = flaw_of_frame(f, kind)

    def _add(self, size, what, details=None):
        self.items.append(Item(self.end, size, what, details))
        self.end += size

    def read_fpdus(self, crc, markers):
        self.markers = bool(markers)
        for one in judge_data.fpdus(self.data[self.end:], markers):
            if len(one.ulpdu) < 2:
                self.flaw = self.flaw or f"an FPDU of {len(one.ulpdu)} octets"
                return
            good = one.good if crc else None
            self._add(one.size, ("FPDU", len(one.ulpdu), one.ulpdu[1] & 0xf, good),
                      judge_data.details_read(one.ulpdu))
            self.is_led = self.is_led or one.led
            self.flaw = self.flaw or flaw_of_ulpdu(one.ulpdu) or \
                (None if good or not crc else "a wrong CRC")

    def finish(self, may_be_cut):
        """TCP may reset a connection amid an FPDU, which is nobody's fault."""
        if may_be_cut and self.end and cut_fpdu(self.data[self.end:]):
            self.data = self.data[:self.end]
        if self.end < len(self.data):
            self.flaw = self.flaw or f"{len(self.data) - self.end} octets that are nothing whole"

    def pieces(self):
        """The frame for itself, then the FPDUs, and what is left."""
        parts = [self.data[item.offset:item.offset + item.size] for item in self.items]
        if not self.markers:
            parts[1:] = self._joined(parts[1:])
        return parts + ([self.data[self.end:self.end + TAIL]] if self.end < len(self.data) else [])

    @staticmethod
    def _joined(parts):
        joined = []
        for part in parts:
            if joined and len(joined[-1]) + len(part) <= JOINED:
                joined[-1] += part
            else:
                joined.append(part)
        return joined

    def is_terminated(self):
        return bool(self.items) and self.items[-1].what[::2][:2] == ("FPDU", TERMINATE)

    def frame_without_m(self):
        frame = bytearray(self.pieces()[0])
        frame[len(mpa.KEY_REQ)] &= ~mpa.M
        return bytes(frame)


class Exchange:
    """A connection of the capture, read by us, with tshark's reading of it to come."""

    def __init__(self, connection, behind_reject=False, may_be_cut=False):
        self.connection = connection
        self.behind_reject = behind_reject
        self.ports = connection.sport, connection.dport
        self.sides = {"initiator": Octets(connection.out, "Request"),
                      "responder": Octets(connection.back, "Reply")}
        request, reply = (side.frame for side in self.sides.values())
        self.complete = bool(request and reply)
        for side in self.sides.values():
            if self.complete and not reply.r:
                # It is the receiver who asks for Markers.
                markers = (reply if side is self.sides["initiator"] else request).m
                side.read_fpdus(request.c or reply.c, markers)
            # Who resets amid an FPDU of its own has cut it.
            side.finish(may_be_cut or self.resets(self.other(side)))
        if behind_reject:
            self._only_terminate(self.sides["responder"])

    def other(self, side):
        return "responder" if side is self.sides["initiator"] else "initiator"

    def resets(self, role):
        return any(packet.rst and self.connection.is_out(packet) == (role == "initiator")
                   for packet in self.connection.packets)

    @staticmethod
    def _only_terminate(side):
        if any(item.what[2] != TERMINATE for item in side.items[1:]):
            side.flaw = side.flaw or "an FPDU behind a Reject that is no Terminate"

    def end_of(self, role):
        """What ended this side's half first: FIN, RST or nothing that was seen"""
        for packet in self.connection.packets:
            is_own = self.connection.is_out(packet) == (role == "initiator")
            if is_own and (packet.fin or packet.rst):
                return "RST" if packet.rst else "FIN"
        return None

    def has_mixed_markers(self):
        """tshark takes the Markers of one direction for those of both."""
        markers = [side.markers for side in self.sides.values()]
        return self.complete and markers[0] != markers[1] and \
            any(len(side.items) > 1 for side in self.sides.values() if not side.markers)

    def streams(self):
        """Pieces of both sides; twice if each direction has to be for itself, once without M"""
        sides = self.sides.values()
        if not self.has_mixed_markers():
            return [[side.pieces() for side in sides]]
        return [[side.pieces() if side.markers else side.pieces()[:1] for side in sides],
                [[side.frame_without_m()] + ([] if side.markers else side.pieces()[1:])
                 for side in sides]]

    def blind_spot(self):
        """Why tshark cannot see all of it as it was captured."""
        if self.behind_reject:
            return "a Terminate behind a Reject"
        if self.has_mixed_markers():
            return "Markers in one direction"
        for side in self.sides.values():
            frame = side.frame
            if not frame:
                continue
            if side.overtaken:
                return "a segment that another overtook"
            if any(0 < start < frame.size for start in side.starts):
                return "a frame in several segments"
            if frame.size < len(side.data) and frame.size not in side.starts:
                return "a frame and more in one segment"
            if any(item.offset < start < item.offset + SMALLEST
                   for item in side.items[1:] for start in side.starts):
                return f"an FPDU that begins with a segment of less than {SMALLEST} octets"
            if side.markers and any(item.offset not in side.starts for item in side.items[1:]):
                return "an FPDU with Markers that does not begin with a segment"
        out, back = self.sides.values()
        if len(out.items) > 1 and out.packet_of(out.items[1].offset) < back.packet_of(0):
            return "an FPDU in front of the Reply"
        return None


def exchanges_of(connection, may_be_cut=False):
    """One, or two if something is behind a Reject."""
    request, reply = connection.request, connection.reply
    if not (request and reply and reply.r and len(connection.back.data) > reply.size):
        return [Exchange(connection, may_be_cut=may_be_cut)]
    behind = copy.deepcopy(connection)
    behind.back.data[len(mpa.KEY_REP)] &= ~mpa.R
    del behind.out.data[request.size:]
    del connection.back.data[reply.size:]
    return [Exchange(connection), Exchange(behind, True)]


# --- connections written anew ------------------------------------------------------------------

def segment(index, out, seq, flags, data):
    """IPv4 and TCP; the connection is in the responder's port."""
    ends = [b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"]
    ports = [40000, FIRST_PORT + index]
    if not out:
        ends.reverse()
        ports.reverse()
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, 1, 0x50, flags, 65535, 0, 0)
    size = 20 + len(tcp) + len(data)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 6, 0, *ends) + tcp + data


def segments(index, out, back):
    """What each sends first, then all else of the one side, then of the other.

    None: RST. Two in a tuple: the second overtakes the first.
    """
    yield segment(index, True, 0, SYN, b"")
    yield segment(index, False, 0, SYN | ACK, b"")
    order = [(True, piece) for piece in out[:1]] + [(False, piece) for piece in back[:1]] + \
        [(True, piece) for piece in out[1:]] + [(False, piece) for piece in back[1:]]
    seqs = {True: 1, False: 1}
    for is_out, piece in order:
        if piece is None:
            yield segment(index, is_out, seqs[is_out], RST, b"")
            continue
        late, piece = piece if isinstance(piece, tuple) else (b"", piece)
        yield segment(index, is_out, seqs[is_out] + len(late), ACK, piece)
        if late:
            yield segment(index, is_out, seqs[is_out], ACK, late)
        seqs[is_out] += len(late) + len(piece)


def write_capture(path, streams):
    """streams: for each connection the pieces of the initiator and of the responder"""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for index, (out, back) in enumerate(streams):
            for packet in segments(index, out, back):
                file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)


# --- the verdict -------------------------------------------------------------------------------

class Side:
    """Both readings of what one end sent."""

    def __init__(self, exchange, role, connection, seen, frame=()):
        """frame: how tshark sees the frame elsewhere, if it is not as it was here"""
        self.octets = exchange.sides[role]
        self.items = []
        self.details = []
        self.words = []         # (packet number, complaint)
        for packet in connection.packets:
            if connection.is_out(packet) == (role == "initiator") and packet.number in seen:
                self._add(seen[packet.number])
        self.items[:len(frame)] = frame
        self._compare()
        if exchange.behind_reject and any(item[0] == "FPDU" and item[2] != TERMINATE
                                          for item in self.items):
            self.words.append((self._packet(1), "an FPDU behind a Reject"))

    def _add(self, seen):
        first = len(self.items)
        own = self.octets.items[first:first + len(seen.items)]
        self.words += [(self._packet(first), words) for words in seen.complaints
                       if not limited(words, own)]
        for what in seen.items:
            is_fpdu = what[0] == "FPDU"
            self.items.append(what[:4] if is_fpdu else what)
            self.details.append(what[4] if is_fpdu else None)

    def _packet(self, index):
        items = self.octets.items
        offset = items[index].offset if index < len(items) else self.octets.end
        return self.octets.packet_of(offset)

    def _compare(self):
        own = [item.what for item in self.octets.items]
        if self.items and self.items[0][0] not in (self.octets.kind, "FPDU"):
            self.words.append((self._packet(0), f"it sends a {self.items[0][0]}"))
        if self.items == own:
            if self.octets.end < len(self.octets.data):
                self.words.append((self._packet(len(own)), "tshark cannot dissect the rest"))
            self._compare_details()
            return
        index = next((i for i, pair in enumerate(zip(self.items, own)) if pair[0] != pair[1]),
                     min(len(self.items), len(own)))
        pick = lambda items: items[index] if index < len(items) else "nothing"
        self.words.append((self._packet(index),
                           f"tshark sees {pick(self.items)}, startup.py {pick(own)}"))


    def is_beyond_tshark(self):
        """Did tshark fail on it, by its own account? Octets of a peer that errs by chance can."""
        return any("failed assertion" in words for _, words in self.words)

    def _compare_details(self):
        for index, (item, seen) in enumerate(zip(self.octets.items, self.details)):
            if seen and not judge_data.agree(item.details, seen):
                self.words.append((self._packet(index),
                                   f"tshark reads {seen}, judge_data.py {item.details}"))


def limited(words, items):
    """Is that no complaint about what was sent, but one of tshark's limits? See judge_data.py."""
    return "Malformed" in words and any(
        item.details and item.details.term and not judge_data.copy_is_dissected(item.details) or
        item.what[0] == "FPDU" and item.what[2] == judge_data.ATOMIC_REQUEST
        for item in items)


Judged = namedtuple("Judged", "name exchange initiator responder")


def both_sides(exchange, connection, seen):
    return [Side(exchange, role, connection, seen) for role in ("initiator", "responder")]


def judge_anew(exchanges):
    """For connections that tshark does not see as they are; the packet numbers are the old ones."""
    streams = [exchange.streams() for exchange in exchanges]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "anew.pcap")
        write_capture(path, [stream for some in streams for stream in some])
        connections = startup.read_connections(path)
        seen = judge_tshark.read(path)
    if len(connections) != sum(map(len, streams)):
        raise SystemExit("a connection written anew was not found again")
    found = iter(connections)
    return [sides_anew(exchange, [next(found) for _ in some], seen)
            for exchange, some in zip(exchanges, streams)]


def sides_anew(exchange, connections, seen):
    """Each side from the stream that was written for it"""
    if len(connections) == 1:
        return both_sides(exchange, connections[0], seen)
    sides = []
    for role, octets in exchange.sides.items():
        frame = Side(exchange, role, connections[0], seen).items[:1]
        sides.append(Side(exchange, role, connections[0 if octets.markers else 1], seen, frame))
    return sides


def judge_all(path, names, cuts):
    seen = judge_tshark.read(path)
    exchanges = [exchange for connection in startup.read_connections(path)
                 for exchange in exchanges_of(connection, connection.dport in cuts)]
    blind = [exchange for exchange in exchanges if exchange.blind_spot()]
    anew = dict(zip(map(id, blind), judge_anew(blind) if blind else []))
    for exchange in exchanges:
        sides = anew.get(id(exchange)) or both_sides(exchange, exchange.connection, seen)
        port = exchange.ports[1]
        yield Judged(names.get(port, f"port {port}"), exchange, *sides)


# --- the report --------------------------------------------------------------------------------

def read_map(path):
    """port -> test, None for a load; how many connections (ports) had the test as which end; ports
    of tests that end a stream where they like"""
    names, peers, cuts = {}, Counter(), set()
    with open(path, encoding="ascii") as file:
        for line in file:
            test = json.loads(line)
            if not test["judged"]:
                names[test["port"]] = None
                continue
            names[test["port"]] = test["test"]
            peers.update(tuple(peer) for peer in test["peers"])
            if test.get("cut"):
                cuts.add(test["port"])
    return names, peers, cuts


def is_found_out(flaw, words):
    """Does tshark complain of just that?"""
    return any(what.search(flaw) and said.search(words) for what, said in REASONS)


class Report:
    def __init__(self):
        self.count = Counter()
        self.blind = {}             # reason -> how often each name
        self.unseen = Counter()     # directions of which tshark cannot make anything
        self.failures = {"capture": [], "dissects": [], "crc": [], "peers": []}

    def add(self, judged, peers):
        exchange = judged.exchange
        self.count["connections"] += not exchange.behind_reject
        self.count["exchanges"] += exchange.complete and not exchange.behind_reject
        if exchange.blind_spot():
            self.blind.setdefault(exchange.blind_spot(), Counter())[judged.name] += 1
        for role in ("initiator", "responder"):
            side = getattr(judged, role)
            by_test = (role, *exchange.ports) in peers
            if side.octets.is_terminated() and exchange.end_of(role) == "RST" and not by_test:
                self.fail("dissects", judged.name, side.octets.packet_of(side.octets.end), role,
                          "an RST behind the Terminate, and no FIN")
            if side.octets.is_led or by_test and side.is_beyond_tshark():
                self.add_unseen(judged.name, role, side, by_test)
                continue
            if by_test and side.octets.flaw:
                self.add_bad_peer(judged.name, role, side)
                continue
            self.add_clean(judged.name, role + (", played by the test" if by_test else ""), side)
            self.count["frames"] += bool(side.octets.frame) and not exchange.behind_reject

    def add_clean(self, name, role, side):
        octets = side.octets
        self.count["FPDUs"] += sum(item.what[0] == "FPDU" for item in octets.items)
        self.count["good"] += sum(item[0] == "FPDU" and item[3] == 1 for item in side.items)
        for packet, words in side.words:
            self.fail("crc" if "CRC" in words else "dissects", name, packet, role, words)
        if octets.flaw and not side.words:
            self.fail("dissects", name, octets.packet_of(octets.end), role,
                      f"{octets.flaw}, which tshark does not see")

    def add_unseen(self, name, role, side, by_test):
        """Only our own reading counts: of the device it has to find nothing."""
        self.unseen[name] += 1
        if side.octets.flaw and not by_test:
            self.fail("dissects", name, side.octets.packet_of(side.octets.end), role,
                      f"{side.octets.flaw}, by our own reading alone")

    def add_bad_peer(self, name, role, side):
        self.count["bad peers"] += 1
        words = "; ".join(sorted({words for _, words in side.words}))
        if not is_found_out(side.octets.flaw, words):
            self.fail("peers", name, side.octets.packet_of(side.octets.end), role,
                      f"{side.octets.flaw}, but tshark says: {words or 'nothing'}")

    def fail(self, kind, name, packet, role, words):
        self.failures[kind].append(f"{name}: packet {packet}, {role}: {words}")

    def expect(self, peers, exchanges):
        """Emptiness is no success, unless what was chosen has nothing to judge."""
        if exchanges and not self.count["connections"]:
            self.failures["capture"].append("no connection in the capture")
        if self.count["exchanges"] < exchanges:
            self.failures["capture"].append(f"{self.count['exchanges']} complete startup "
                                            f"exchanges, at least {exchanges} expected")
        for (role, *ports), missing in peers.items():
            self.failures["capture"].append(f"ports {ports}: {missing} connections with the test "
                                            f"as {role} are missing")

    def show(self):
        texts = {
            "capture": "{connections} connections, {exchanges} complete startup exchanges",
            "dissects": "{frames} MPA frames and {FPDUs} FPDUs dissect, nothing is malformed",
            "crc": "{good} FPDUs have good CRCs, the others none as agreed",
            "peers": "{bad peers} peers that err are found out"}
        count = Counter({"bad peers": 0}) | self.count
        for kind, text in texts.items():
            bad = self.failures[kind]
            text = text.format_map({name: count[name] for name in
                                    ("connections", "exchanges", "frames", "FPDUs", "good",
                                     "bad peers")})
            print(f"{'not ok' if bad else 'ok'} - tshark: {text}")
            print(*(f"# {line}\n" for line in bad), sep="", end="")
        for reason, names in self.blind.items():
            self.tell(f"written anew for tshark, {sum(names.values())} for {reason}", names)
        if self.unseen:
            self.tell("not judged by tshark, which does not know a Marker directly in front of "
                      "an FPDU, but by our own reading", self.unseen)
        return any(self.failures.values())

    @staticmethod
    def tell(text, names):
        listed = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in names.items())
        print(textwrap.fill(f"{text}: {listed}", 100, initial_indent="# ",
                            subsequent_indent="#   "))


def judge(path, names, peers, exchanges, cuts=()):
    report = Report()
    left = Counter(peers)
    for judged in judge_all(path, names, cuts):
        ports = judged.exchange.ports
        if names.get(ports[1], "") is None:
            continue
        report.add(judged, peers)
        if names and ports[1] not in names:
            report.failures["capture"].append(f"ports {ports}: a connection of no test")
        if not judged.exchange.behind_reject:
            left.subtract((role, *ports) for role in ("initiator", "responder"))
    report.expect(+left, exchanges)
    return report


# --- the self-test -----------------------------------------------------------------------------

REQUEST = mpa.request2(b"hello", a=1, rtr=mpa.WRITE, ird=4, ord=4)
MARKED = mpa.request2(flags=mpa.C | mpa.M, a=1, rtr=mpa.WRITE, ird=4, ord=4)
REPLY = mpa.reply2(a=1, rtr=mpa.WRITE, ird=4, ord=4)
OUT = [mpa.rtr_write(), mpa.send(b"ping")]
BACK = [mpa.send(b"pong")]
ORDER = "bad order, the Reply comes first"      # tshark is blind to it, and no rule says so


def changed(octets, offset):
    return octets[:offset] + bytes([octets[offset] ^ 1]) + octets[offset + 1:]


def led(spoil=lambda octets: octets):
    """FPDUs with Markers, of which one is directly in front of the second FPDU"""
    writer = fpdu.Writer(markers=True)
    # A Marker, the length and the CRC are 10 octets of the 512.
    first = writer.fpdu(rdmap.untagged(rdmap.SEND, bytes(fpdu.SPACING - 10 - 18), msn=1))
    second = writer.fpdu(rdmap.untagged(rdmap.SEND, b"ping", msn=2), check=spoil)
    return [first, second, writer.fpdu(rdmap.terminate(rdmap.terminate_body(rdmap.MPA_CRC)))]


def cases():
    """name -> what the initiator and what the responder sends, in segments; "bad" is to fail"""
    v1 = [mpa.request(), *OUT], [mpa.reply(), *BACK]
    no_crc = [mpa.request(flags=0), mpa.send(b"x", crc=False)], [mpa.reply(flags=0)]
    split = [REQUEST[:7], REQUEST[7:], OUT[0][:3], OUT[0][3:], OUT[1]], [REPLY + BACK[0]]
    yield "good v1", *v1
    yield "good v2", [REQUEST, *OUT], [REPLY, *BACK]
    yield "good v2, unenhanced", [mpa.request(rev=2), *OUT], [mpa.reply(rev=2), *BACK]
    yield "good without CRC", *no_crc
    yield "good Reject", [REQUEST], [mpa.reply2(b"no", flags=mpa.C | mpa.R)]
    yield "good Terminate", [REQUEST, mpa.terminate(6)], [REPLY]
    yield "good Terminate behind a Reject", [REQUEST], \
        [mpa.reply2(flags=mpa.C | mpa.R), mpa.terminate(6)]
    yield "good, split", *split
    yield "good, overtaken", [REQUEST, tuple(OUT)], [REPLY, tuple(BACK * 2)]
    yield "bad FPDU, overtaken", [REQUEST, (OUT[0], changed(OUT[1], 20))], [REPLY]
    yield "bad FPDU, overtakes", [REQUEST, (changed(OUT[0], 9), OUT[1])], [REPLY]
    yield "good FPDU, cut by RST of the receiver", [REQUEST, OUT[1][:-1]], [REPLY, None]
    yield "bad FPDU, cut by RST of the sender", [REQUEST, OUT[1][:-1], None], [REPLY]
    yield "bad end, RST behind a Terminate", [REQUEST, OUT[0], mpa.terminate(6), None], [REPLY]
    yield "good Marker in front of an FPDU", [MARKED], [REPLY, *led()]
    yield "bad CRC behind a Marker", [MARKED], [REPLY, *led(lambda field: changed(field, 0))]
    yield "bad end, RST behind Markers and a Terminate", [MARKED], [REPLY, *led(), None]
    yield "bad octets before RST", [REQUEST, b"\xff" * 64, None], [REPLY]
    for offset in (1, 2, 3, 9, 19):
        yield f"bad FPDU, octet {offset}", [REQUEST, changed(OUT[0], offset)], [REPLY]
    yield "bad FPDU, split", [*split[0][:-1], changed(OUT[1], 20)], split[1]
    yield "bad FPDU, cut", [REQUEST, OUT[1][:-1]], [REPLY]
    yield "bad FPDU, CRC asked for by one", no_crc[0], [mpa.reply()]
    yield "bad Terminate", [REQUEST, changed(mpa.terminate(6), 24)], [REPLY]
    yield "bad Terminate behind a Reject", [REQUEST], \
        [mpa.reply2(flags=mpa.R), changed(mpa.terminate(6), 24)]
    yield "bad key of the Request", [changed(REQUEST, 15)], []
    yield "bad key of the Reply", [REQUEST], [changed(REPLY, 8)]
    yield "bad Reply, a Request", [REQUEST], [REQUEST]
    yield "bad Request, a Reply", [REPLY], []
    yield "bad length, longer", [REQUEST], [changed(REPLY, 19)]
    yield "bad length, shorter", [REQUEST], [changed(mpa.reply2(b"x"), 19), *BACK]
    yield "bad length, 513", [mpa.request(bytes(513))], []
    yield "bad S of revision 1", [mpa.request(REQUEST[20:], flags=mpa.C | mpa.S)], []
    yield "bad S, 3 octets", [mpa.frame(mpa.KEY_REQ, mpa.S, 2, bytes(3))], []
    yield "bad reserved bit", [changed(REQUEST, 16)], [REPLY]
    yield "bad B without A", [mpa.request2(rtr=mpa.SEND)], [REPLY]
    yield "bad R of a Request", [mpa.request(flags=mpa.C | mpa.R)], []
    yield "bad revision", [mpa.request(rev=3)], []
    yield "bad Send behind a Reject", [REQUEST], [mpa.reply2(flags=mpa.R), BACK[0]]
    yield "bad octet behind a Reject", [REQUEST], [mpa.reply2(flags=mpa.R) + b"x"]
    yield "bad FPDU without a Reply", [REQUEST, OUT[0]], []
    yield ORDER, [b"", REQUEST], [REPLY]


def failures(path, streams, names, peers):
    """Names of the connections that are found bad."""
    write_capture(path, streams)
    report = judge(path, names, Counter(peers), 1)
    return {line.split(": packet")[0] for lines in report.failures.values() for line in lines}


def selftest(path):
    """What is wrong with the judge"""
    names, *sides = zip(*cases())
    streams = list(zip(*sides))
    ports = {FIRST_PORT + index: name for index, name in enumerate(names)}
    bad = {name for name in names if name.startswith("bad")}
    found = failures(path, streams, ports, ())
    yield from (f"{name}: not found" for name in sorted(bad - found))
    yield from (f"{name}: but it is not" for name in sorted(found - bad))

    peers = [(role, 40000, port) for port in ports for role in ("initiator", "responder")]
    found = failures(path, streams, ports, peers)
    yield from (f"as the test's peer, {line}" for line in sorted(found - {ORDER}))
    if is_found_out("a wrong CRC", "Malformed Packet") or is_found_out("revision 3", "bad CRC"):
        yield "a complaint of something else: taken for the right one"
    for what, wrong in (("no packet", failures(path, [], {}, ())),
                        ("no exchange", failures(path, [([], [])], {}, ())),
                        ("a connection of no test", failures(path, streams[:2], {1: "x"}, ())),
                        ("a lost connection", failures(path, streams[:2], ports, peers[:5]))):
        if not wrong:
            yield f"{what}: not found"


def run_selftest():
    with tempfile.TemporaryDirectory() as folder:
        wrong = list(selftest(os.path.join(folder, "selftest.pcap")))
    print(*wrong, sep="\n")
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchanges", type=int, default=1,
                        help="fewer complete startup exchanges are a failure")
    parser.add_argument("--map", help="what run.py --map wrote")
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("capture", nargs="?")
    args = parser.parse_args()
    if args.selftest:
        sys.exit(run_selftest())
    names, peers, cuts = read_map(args.map) if args.map else ({}, Counter(), ())
    sys.exit(judge(args.capture, names, peers, args.exchanges, cuts).show())


try:
    main()
except subprocess.CalledProcessError as error:
    sys.exit(f"tshark cannot read {error.cmd[error.cmd.index('-r') + 1]}")
