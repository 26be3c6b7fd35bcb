# SPDX-License-Identifier: GPL-2.0
"""A second implementation of DDP's session control over SCTP, for comparison with session.c: RFC
5043 5.2 and 6, RFC 6581 7 and 9. It was written from the RFCs and shares no code with session.c.

A sequence of chunks is a string with one letter for each chunk, a capital if the active side sends
it: s is a DDP Segment chunk; i a r t are Initiate, Accept, Reject and Terminate, the function codes
1 to 4; e c x are the enhanced Initiate, Accept and Reject, 5 to 7.
"""

import re
import struct
from collections import namedtuple

SEGMENT_PPID, CONTROL_PPID = 16, 17
MOST = 512                      # private data, enhanced data included

SEGMENT, INITIATE, ACCEPT, REJECT, TERMINATE, ENH_INITIATE, ENH_ACCEPT, ENH_REJECT = range(8)
LETTERS = "siartecx"
SEND, WRITE, READ = 1, 2, 4     # RTR types, which the bits B, C and D announce

Chunk = namedtuple("Chunk", "code ssn a rtr ird ord pd")


class Bad(Exception):
    """A chunk that cannot be decoded; the text is the name of session.c's reason to refuse it."""


def is_enhanced(code):
    return code >= ENH_INITIATE


def encode(chunk):
    """Return the bytes of a control chunk; None if its private data is too long."""
    data = chunk.pd if chunk.code != TERMINATE else b""
    if is_enhanced(chunk.code):
        word = chunk.ird << 16 | chunk.ord
        if chunk.a:
            word |= 1 << 31
            word |= (1 << 30 if chunk.rtr & SEND else 0)
            word |= (1 << 15 if chunk.rtr & WRITE else 0)
            word |= (1 << 14 if chunk.rtr & READ else 0)
        data = word.to_bytes(4, "big") + data
    if len(data) > MOST:
        return None
    return struct.pack(">HH", chunk.ssn, chunk.code) + data


def decode(ppid, data):
    if len(data) < (4 if ppid == CONTROL_PPID else 2):
        raise Bad("TRUNCATED")
    ssn = int.from_bytes(data[:2], "big")
    if ppid == SEGMENT_PPID:
        return Chunk(SEGMENT, ssn, 0, 0, 0, 0, b"")
    code = int.from_bytes(data[2:4], "big") if ppid == CONTROL_PPID else None
    if code not in range(INITIATE, ENH_REJECT + 1):
        raise Bad("BAD_KEY")
    pd = data[4:]
    if len(pd) > MOST:
        raise Bad("BAD_PD_LENGTH")
    if code == TERMINATE:
        return Chunk(code, ssn, 0, 0, 0, 0, b"")
    if not is_enhanced(code):
        return Chunk(code, ssn, 0, 0, 0, 0, pd)
    if len(pd) < 4:
        raise Bad("SHORT_ENHANCED")
    bits = "".join(f"{octet:08b}" for octet in pd[:4])
    a, b, c, d = (int(bits[at]) for at in (0, 1, 16, 17))
    rtr = b * SEND | c * WRITE | d * READ
    return Chunk(code, ssn, a, rtr if a else 0, int(bits[2:16], 2), int(bits[18:], 2), pd[4:])


# Legal beginnings of a session: RFC 5043 6.2 to 6.4, and RFC 6581 7 for the enhanced chunks. A
# Reject is accepted if it answers an Enhanced Initiate, but must never be sent as such an answer.
OPEN = "[Ss]*(Ts*t?|tS*T?)?"
TAKEN = re.compile(f"(I(a{OPEN}|r|t)?|E(c{OPEN}|x|r|t)?)?")
SENT = re.compile(f"(I(a{OPEN}|r|t)?|E(c{OPEN}|x|t)?)?")
# Sequences after which a Terminate is due: neither side has sent one after the Accept; or the
# passive side has not answered the Initiate.
UNENDED = re.compile("(Ia|Ec)[Ss]*")
UNANSWERED = re.compile("[IE]")


def judge(active, sequence):
    """Return (index, reason) of the first chunk that one end must not send, or refuses to receive;
    None if the whole sequence is legal. ACTIVE: that end is the active side."""
    for size in range(1, len(sequence) + 1):
        last = sequence[size - 1]
        own = last.isupper() == active
        if (SENT if own else TAKEN).fullmatch(sequence[:size]):
            continue
        return size - 1, "unsent" if own else reason(active, sequence[:size - 1], last.lower())
    return None


def reason(active, before, last):
    """Return the reason for which an end refuses the peer's chunk LAST after the chunks BEFORE."""
    if last in "st":
        return "BAD_KEY"
    if (last in "ie") == active:
        return "SAME_ROLE"
    # The answer is enhanced and the Initiate is not, or the other way round.
    if active and before in ("I", "E"):
        return "BAD_REV"
    return "BAD_KEY"


def owes(active, sequence):
    """After this legal sequence, must an end send a Terminate before it ends the association?"""
    return bool(UNENDED.fullmatch(sequence) or
                not active and UNANSWERED.fullmatch(sequence))


def place(expected, ssn, window):
    if ssn == expected:
        return "next"
    ahead = {(expected + step) % 0x10000 for step in range(1, window)}
    return "ahead" if ssn in ahead else "invalid"
