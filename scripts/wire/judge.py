#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tshark's verdict on the startup exchanges of a capture.

    judge.py [--exchanges N] [--map FILE] CAPTURE   print one result line for each kind of check
    judge.py --selftest                             prove that this program finds mistakes

Each direction of each connection is read twice: by tshark with scripts/iw_mpa.lua, and by scripts/lib/guest/startup.py
and judge_own.py. In each packet both have to see the same MPA frames and FPDUs, down to the last byte. tshark must find
nothing malformed, no expert error, and all CRCs good if either end wants CRC. A capture in which bytes are missing is
not accepted.

With the map of run.py, the peer of a test may send flaws on purpose. Then tshark has to report each flaw, in the packet
with the flaw and by a message for just that flaw, and nothing else. The stream of an end may stop within an FPDU if its
test says so; if the test has only reset the connection, the test's RST has to come first. All other ends have to keep
the rules for senders, even for reserved bits, which tshark does not check. Once the connection is up, an end must not
send RST after its FIN while the other half is open, unless the test allows it.

tshark does not see frames that share a segment, FPDUs before the Reply, and segments that others overtake, as happens
on the loopback device with two processors. Connections with such segments are written to a new capture, with each frame
in a segment of its own and no byte changed, and tshark reads that. tshark also decides where FPDUs end in it, except
with Markers, which it supports only in FPDUs that begin with a segment. It does not search for FPDUs after a Reject,
either: a Terminate there is judged after a copy of the Reply without the bit R.

tshark takes a Marker between two FPDUs for a part of the first one: so these FPDUs are put into separate segments, and
their CRCs are checked only by this program. The last lines of output count them. Everything else is checked by tshark,
too, in every packet.
"""

import argparse
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
sys.path.insert(0, os.path.join(TOP, "scripts", "lib", "guest"))

import fpdu         # noqa: E402
import judge_data   # noqa: E402
import judge_tshark  # noqa: E402
import mpa          # noqa: E402
import rdmap        # noqa: E402
import startup      # noqa: E402
from judge_own import OWN_RST, TERMINATE, exchanges_of, packets_of  # noqa: E402

# Pattern for a flaw in the words of judge_own.py -> pattern for the message by which tshark, with
# scripts/iw_mpa.lua, has to report it
SHORT = r"Malformed|not DDP and RDMAP"
REASONS = [(re.compile(flaw), re.compile(words)) for flaw, words in (
    # tshark does not dissect a Reply without a Request: read_packet() reports the difference.
    (r"a Request in place of", r"it sends a Request"),
    (r"a Reply in place of", r"tshark sees nothing"),
    (r"revision", r"there is no revision"),
    (r"reserved bits", r"reserved bits are set"),
    (r"S without", r"S is set, but IRD and ORD are missing"),
    (r"R in a Request", r"R is set in a Request"),
    (r"B, C or D", r"B, C or D without A"),
    (r"octets of private data", r"more (private data than )?512 (octets|bytes of Private Data)"),
    (r"an FPDU of", SHORT),
    (r"a wrong CRC", r"CRC"),
    (r"nothing whole", rf"tshark cannot dissect the rest|{SHORT}"),
    (r"behind a Reject", r"behind a Reject"))]

SYN, FIN, RST, ACK = 2, 1, 4, 16
FIRST_PORT = 20000          # responder's port of the first connection in a capture of this file
LONGEST = 60000             # most bytes of data in a packet that is written here

ANY_END = "RST", OWN_RST, "FIN"

# Two kinds of pieces for segments(). Uncaptured: bytes that the capture does not have. Ahead: a
# segment without data. It is captured before the next piece, which has the bytes `octets`, but its
# sequence number is the one after these bytes.
Uncaptured = namedtuple("Uncaptured", "octets")
Ahead = namedtuple("Ahead", "octets")

# --- captures of the selftest ------------------------------------------------------------------

def segment(index, out, seq, flags, data):
    """Return an IPv4 packet with a TCP segment of the connection with number `index`, which decides
    the responder's port. out: is the initiator the sender?"""
    ends = [b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"]
    ports = [40000, FIRST_PORT + index]
    if not out:
        ends.reverse()
        ports.reverse()
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, 1, 0x50, flags, 65535, 0, 0)
    size = 20 + len(tcp) + len(data)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 6, 0, *ends) + tcp + data


