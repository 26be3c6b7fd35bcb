# SPDX-License-Identifier: GPL-2.0
"""Make and parse DDP segments (RFC 5041) and RDMAP messages (RFC 5040). No sockets, no files.

The functions that make a segment set each field to a valid value, unless the caller passes another.
"""

import struct
from collections import namedtuple

from fpdu import Bad

WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
NAMES = ("WRITE", "READ", "RESPONSE", "SEND", "SINV", "SEND_SE", "SINV_SE", "TERM")
SENDS = (SEND, SEND_INV, SEND_SE, SEND_SE_INV)
TAGGED = (WRITE, READ_RESPONSE)
QUEUE = {READ_REQUEST: 1, TERMINATE: 2, **{op: 0 for op in SENDS}}

T, L, DV_BITS, DDP_RESERVED = 0x80, 0x40, 0x03, 0x3c
RV_SHIFT, RDMAP_RESERVED, OPCODE = 6, 0x30, 0x0f

TAGGED_HEADER, UNTAGGED_HEADER, READ_HEADER = 14, 18, 28
MAX32, MAX64 = 2**32 - 1, 2**64 - 1


# --- to be sent ------------------------------------------------------------------------------

def control(op, last=True, t=None, dv=1, rv=1, ddp_reserved=0, rdmap_reserved=0):
    """Return the DDP and the RDMAP control byte, which are the first two bytes of a DDP segment."""
    t = op in TAGGED if t is None else t
    return bytes([(T if t else 0) | (L if last else 0) | ddp_reserved | dv,
                  rv << RV_SHIFT | rdmap_reserved | op])


def tagged(op, stag, to, data=b"", **kw):
    return control(op, t=kw.pop("t", True), **kw) + struct.pack(">IQ", stag, to & MAX64) + data


def untagged(op, data=b"", *, msn, qn=None, mo=0, inv=0, **kw):
    qn = QUEUE.get(op, 0) if qn is None else qn
    return control(op, t=kw.pop("t", False), **kw) + \
        struct.pack(">IIII", inv, qn, msn & MAX32, mo & MAX32) + data


# Fields of a Read Request
Read = namedtuple("Read", "sink_stag sink_to size stag to")


def read_body(read):
    return struct.pack(">IQIIQ", *read)


def write(stag, to, data=b"", **kw):
    return tagged(WRITE, stag, to, data, **kw)


def response(stag, to, data=b"", **kw):
    return tagged(READ_RESPONSE, stag, to, data, **kw)


def read_request(read, *, msn, body=None, **kw):
    return untagged(READ_REQUEST, read_body(read) if body is None else body, msn=msn, **kw)


def cut(make, data, size):
    """Cut data, a message, into parts of at most `size` bytes. Return what make(part, offset, last)
    returns for each part: the ULPDUs of the message."""
    offsets = range(0, max(len(data), 1), size)
    return [make(data[o:o + size], o, o + size >= len(data)) for o in offsets]


# --- received --------------------------------------------------------------------------------

class Segment:
    """A DDP segment that the device under test sent; raises Bad if a field is not valid."""

    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        if len(ulpdu) < TAGGED_HEADER:
            raise Bad(f"a segment of {len(ulpdu)} octets")
        ddp, rdmap = ulpdu[0], ulpdu[1]
        self.op = rdmap & OPCODE
        self.is_tagged = bool(ddp & T)
        self.last = bool(ddp & L)
        if ddp & DV_BITS != 1 or ddp & DDP_RESERVED:
            raise Bad(f"DDP control octet {ddp:#04x}")
        if rdmap >> RV_SHIFT != 1 or rdmap & RDMAP_RESERVED or self.op > TERMINATE:
            raise Bad(f"RDMAP control octet {rdmap:#04x}")
        if self.is_tagged != (self.op in TAGGED):
            raise Bad(f"T is {self.is_tagged} in a {self.name}")
        self._read_tagged() if self.is_tagged else self._read_untagged()

    def _read_tagged(self):
        self.header = self.ulpdu[:TAGGED_HEADER]
        self.data = self.ulpdu[TAGGED_HEADER:]
        self.stag, self.to = struct.unpack_from(">IQ", self.ulpdu, 2)

    def _read_untagged(self):
        if len(self.ulpdu) < UNTAGGED_HEADER:
            raise Bad(f"an untagged segment of {len(self.ulpdu)} octets")
        self.header = self.ulpdu[:UNTAGGED_HEADER]
        self.data = self.ulpdu[UNTAGGED_HEADER:]
        self.inv, self.qn, self.msn, self.mo = struct.unpack_from(">IIII", self.ulpdu, 2)
        if self.qn != QUEUE[self.op]:
            raise Bad(f"a {self.name} on queue {self.qn}")
        if self.inv and self.op not in (SEND_INV, SEND_SE_INV):
            raise Bad(f"Invalidate STag {self.inv:#x} in a {self.name}")
        self.read = None
        if self.op == READ_REQUEST:
            if len(self.data) != READ_HEADER or not self.last or self.mo:
                raise Bad(f"Read Request {self.ulpdu.hex()}")
            self.read = Read(*struct.unpack(">IQIIQ", self.data))

    @property
    def name(self):
        return NAMES[self.op]

    def __repr__(self):
        where = f"STag {self.stag:#x} TO {self.to:#x}" if self.is_tagged else \
            f"QN {self.qn} MSN {self.msn} MO {self.mo}"
        return f"{self.name} {where} {len(self.data)} octets{' L' if self.last else ''}"


