# SPDX-License-Identifier: GPL-2.0
"""For judge.py: compare the DDP and RDMAP headers of each FPDU as tshark and this file read them.

tshark has four limits. (1) In a Terminate of layer RDMAP, tshark takes the copied DDP header for 14
bytes at a protection error, else for 18, whatever bit T of that header is: so at most that many
bytes of the copy are compared, and tshark calls a packet malformed if the copy has fewer. (2)
tshark calls a truncated Atomic Request of RFC 7306 malformed, though RFC 5040 does not define its
opcode. (3) tshark takes a Marker between two FPDUs for part of the first FPDU, although the CRC of
the second one covers it; but it reads the Marker at the start of a stream right. (4) If an FPDU
does not begin at the start of a TCP segment, tshark does not find the Markers from there on.
"""

import struct
from collections import namedtuple

import fpdu
import rdmap

TAGGED, LAST = 0x80, 0x40
READ_REQUEST, TERMINATE, OPCODES, ATOMIC_REQUEST = 1, 7, 8, 10
TAGGED_OPCODES = 0, 2
SINV = 4, 6

READ_FIELDS = ["iwarp_rdma." + name for name in "sinkstag sinkto rdmardsz srcstag srcto".split()]
ERROR_FIELDS = ["iwarp_rdma." + name for name in """term_etype_rdma term_etype_ddp term_etype_llp
    term_etype term_errcode_rdma term_errcode_ddp_tagged term_errcode_ddp_untagged term_errcode_llp
    term_errcode""".split()]
HDRCT_FIELDS = ["iwarp_rdma." + name for name in "term_hdrct_m hdrct_d hdrct_r".split()]
COPY_FIELDS = ["iwarp_rdma." + name for name in "term_ddp_seg_len term_ddp_h term_rdma_h".split()]
FIELDS = ["iwarp_ddp.tagged_flag", "iwarp_ddp.last_flag", "iwarp_ddp.stag",
          "iwarp_ddp.tagged_offset", "iwarp_ddp.qn", "iwarp_ddp.msn", "iwarp_ddp.mo",
          "iwarp_rdma.inval_stag", *READ_FIELDS, "iwarp_rdma.term_layer", *ERROR_FIELDS,
          *HDRCT_FIELDS, *COPY_FIELDS]

# Header fields of one DDP segment. address: STag and TO, or QN, MSN and MO; term: layer, type, code
# and HdrCt of a Terminate; copies: its DDP Segment Length and the copied headers
Details = namedtuple("Details", "is_tagged last address inv read term copies",
                     defaults=((), (), b""))


class Queues:
    """tshark's values for the fields of a packet: if several FPDUs of the packet have a field, its
    values are in the order of the FPDUs, and take() returns the next one"""

    def __init__(self, row):
        self.values = {name: row.get(name, "").split("|") if row.get(name) else []
                       for name in FIELDS}

    def take(self, name):
        some = self.values[name]
        return int(some.pop(0), 0) if some else None

    def octets(self, name):
        some = self.values[name]
        return bytes.fromhex(some.pop(0)) if some else b""

    def first(self, names):
        return next((value for value in map(self.take, names) if value is not None), None)


def details_seen(row, opcodes):
    """Return the Details (header fields) of each FPDU in a packet. row: tshark's fields of the
    packet; opcodes: of its FPDUs"""
    queues = Queues(row)
    return [_seen(queues, opcode) for opcode in opcodes]


def _seen(queues, opcode):
    is_tagged, last = queues.take("iwarp_ddp.tagged_flag"), queues.take("iwarp_ddp.last_flag")
    names = ("stag", "tagged_offset") if is_tagged else ("qn", "msn", "mo")
    address = tuple(queues.take("iwarp_ddp." + name) for name in names)
    inv = queues.take("iwarp_rdma.inval_stag") if opcode in SINV else None
    read, term, copies = (), (), b""
    if opcode == READ_REQUEST:
        read = tuple(queues.take(name) for name in READ_FIELDS)
    if opcode == TERMINATE:
        layer = queues.take("iwarp_rdma.term_layer")
        etype, code = queues.first(ERROR_FIELDS[:4]), queues.first(ERROR_FIELDS[4:])
        term = (layer, etype, code, *(queues.take(name) for name in HDRCT_FIELDS))
        copies = b"".join(queues.octets(name) for name in COPY_FIELDS)
    return Details(is_tagged, last, address, inv, read, term, copies)


