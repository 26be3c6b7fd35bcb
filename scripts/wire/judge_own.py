# SPDX-License-Identifier: GPL-2.0
"""For judge.py: a parser of captured connections, independent of tshark. It finds Requests,
Replies, FPDUs and flaws, which are violations of the RFCs.

Each flaw has its position in the stream. judge.py compares tshark's messages about a packet with
the flaws in that packet, so that a message about one FPDU does not excuse silence about another.
"""

import copy
import os
import sys
from bisect import bisect_right
from collections import namedtuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "lib", "guest"))

import fpdu         # noqa: E402
import judge_data   # noqa: E402
import mpa          # noqa: E402
import startup      # noqa: E402

MAX_PD = 512
TERMINATE = 7
SMALLEST = 8                # least bytes of an FPDU in its first segment for tshark to recognize it
TAIL = 4096                 # most bytes behind the last FPDU that pieces() returns for tshark
JOINED = 32768              # most bytes of FPDUs that pieces() joins in one segment
OWN_RST = "its own RST"
LARGE = {"Request": mpa.REQ_LARGE, "Reply": mpa.REP_LARGE}

# A Request, Reply or FPDU. what: a tuple to compare with judge_tshark.py's; details: the FPDU's
# header fields (judge_data.Details); breach: the rule for senders that it breaks, or None
Item = namedtuple("Item", "offset end what details breach", defaults=(None, None))
# offset, end: offsets of bytes in the stream of one end; words: what is wrong with these bytes
Flaw = namedtuple("Flaw", "offset end words")


def flaw_of_frame(frame, kind):
    if frame.kind != kind:
        return f"a {frame.kind} in place of the {kind}"
    if frame.rev not in (1, 2):
        return f"revision {frame.rev}"
    reserved = frame.raw_res & ~LARGE[kind]
    if reserved not in (0, 0x10) or reserved and frame.rev == 1:
        return f"reserved bits are {reserved:#x}"
    if reserved and not frame.enhanced:
        return "S without IRD and ORD"
    if kind == "Request" and frame.r:
        return "R in a Request"
    if frame.enhanced and not frame.enhanced.a and any(frame.enhanced[1:4]):
        return "B, C or D without A"
    return f"{frame.pd_len} octets of private data" if frame.pd_len > MAX_PD else None


def flaw_of_ulpdu(ulpdu):
    if len(ulpdu) < 2:
        return f"an FPDU of {len(ulpdu)} octets"
    opcode = ulpdu[1] & 0xf
    least = 14 if ulpdu[0] & 0x80 else {1: 46, TERMINATE: 22}.get(opcode, 18)
    if opcode == TERMINATE and len(ulpdu) >= least and not ulpdu[0] & 0x80:
        least = 18 + judge_data.terminate_size(ulpdu[18:])
    if len(ulpdu) < least:
        return f"an FPDU of {len(ulpdu)} octets"
    return None


def is_short(flaw):
    """Is `flaw` an FPDU shorter than its headers? If a TCP segment has such an FPDU, tshark
    dissects no FPDU of the segment."""
    return flaw.words.startswith("an FPDU of")


def cut_fpdu(octets):
    """Can the bytes `octets` be the beginning of an FPDU whose last bytes are missing?"""
    if len(octets) < 4:
        return True
    return octets[2] & 0x3f == 1 and octets[3] >> 4 == 4 and len(octets) < mpa.Fpdu.size(octets[:2])


def packets_of(direction):
    """Yield each packet that has bytes which no earlier packet of the direction had: its number,
    and the offsets of start and end of these bytes in the stream."""
    ends = [offset for offset, _ in direction.arrived[1:]] + [len(direction.data)]
    for (start, number), end in zip(direction.arrived, ends):
        if start < len(direction.data):
            yield number, start, min(end, len(direction.data))