def segments(index, out, back):
    """Yield the packets of the connection with number `index`: the SYNs, the first piece of the
    initiator (out) and of the responder (back), then all others of the initiator, then those of the
    responder.

    A piece is the data of a segment; or FIN or RST, for a segment without data; or a tuple with the
    data of two segments, the second of which overtakes the first; or an Uncaptured, bytes for which
    there is no packet; or an Ahead, a segment without data that overtakes the next piece.
    """
    yield segment(index, True, 0, SYN, b"")
    yield segment(index, False, 0, SYN | ACK, b"")
    order = [(True, piece) for piece in out[:1]] + [(False, piece) for piece in back[:1]] + \
        [(True, piece) for piece in out[1:]] + [(False, piece) for piece in back[1:]]
    seqs = {True: 1, False: 1}
    for is_out, piece in order:
        if piece in (FIN, RST):
            yield segment(index, is_out, seqs[is_out], piece | ACK, b"")
            continue
        if isinstance(piece, Uncaptured):
            seqs[is_out] += len(piece.octets)
            continue
        if isinstance(piece, Ahead):
            yield segment(index, is_out, seqs[is_out] + len(piece.octets), ACK, b"")
            continue
        late, piece = piece if isinstance(piece, tuple) else (b"", piece)
        # The longest FPDU exceeds what one IPv4 packet can carry.
        for at in range(0, len(piece), LONGEST) or [0]:
            yield segment(index, is_out, seqs[is_out] + len(late) + at, ACK,
                          piece[at:at + LONGEST])
        if late:
            yield segment(index, is_out, seqs[is_out], ACK, late)
        seqs[is_out] += len(late) + len(piece)


def write_capture(path, streams):
    """Write a pcap file. streams: for each connection the pieces of the initiator and of the
    responder, as segments() takes them"""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for index, (out, back) in enumerate(streams):
            for packet in segments(index, out, back):
                file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)


# --- the verdict -------------------------------------------------------------------------------

# number: the packet's number in the capture; items: the frames and FPDUs in the packet as tshark
# reads them; flaws: those that judge_own.py found in the packet's bytes; complaints: tshark's
# messages, and differences between the items of tshark and those of judge_own.py
Packet = namedtuple("Packet", "number items flaws complaints")


def read_packet(octets, number, span, seen):
    """Return a Packet: the packet with the number `number` as tshark (seen) and judge_own.py
    (octets) read it. span: the offsets of its bytes in the stream of `octets`"""
    own = octets.items_in(*span)
    is_beside = [octets.by_marker(item) for item in own]
    complaints = [words for words in seen.complaints if not limited(words, own, is_beside)]
    theirs, details = [], []
    for index, what in enumerate(seen.items):
        is_fpdu = what[0] == "FPDU"
        theirs.append(without_crc(what[:4], any(is_beside[index:index + 1])) if is_fpdu else what)
        details.append(what[4] if is_fpdu else None)
        if not is_fpdu and what[0] != octets.kind:
            complaints.append(f"it sends a {what[0]}")
    ours = [without_crc(item.what, beside) for item, beside in zip(own, is_beside)]
    if theirs != ours:
        complaints.append(difference(theirs, ours))
    else:
        complaints += [f"tshark reads {read}, judge_data.py {item.details}"
                       for item, read in zip(own, details)
                       if read and not judge_data.agree(item.details, read)]
        if octets.end < span[1]:
            complaints.append("tshark cannot dissect the rest")
    return Packet(number, theirs, octets.flaws_in(*span), complaints)


