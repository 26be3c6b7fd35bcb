# SPDX-License-Identifier: GPL-2.0
"""The formats of MPA Requests, Replies and the first FPDUs, which a test sends and checks.

No code is shared with iw_mpa, so that a test fails if iw_mpa or this file misreads an RFC. Formats
of Requests and Replies: RFC 5044 7.1.1, RFC 6581 6 and 9; of FPDUs: RFC 5044 4.1, RFC 5040 4,
RFC 5041 4.
"""

import struct

KEY_REQ = b"MPA ID Req Frame"
KEY_REP = b"MPA ID Rep Frame"
HDR = 20

M, C, R, S = 0x80, 0x40, 0x20, 0x10
# iw_mpa's extension: a reserved flag of MPA Request or Reply offers FPDUs longer than a TCP segment
REQ_LARGE, REP_LARGE = 0x08, 0x04

SEND, WRITE, READ = 1, 2, 4


class Bad(Exception):
    """A Request, Reply or FPDU that the device sent breaks a rule of the RFCs."""


def crc32c(data):
    crc = 0xffffffff
    for octet in data:
        crc ^= octet
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def enhanced(ird=0, ord=0, a=0, rtr=0):  # pylint: disable=redefined-builtin
    """Return the four bytes of IRD, ORD and bits A to D (RFC 6581, 9). rtr: the RTR types SEND (B),
    WRITE (C) and READ (D), or-ed."""
    first = ird | (0x8000 if a else 0) | (0x4000 if rtr & SEND else 0)
    second = ord | (0x8000 if rtr & WRITE else 0) | (0x4000 if rtr & READ else 0)
    return struct.pack(">HH", first, second)


def frame(key, flags=0, rev=1, pd=b"", pd_length=None):
    length = len(pd) if pd_length is None else pd_length
    return key + struct.pack(">BBH", flags, rev, length) + pd


def request(pd=b"", flags=C, rev=1, pd_length=None):
    return frame(KEY_REQ, flags, rev, pd, pd_length)


def request2(pd=b"", flags=C, **enh):
    """Return a Request of revision 2, with IRD and ORD, and with S set."""
    return frame(KEY_REQ, flags | S, 2, enhanced(**enh) + pd)


def reply(pd=b"", flags=C, rev=1, pd_length=None):
    return frame(KEY_REP, flags, rev, pd, pd_length)


def reply2(pd=b"", flags=C, **enh):
    return frame(KEY_REP, flags | S, 2, enhanced(**enh) + pd)


class Frame:
    """An MPA Request or Reply of the device; raises Bad if a field breaks a rule for senders."""

    def __init__(self, data, key):
        if data[:16] != key:
            raise Bad(f"key {data[:16]!r}")
        self.flags, self.rev, self.pd_length = struct.unpack(">BBH", data[16:HDR])
        self.pd = data[HDR:]
        if len(self.pd) != self.pd_length:
            raise Bad(f"PD_Length {self.pd_length}, {len(self.pd)} octets")
        large = REQ_LARGE if key == KEY_REQ else REP_LARGE
        self.large = bool(self.flags & large)
        if self.flags & 0x0f & ~large:
            raise Bad(f"reserved bits are set: {self.flags:#x}")
        if key == KEY_REQ and self.flags & R:
            raise Bad("R is set in a Request")
        self.ird = self.ord = self.a = self.rtr = None
        if self.flags & S:
            self._read_enhanced()

    def _read_enhanced(self):
        if self.rev < 2:
            raise Bad(f"S with revision {self.rev}")
        first, second = struct.unpack(">HH", self.pd[:4])
        self.pd = self.pd[4:]
        self.a = first >> 15
        self.ird = first & 0x3fff
        self.ord = second & 0x3fff
        self.rtr = ((SEND if first & 0x4000 else 0) | (WRITE if second & 0x8000 else 0) |
                    (READ if second & 0x4000 else 0))
        if not self.a and self.rtr:
            raise Bad("B, C or D without A")

    def __repr__(self):
        return (f"rev={self.rev} flags={self.flags:#x} a={self.a} rtr={self.rtr} "
                f"ird={self.ird} ord={self.ord} pd={self.pd.hex()}")


def fpdu(ulpdu, crc=True, bad_crc=False):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    check = crc32c(body) if crc else 0
    return body + struct.pack("<I", check ^ (1 if bad_crc else 0))


def _untagged(rdmap, qn, rest=b"", msn=1):
    return struct.pack(">BBIIII", 0x41, rdmap, 0, qn, msn, 0) + rest


RTR_WRITE = struct.pack(">BBIQ", 0xc1, 0x40, 1, 0)


def rtr_write(**kw):
    return fpdu(RTR_WRITE, **kw)


def rtr_read(**kw):
    return fpdu(_untagged(0x41, 1, struct.pack(">IQIIQ", 1, 0, 0, 1, 0)), **kw)


def rtr_send(**kw):
    return fpdu(_untagged(0x43, 0), **kw)


def send(data, msn=1, **kw):
    return fpdu(_untagged(0x43, 0, data, msn), **kw)


def terminate(code, **kw):
    return fpdu(_untagged(0x47, 2, struct.pack(">BBH", 0x20, code, 0)), **kw)


def read_response(read, **kw):
    """Return the FPDU of the zero-length Read Response to read, a zero-length Read Request."""
    return fpdu(b"\xc1\x42" + read.ulpdu[18:30], **kw)


RDMAP = {0x40: "WRITE", 0x41: "READ", 0x42: "RESPONSE", 0x43: "SEND", 0x47: "TERM"}


class Fpdu:
    """An FPDU that the device sent; crc: is its CRC field checked?"""

    def __init__(self, data, crc):
        length, = struct.unpack(">H", data[:2])
        self.ulpdu = data[2:2 + length]
        self.op = RDMAP.get(self.ulpdu[1], "?")
        self.raw = data
        self.term = None
        if crc and struct.unpack("<I", data[-4:])[0] != crc32c(data[:-4]):
            raise Bad(f"wrong CRC in {data.hex()}")
        if self.op == "TERM":
            layer_etype, self.term = self.ulpdu[18], self.ulpdu[19]
            if layer_etype != 0x20:
                raise Bad(f"TERM of layer and type {layer_etype:#x}")

    @staticmethod
    def size(first_two):
        length, = struct.unpack(">H", first_two)
        return (2 + length + 3) // 4 * 4 + 4
