# SPDX-License-Identifier: GPL-2.0
"""Make and read FPDUs, with or without Markers: RFC 5044, 4.1 to 4.4. No sockets are used.

A position counts the bytes that one end has sent after its MPA Request or Reply. FPDUs and Markers
are multiples of 4 bytes long, and Markers are 512 bytes apart, so a Marker never divides
ULPDU_Length or the CRC field.
"""

import ctypes
import os
import struct
from collections import namedtuple

SPACING = 512               # from the first byte of a Marker to the first byte of the next
MARKER = 4
MAX_ULPDU = 64768
LEAST_MULPDU = 128


class Bad(Exception):
    """A Request, Reply, FPDU or DDP segment of the device breaks a rule of the RFCs for senders."""


def _table():
    for octet in range(256):
        for _ in range(8):
            octet = (octet >> 1) ^ (0x82f63b78 if octet & 1 else 0)
        yield octet


TABLE = tuple(_table())


def crc32c_slowly(data):
    crc = 0xffffffff
    for octet in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ octet) & 0xff]
    return crc ^ 0xffffffff


def _load(path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "crc32c.so")):
    """Return the function crc32c() of crc32c.c, if crc32c.so has been built, else crc32c_slowly(),
    which takes a second in a virtual machine for the CRC of 64 KiB."""
    if not os.path.exists(path):
        return crc32c_slowly
    function = ctypes.CDLL(path).crc32c
    function.restype = ctypes.c_uint32
    function.argtypes = ctypes.c_char_p, ctypes.c_size_t
    return lambda data: function(bytes(data), len(data))


crc32c = _load()


def mulpdu(emss, markers=False):
    """Return MULPDU, the longest ULPDU that MPA may carry with this EMSS (RFC 5044, 4.5)."""
    most = emss - (6 + (4 * ((emss + SPACING - 1) // SPACING) if markers else 0) + emss % 4)
    return min(max(most, LEAST_MULPDU), MAX_ULPDU)


def plain_size(ulpdu_length):
    """Return the length of an FPDU less Markers and CRC: that of ULPDU_Length, ULPDU and pad."""
    return (2 + ulpdu_length + 3) // 4 * 4


def until_marker(position):
    """Return the number of bytes from `position` to the next Marker; 0 if one begins there."""
    return -position % SPACING


class Writer:
    """Make the FPDUs of one direction. A test may have a field of an FPDU made wrong."""

    def __init__(self, crc=True, markers=False):
        self.crc = crc
        self.markers = markers
        self.position = 0

    def fpdu(self, ulpdu, *, length=None, pad=None, check=None, marker=None):
        """Return the bytes of the next FPDU.

        length: a wrong ULPDU_Length; pad: other bytes of padding; check: function that returns a
        changed CRC field (four bytes); marker: function that returns a changed Marker, with which
        the CRC is computed
        """
        plain = struct.pack(">H", len(ulpdu) if length is None else length) + ulpdu
        plain += bytes(-len(plain) % 4) if pad is None else pad
        body = self._with_markers(plain, marker or (lambda octets: octets))
        field = struct.pack("<I", crc32c(body) if self.crc else 0)
        self.position += MARKER
        return body + (check(field) if check else field)

    def _with_markers(self, plain, change):
        out = bytearray()
        if not self.markers:
            self.position += len(plain)
            return plain
        if not until_marker(self.position):
            out += change(struct.pack(">HH", 0, 0))
            self.position += MARKER
        start = self.position
        while plain:
            size = until_marker(self.position)
            if not size:
                out += change(struct.pack(">HH", 0, self.position - start))
                self.position += MARKER
                continue
            out += plain[:size]
            self.position += min(size, len(plain))
            plain = plain[size:]
        if not until_marker(self.position):
            out += change(struct.pack(">HH", 0, self.position - start))
            self.position += MARKER
        return bytes(out)

    def skip(self, size):
        """Count `size` bytes that the test sent without fpdu(): the next Marker's position depends
        on them."""
        self.position += size


# A received FPDU. markers: (position, FPDUPTR) of each Marker; start: position of ULPDU_Length
Fpdu = namedtuple("Fpdu", "ulpdu raw start markers")


class Reader:
    """Read the FPDUs of one direction, and raise Bad for a wrong CRC, pad or Marker."""

    def __init__(self, crc=True, markers=False):
        self.crc = crc
        self.markers = markers
        self.position = 0           # position of the first byte in the buffer
        self.buffer = bytearray()

    def feed(self, data):
        self.buffer += data

    def take(self):
        """Return the next FPDU, or None if feed() has not got its last byte yet."""
        plain, markers, start, used = bytearray(), [], None, 0
        want = None
        while want is None or len(plain) < want or self._is_marker(used):
            if self._is_marker(used):
                if len(self.buffer) < used + MARKER:
                    return None
                markers.append((self.position + used, bytes(self.buffer[used:used + MARKER])))
                used += MARKER
                continue
            if start is None:
                start = self.position + used
            # First 4 bytes, for ULPDU_Length; then those up to the next Marker or the CRC
            size = 4 if want is None else want - len(plain)
            if self.markers:
                size = min(size, until_marker(self.position + used))
            if len(self.buffer) < used + size:
                return None
            plain += self.buffer[used:used + size]
            used += size
            if want is None:
                want = plain_size(struct.unpack_from(">H", plain)[0])
        if len(self.buffer) < used + 4:
            return None
        return self._checked(bytes(plain), markers, start, used)

    def _is_marker(self, used):
        return self.markers and not until_marker(self.position + used)

    def _checked(self, plain, markers, start, used):
        raw = bytes(self.buffer[:used + 4])
        length, = struct.unpack_from(">H", plain)
        if self.crc and struct.unpack("<I", raw[-4:])[0] != crc32c(raw[:-4]):
            raise Bad(f"wrong CRC in {raw.hex()}")
        if any(plain[2 + length:]):
            raise Bad(f"the pad is {plain[2 + length:].hex()}")
        for position, octets in markers:
            zero, pointer = struct.unpack(">HH", octets)
            if zero or pointer != max(position - start, 0):
                raise Bad(f"the Marker at {position} is {octets.hex()}, its FPDU starts at {start}")
        del self.buffer[:used + 4]
        self.position += used + 4
        return Fpdu(plain[2:2 + length], raw, start,
                    [(position, struct.unpack(">HH", octets)[1]) for position, octets in markers])