def without_crc(what, is_beside):
    """Return `what`, an FPDU's tuple: "FPDU", length, opcode, verdict on the CRC. If a Marker is
    directly before or after the FPDU (is_beside), put None for the verdict, as tshark's is wrong
    then: see judge_data.py."""
    return (*what[:3], None) if is_beside else what


def difference(theirs, ours):
    index = next((i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]),
                 min(len(theirs), len(ours)))
    pick = lambda items: items[index] if index < len(items) else "nothing"
    return f"tshark sees {pick(theirs)}, startup.py {pick(ours)}"


def limited(words, items, is_beside):
    """Is this message due to one of tshark's limits, which judge_data.py lists, and not to a flaw
    in the packet?"""
    if judge_tshark.BAD_CRC in words:
        return bool(items) and all(is_beside)
    return "Malformed" in words and any(
        item.details and item.details.term and not judge_data.copy_is_dissected(item.details) or
        item.what[0] == "FPDU" and item.what[2] == judge_data.ATOMIC_REQUEST
        for item in items)


class Side:
    """What one end of a connection sent, as tshark and as judge_own.py read it"""

    def __init__(self, exchange, role, connection, seen):
        self.octets = exchange.sides[role]
        direction = connection.out if role == "initiator" else connection.back
        was_captured = connection is exchange.connection
        self.packets = []
        for number, start, end in packets_of(direction):
            span = start, min(end, len(self.octets.data))
            self.packets.append(read_packet(
                self.octets, number if was_captured else self._captured(*span), span,
                seen.get(number, judge_tshark.Seen([], []))))
        # A packet that only repeats bytes must have neither items nor complaints of tshark.
        told = {number for number, _, _ in packets_of(direction)}
        for packet in connection.packets:
            if connection.is_out(packet) == (role == "initiator") and packet.number in seen and \
                    packet.number not in told:
                self.packets.append(Packet(packet.number, [], [], [
                    f"tshark sees {seen[packet.number]} where no new octet is"]))
        if exchange.behind_reject:
            for packet in self.packets:
                if any(item[0] == "FPDU" and item[2] != TERMINATE for item in packet.items):
                    packet.complaints.append("an FPDU behind a Reject")

    def _captured(self, start, end):
        """Return the number, in the original capture, of the packet in which the first frame or
        FPDU begins that ends between these offsets of the stream; if no frame or FPDU ends there,
        that of the packet with the byte at `start`."""
        items = self.octets.items_in(start, end)
        return self.octets.packet_of(items[0].offset if items else start)

    def complaints(self):
        """(packet number, words)"""
        return [(packet.number, words) for packet in self.packets for words in packet.complaints]

    def judges(self, flaw):
        """Can tshark find this flaw? Not a wrong CRC of an FPDU with a Marker directly before or
        after it."""
        return flaw.words != "a wrong CRC" or \
            not any(map(self.octets.by_marker, self.octets.items_in(flaw.offset, flaw.end)))

    def overlooked(self):
        """Yield (packet number, text for the report) for each flaw that tshark can find, but does
        not report, or reports only by messages for other flaws."""
        for flaw in self.octets.flaws:
            words = sorted({words for packet in self.packets if flaw in packet.flaws
                            for words in packet.complaints})
            if self.judges(flaw) and not any(is_found_out(flaw, one) for one in words):
                yield (self.octets.packet_of(flaw.offset),
                       f"{flaw.words}, but tshark says: {'; '.join(words) or 'nothing'}")

    def unfounded(self):
        """Yield (packet number, complaint) for all complaints about each packet in which no
        complaint is the right message for a flaw of the packet: see is_found_out()."""
        for packet in self.packets:
            if not any(is_found_out(flaw, words) for flaw in packet.flaws
                       for words in packet.complaints):
                yield from ((packet.number, words) for words in packet.complaints)


def is_found_out(flaw, words):
    """Is `words`, a complaint of tshark, a message for this kind of flaw? A message for another kind
    of flaw does not show that tshark has found this one."""
    return any(what.search(flaw.words) and said.search(words) for what, said in REASONS)


Judged = namedtuple("Judged", "name exchange initiator responder")


