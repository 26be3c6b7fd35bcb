# SPDX-License-Identifier: GPL-2.0
"""The formats of MPA Requests and Replies (RFC 5044 7.1.1, RFC 6581 6 and 9), and the first FPDUs
of a connection, which a test sends and checks.

No code is shared with iw_mpa, so that a test fails if iw_mpa or this file misreads an RFC.
"""

import struct

import rdmap
from fpdu import Bad, Reader, Writer, plain_size

KEY_REQ = b"MPA ID Req Frame"
KEY_REP = b"MPA ID Rep Frame"
HDR = 20

M, C, R, S = 0x80, 0x40, 0x20, 0x10
# iw_mpa's extension: a reserved flag of MPA Request or Reply offers FPDUs longer than a TCP segment
REQ_LARGE, REP_LARGE = 0x08, 0x04

SEND, WRITE, READ = 1, 2, 4


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


def _other(field):
    return bytes([field[0] ^ 1]) + field[1:]


def fpdu(ulpdu, crc=True, bad_crc=False):
    return Writer(crc=crc).fpdu(ulpdu, check=_other if bad_crc else None)


RTR_WRITE = rdmap.write(1, 0)


def rtr_write(**kw):
    return fpdu(RTR_WRITE, **kw)


def rtr_read(**kw):
    return fpdu(rdmap.read_request(rdmap.Read(1, 0, 0, 1, 0), msn=1), **kw)


def rtr_send(**kw):
    return send(b"", **kw)


def send(data, msn=1, **kw):
    return fpdu(rdmap.untagged(rdmap.SEND, data, msn=msn), **kw)


def terminate(code, **kw):
    """Return the FPDU of a Terminate with this error code of MPA."""
    return fpdu(rdmap.terminate(rdmap.Error(2, 0, code, rdmap.NONE).control), **kw)


def read_response(read, **kw):
    """Return the FPDU of the zero-length Read Response to read, a zero-length Read Request."""
    request = rdmap.Segment(read.ulpdu).read
    return fpdu(rdmap.response(request.sink_stag, request.sink_to), **kw)


class Fpdu:
    """An FPDU that the device sent; crc: is its CRC field checked?"""

    def __init__(self, data, crc):
        reader = Reader(crc=crc)
        reader.feed(data)
        segment = rdmap.Segment(reader.take().ulpdu)
        self.raw = data
        self.ulpdu = segment.ulpdu
        self.op = segment.name
        self.term = None
        if segment.op == rdmap.TERMINATE:
            layer_etype, self.term = segment.data[:2]
            if layer_etype != 0x20:
                raise Bad(f"TERM of layer and type {layer_etype:#x}")

    @staticmethod
    def size(first_two):
        return plain_size(*struct.unpack(">H", first_two)) + 4
