# SPDX-License-Identifier: GPL-2.0
"""RdmapPeer, the test's end of a stream in Full Operation: a test chooses each byte that it sends.

It reads from its socket only in functions that the test calls, so that a test can let TCP's receive
window close. It keeps every DDP segment that it read, and checks it against the rules for senders:
see conduct.py.
"""

import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
import threading
import time

import fpdu
import rdmap
from conduct import Conduct
from harness import LIMIT, SLOW, Failed, check, equal
from rdmap import Read, Segment

SETTLE = 0.3 * SLOW     # seconds in which an unexpected event must not occur
FIN, RST = "FIN", "RST"
SIOCOUTQNSD = 0x894b     # ioctl: number of bytes that TCP has not sent yet
DATA_SEGS_OUT = 156     # offset of tcpi_data_segs_out in struct tcp_info


class Ended(Failed):
    """The device sent FIN or RST while the test waited for more bytes from it."""

    def __init__(self, how):
        super().__init__(f"the stream ended ({how})")
        self.how = how


class RdmapPeer:
    """The test's end of a stream in Full Operation"""

    def __init__(self, tcp, *, crc=True, out_markers=False, in_markers=False, mulpdu=None,
                 depth=None, bench=None):
        self.tcp = tcp              # harness.Peer
        self.bench = bench
        self.sock = tcp.sock
        self.out = fpdu.Writer(crc, out_markers)
        self.inward = fpdu.Reader(crc, in_markers)
        self.conduct = Conduct(mulpdu, depth)
        self.heard = []             # all Segments that the device sent
        self.fpdus = []             # the FPDUs of these Segments
        self.ended = None           # FIN or RST: how the device ended the stream
        self.is_finished = False    # has this end of the stream sent FIN?
        self.msn = {0: 1, 1: 1, 2: 1}
        self.last = b""             # last ULPDU that was sent
        self.is_over = False        # has the test ended?

    # --- out ---

    def raw(self, data):
        """Write data to TCP unchanged: an FPDU that make() returned, or bytes that are no FPDU."""
        self.sock.sendall(data)

    def make(self, ulpdu, **kw):
        """Return the FPDU of a ULPDU. The caller must send it before the next one is made, as the
        place of its Markers depends on all bytes before it."""
        self.last = ulpdu
        return self.out.fpdu(ulpdu, **kw)

    def ulpdu(self, ulpdu, **kw):
        self.raw(self.make(ulpdu, **kw))

    def together(self, *ulpdus):
        """Send the FPDUs of all ULPDUs by one write, thus in one TCP segment if they fit in it."""
        self.raw(b"".join(self.make(ulpdu) for ulpdu in ulpdus))

    def in_pieces(self, octets, size=1):
        """Send `octets` in TCP segments of `size` bytes: TCP_NODELAY is set, and the next bytes are
        written only when TCP has sent those before. Check that TCP's count of segments is at least
        the number of pieces."""
        before = self._segments_out()
        for at in range(0, len(octets), size):
            self.sock.sendall(octets[at:at + size])
            end = time.monotonic() + LIMIT
            while self._queued(SIOCOUTQNSD):
                check(time.monotonic() < end, "a segment does not leave")
        pieces = (len(octets) + size - 1) // size
        check(self._segments_out() - before >= pieces, f"fewer segments than {pieces} pieces")

    def _segments_out(self):
        """Return how many segments with data TCP has sent on this connection."""
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DATA_SEGS_OUT + 4)
        return struct.unpack_from("I", info, DATA_SEGS_OUT)[0]

    def _queued(self, request):
        """Return how many bytes a queue of the socket has; request: the ioctl for that queue."""
        return struct.unpack("I", fcntl.ioctl(self.sock.fileno(), request, bytes(4)))[0]

    def next_msn(self, qn):
        msn = self.msn[qn]
        self.msn[qn] = msn + 1 & rdmap.MAX32
        return msn

    def send_segments(self, data=b"", size=None, op=rdmap.SEND, msn=None, mo=0, **kw):
        """Return the ULPDUs of a Send message with the bytes `data`, at most `size` in each."""
        msn = self.next_msn(0) if msn is None else msn
        return rdmap.cut(lambda part, offset, last: rdmap.untagged(
            op, part, msn=msn, mo=mo + offset, last=last, **kw), data, size or max(len(data), 1))

    def send(self, data=b"", size=None, **kw):
        for ulpdu in self.send_segments(data, size, **kw):
            self.ulpdu(ulpdu)

    @staticmethod
    def write_segments(stag, to, data=b"", size=None, **kw):
        return rdmap.cut(lambda part, offset, last: rdmap.write(stag, to + offset, part, last=last,
                                                                **kw),
                         data, size or max(len(data), 1))

    def write(self, stag, to, data=b"", size=None, **kw):
        for ulpdu in self.write_segments(stag, to, data, size, **kw):
            self.ulpdu(ulpdu)

    @contextlib.contextmanager
    def writing(self, *args):
        """Call write() in a second thread, so that the device places the data while the with
        statement's body runs: over loopback the device's TCP, and so the placement, runs in the
        task that sends."""
        thread = threading.Thread(target=self.write, args=args)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def read_segment(self, read, good=True, **kw):
        """Return the ULPDU of a Read Request. good: does the test expect the device to respond?"""
        if good:
            self.conduct.ask(read)
        return rdmap.read_request(read, msn=kw.pop("msn", None) or self.next_msn(1), **kw)

    def read(self, stag, to, size, sink_stag=0xdeadbeef, sink_to=0x123456789, good=True, **kw):
        read = Read(sink_stag, sink_to, size, stag, to)
        self.ulpdu(self.read_segment(read, good, **kw))
        return read

    def response_segments(self, read, data=b"", size=None, **kw):
        return rdmap.cut(lambda part, offset, last: rdmap.response(
            read.sink_stag, read.sink_to + offset, part, last=last, **kw),
            data, size or max(len(data), 1))

    def respond(self, read, data=b"", size=None, **kw):
        for ulpdu in self.response_segments(read, data, size, **kw):
            self.ulpdu(ulpdu)
        self.conduct.answered()

    def terminate(self, error, ulpdu=b"", **kw):
        self.ulpdu(rdmap.terminate(rdmap.terminate_body(error, ulpdu), **kw))

    def fin(self):
        self.is_finished = True
        self.tcp.fin()

    def reset(self):
        self.tcp.reset()
        self.ended = RST

    def allow_cut(self):
        """Allow the device, from now on, to end its stream in the middle of an FPDU."""
        self.bench.may_be_cut = True

    def may_be_cut(self):
        return self.is_over or self.bench.may_be_cut

    # --- in ---

    def _receive(self, end):
        """Read bytes from TCP. Return False if none arrive before the time `end`. Raise Ended if
        the device sends FIN or RST."""
        if self.ended:
            raise Ended(self.ended)
        left = end - time.monotonic()
        if not select.select([self.sock], [], [], max(left, 0))[0]:
            return False
        try:
            data = self.sock.recv(1 << 18)
        except ConnectionResetError:
            self.ended = RST
            raise Ended(RST) from None
        if not data:
            self.ended = FIN
            raise Ended(FIN)
        self.inward.feed(data)
        return True

    def next_segment(self, limit=LIMIT):
        """Return the next DDP segment of the device, or None if none arrives in limit seconds."""
        end = time.monotonic() + limit
        while True:
            got = self.inward.take()
            if got:
                segment = Segment(got.ulpdu)
                self.heard.append(segment)
                self.fpdus.append(got)
                self.conduct.heard(segment)
                return segment
            if not self._receive(end):
                return None

    def hear(self, op=None, limit=LIMIT):
        segment = self.next_segment(limit)
        check(segment, f"silence, {rdmap.NAMES[op] if op is not None else 'something'} expected")
        if op is not None:
            check(segment.op == op, f"{segment!r}, {rdmap.NAMES[op]} expected")
        return segment

    def hear_message(self, op):
        """Read the segments of one message, whose opcode must be op. Return the message's data."""
        data = b""
        while True:
            segment = self.hear(op)
            data += segment.data
            if segment.last:
                return data

    def hear_terminate(self, limit=LIMIT):
        """Read segments of the device until one is a Terminate. Return that rdmap.Terminate."""
        while True:
            segment = self.hear(limit=limit)
            if segment.op == rdmap.TERMINATE:
                return self.conduct.terminated

    def hear_terminate_of(self, error, ulpdu=b""):
        """Read segments until a Terminate. Check that it has the code of error and the headers of
        ulpdu, the DDP segment that caused the error."""
        equal(self.hear_terminate().body.hex(), rdmap.terminate_body(error, ulpdu).hex(),
              f"body of the Terminate, {error}")

    def hear_end(self, how=FIN, limit=LIMIT):
        """Expect that the device ends the stream by `how`, FIN or RST, and sends no FPDU before."""
        try:
            segment = self.next_segment(limit)
        except Ended as ended:
            check(self.may_be_cut() or not self.inward.buffer,
                  f"it ends amid an FPDU: {bytes(self.inward.buffer[:64]).hex()}")
            equal(ended.how, how, "the end of the stream")
            return
        raise Failed(f"{segment!r} where the stream should end" if segment else
                     "the stream did not end")

    def hear_until_end(self, limit=LIMIT):
        """Read all segments until the device sends FIN or RST. Return which of the two it was."""
        try:
            while self.next_segment(limit):
                pass
        except Ended as ended:
            check(self.may_be_cut() or ended.how == RST or not self.inward.buffer,
                  f"it ends amid an FPDU: {bytes(self.inward.buffer[:64]).hex()}")
            return ended.how
        raise Failed("the stream did not end")

    def silent(self):
        """Check that for SETTLE seconds the device sends no byte, no FIN and no RST."""
        try:
            segment = self.next_segment(SETTLE)
        except Ended as ended:
            raise Failed(f"it ends ({ended.how}) where nothing should happen") from None
        check(not segment and not self.inward.buffer,
              f"{segment or bytes(self.inward.buffer)!r} where nothing should be said")

    def is_reset(self):
        """Has the device sent RST after its FIN? False if this end has sent FIN: the socket's state
        is TCP_CLOSE then even without an RST."""
        if self.is_finished:
            return False
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        return info[0] == 7     # TCP_CLOSE

    def wait_full(self, least=8000):
        """Wait until the number of unread bytes is at least `least` and no longer grows: TCP's
        receive window is closed."""
        end = time.monotonic() + LIMIT
        before, since = -1, time.monotonic()
        while time.monotonic() < end:
            now = self.unread()
            if now != before:
                before, since = now, time.monotonic()
            elif now >= least and time.monotonic() - since > SETTLE / 2:
                return True
            time.sleep(0.01)
        return False

    def wait_taken(self):
        """Wait until the device's TCP has acknowledged all bytes that the test sent: it calls the
        driver with received bytes before it acknowledges them."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not self._queued(termios.TIOCOUTQ):
                return True
            time.sleep(0.01)
        return False

    @staticmethod
    def settle():
        """Sleep for SETTLE seconds, so that the device can process more of what it was sent. A
        shorter or longer sleep changes no test's result."""
        time.sleep(SETTLE)

    def unread(self):
        """Return how many bytes are in the receive queue of the test's socket."""
        return self._queued(termios.FIONREAD)

    def taken(self):
        """Return how many bytes of the device the test has read from its socket so far."""
        return self.inward.position + len(self.inward.buffer)

    def finish(self):
        """End the stream after the test: send FIN, read until the device ends the stream, and check
        the segments that it sent until then, too."""
        if self.ended or self.sock.fileno() < 0:
            return
        try:
            self.fin()
        except OSError:
            pass
        self.is_over = True
        self.hear_until_end()


def random_octets(size):
    return os.urandom(size)