def both_sides(exchange, connection, seen):
    return [Side(exchange, role, connection, seen) for role in ("initiator", "responder")]


def judge_anew(exchanges):
    """Judge exchanges whose captured segments tshark cannot dissect: have tshark read a new capture,
    in which each frame has a segment of its own. Return two Sides for each exchange, one for each
    end, with the packet numbers of the original capture."""
    if not exchanges:
        return []
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
    """Return both Sides, which are what each end sent, of an exchange that was written as one
    connection, or as two if only one direction has Markers: the FPDUs with Markers in the first,
    the others in the second. Request and Reply are taken from the first connection, as only there
    both have bit M as captured."""
    first = both_sides(exchange, connections[0], seen)
    if len(connections) == 1:
        return first
    second = both_sides(exchange, connections[1], seen)
    for side, other in zip(first, second):
        if not side.octets.markers:
            side.packets[1:] = other.packets[1:]
    return first


def judge_all(path, names, cuts):
    seen = judge_tshark.read(path)
    exchanges, ports = [], set()
    for connection in startup.read_connections(path):
        some = list(exchanges_of(connection, cuts))
        for exchange in some:
            exchange.has_old_ports = exchange.ports in ports
        ports.update(exchange.ports for exchange in some)
        exchanges += some
    blind = [exchange for exchange in exchanges if exchange.blind_spot()]
    judged = dict(zip(map(id, blind), judge_anew(blind)))
    for exchange in exchanges:
        judged.setdefault(id(exchange), both_sides(exchange, exchange.connection, seen))
    for exchange in exchanges:
        port = exchange.ports[1]
        yield Judged(names.get(port, f"port {port}"), exchange, *judged[id(exchange)])


# --- the report --------------------------------------------------------------------------------

def read_map(path):
    """Read the file of run.py --map. Return names: port -> test, None if it is not judged; peers:
    (role of the test's end, ports) -> number of connections; cuts: the same keys -> ends (FIN, RST)
    by which the device's stream may stop within an FPDU; may: port -> exceptions for the device,
    which run.py's may() lists"""
    names, peers, cuts, cut_ports, may = {}, Counter(), {}, set(), {}
    with open(path, encoding="ascii") as file:
        for line in file:
            test = json.loads(line)
            if "others" in test:        # the ports belong to other runs
                names.update(dict.fromkeys(range(*test["others"])))
                continue
            if not test["judged"]:
                names[test["port"]] = None
                continue
            names[test["port"]] = test["test"]
            peers.update(tuple(peer) for peer in test["peers"])
            cuts.update((tuple(peer), ("RST",)) for peer in test["cuts"])
            if test["cut"]:
                cut_ports.add(test["port"])
            may[test["port"]] = test["may"]
    cuts.update((peer, ANY_END) for peer in peers if peer[2] in cut_ports)
    return names, peers, cuts, may


