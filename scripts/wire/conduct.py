# SPDX-License-Identifier: GPL-2.0
"""Check the DDP segments of one end of a stream against the rules for senders of RFC 5040 and 5041.

peer.py passes every DDP segment of the device under test to a Conduct, which raises Bad unless the
MSNs of each queue are consecutive; MO or TO continues from one segment of a message to the next;
messages are not interleaved; no segment exceeds MULPDU, and only a message's last one may be empty;
a Read Response matches the peer's oldest unanswered Read Request; the device's unanswered Read
Requests do not exceed the negotiated ORD; and nothing follows a Terminate, whose code must not be
for errors of MPA startup.
"""

import rdmap
from rdmap import Bad


class Conduct:
    """The state of one end of a stream, the "checked end", whose segments are passed to heard()"""

    def __init__(self, mulpdu=None, depth=None):
        self.is_strict = True       # match Read Responses with the Read Requests given to ask()?
        self.mulpdu = mulpdu        # bytes; None: unknown
        self.depth = depth          # negotiated ORD: limit of unanswered Reads; None: unknown
        self.msn = {0: 1, 1: 1, 2: 1}
        self.open = None            # the last segment, if its L bit was clear
        self.done = 0               # bytes of the incomplete message so far
        self.asked = []             # unanswered Reads of the other end
        self.reads = []             # unanswered Reads of the checked end
        self.terminated = False

    def ask(self, read):
        """Record a Read Request that is sent to the checked end, which has to answer it."""
        self.asked.append(read)

    def answered(self):
        """Record that the checked end's oldest unanswered Read was answered; return this Read."""
        return self.reads.pop(0)

    def heard(self, segment):
        """Check the next DDP segment that the checked end sent; raise Bad if it breaks a rule."""
        if self.terminated:
            raise Bad(f"behind the Terminate: {segment!r}")
        if self.mulpdu is not None and len(segment.ulpdu) > self.mulpdu:
            raise Bad(f"a ULPDU of {len(segment.ulpdu)} octets, MULPDU is {self.mulpdu}")
        # A sender that ends the stream may send a Terminate in place of the rest of a message.
        if self.open and segment.op != rdmap.TERMINATE and segment.op != self.open.op:
            raise Bad(f"{segment!r} within the message of {self.open!r}")
        done = self.done if self.open and segment.op == self.open.op else 0
        if segment.is_tagged:
            self._tagged(segment, done)
        else:
            self._untagged(segment, done)
        if not segment.last and not segment.data:
            raise Bad(f"an empty segment that is not the last: {segment!r}")
        self.done = 0 if segment.last else done + len(segment.data)
        self.open = None if segment.last else segment
        if segment.op == rdmap.TERMINATE:
            self.terminated = rdmap.Terminate(segment)
            if self.terminated.error.is_of_startup:
                raise Bad(f"a code of startup in Full Operation: {self.terminated.error}")

    def _tagged(self, segment, done):
        if segment.op == rdmap.READ_RESPONSE and self.is_strict:
            self._response(segment, done)
        elif done and (segment.stag != self.open.stag or
                       segment.to != self.open.to + len(self.open.data)):
            raise Bad(f"{segment!r} behind {self.open!r}")

    def _response(self, segment, done):
        if not self.asked:
            raise Bad(f"nobody asked for {segment!r}")
        read = self.asked[0]
        if (segment.stag, segment.to) != (read.sink_stag, read.sink_to + done & rdmap.MAX64):
            raise Bad(f"{segment!r} for {read} after {done} octets")
        if segment.last != (done + len(segment.data) == read.size) or \
                done + len(segment.data) > read.size:
            raise Bad(f"{segment!r} ends wrongly: {read}, {done} octets before")
        if segment.last:
            self.asked.pop(0)

    def _untagged(self, segment, done):
        if segment.msn != self.msn[segment.qn]:
            raise Bad(f"{segment!r}: MSN {self.msn[segment.qn]} is due")
        if segment.mo != done:
            raise Bad(f"{segment!r}: MO {done} is due")
        if done and (segment.ulpdu[1], segment.inv) != (self.open.ulpdu[1], self.open.inv):
            raise Bad(f"{segment!r} behind {self.open!r}: another opcode or Invalidate STag")
        if segment.last:
            self.msn[segment.qn] = segment.msn + 1 & rdmap.MAX32
        if segment.op == rdmap.READ_REQUEST:
            self.reads.append(segment.read)
            if self.depth is not None and len(self.reads) > self.depth:
                raise Bad(f"{len(self.reads)} Reads are unanswered, {self.depth} were agreed on")
