#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Judge the capture of a takeover at the peer: one result for each rule.

    judge.py [OPTION...] FILE TAKER     FILE: a capture at the peer; TAKER: the address of the host with
                                        the device
    judge.py --selftest

    Options:
    --rough         the wire loses and reorders packets: these are no faults
    --reset         the device has to reset the connection, and no other end may
    --edge ours     at the hold, the peer has to have filled the window of the device's host
    --edge peer     at the hold, the peer's window has to be shut
    --wrap ours     the device's sequence numbers have to pass 2^32 after the hold
    --wrap peer     the peer's sequence numbers have to pass 2^32 after the hold

The hold is the moment from which on the host's TCP gets no packets of the connection; twin.py marks it by a
datagram. Retransmissions before it are no fault of the takeover: a slow host had not acknowledged the segment yet.

The exit status 75 means that the case may be run again: its only fault is a retransmission, with proof that the
emulated wire was slow, since a time stamp shows that the segment, or its acknowledgment, was sent much earlier than it
arrived.
"""

import argparse
import subprocess
import sys
from collections import Counter, namedtuple

FIELDS = ("frame.number", "frame.time_relative", "ip.src", "ipv6.src", "tcp.flags.syn", "tcp.flags.reset", "tcp.flags.fin",
          "tcp.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.window_size", "tcp.options.timestamp.tsval",
          "tcp.analysis.retransmission", "tcp.analysis.spurious_retransmission",
          "tcp.analysis.duplicate_ack", "tcp.analysis.keep_alive", "tcp.analysis.zero_window_probe",
          "udp.dstport")
AGAIN = FIELDS[12:14]
PROBE = FIELDS[15:17]
DISCARD = "9"
MASK = 0xffffffff

LATE = 0.1              # seconds by which a segment may be late; TCP sends again after 0.2 at the earliest
TRY_AGAIN = 75
SENT_AGAIN = "nothing is sent again"
UNASKED = "no acknowledgment of nothing new"

Segment = namedtuple("Segment", "number src syn reset fin size seq ack window stamp again duplicate "
                     "probe time")
Hold = namedtuple("Hold", "number")


def frames(capture):
    """Yield a Segment for each TCP segment in the capture, and a Hold for each datagram of twin.py.
    The first of these marks the hold: from then on the host's TCP gets no packets of the
    connection."""
    text = subprocess.run(
        ["tshark", "-r", capture, "-Y", f"tcp or udp.dstport == {DISCARD}", "-T", "fields",
         "-E", "occurrence=f"] + [word for name in FIELDS for word in ("-e", name)],
        check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        value = dict(zip(FIELDS, line.split("\t")))

        def flag(name, value=value):
            return value[name] in ("1", "True")

        if value["udp.dstport"] == DISCARD:
            yield Hold(int(value["frame.number"]))
            continue
        yield Segment(
            int(value["frame.number"]), value["ip.src"] or value["ipv6.src"],
            flag("tcp.flags.syn"), flag("tcp.flags.reset"), flag("tcp.flags.fin"),
            int(value["tcp.len"] or 0), int(value["tcp.seq_raw"]), int(value["tcp.ack_raw"] or 0),
            int(value["tcp.window_size"]),
            int(value["tcp.options.timestamp.tsval"]) if value["tcp.options.timestamp.tsval"] else None,
            any(value[name] for name in AGAIN), bool(value["tcp.analysis.duplicate_ack"]),
            any(value[name] for name in PROBE), float(value["frame.time_relative"]))


def before(a, b):
    """Is sequence number, or time stamp, A before B, modulo 2^32?"""
    return (a - b) & 0x80000000 != 0


def in_order(segs):
    """Leave out pure acknowledgments that the network delivered after newer ones: the peer's TCP
    ignores them, so their smaller time stamps and window edges are no fault."""
    top = None
    for seg in segs:
        newer = top is None or not before(seg.ack, top.ack)
        if newer:
            top = seg
        if newer or seg.size or seg.fin or seg.stamp is None or before(top.stamp, seg.stamp):
            yield seg


def falls(values):
    """From pairs (frame number, value) yield the frames whose value is less than an earlier one."""
    top = None
    for number, value in values:
        if top is not None and before(value, top):
            yield number
        else:
            top = value


def numbers(found):
    found = list(found)
    return f"frames {found[:8]}" if found else ""


def unasked(segs, answers):
    """Yield the frames with acknowledgments of nothing new. If ANSWERS is true, leave out one for
    each window probe that the other end has sent, the answer to the probe."""
    due = Counter()
    for seg in segs:
        if seg.duplicate and answers and due[seg.src]:
            due[seg.src] -= 1
        elif seg.duplicate:
            yield seg.number
        if seg.probe:
            for other in {seg.src for seg in segs} - {seg.src}:
                due[other] += 1


def room(segs, owner):
    """Return how many bytes the window that OWNER announced last still allows its peer to send."""
    told = [seg for seg in segs if seg.src == owner]
    sent = [seg for seg in segs if seg.src != owner]
    if not told or not sent:
        return None
    top = sent[0].seq
    for seg in sent:
        end = seg.seq + seg.size + seg.syn + seg.fin & MASK
        top = end if before(top, end) else top
    return told[-1].ack + told[-1].window - top & MASK


def wraps(segs):
    """Does one end's sequence number pass 2^32?"""
    return any(seg.seq + seg.size > MASK for seg in segs) or \
        any(last.seq > MASK >> 1 > seg.seq for last, seg in zip(segs, segs[1:]))


