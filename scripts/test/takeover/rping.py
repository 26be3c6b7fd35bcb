# SPDX-License-Identifier: GPL-2.0
"""Both ends of rping, with RDMAP, DDP and MPA in Python; the caller moves the stream's bytes."""

import hashlib
import os
import struct
import sys

sys.path.insert(0, "/share/wire")
import fpdu  # noqa: E402  pylint: disable=wrong-import-position
import rdmap  # noqa: E402  pylint: disable=wrong-import-position

STAG = 0x4711
FILL = 64 * 1024
FILL_SEGMENT = 1024


def digest(octets):
    """Return a checksum of 64 bytes, the size of the text in a round of rping."""
    return hashlib.sha256(octets).hexdigest().encode()


class Rping:
    """One end of rping. The caller passes received bytes to feed(); FPDUs are passed to send()."""

    def __init__(self, send, crc):
        self.send = send
        self.writer = fpdu.Writer(crc=crc)
        self.reader = fpdu.Reader(crc=crc)
        self.msn = {0: 0, 1: 0}
        self.rounds = 0
        self.octets = 0
        self.over = False

    def put(self, segment):
        self.send(self.writer.fpdu(segment))

    def untagged(self, op, data):
        queue = rdmap.QUEUE[op]
        self.msn[queue] += 1
        self.put(rdmap.untagged(op, data, msn=self.msn[queue]))

    def rtr(self):
        self.put(rdmap.write(1, 0))

    def feed(self, data):
        self.reader.feed(data)
        taken = self.reader.take()
        while taken:
            self.segment(rdmap.Segment(taken.ulpdu))
            taken = self.reader.take()


class Server(Rping):
    """rping's server: it reads the block that the client names, sends the
    client a message that it has read, and writes the block to the place that
    the client names next.

    The server closes only when the client begins a round after the last one:
    until then the client may still wait for the Send that ends the last round.
    """

    def __init__(self, send, crc, count=None):
        super().__init__(send, crc)
        self.count = count
        self.data = b""
        self.reading = None
        self.written = b""

    def segment(self, seg):
        if seg.op == rdmap.WRITE:       # the RTR message, or data of Filler
            self.written += seg.data
            return
        if seg.op == rdmap.READ_RESPONSE:
            self.data += seg.data
            if seg.last:
                self.reading = None
                self.check_written()
                self.untagged(rdmap.SEND, bytes(16))
            return
        if seg.op not in rdmap.SENDS:
            raise SystemExit(f"the peer has sent {seg}")
        to, stag, size = struct.unpack_from(">QII", seg.data)
        if self.rounds == self.count:
            self.over = True
        elif not self.data:
            self.reading = rdmap.Read(STAG, 0, size, stag, to)
            self.untagged(rdmap.READ_REQUEST, rdmap.read_body(self.reading))
        else:
            self.put(rdmap.write(stag, to, self.data))
            self.untagged(rdmap.SEND, bytes(16))
            self.rounds += 1
            self.octets += len(self.data)
            self.data = b""

    def check_written(self):
        if self.written and digest(self.written) != self.data:
            raise SystemExit(f"{len(self.written)} octets were written, and not as they were sent")


class Client(Rping):
    """rping's client: in each round the server reads a text, and has to write the same back."""

    def __init__(self, send, crc, count):
        super().__init__(send, crc)
        self.count = count
        self.text = b""
        self.back = b""
        self.step = 0

    def make_text(self):
        return (b"rdma-ping-%d: " % self.rounds + b"twin" * 20)[:63] + b"\0"

    def start(self):
        self.text = self.make_text()
        self.back = b""
        self.step = 0
        self.advertise()

    def advertise(self):
        self.untagged(rdmap.SEND, struct.pack(">QII", 0, STAG, 64))

    def segment(self, seg):
        if seg.op == rdmap.READ_REQUEST:
            self.put(rdmap.response(seg.read.sink_stag, seg.read.sink_to,
                                    self.text[seg.read.to:seg.read.to + seg.read.size]))
        elif seg.op == rdmap.WRITE:
            self.back += seg.data
        elif seg.op in rdmap.SENDS:
            self.step += 1
            if self.step == 1:
                self.advertise()
            elif self.back != self.text:
                raise SystemExit(f"{self.back} came back for {self.text}")
            else:
                self.rounds += 1
                self.octets += len(self.text)
                self.over = self.rounds == self.count
                if not self.over:
                    self.start()
        else:
            raise SystemExit(f"the peer has sent {seg}")


class Filler(Client):
    """A client that first sends RDMA Writes of more bytes than the peer's TCP window takes. Its
    texts are a checksum of these bytes, which the server compares with what was written."""

    def __init__(self, send, crc, count):
        super().__init__(send, crc, count)
        self.written = os.urandom(FILL)

    def make_text(self):
        return digest(self.written)

    def start(self):
        if not self.rounds:
            for at in range(0, FILL, FILL_SEGMENT):
                self.put(rdmap.write(STAG, at, self.written[at:at + FILL_SEGMENT]))
        super().start()
