#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the MPA startup phase of every connection in a capture agreed on.

tshark takes the packets apart; the MPA frames are read here from its raw TCP payload, because
tshark knows nothing of RFC 6581 and gives up on frames that share a segment with others.
scripts/wire/judge.py compares its results with those of tshark.

    startup.py FILE                  print a table with a line per connection
    startup.py --picture FILE        draw the startup exchange of one connection (--conn N: of which one)
    startup.py --keep OTHER FILE     also write the results to OTHER, which can replace FILE in the other calls
    startup.py --check FILE          fail unless the frames are as the RFCs want them
"""

import argparse
import json
import struct
import subprocess
import sys
from collections import namedtuple

FIELDS = """frame.number tcp.stream ip.src ipv6.src ip.dst ipv6.dst tcp.srcport tcp.dstport
tcp.flags.syn tcp.flags.ack tcp.flags.fin tcp.flags.reset tcp.seq tcp.payload""".split()

KEYS = {b"MPA ID Req Frame": "Request", b"MPA ID Rep Frame": "Reply"}
OPCODES = ["RDMA Write", "RDMA Read Request", "RDMA Read Response", "Send", "Send with Invalidate",
           "Send with SE", "Send with SE and Invalidate", "Terminate"]

Packet = namedtuple("Packet", "number stream src dst sport dport syn ack fin rst seq payload")
Frame = namedtuple("Frame", "kind rev s m c r pd_len enhanced size raw_res")
Enhanced = namedtuple("Enhanced", "a b c d ird ord")
Fpdu = namedtuple("Fpdu", "opcode name data_len ulpdu_len size")


def tshark(path, *options, **how):
    command = ["tshark", "-n", "-o", "tcp.try_heuristic_first:TRUE", "-r", path, *options]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, **how).stdout


# Booleans are words in tshark 4.4, and 1 and 0 in 4.0.
WORDS = {"True": 1, "False": 0}


def number(text, default=0):
    first = text.split(",")[0]
    return WORDS[first] if first in WORDS else int(first, 0) if first else default


def read_packets(path):
    options = ["-Y", "tcp", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]
    for field in FIELDS:
        options += ["-e", field]
    for line in tshark(path, *options).splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        yield Packet(int(row["frame.number"]), int(row["tcp.stream"]),
                     row["ip.src"] or row["ipv6.src"], row["ip.dst"] or row["ipv6.dst"],
                     int(row["tcp.srcport"]), int(row["tcp.dstport"]),
                     number(row["tcp.flags.syn"]), number(row["tcp.flags.ack"]),
                     number(row["tcp.flags.fin"]), number(row["tcp.flags.reset"]),
                     number(row["tcp.seq"]), bytes.fromhex(row["tcp.payload"]))


class Direction:
    """The bytes that one side sent, and in which packet each of them came."""

    def __init__(self):
        self.data = bytearray()
        self.arrived = []           # (offset, frame number)
        self.early = []             # packets that overtook others
        self.furthest = 0           # greatest offset at which a packet began, also an empty one
        self.overtaken = False

    # tshark counts sequence numbers from 0 at the SYN, which may have bytes (TCP Fast Open).
    def add(self, packet):
        start = packet.seq - (not packet.syn)
        self.furthest = max(self.furthest, start)
        if packet.payload and start > len(self.data):
            self.early.append(packet)
            return
        new = packet.payload[max(len(self.data) - start, 0):]
        if not new:
            return
        self.overtaken |= len(self.data) < self.furthest
        self.arrived.append((len(self.data), packet.number))
        self.data += new
        early, self.early = self.early, []
        for packet in early:
            self.add(packet)

    def packet_of(self, offset):
        return max((n for o, n in self.arrived if o <= offset), default=0)


def parse_frame(data):
    """Return the MPA Request or Reply at the start of the stream, or None."""
    if len(data) < 20 or bytes(data[:16]) not in KEYS:
        return None
    flags, rev, pd_len = struct.unpack_from(">BBH", data, 16)
    if len(data) < 20 + pd_len:
        return None
    enhanced = None
    if rev >= 2 and flags & 0x10 and pd_len >= 4:
        ird, ord_ = struct.unpack_from(">HH", data, 20)
        enhanced = Enhanced(ird >> 15, ird >> 14 & 1, ord_ >> 15, ord_ >> 14 & 1,
                            ird & 0x3fff, ord_ & 0x3fff)
    return Frame(KEYS[bytes(data[:16])], rev, flags >> 4 & 1, flags >> 7, flags >> 6 & 1,
                 flags >> 5 & 1, pd_len, enhanced, 20 + pd_len, flags & 0x1f)


MARKER, INTERVAL = 4, 512       # bytes of a Marker, and from one Marker to the next


def without_markers(data):
    """Remove the Markers from the bytes that follow the Request or Reply. These bytes begin with a
    Marker (RFC 5044 section 4.3)."""
    return b"".join(data[at + MARKER:at + INTERVAL] for at in range(0, len(data), INTERVAL))


def parse_fpdus(data):
    """Yield the offset and the contents of each whole FPDU in bytes without Markers."""
    offset = 0
    while len(data) - offset >= 20:
        length, ddp, rdmap = struct.unpack_from(">HBB", data, offset)
        padded = (2 + length + 3) // 4 * 4 + 4
        if len(data) - offset < padded:
            return
        opcode = rdmap & 0xf
        header = 14 if ddp & 0x80 else 18
        size = length - header
        if opcode == 1 and length >= header + 16:    # an RDMA Read Request: size of the data that it requests
            size = struct.unpack_from(">I", data, offset + 2 + header + 12)[0]
        name = OPCODES[opcode] if opcode < len(OPCODES) else f"opcode {opcode}"
        yield offset, Fpdu(opcode, name, size, length, padded)
        offset += padded


class Connection:
    def __init__(self, first):
        self.src, self.dst = first.src, first.dst
        self.sport, self.dport = first.sport, first.dport
        self.packets = []
        self.out, self.back = Direction(), Direction()

    def add(self, packet):
        self.packets.append(packet)
        (self.out if self.is_out(packet) else self.back).add(packet)

    def is_out(self, packet):
        return (packet.src, packet.sport) == (self.src, self.sport)

    def decode(self):
        self.request = parse_frame(self.out.data)
        self.reply = parse_frame(self.back.data)
        self.out_fpdus = self.fpdus(self.out, self.request, self.reply)
        self.back_fpdus = self.fpdus(self.back, self.reply, self.request)

    @staticmethod
    def fpdus(direction, frame, of_receiver):
        """Return the FPDUs of one direction, with their offsets. They have Markers if the
        receiver's own Request or Reply has asked for them."""
        if not frame:
            return []
        data = direction.data[frame.size:]
        if not of_receiver or not of_receiver.m:
            return [(frame.size + offset, fpdu) for offset, fpdu in parse_fpdus(data)]
        return [(frame.size + offset + (offset // (INTERVAL - MARKER) + 1) * MARKER, fpdu)
                for offset, fpdu in parse_fpdus(without_markers(data))]

    def rtr(self):
        """The ready-to-receive message that the initiator sent: its type, or None."""
        if not self.out_fpdus or self.out_fpdus[0][1].data_len:
            return None
        return {0: "Write", 1: "Read", 3: "Send"}.get(self.out_fpdus[0][1].opcode)

    def markers(self):
        """Return in how many of the two directions Markers are sent."""
        return sum(frame.m for frame in (self.request, self.reply) if frame)


def read_connections(path):
    connections = {}
    for packet in read_packets(path):
        if packet.stream not in connections:
            if not packet.syn or packet.ack:
                continue                 # the capture began after this connection
            connections[packet.stream] = Connection(packet)
        connections[packet.stream].add(packet)
    for connection in connections.values():
        connection.decode()
    return list(connections.values())


# --- table -----------------------------------------------------------------------------------

def show_enhanced(frame):
    if not frame or not frame.enhanced:
        return "-", "-"
    e = frame.enhanced
    flags = "".join(name if bit else "." for name, bit in zip("ABCD", e[:4]))
    return flags, f"{e.ird}/{e.ord}"


def show_private(frame):
    if not frame:
        return "-"
    return str(frame.pd_len - (4 if frame.enhanced else 0))


HEAD = ("initiator", "responder", "port", "rev", "S", "M", "C", "req", "IRD/ORD", "rep",
        "IRD/ORD", "priv", "result", "RTR")


def table_row(connection, names):
    req, rep = connection.request, connection.reply
    pick = lambda frame, key: "-" if not frame else str(getattr(frame, key))
    both = lambda key: (pick(req, key) if pick(req, key) == pick(rep, key)
                        else f"{pick(req, key)}>{pick(rep, key)}")
    if not req:
        result = "no MPA"
    elif not rep:
        result = "no reply"
    else:
        result = "rejected" if rep.r else "accepted"
    return (names.get(connection.src, connection.src), names.get(connection.dst, connection.dst),
            str(connection.dport), both("rev"), both("s"), both("m"), both("c"),
            *show_enhanced(req), *show_enhanced(rep),
            f"{show_private(req)}>{show_private(rep)}", result, connection.rtr() or "none")


LEGEND = ("n: connections alike; a>b: Request and Reply differ; rev: revision of MPA; S: data of RFC 6581;\n"
          "M: Markers; C: CRC; IRD/ORD: RDMA Reads at a time, received and sent; priv: bytes of private data;\n"
          "A: peer-to-peer, B/C/D: RTR as Send/Write/Read; RTR: what the initiator really sent")


# Connections that agreed on the same parameters share a row; the port tells the programs apart.
def summary(connections, names):
    rows = {}
    for connection in connections:
        row = table_row(connection, names)
        rows[row] = rows.get(row, 0) + 1
    return {"head": list(HEAD), "legend": LEGEND,
            "rows": [[list(row), str(n)] for row, n in rows.items()],
            "connections": [picture_of(connection, names) for connection in connections]}


def show_table(seen):
    lines = [["n"] + seen["head"]] + [[n] + row for row, n in seen["rows"]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print("\n" + seen["legend"])


# --- picture ---------------------------------------------------------------------------------

WIDTH = 62


def arrow(text, out):
    body = f" {text} "
    line = body.center(WIDTH - 4, "-")
    return f"|--{line}->|" if out else f"|<-{line}--|"


def describe(frame):
    lines = [f"rev={frame.rev} S={frame.s} M={frame.m} C={frame.c} R={frame.r} "
             f"pd_length={frame.pd_len}"]
    e = frame.enhanced
    if e:
        lines.append(f"A={e.a} B={e.b} C={e.c} D={e.d} IRD={e.ird} ORD={e.ord}, "
                     f"{frame.pd_len - 4} bytes of private data")
    return lines


def steps(connection):
    """Return (frame number, whether the initiator sent it, title, detail lines) of each step of a
    connection's startup and of the first FPDUs of each end, in the order on the wire."""
    found = [(connection.packets[0].number, True, "TCP SYN", [])]
    for packet in connection.packets:
        if packet.syn and packet.ack:
            found.append((packet.number, False, "TCP SYN, ACK", []))
            break
    for direction, frame, fpdus, out in (
            (connection.out, connection.request, connection.out_fpdus, True),
            (connection.back, connection.reply, connection.back_fpdus, False)):
        if frame:
            found.append((direction.packet_of(0), out, f"MPA {frame.kind}", describe(frame)))
        for index, (offset, fpdu) in enumerate(fpdus[:3]):
            title = f"{fpdu.name}, {fpdu.data_len} bytes"
            if out and index == 0 and connection.rtr():
                title += ": the RTR"
            elif out and connection.rtr() and (fpdu.name, fpdu.data_len) == ("RDMA Write", 0):
                title += ": the RTR again"
            found.append((direction.packet_of(offset), out, title, []))
    return sorted(found, key=lambda step: step[0])


def picture_of(connection, names):
    return {"left": names.get(connection.src, connection.src),
            "right": names.get(connection.dst, connection.dst),
            "steps": [list(step) for step in steps(connection)]}


def show_picture(seen):
    print(f"{seen['left'] + ' (initiator)':<{WIDTH // 2 + 3}}"
          f"{seen['right'] + ' (responder)':>{WIDTH // 2}}")
    for frame_number, out, title, details in seen["steps"]:
        print(arrow(title, out) + f"   frame {frame_number}")
        for line in details:
            print("|" + line.center(WIDTH - 1) + "|")
    print("|" + "...".center(WIDTH - 1) + "|")


# --- check -----------------------------------------------------------------------------------

class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def check_frame(frame, kind):
    expect(frame, f"no MPA {kind}")
    expect(frame.kind == kind, f"{frame.kind} where a {kind} is due")
    reserved = frame.raw_res & ~(0x08 if kind == "Request" else 0x04)   # large FPDUs are allowed
    expect((frame.rev == 2) == (reserved == 0x10) and frame.rev in (1, 2),
           f"{kind}: rev {frame.rev} with reserved bits {frame.raw_res:#x}")
    expect(frame.pd_len <= 512, f"{kind}: pd_length {frame.pd_len}")
    expect(not frame.s or frame.enhanced, f"{kind}: S is set, private data too short")


def check_rtr(connection, required):
    req, rep = connection.request.enhanced, connection.reply.enhanced
    if not (req and rep and req.a):
        expect(not required, "the initiator does not ask for the peer-to-peer model")
        return
    expect(rep.a, "the Reply denies the peer-to-peer model")
    rtr = connection.rtr()
    expect(rtr, "no RTR: the first FPDU is " +
           str(connection.out_fpdus[0][1].name if connection.out_fpdus else None))
    agreed = {"Send": req.b and rep.b, "Write": req.c and rep.c, "Read": req.d and rep.d}
    expect(agreed[rtr], f"the RTR is a {rtr}, which the two did not agree on")


def check_sends(connection, size, one_way):
    sides = [("initiator", connection.out_fpdus), ("responder", connection.back_fpdus)]
    for side, fpdus in sides[:1] if one_way else sides:
        expect(any(fpdu.opcode == 3 and fpdu.data_len == size for _, fpdu in fpdus),
               f"the {side} never sent a message of {size} bytes")


def check(connections, args):
    if args.expect_connections is not None:
        expect(len(connections) == args.expect_connections,
               f"{len(connections)} connections, not {args.expect_connections}")
    expect(connections, "no connection in the capture")
    for connection in connections:
        check_frame(connection.request, "Request")
        check_frame(connection.reply, "Reply")
        expect(connection.markers() == 2 * args.expect_markers,
               f"{connection.markers()} of two directions have Markers")
        expect(not connection.reply.r, "rejected")
        check_rtr(connection, args.expect_rtr)
        expect(connection.out_fpdus and (connection.back_fpdus or args.one_way),
               "no FPDU in one of the directions")
        if args.expect_send_bytes is not None:
            check_sends(connection, args.expect_send_bytes, args.one_way)
        crc = connection.request.c or connection.reply.c
        expect(crc or not args.expect_crc, "neither side wants CRCs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="+")
    parser.add_argument("--picture", action="store_true")
    parser.add_argument("--conn", type=int, default=0, help="for --picture: which connection")
    parser.add_argument("--name", action="append", default=[], metavar="ADDRESS=NAME")
    parser.add_argument("--keep", metavar="OTHER")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--expect-connections", type=int)
    parser.add_argument("--expect-rtr", action="store_true")
    parser.add_argument("--expect-crc", action="store_true")
    parser.add_argument("--expect-markers", action="store_true", help="both ways, else neither")
    parser.add_argument("--expect-send-bytes", type=int)
    parser.add_argument("--one-way", action="store_true", help="only the initiator has to send")
    args = parser.parse_args()
    names = dict(item.split("=", 1) for item in args.name)

    for path in args.file:
        connections = []
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as kept:
                seen = json.load(kept)
        else:
            connections = read_connections(path)
            seen = summary(connections, names)
        if args.keep:
            with open(args.keep, "w", encoding="utf-8") as keep:
                json.dump(seen, keep)
        if args.picture:
            show_picture(seen["connections"][args.conn])
            continue
        show_table(seen)
        if args.check:
            try:
                check(connections, args)
            except Failure as failure:
                sys.exit(f"{path}: {failure}")


if __name__ == "__main__":
    main()