def sent_when(segs):
    """Return {frame number: time of sending} of the device's segments, by their time stamps. The
    segment that was fastest on its way counts as sent at the time at which it was captured."""
    stamped = [seg for seg in segs if seg.stamp is not None and not seg.reset]
    if not stamped:
        return {}
    first, last = stamped[0], stamped[-1]
    ticks = last.stamp - first.stamp & MASK
    tick = 1e-6 if ticks > 20000 * (last.time - first.time + 1) else 1e-3
    clock = {seg.number: (seg.stamp - first.stamp & MASK) * tick for seg in stamped}
    fastest = min(seg.time - clock[seg.number] for seg in stamped)
    return {number: when + fastest for number, when in clock.items()}


def wire_was_slow(found, taker):
    """Do time stamps prove that the first retransmission after the Hold is due to a slow wire: that
    the segment, or its acknowledgment, was on its way for longer than LATE? Later retransmissions
    are consequences of the first."""
    hold = min((frame.number for frame in found if isinstance(frame, Hold)), default=0)
    segs = [frame for frame in found if isinstance(frame, Segment)]
    ours = [seg for seg in segs if seg.src == taker]
    again = next((seg for seg in segs if seg.again and seg.number > hold), None)
    if not again:
        return False
    sent = sent_when(ours)
    if again.src == taker:
        asked = next(seg for seg in ours if seg.size and seg.seq == again.seq or seg is again)
    else:
        asked = next((seg for seg in ours if seg.number > again.number and
                      not before(seg.ack, again.seq + again.size & MASK)), None)
        if asked and sent.get(asked.number, again.time) >= again.time:
            return False
    return asked is not None and asked.time - sent.get(asked.number, asked.time) > LATE