class Report:
    def __init__(self, may):
        self.may = may              # port -> exceptions for the device, which run.py's may() lists
        self.count = Counter()
        self.blind = {}             # reason why tshark cannot dissect -> connections of each test
        self.beside = Counter()     # test -> FPDUs whose CRC tshark could not check
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
            may = self.may.get(exchange.ports[1], ())
            if side.octets.is_terminated() and exchange.end_of(role) == "RST" and not by_test:
                self.fail("dissects", judged.name, side.octets.packet_of(side.octets.end), role,
                          "an RST behind the Terminate, and no FIN")
            if exchange.broken_off(role) and not by_test and "reset" not in may:
                self.fail("dissects", judged.name, exchange.broken_off(role), role,
                          "an RST behind its FIN, before the other half has ended")
            if side.octets.missing:
                self.fail("capture", judged.name, side.octets.missing[0], role,
                          "octets in front of it are not in the capture")
            self.beside[judged.name] += sum(map(side.octets.by_marker, side.octets.items))
            if not by_test:
                self.add_breaches(judged.name, role, side, "terminate" in may)
            if by_test and side.octets.flaws:
                self.add_bad_peer(judged.name, role, side)
                continue
            self.add_clean(judged.name, role + (", played by the test" if by_test else ""), side)
            self.count["frames"] += bool(side.octets.frame) and not exchange.behind_reject

    def add_breaches(self, name, role, side, but_terminates):
        """Report what breaks a rule for senders. but_terminates: leave out Terminates. This is set
        for siw_mpa, which is siw on iw_mpa: siw makes the Terminates of Full Operation, and is not
        under test."""
        for item in side.octets.items:
            if item.breach and not (but_terminates and item.what[2] == TERMINATE):
                self.fail("dissects", name, side.octets.packet_of(item.offset), role, item.breach)

    def add_clean(self, name, role, side):
        self.count["FPDUs"] += sum(item.what[0] == "FPDU" for item in side.octets.items)
        self.count["good"] += sum(item[0] == "FPDU" and item[3] == 1
                                  for packet in side.packets for item in packet.items)
        for packet, words in side.complaints():
            self.fail("crc" if "CRC" in words else "dissects", name, packet, role, words)
        for flaw in side.octets.flaws:
            if not any(packet.complaints for packet in side.packets if flaw in packet.flaws):
                self.fail("dissects", name, side.octets.packet_of(flaw.offset), role,
                          f"{flaw.words}, which tshark does not see")

    def add_bad_peer(self, name, role, side):
        self.count["bad peers"] += 1
        for packet, words in side.overlooked():
            self.fail("peers", name, packet, role, words)
        for packet, words in side.unfounded():
            self.fail("peers", name, packet, role, f"nothing is wrong there, but tshark says: {words}")

    def fail(self, kind, name, packet, role, words):
        self.failures[kind].append(f"{name}: packet {packet}, {role}: {words}")

    def expect(self, peers, exchanges):
        """Report a failure if the capture has fewer complete exchanges than `exchanges`. Report the
        connections of the test's own peers that the capture lacks: peers has their number for each
        (role, ports). Otherwise a capture in which packets are missing would pass."""
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
        beside = +self.beside
        if beside:
            self.tell("CRCs that our own reading alone judges, as tshark takes a Marker between two "
                      f"FPDUs for one of the first, {sum(beside.values())}", beside)
        return any(self.failures.values())

    @staticmethod
    def tell(text, names):
        listed = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in names.items())
        print(textwrap.fill(f"{text}: {listed}", 100, initial_indent="# ",
                            subsequent_indent="#   "))


def judge(path, names, peers, exchanges, cuts=None, may=None):
    report = Report(may or {})
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
ORDER = "bad order, the Reply comes first"      # tshark cannot judge the order, and no rule forbids it
GAP = "bad capture, octets are missing"


def changed(octets, offset):
    return octets[:offset] + bytes([octets[offset] ^ 1]) + octets[offset + 1:]


def led(spoil=lambda octets: octets):
    """Return three FPDUs of a stream with Markers. A Marker is directly before the second FPDU.
    spoil: function that changes the CRC field of the second FPDU"""
    writer = fpdu.Writer(markers=True)
    # The first FPDU has 512 bytes, so that the second Marker follows it: 10 of them are the first
    # Marker, ULPDU_Length and the CRC, 18 are the DDP header, and the rest is payload.
    first = writer.fpdu(rdmap.untagged(rdmap.SEND, bytes(fpdu.SPACING - 10 - 18), msn=1))
    second = writer.fpdu(rdmap.untagged(rdmap.SEND, b"ping", msn=2), check=spoil)
    return [first, second, writer.fpdu(rdmap.terminate(rdmap.terminate_body(rdmap.MPA_CRC)))]