def details_read(ulpdu):
    """Return the Details (header fields) of a ULPDU. None if it breaks the format of its opcode:
    how tshark dissects that is not defined, so nothing can be compared."""
    if len(ulpdu) < 14 or ulpdu[1] & 0xf >= OPCODES or ulpdu[0] & 3 != 1 or ulpdu[1] >> 6 > 1:
        return None
    opcode, is_tagged = ulpdu[1] & 0xf, int(bool(ulpdu[0] & TAGGED))
    header = 14 if is_tagged else 18
    if is_tagged != (opcode in TAGGED_OPCODES) or len(ulpdu) < header:
        return None
    last = int(bool(ulpdu[0] & LAST))
    if is_tagged:
        return Details(is_tagged, last, struct.unpack_from(">IQ", ulpdu, 2), None)
    inv, *address = struct.unpack_from(">IIII", ulpdu, 2)
    body = ulpdu[header:]
    read, term, copies = (), (), b""
    if opcode == READ_REQUEST:
        if len(body) != 28:
            return None
        read = struct.unpack(">IQIIQ", body)
    if opcode == TERMINATE:
        if not terminate_is_good(body):
            return None
        term = (body[0] >> 4, body[0] & 0xf, body[1], *(body[2] >> bit & 1 for bit in (7, 6, 5)))
        copies = body[4:]
    return Details(is_tagged, last, tuple(address), inv if opcode in SINV else None, read, term,
                   copies)


def terminate_size(body):
    """Return the length that a Terminate's body must have by bits D and R of its HdrCt, and by bit
    T of the DDP header that it copies."""
    size = 4
    if body[2] & 0x40:
        size += 2 + (14 if len(body) > 6 and body[6] & TAGGED else 18)
    return size + (28 if body[2] & 0x20 else 0)


def terminate_is_good(body):
    """Does a Terminate's body have the length that HdrCt gives, and a layer and type of RFC
    5040?"""
    return len(body) >= 4 and body[0] >> 4 <= 2 and body[0] & 0xf <= 2 and \
        len(body) == terminate_size(body) and bool(body[2] & 0x80) == bool(body[2] & 0x40)


def is_of_startup(ulpdu):
    """Is ulpdu a Terminate with an MPA code above 3, which RFC 6581 has only for the startup?"""
    return len(ulpdu) >= 20 and ulpdu[1] & 0xf == TERMINATE and ulpdu[18] >> 4 == 2 and \
        ulpdu[19] > 3


def agree(own, seen):
    """Are `own`, the header fields of a DDP segment as this file read them, equal to `seen`, those
    of tshark? Of the headers that a Terminate copies, only the bytes are compared that tshark
    dissects."""
    if own is None:
        return True
    if own.copies and not copy_is_dissected(own):
        seen = seen._replace(copies=own.copies)
    return own._replace(copies=b"") == seen._replace(copies=b"") and \
        own.copies[:len(seen.copies)] == seen.copies and \
        len(seen.copies) >= min(len(own.copies), 14)


def copy_is_dissected(details):
    """Return False for a Terminate whose copied DDP header has 14 bytes where tshark expects 18."""
    layer, etype = details.term[:2]
    return not (layer == 0 and etype == 2 and details.term[4] and details.copies[2] & TAGGED)


# --- rules for senders that neither tshark nor a receiver checks -------------------------------

def breach_of_fpdu(pad, markers, start):
    """Return what is wrong with the pad or the Markers of an FPDU, or None. markers: (position,
    bytes) of each Marker in it; start: position of its ULPDU_Length"""
    if any(pad):
        return f"the pad is {pad.hex()}"
    for position, octets in markers:
        if octets != struct.pack(">HH", 0, max(position - start, 0)):
            return f"a Marker is {octets.hex()}"
    return None


def breach_of_ulpdu(ulpdu):
    """Check versions, T, opcode, QN and reserved bits of a ULPDU, and the body of a Terminate.
    Return what is wrong, or None."""
    try:
        segment = rdmap.Segment(ulpdu)
        if segment.op == TERMINATE:
            rdmap.Terminate(segment)
    except rdmap.Bad as breach:
        return str(breach)
    return None


# --- FPDUs with Markers ----------------------------------------------------------------------

class Lenient(fpdu.Reader):
    """An fpdu.Reader that returns FPDUs with a wrong CRC, pad or Marker, too, and what is wrong."""

    def __init__(self, markers):
        super().__init__(False, markers)

    def _checked(self, plain, markers, start, used):
        raw = bytes(self.buffer[:used + 4])
        length, = struct.unpack_from(">H", plain)
        good = int(raw[-4:] == struct.pack("<I", fpdu.crc32c(raw[:-4])))
        first = self.position
        del self.buffer[:used + 4]
        self.position += used + 4
        return Read(first, used + 4, plain[2:2 + length], good,
                    breach_of_fpdu(plain[2 + length:], markers, start))


# offset: of the FPDU or of the Marker before it; good: CRC; breach: breach_of_fpdu()'s result
Read = namedtuple("Read", "offset size ulpdu good breach")


def fpdus(data, markers):
    """Yield for each FPDU in data the tuple `Read` of this file, up to the first FPDU whose last
    bytes are missing."""
    reader = Lenient(markers)
    reader.feed(data)
    while True:
        one = reader.take()
        if one is None:
            return
        yield one
