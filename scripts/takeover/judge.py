#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the peer's capture of a takeover says: one result for each rule.

    judge.py FILE TAKER          FILE: a capture at the peer; TAKER: the address of the device's host
    judge.py --rough FILE TAKER  the wire has lost and reordered packets: no word on those
    judge.py --reset FILE TAKER  the device has reset the connection, and nobody else may have
    judge.py --selftest
"""

import argparse
import subprocess
import sys
from collections import namedtuple

FIELDS = ("frame.number", "ip.src", "ipv6.src", "tcp.flags.syn", "tcp.flags.reset", "tcp.flags.fin",
          "tcp.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.window_size", "tcp.options.timestamp.tsval",
          "tcp.analysis.retransmission", "tcp.analysis.spurious_retransmission",
          "tcp.analysis.duplicate_ack", "tcp.analysis.keep_alive")

Segment = namedtuple("Segment", "number src syn reset fin size seq ack window stamp again duplicate")


def segments(capture):
    """What tshark says of each TCP segment"""
    text = subprocess.run(
        ["tshark", "-r", capture, "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"] +
        [word for name in FIELDS for word in ("-e", name)],
        check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        value = dict(zip(FIELDS, line.split("\t")))

        def flag(name, value=value):
            return value[name] in ("1", "True")

        yield Segment(
            int(value["frame.number"]), value["ip.src"] or value["ipv6.src"],
            flag("tcp.flags.syn"), flag("tcp.flags.reset"), flag("tcp.flags.fin"),
            int(value["tcp.len"] or 0), int(value["tcp.seq_raw"]), int(value["tcp.ack_raw"] or 0),
            int(value["tcp.window_size"]),
            int(value["tcp.options.timestamp.tsval"]) if value["tcp.options.timestamp.tsval"] else None,
            any(value[name] for name in FIELDS[11:13]), bool(value["tcp.analysis.duplicate_ack"]))


def before(a, b):
    """Modulo 2^32"""
    return (a - b) & 0x80000000 != 0


def falls(values):
    """Those that are before the greatest so far"""
    top = None
    for number, value in values:
        if top is not None and before(value, top):
            yield number
        else:
            top = value


def numbers(found):
    found = list(found)
    return f"frames {found[:8]}" if found else ""


def judge(segs, taker, rough=False, reset=False):
    """(rule, what is wrong with it)"""
    ours = [seg for seg in segs if seg.src == taker]
    theirs = [seg for seg in segs if seg.src != taker]
    spoken = [seg for seg in ours if seg.size]
    yield "the device has sent data", "" if len(spoken) > 2 else f"{len(spoken)} segments"
    yield "the peer has sent data", "" if any(seg.size for seg in theirs) else "none"
    resets = [seg for seg in segs if seg.reset]
    if reset:
        # What the peer has sent meanwhile is answered with one more.
        yield "RST, of the device alone", "" if {seg.src for seg in resets} == {taker} else \
            numbers(seg.number for seg in resets) or "none"
    else:
        yield "no RST", numbers(seg.number for seg in resets)
    if not rough:
        yield "nothing is sent again", numbers(seg.number for seg in segs if seg.again)
        # A challenge is an acknowledgment of nothing new.
        yield "no acknowledgment of nothing new", numbers(seg.number for seg in segs if seg.duplicate)
        yield "time stamps do not fall", numbers(falls(
            (seg.number, seg.stamp) for seg in ours if seg.stamp is not None and not seg.reset))
        yield "the window's edge does not move back", numbers(falls(
            (seg.number, seg.ack + seg.window & 0xffffffff)
            for seg in ours if not seg.syn and not seg.reset))
    if not reset:
        yield "both ends have closed", "" if {seg.src == taker for seg in segs if seg.fin} == \
            {True, False} else "no FIN of one"


def make(rows):
    return [Segment(number, src, False, reset, fin, size, seq, ack, 1000, stamp, again, duplicate)
            for number, (src, size, seq, ack, stamp, reset, fin, again, duplicate) in enumerate(rows)]


GOOD = (("B", 24, 100, 1, 5, False, False, False, False),
        ("A", 24, 1, 124, 7, False, False, False, False),
        ("A", 24, 25, 124, 7, False, False, False, False),
        ("A", 24, 49, 124, 8, False, False, False, False),
        ("B", 0, 124, 73, 9, False, True, False, False),
        ("A", 0, 73, 125, 9, False, True, False, False))


def selftest():
    def verdict(rows, **kw):
        return {rule for rule, fault in judge(make(rows), "A", **kw) if fault}

    def but(row, **change):
        names = ("src", "size", "seq", "ack", "stamp", "reset", "fin", "again", "duplicate")
        changed = tuple(change.get(name, value) for name, value in zip(names, GOOD[row]))
        return GOOD[:row] + (changed,) + GOOD[row + 1:]

    expected = (
        (GOOD, {}, set()),
        (but(4, reset=True), {}, {"no RST"}),
        (but(2, again=True), {}, {"nothing is sent again"}),
        (but(2, again=True), {"rough": True}, set()),
        (but(4, duplicate=True), {}, {"no acknowledgment of nothing new"}),
        (but(3, stamp=6), {}, {"time stamps do not fall"}),
        (but(3, ack=123), {}, {"the window's edge does not move back"}),
        (but(4, fin=False), {}, {"both ends have closed"}),
        (but(5, reset=True), {"reset": True}, set()),
        (GOOD, {"reset": True}, {"RST, of the device alone"}),
        (but(4, reset=True), {"reset": True}, {"RST, of the device alone"}),
        (GOOD[:1], {}, {"the device has sent data", "both ends have closed"}),
    )
    bad = [(kw, want, verdict(rows, **kw)) for rows, kw, want in expected if verdict(rows, **kw) != want]
    for line in bad:
        print("selftest:", *line)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rough", action="store_true")
    parser.add_argument("--reset", action="store_true")
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("file", nargs="?")
    parser.add_argument("taker", nargs="?")
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    status = 0
    for rule, fault in judge(list(segments(args.file)), args.taker, args.rough, args.reset):
        print("not ok" if fault else "ok", "-", rule + (": " + fault if fault else ""))
        status |= bool(fault)
    return status


sys.exit(main())