def breaches():
    """Yield names and ULPDUs that break a rule for senders, which a receiver need not check"""
    write = rdmap.write(1, 0)
    body = rdmap.terminate_body(rdmap.TAGGED_STAG, write)
    yield "DV", rdmap.write(1, 0, dv=0)
    yield "RV", rdmap.write(1, 0, rv=2)
    yield "T of a Send", rdmap.tagged(rdmap.SEND, 1, 0, b"ping")
    yield "opcode", rdmap.tagged(9, 1, 0, b"pong")
    yield "reserved bit of DDP", rdmap.write(1, 0, ddp_reserved=4)
    yield "reserved bit of RDMAP", rdmap.write(1, 0, rdmap_reserved=0x10)
    yield "queue of a Send", rdmap.untagged(rdmap.SEND, b"ping", msn=1, qn=1)
    yield "Invalidate STag of a Send", rdmap.untagged(rdmap.SEND, b"ping", msn=1, inv=7)
    yield "M of a Terminate without D", rdmap.terminate(bytes([0x11, 0, rdmap.M, 0]))
    yield "octets behind a Terminate", rdmap.terminate(body + bytes(4))
    yield "reserved bits of a Terminate", rdmap.terminate(body[:3] + b"\1" + body[4:])
    yield "MSN of a Terminate", rdmap.terminate(body, msn=2)


def sent(ulpdu, **kw):
    return fpdu.Writer().fpdu(ulpdu, **kw)