# --- Terminate -------------------------------------------------------------------------------

M, D, R = 0x80, 0x40, 0x20

# HdrCt: which headers of the segment in error a Terminate copies (RFC 5040, figure 10)
NONE, MD, MDR = 0, M | D, M | D | R


class Error(namedtuple("Error", "layer etype code copies")):
    """Layer, type and code of an error, as in a Terminate; copies: HdrCt of that Terminate"""

    @property
    def control(self):
        return bytes([self.layer << 4 | self.etype, self.code, self.copies, 0])

    @property
    def is_of_startup(self):
        """Is this an MPA error code of RFC 6581, 8, which only the MPA startup uses?"""
        return self.layer == 2 and self.code > 3

    def __str__(self):
        return f"{self.layer:x}/{self.etype:x}/{self.code:02x}"


LOCAL_CATASTROPHIC = Error(0, 0, 0x00, NONE)
READ_STAG = Error(0, 1, 0x00, MDR)
READ_BOUNDS = Error(0, 1, 0x01, MDR)
READ_RIGHT = Error(0, 1, 0x02, MDR)
READ_ASSOCIATION = Error(0, 1, 0x03, MDR)
READ_WRAP = Error(0, 1, 0x04, MDR)
FOREIGN_INVALIDATE = Error(0, 1, 0x09, MD)
RDMAP_VERSION = Error(0, 2, 0x05, MD)
OPCODE_ERROR = Error(0, 2, 0x06, MD)
STREAM_CATASTROPHIC = Error(0, 2, 0x07, NONE)
STREAM_CATASTROPHIC_MD = Error(0, 2, 0x07, MD)     # error in the completion of a message
CANNOT_INVALIDATE = Error(0, 2, 0x09, MD)
UNSPECIFIED = Error(0, 2, 0xff, NONE)       # a ULPDU shorter than its header
UNSPECIFIED_MD = Error(0, 2, 0xff, MD)      # a message with a whole header
TAGGED_STAG = Error(1, 1, 0x00, MD)
TAGGED_BOUNDS = Error(1, 1, 0x01, MD)
TAGGED_ASSOCIATION = Error(1, 1, 0x02, MD)
TAGGED_WRAP = Error(1, 1, 0x03, MD)
TAGGED_VERSION = Error(1, 1, 0x04, MD)
UNTAGGED_QN = Error(1, 2, 0x01, MD)
UNTAGGED_BUFFER = Error(1, 2, 0x02, MD)
UNTAGGED_MSN = Error(1, 2, 0x03, MD)
UNTAGGED_MO = Error(1, 2, 0x04, MD)
UNTAGGED_LENGTH = Error(1, 2, 0x05, MD)
UNTAGGED_VERSION = Error(1, 2, 0x06, MD)
MPA_CRC = Error(2, 0, 0x02, NONE)
MPA_MARKER = Error(2, 0, 0x03, NONE)


def header_size(ulpdu):
    return TAGGED_HEADER if ulpdu[0] & T else UNTAGGED_HEADER


def terminate_body(error, ulpdu=b""):
    """Return the payload of the Terminate for error: the control bytes and the copied headers of
    ulpdu, the DDP segment in error."""
    body = error.control
    if error.copies & D:
        size = header_size(ulpdu)
        body += struct.pack(">H", len(ulpdu)) + ulpdu[:size]
        if error.copies & R:
            body += ulpdu[size:size + READ_HEADER]
    return body


def terminate(body, msn=1, **kw):
    return untagged(TERMINATE, body, msn=msn, **kw)


class Terminate:
    """A Terminate of the device; raises Bad if its MSN, MO, L, HdrCt or reserved bits break a rule,
    or if its length does not match HdrCt."""

    def __init__(self, segment):
        if (segment.msn, segment.mo, segment.last) != (1, 0, True):
            raise Bad(f"Terminate {segment.ulpdu.hex()}")
        body = self.body = segment.data
        if len(body) < 4:
            raise Bad(f"a Terminate of {len(body)} octets")
        self.error = Error(body[0] >> 4, body[0] & 0xf, body[1], body[2])
        if body[2] & ~(M | D | R) or body[3]:
            raise Bad(f"reserved bits of a Terminate: {body[:4].hex()}")
        if bool(body[2] & M) != bool(body[2] & D) or body[2] & R and not body[2] & D:
            raise Bad(f"HdrCt of a Terminate: {body[2]:#x}")
        size = 4
        if body[2] & D:
            if len(body) < 6 + TAGGED_HEADER:
                raise Bad(f"a Terminate with D of {len(body)} octets")
            size += 2 + header_size(body[6:])
        if body[2] & R:
            size += READ_HEADER
        if len(body) != size:
            raise Bad(f"a Terminate of {len(body)} octets, its bits say {size}: {body.hex()}")