def judge(found, taker, rough=False, reset=False, edge=None, wrap=None):
    """Yield (rule, fault) for each rule; the fault is "" if the capture obeys the rule."""
    hold = min((frame.number for frame in found if isinstance(frame, Hold)), default=None)
    segs = [frame for frame in found if isinstance(frame, Segment)]
    ours = [seg for seg in segs if seg.src == taker]
    theirs = [seg for seg in segs if seg.src != taker]
    spoken = [seg for seg in ours if seg.size]
    yield "the device has sent data", "" if len(spoken) > 2 else f"{len(spoken)} segments"
    yield "the peer has sent data", "" if any(seg.size for seg in theirs) else "none"
    resets = [seg for seg in segs if seg.reset]
    if reset:
        # The device may send further RSTs, in answer to data that the peer sent before the first.
        yield "RST, of the device alone", "" if {seg.src for seg in resets} == {taker} else \
            numbers(seg.number for seg in resets) or "none"
    else:
        yield "no RST", numbers(seg.number for seg in resets)
    if not rough:
        yield "the hold is there", "" if hold else "no datagram"
        later = [seg for seg in segs if seg.number > (hold or 0)]
        yield SENT_AGAIN, numbers(seg.number for seg in later if seg.again)
        # A challenge ACK is one that nothing asked for, and that acknowledges nothing new.
        yield UNASKED, numbers(unasked(later, edge))
        told = list(in_order(seg for seg in ours if not seg.reset))
        yield "time stamps do not fall", numbers(falls(
            (seg.number, seg.stamp) for seg in told if seg.stamp is not None))
        yield "the window's edge does not move back", numbers(falls(
            (seg.number, seg.ack + seg.window & MASK) for seg in told if not seg.syn))
    if edge:
        left = room([seg for seg in segs if seg.number < (hold or 0)],
                    taker if edge == "ours" else (theirs or ours)[0].src)
        yield "the window is at its edge", "" if left == 0 else f"it takes {left} octets"
    if wrap:
        yield "sequence numbers wrap", "" if wraps(
            [seg for seg in ours if seg.number > (hold or 0)] if wrap == "ours" else theirs) else \
            "they do not"
    if not reset:
        yield "both ends have closed", "" if {seg.src == taker for seg in segs if seg.fin} == \
            {True, False} else "no FIN of one"


NAMES = ("src", "size", "seq", "ack", "stamp", "reset", "fin", "again", "duplicate", "probe")


def make(rows):
    """Make frames, as frames() yields them, from rows with the fields NAMES; an empty row makes a
    Hold."""
    return [Segment(number, row[0], False, row[5], row[6], row[1], row[2], row[3], 1000, row[4],
                    *row[7:10], row[10] if len(row) > 10 else 0)
            if row else Hold(number) for number, row in enumerate(rows, 1)]


NO = (False, False, False, False, False)
GOOD = (("B", 24, 100, 1, 5, *NO),
        (),
        ("A", 24, 1, 124, 7, *NO),
        ("A", 24, 25, 124, 7, *NO),
        ("A", 24, 49, 124, 8, *NO),
        ("B", 0, 124, 73, 9, False, True, False, False, False),
        ("A", 0, 73, 125, 9, False, True, False, False, False))