class Octets:
    """The bytes that one end sent, parsed into its Request or Reply and FPDUs"""

    def __init__(self, direction, kind):
        self.data = bytes(direction.data)
        self.kind = kind
        self.packet_of = direction.packet_of
        self.packets = list(packets_of(direction))
        self.starts = {offset for offset, _ in direction.arrived}
        self.overtaken = direction.overtaken
        self.missing = [packet.number for packet in direction.early]    # behind lost bytes
        self.items = []
        self.ends = []          # end of each item
        self.flaws = []
        self.markers = False
        self.end = 0            # end of the last item
        self.frame = startup.parse_frame(self.data)
        if self.frame:
            f = self.frame
            self._add(f.size, (f.kind, f.rev, f.raw_res, f.m, f.c, f.r, f.pd_len,
                               bool(f.raw_res & LARGE[f.kind]),
                               tuple(f.enhanced) if f.enhanced else None),
                      flaw_of_frame(f, kind))

    def _add(self, size, what, flaw, *more):
        self._note(self.end, self.end + size, flaw)
        self.items.append(Item(self.end, self.end + size, what, *more))
        self.end += size
        self.ends.append(self.end)

    def _note(self, offset, end, words):
        if words:
            self.flaws.append(Flaw(offset, end, words))

    def read_fpdus(self, crc, markers):
        self.markers = bool(markers)
        for one in judge_data.fpdus(self.data[self.end:], markers):
            flaw = flaw_of_ulpdu(one.ulpdu) or (None if one.good or not crc else "a wrong CRC")
            opcode = one.ulpdu[1] & 0xf if len(one.ulpdu) > 1 else None
            late = judge_data.is_of_startup(one.ulpdu) and \
                any(item.what[0] == "FPDU" for item in self.items)
            self._add(one.size, ("FPDU", len(one.ulpdu), opcode, one.good if crc else None), flaw,
                      judge_data.details_read(one.ulpdu),
                      judge_data.breach_of_ulpdu(one.ulpdu) or one.breach or
                      ("a code of startup behind an FPDU" if late else None))

    def finish(self, may_be_cut):
        """Record bytes behind the last whole FPDU as a flaw, unless they are the beginning of an
        FPDU and the test allows that the stream ends within one (may_be_cut)."""
        if may_be_cut and self.end and cut_fpdu(self.data[self.end:]):
            self.data = self.data[:self.end]
        if self.end < len(self.data):
            self._note(self.end, len(self.data),
                       f"{len(self.data) - self.end} octets that are nothing whole")

    def only_terminates(self):
        for item in self.items[1:]:
            if item.what[2] != TERMINATE:
                self._note(item.offset, item.end,
                           "an FPDU behind a Reject that is no Terminate")

    def pieces(self):
        """Return the data of the segments to write for tshark: Request or Reply, FPDUs (several in
        one segment, if tshark can dissect them), and at most TAIL bytes behind these."""
        if self.markers:
            parts = [self._as_tshark_counts(item) for item in self.items]
        else:
            parts = [self.data[item.offset:item.end] for item in self.items[:1]]
            parts += self._joined(self.items[1:])
        return parts + ([self.data[self.end:self.end + TAIL]] if self.end < len(self.data) else [])

    def at_marker(self, offset):
        """Must the stream have a Marker at this offset, which is the end or start of an FPDU?"""
        return self.markers and offset > self.frame.size and \
            not fpdu.until_marker(offset - self.frame.size)

    def by_marker(self, item):
        """Is a Marker directly before or behind this FPDU, so that tshark cannot check its CRC?"""
        return self.at_marker(item.offset) or self.at_marker(item.end)

    def _as_tshark_counts(self, item):
        """Return the bytes of an FPDU; a Marker directly behind it belongs to them, and one before
        it does not, as that is how tshark dissects."""
        start = item.offset + (fpdu.MARKER if self.at_marker(item.offset) else 0)
        if not self.at_marker(item.end):
            return self.data[start:item.end]
        return self.data[start:item.end + fpdu.MARKER].ljust(item.end + fpdu.MARKER - start, b"\0")

    def _joined(self, items):
        short = {flaw.offset for flaw in self.flaws if is_short(flaw)}
        joined, before = [], None
        for item in items:
            part = self.data[item.offset:item.end]
            if joined and not {item.offset, before} & short and \
                    len(joined[-1]) + len(part) <= JOINED:
                joined[-1] += part
            else:
                joined.append(part)
            before = item.offset
        return joined

    def items_in(self, start, end):
        """Return the items (Request, Reply, FPDUs) whose last byte is between these offsets in the
        stream. For the offsets of a packet these are the items that tshark reports in it."""
        return self.items[bisect_right(self.ends, start):bisect_right(self.ends, end)]

    def flaws_in(self, start, end):
        return [flaw for flaw in self.flaws if flaw.offset < end and start < flaw.end]

    def short_in_company(self):
        """Does an FPDU shorter than its headers share a packet with a frame or another FPDU?"""
        return any(len(self.items_in(start, end)) > 1 for _, start, end in self.packets
                   if any(map(is_short, self.flaws_in(start, end))))

    def is_terminated(self):
        return bool(self.items) and self.items[-1].what[::2][:2] == ("FPDU", TERMINATE)

    def frame_without_m(self):
        frame = bytearray(self.pieces()[0])
        frame[len(mpa.KEY_REQ)] &= ~mpa.M
        return bytes(frame)


OTHER = {"initiator": "responder", "responder": "initiator"}


