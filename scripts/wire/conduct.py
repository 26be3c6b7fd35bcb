# SPDX-License-Identifier: GPL-2.0
"""The RFCs' rules for a sender, checked on everything that one end sends on a stream. This does no
input or output.

Every FPDU of the device under test is checked here, in every test: numbers, offsets and sizes
continue those before; segments of two messages are not mixed; a Read Response is what was asked
for; no more Reads are open than agreed; nothing follows a Terminate, and a Terminate does not have
an error code of the startup.
"""

import rdmap
from rdmap import Bad


class Conduct:
    """What one end said so far, and so what it may say next."""

    def __init__(self, mulpdu=None, depth=None):
        self.is_strict = True       # do we know what the other end has requested?
        self.mulpdu = mulpdu        # bytes; None: unknown
        self.depth = depth          # Reads that may be unanswered; None: unknown
        self.msn = {0: 1, 1: 1, 2: 1}
        self.open = None            # the previous segment, if its message is not complete
        self.done = 0               # bytes of that message so far
        self.asked = []             # Reads by the other end that are unanswered
        self.reads = []             # own Reads that are unanswered
        self.terminated = False

    def ask(self, read):
        """The other end sent a Read Request."""
        self.asked.append(read)

    def answered(self):
        """The other end sent the last segment of a response to the oldest Read."""
        return self.reads.pop(0)

    def heard(self, segment):
        """One more segment of the end in question"""
        if self.terminated:
            raise Bad(f"behind the Terminate: {segment!r}")
        if self.mulpdu is not None and len(segment.ulpdu) > self.mulpdu:
            raise Bad(f"a ULPDU of {len(segment.ulpdu)} octets, MULPDU is {self.mulpdu}")
        # A Terminate may replace the rest of a message (R-5.4-7).
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