def selftest():
    def verdict(rows, **kw):
        return {rule for rule, fault in judge(make(rows), "A", **kw) if fault}

    def but(row, **change):
        changed = tuple(change.get(name, value) for name, value in zip(NAMES, GOOD[row]))
        return GOOD[:row] + (changed,) + GOOD[row + 1:]

    # A retransmission before the hold is no fault: GOOD[0] is sent twice.
    early = ((*GOOD[0][:7], True, True, False),) + GOOD
    # A window probe, and the answer to it
    probed = GOOD[:5] + (("B", 0, 123, 73, 9, False, False, False, False, True),
                         ("A", 0, 73, 124, 9, False, False, False, True, False)) + GOOD[5:]
    # late: an old acknowledgment arrives after a newer one; stale: a new one, by its time stamp,
    # acknowledges less than an older one
    late = GOOD[:6] + (("A", 0, 73, 120, 8, *NO),) + GOOD[6:]
    stale = GOOD[:6] + (("A", 0, 73, 120, 9, *NO),) + GOOD[6:]
    # The peer has filled the window of 1000 bytes that the device's host announced at first
    full = (("A", 0, 1, 100, 1, *NO), ("B", 1000, 100, 1, 5, *NO)) + tuple(
        row and (row[0], row[1], row[2] + (1000 if row[0] == "B" else 0),
                 row[3] + (1000 if row[0] == "A" else 0), *row[4:]) for row in GOOD[1:])
    # The sequence numbers of both ends begin a little below 2^32
    high = tuple(row and (row[0], row[1], row[2] + MASK - (20 if row[0] == "A" else 110) & MASK,
                          row[3] + MASK - (110 if row[0] == "A" else 20) & MASK, *row[4:])
                 for row in GOOD)
    expected = (
        (GOOD, {}, set()),
        (early, {}, set()),
        (GOOD[:1] + GOOD[2:], {}, {"the hold is there"}),
        (GOOD[:1] + GOOD[2:], {"rough": True}, set()),
        (but(5, reset=True), {}, {"no RST"}),
        (but(3, again=True), {}, {"nothing is sent again"}),
        (but(3, again=True), {"rough": True}, set()),
        (but(5, duplicate=True), {}, {"no acknowledgment of nothing new"}),
        (but(4, stamp=6), {}, {"time stamps do not fall"}),
        (but(4, ack=123), {}, {"the window's edge does not move back"}),
        (but(5, fin=False), {}, {"both ends have closed"}),
        (but(6, reset=True), {"reset": True}, set()),
        (GOOD, {"reset": True}, {"RST, of the device alone"}),
        (but(5, reset=True), {"reset": True}, {"RST, of the device alone"}),
        (GOOD[:2], {}, {"the device has sent data", "both ends have closed"}),
        (late, {}, set()),
        (stale, {}, {"the window's edge does not move back"}),
        (probed, {}, {"no acknowledgment of nothing new"}),
        (full, {"edge": "ours"}, set()),
        (GOOD, {"edge": "ours"}, {"the window is at its edge"}),
        (full, {"edge": "peer"}, {"the window is at its edge"}),
        (high, {"wrap": "ours"}, set()),
        (high, {"wrap": "peer"}, set()),
        (GOOD, {"wrap": "ours"}, {"sequence numbers wrap"}),
        (GOOD, {"wrap": "peer"}, {"sequence numbers wrap"}),
    )
    bad = [(kw, want, verdict(rows, **kw)) for rows, kw, want in expected if verdict(rows, **kw) != want]
    segs = [frame for frame in make(probed) if isinstance(frame, Segment)]
    if list(unasked(segs, True)) or not list(unasked(segs, False)):
        bad.append(("a probe is answered",))
    # The peer repeats at 2.3 what it sent at 2.0. The acknowledgment arrives at 2.31; by its time
    # stamp it was sent at 2.02 (a slow wire) or at 2.305 (a late host).
    for stamp, slow in (2020, True), (2305, False):
        rows = (("A", 0, 1, 100, 2000, *NO, 2.0), (), ("B", 24, 100, 1, 5, *NO, 2.0),
                ("B", 24, 100, 1, 6, False, False, True, False, False, 2.3),
                ("A", 24, 1, 124, stamp, *NO, 2.31))
        if wire_was_slow(make(rows), "A") != slow:
            bad.append(("a slow wire", stamp))
    # The device repeats at 2.25 what it sent at 2.0, which arrived at 2.24
    rows = (("A", 0, 1, 100, 2000, *NO, 2.0), (), ("A", 24, 1, 100, 2000, *NO, 2.24),
            ("A", 24, 1, 100, 2210, False, False, True, False, False, 2.25))
    if not wire_was_slow(make(rows), "A") or wire_was_slow(make(rows[:2]), "A"):
        bad.append(("a slow wire from the device",))
    for line in bad:
        print("selftest:", *line)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rough", action="store_true")
    parser.add_argument("--reset", action="store_true")
    parser.add_argument("--edge", choices=("ours", "peer"))
    parser.add_argument("--wrap", choices=("ours", "peer"))
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("file", nargs="?")
    parser.add_argument("taker", nargs="?")
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    found = list(frames(args.file))
    faults = set()
    for rule, fault in judge(found, args.taker, args.rough, args.reset, args.edge, args.wrap):
        print("not ok" if fault else "ok", "-", rule + (": " + fault if fault else ""))
        faults |= {rule} if fault else set()
    if faults and faults <= {SENT_AGAIN, UNASKED} and wire_was_slow(found, args.taker):
        print("the emulated wire was slow")
        return TRY_AGAIN
    return 1 if faults else 0


sys.exit(main())