def cases():
    """Yield a case's name, and the pieces, as segments() takes them, that initiator and responder
    send. The judge has to report a failure for each name with "bad", and none for the others."""
    v1 = [mpa.request(), *OUT], [mpa.reply(), *BACK]
    no_crc = [mpa.request(flags=0), mpa.send(b"x", crc=False)], [mpa.reply(flags=0)]
    split = [REQUEST[:7], REQUEST[7:], OUT[0][:3], OUT[0][3:], OUT[1]], [REPLY + BACK[0]]
    yield "good v1", *v1
    yield "good v2", [REQUEST, *OUT], [REPLY, *BACK]
    yield "good v2, unenhanced", [mpa.request(rev=2), *OUT], [mpa.reply(rev=2), *BACK]
    yield "good without CRC", *no_crc
    large = mpa.request2(flags=mpa.C | mpa.REQ_LARGE)
    yield "good large FPDUs, allowed by both", [large], [mpa.reply2(flags=mpa.C | mpa.REP_LARGE)]
    yield "bad reserved bit, the Request's in a Reply", [large], \
        [mpa.reply2(flags=mpa.C | mpa.REQ_LARGE)]
    yield "good Reject", [REQUEST], [mpa.reply2(b"no", flags=mpa.C | mpa.R)]
    yield "good Terminate", [REQUEST, mpa.terminate(6)], [REPLY]
    yield "good Terminate behind a Reject", [REQUEST], \
        [mpa.reply2(flags=mpa.C | mpa.R), mpa.terminate(6)]
    yield "good, split", *split
    yield "good, overtaken", [REQUEST, tuple(OUT)], [REPLY, tuple(BACK * 2)]
    yield "good, overtaken by an acknowledgment", [REQUEST, OUT[0], Ahead(OUT[1]), OUT[1]], [REPLY]
    yield "bad FPDU, overtaken by an acknowledgment", \
        [REQUEST, OUT[0], Ahead(OUT[1]), changed(OUT[1], 20)], [REPLY]
    yield "bad FPDU, overtaken", [REQUEST, (OUT[0], changed(OUT[1], 20))], [REPLY]
    yield "bad FPDU, overtakes", [REQUEST, (changed(OUT[0], 9), OUT[1])], [REPLY]
    cut = [REQUEST, OUT[1][:-1]]
    yield "good FPDU, cut by RST of the receiver, declared", cut, [REPLY, RST]
    yield "good FPDU, cut by RST of the sender, declared", [*cut, RST], [REPLY]
    yield "good FPDU, cut by FIN of the sender, declared", [*cut, FIN], [REPLY]
    yield "good FPDU, cut, the test resets", cut, [REPLY, RST]
    yield "bad FPDU, cut by RST of the receiver", cut, [REPLY, RST]
    yield "bad FPDU, cut by RST of the sender", [*cut, RST], [REPLY]
    yield "bad FPDU, cut by FIN of the sender", [*cut, FIN], [REPLY]
    yield "bad FPDU, cut, and FIN, and then the test resets", [*cut, FIN], [REPLY, RST]
    yield "bad FPDU, cut by RST of the sender, and then the test resets", [*cut, RST], [REPLY, RST]
    yield "bad FPDU, cut, and no end, declared", cut, [REPLY]
    yield "bad octet before good FPDUs", [REQUEST, OUT[0], b"u", *OUT[1:] * 8], [REPLY]
    yield GAP, [REQUEST, OUT[0], Uncaptured(OUT[1]), OUT[1]], [REPLY]
    yield "bad end, RST behind a Terminate", [REQUEST, OUT[0], mpa.terminate(2), RST], [REPLY]
    yield "bad code of startup behind an FPDU", [REQUEST, OUT[0], mpa.terminate(5)], [REPLY]
    yield "good code of Full Operation behind an FPDU", [REQUEST, OUT[0], mpa.terminate(2)], [REPLY]
    yield "good Marker in front of an FPDU", [MARKED], [REPLY, *led()]
    yield "bad CRC behind a Marker", [MARKED], [REPLY, *led(lambda field: changed(field, 0))]
    yield "bad end, RST behind FIN", [REQUEST, OUT[0], FIN, RST], [REPLY]
    yield "bad end, RST behind FIN, and then the other's FIN", \
        [REQUEST, OUT[0], FIN, RST], [REPLY, FIN]
    yield "good end, RST behind FIN, it may", [REQUEST, OUT[0], FIN, RST], [REPLY]
    yield "good end, RST of the other behind FIN", [REQUEST, OUT[0], FIN], [REPLY, RST]
    yield "bad end, RST behind Markers and a Terminate", [MARKED], [REPLY, *led(), RST]
    yield "bad octets before RST, declared", [REQUEST, b"\xff" * 64, RST], [REPLY]
    beyond = sent(rdmap.terminate(rdmap.terminate_body(rdmap.RDMAP_VERSION, rdmap.write(1, 0))))
    yield "good Terminate that tshark cannot dissect", [REQUEST, OUT[0], beyond], [REPLY]
    yield "bad FPDU of 2 octets beside such a Terminate", \
        [REQUEST, OUT[0], sent(b"\0\0") + beyond], [REPLY]
    yield "bad Read Request beside such a Terminate", \
        [REQUEST, OUT[0], sent(rdmap.untagged(rdmap.READ_REQUEST, b"", msn=1)) + beyond], [REPLY]
    yield "bad pad", [REQUEST, OUT[0], sent(OUT[1][2:-7], pad=b"\1\1\1")], [REPLY]
    yield "bad Marker", [MARKED], [REPLY, fpdu.Writer(markers=True).fpdu(
        rdmap.untagged(rdmap.SEND, b"ping", msn=1), marker=lambda octets: b"\0\0\0\4")]
    for name, ulpdu in breaches():
        yield f"bad {name}", [REQUEST, OUT[0], sent(ulpdu)], [REPLY]
        yield f"{'good' if 'a Terminate' in name else 'bad'} {name}, it may", \
            [REQUEST, OUT[0], sent(ulpdu)], [REPLY]
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


def found_bad(path, streams, names, peers, *more):
    """Write streams to a capture and judge it. Return the names of connections that fail."""
    write_capture(path, streams)
    report = judge(path, names, Counter(peers), 1, *more)
    return {line.split(": packet")[0] for lines in report.failures.values() for line in lines}


def both_peers(ports):
    return [(role, 40000, port) for port in ports for role in ("initiator", "responder")]