class Exchange:
    """A captured connection as this file parses it; judge.py compares that with tshark's output"""

    def __init__(self, connection, behind_reject=False, cuts=None):
        """cuts: (role, ports) of the test's end -> by which segments the device's stream may end
        within an FPDU: only by the test's RST, or also by the device's own FIN or RST.
        behind_reject: is `connection` the copy by which exchanges_of() has the bytes behind a
        Reject judged?"""
        self.connection = connection
        self.behind_reject = behind_reject
        self.has_old_ports = False  # has an earlier connection of the capture the same ports?
        self.ports = connection.sport, connection.dport
        self.sides = {"initiator": Octets(connection.out, "Request"),
                      "responder": Octets(connection.back, "Reply")}
        request, reply = (side.frame for side in self.sides.values())
        self.complete = bool(request and reply)
        self.came_up = self.complete and not reply.r
        for role, side in self.sides.items():
            if self.came_up:
                # The receiver of FPDUs decides by its flag M whether they have Markers.
                markers = (reply if role == "initiator" else request).m
                side.read_fpdus(request.c or reply.c, markers)
            side.finish(self.end_of_half(role) in (cuts or {}).get((OTHER[role], *self.ports), ()))
        if behind_reject:
            self.sides["responder"].only_terminates()

    def is_of(self, packet, role):
        return self.connection.is_out(packet) == (role == "initiator")

    def end_of_half(self, role):
        """Return what ended the stream of role's end, the first of: "FIN" or OWN_RST, which that
        end sent, or "RST", which the other end sent. None if none of these was captured."""
        for packet in self.connection.packets:
            if packet.rst:
                return OWN_RST if self.is_of(packet, role) else "RST"
            if packet.fin and self.is_of(packet, role):
                return "FIN"
        return None

    def broken_off(self, role):
        """Return the number of the packet in which role's end sends RST after its own FIN, although
        the other end has not sent FIN or RST yet. None if there is no such packet.

        After a failed startup such an RST is allowed: MPA then closes at once (RFC 5044, 8).
        """
        has_ended = False
        if not self.came_up:
            return None
        for packet in self.connection.packets:
            if not self.is_of(packet, role):
                if packet.fin or packet.rst:
                    return None
            elif packet.rst and has_ended:
                return packet.number
            else:
                has_ended |= bool(packet.fin)
        return None

    def end_of(self, role):
        """Return which of FIN and RST role's end sent first. None if neither was captured."""
        for packet in self.connection.packets:
            if self.is_of(packet, role) and (packet.fin or packet.rst):
                return "RST" if packet.rst else "FIN"
        return None

    def has_mixed_markers(self):
        """Has one direction Markers, and the other one FPDUs without Markers? tshark expects
        Markers in both or in none."""
        markers = [side.markers for side in self.sides.values()]
        return self.complete and markers[0] != markers[1] and \
            any(len(side.items) > 1 for side in self.sides.values() if not side.markers)

    def streams(self):
        """Return the connections to write for tshark, each as the data of both ends' segments. That
        is one connection; if only one direction has Markers, two: one with the FPDUs of that
        direction, and one with those of the other, in whose Request and Reply M is cleared."""
        sides = self.sides.values()
        if not self.has_mixed_markers():
            return [[side.pieces() for side in sides]]
        return [[side.pieces() if side.markers else side.pieces()[:1] for side in sides],
                [[side.frame_without_m()] + ([] if side.markers else side.pieces()[1:])
                 for side in sides]]

    def blind_spot(self):
        """Return why tshark cannot dissect the whole connection as captured. None if it can."""
        if self.has_old_ports:
            return "ports that another connection had before"
        if self.behind_reject:
            return "a Terminate behind a Reject"
        if self.has_mixed_markers():
            return "Markers in one direction"
        for side in self.sides.values():
            if side.frame and side_blind_spot(side):
                return side_blind_spot(side)
        out, back = self.sides.values()
        if len(out.items) > 1 and out.packet_of(out.items[1].offset) < back.packet_of(0):
            return "an FPDU in front of the Reply"
        return None


def side_blind_spot(side):
    frame = side.frame
    if side.overtaken:
        return "a segment that another overtook"
    if any(0 < start < frame.size for start in side.starts):
        return "a frame in several segments"
    if frame.size < len(side.data) and frame.size not in side.starts:
        return "a frame and more in one segment"
    firsts = [item.offset for item in side.items[1:]] + [side.end]
    if any(first < start < first + SMALLEST for first in firsts for start in side.starts):
        return f"an FPDU that begins with a segment of less than {SMALLEST} octets"
    if side.markers and any(item.offset not in side.starts for item in side.items[1:]):
        return "an FPDU with Markers that does not begin with a segment"
    if any(map(side.by_marker, side.items)):
        return "a Marker between two FPDUs"
    if side.short_in_company():
        return "an FPDU that is too short, and more in one segment"
    return None


def exchanges_of(connection, cuts=None):
    """Return a list with the Exchange of a connection. If bytes follow a Reject, the list has a
    second Exchange for these bytes: a copy of the connection with R of the Reply cleared, as tshark
    dissects no FPDU after a Reply with R."""
    request, reply = connection.request, connection.reply
    if not (request and reply and reply.r and len(connection.back.data) > reply.size):
        return [Exchange(connection, cuts=cuts)]
    behind = copy.deepcopy(connection)
    behind.back.data[len(mpa.KEY_REP)] &= ~mpa.R
    del behind.out.data[request.size:]
    del connection.back.data[reply.size:]
    return [Exchange(connection), Exchange(behind, True)]