def selftest(path):
    """Yield each case in which judge.py's verdict is wrong."""
    names, *sides = zip(*cases())
    streams = list(zip(*sides))
    ports = {FIRST_PORT + index: name for index, name in enumerate(names)}
    cuts = {}
    for end, how in (("declared", ANY_END), ("the test resets", ("RST",))):
        some = [port for port, name in ports.items() if name.endswith(end)]
        cuts.update(dict.fromkeys(both_peers(some), how))
    bad = {name for name in names if name.startswith("bad")}
    may = {port: ("reset", "terminate") for port, name in ports.items() if name.endswith("it may")}
    found = found_bad(path, streams, ports, (), cuts, may)
    yield from (f"{name}: not found" for name in sorted(bad - found))
    yield from (f"{name}: but it is not" for name in sorted(found - bad))

    # If both ends of each connection are given as the test's own peers, flaws that tshark reports
    # are allowed. Two failures remain: ORDER, a Reply before the Request, which tshark cannot
    # judge, and GAP, since no capture may lack bytes.
    found = found_bad(path, streams, ports, both_peers(ports), cuts)
    yield from (f"as the test's peer, {line}" for line in sorted(found - {ORDER, GAP}))
    if GAP not in found:
        yield f"as the test's peer, {GAP}: not found"
    for what, wrong in (("no packet", found_bad(path, [], {}, ())),
                        ("no exchange", found_bad(path, [([], [])], {}, ())),
                        ("a connection of no test", found_bad(path, streams[:2], {1: "x"}, ())),
                        ("a lost connection", found_bad(path, streams[:2], ports,
                                                        both_peers(ports)[:5]))):
        if not wrong:
            yield f"{what}: not found"
    yield from misread(path)


def misread_cases():
    """Yield cases: a name; the data of the segments that a peer sends after its Request; for each
    of these segments the messages that replace tshark's, or None to keep tshark's"""
    crc, short = changed(OUT[1], 20), mpa.fpdu(bytes(4))
    bad_crc, lost = [f"{judge_tshark.BAD_CRC}: 0x0"], ["Malformed Packet"]
    yield "good, three flaws", (crc, OUT[1], short, crc), (None, None, None, None)
    yield "good, more behind a runt", (mpa.fpdu(b"\0"), OUT[1], mpa.fpdu(b""), OUT[1]), (None,) * 4
    yield "bad, in words for another flaw", (crc,), (lost,)
    yield "bad, one flaw is overlooked", (crc, OUT[1], crc), (None, None, [])
    yield "bad, the complaint is of the next", (crc, OUT[1]), ([], bad_crc)
    yield "bad, a complaint of what is right, too", (crc, OUT[1]), (None, bad_crc)
    yield "bad, silence about what is too short", (short,), ([],)
    yield "bad, an assertion of tshark", (OUT[1],), (["a.c:1: failed assertion"],)
    yield "bad, an assertion in place of a complaint", (crc,), (["a.c:1: failed assertion"],)


def misread(path):
    """Judge the streams of misread_cases() with messages in place of tshark's own: yield each case
    in which judge.py accepts wrong messages, or does not accept right ones."""
    names, sent, said = zip(*misread_cases())
    streams = [([REQUEST, *pieces], [REPLY]) for pieces in sent]
    write_capture(path, streams)
    changes = {}
    for connection, some in zip(startup.read_connections(path), said):
        packets = [packet.number for packet in connection.packets if packet.payload]
        changes.update((number, words) for number, words in zip(packets[2:], some)
                       if words is not None)
    read = judge_tshark.read
    judge_tshark.read = lambda file: {
        number: seen._replace(complaints=changes.get(number, seen.complaints))
        for number, seen in read(file).items()}
    ports = {FIRST_PORT + index: name for index, name in enumerate(names)}
    found = found_bad(path, streams, ports, both_peers(ports))
    judge_tshark.read = read
    for name in names:
        if name.startswith("bad") != (name in found):
            yield f"where tshark is made to misread a peer, {name}: {found}"


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
    names, peers, cuts, may = read_map(args.map) if args.map else ({}, Counter(), {}, {})
    sys.exit(judge(args.capture, names, peers, args.exchanges, cuts, may).show())


try:
    main()
except subprocess.CalledProcessError as error:
    sys.exit(f"tshark cannot read {error.cmd[error.cmd.index('-r') + 1]}")
