# SPDX-License-Identifier: GPL-2.0
"""What a device that is not ours has, by what it says in its first connections.

Nothing is judged here. What the device does not have is not held against it afterwards: see device.lacks().
"""

import contextlib
import re
import subprocess

import mpa
import needs
from device import device, driver_name
from harness import Failed, equal
from mpa import C, M, R, READ, SEND, WRITE


class NoConnection(Exception):
    """Of no use as a device under test"""


def _asks(bench, it):
    """Its Request"""
    _, peer, request = bench.connecting()
    it.rev = request.rev
    it.asks_rtr = bool(request.rev >= 2 and request.a)
    it.asks_crc = bool(request.flags & C)
    peer.close()
    return request.rtr if it.asks_rtr else 0


def _answers(bench, it):
    """Its Reply to a peer that can do everything"""
    _, peer, reply = bench.accepted(mpa.request2(a=1, rtr=SEND | WRITE | READ, ird=4, ord=4))
    if reply.rev < 2:
        it.rev = 1
    peer.close()
    return reply.rtr if reply.rev >= 2 and reply.a else 0


def _marks(bench):
    """Does it connect to a peer that wants Markers?"""
    _, peer, reply = bench.accepted(mpa.request(flags=C | M))
    peer.close()
    equal(reply.flags & R, 0, "R of the Reply")


@contextlib.contextmanager
def _ended(bench):
    try:
        yield bench
    finally:
        with contextlib.suppress(Failed):
            bench.end()


def _depths(program, it):
    """Of the device, as libibverbs has them"""
    said = subprocess.run((*program, "device", needs.Place.ib_device), check=False, text=True,
                          stdout=subprocess.PIPE).stdout
    found = re.search(r"^DEPTHS (\d+) (\d+)$", said, re.MULTILINE)
    if not found:
        raise NoConnection(f"nobody knows {needs.Place.ib_device}: {said}")
    it.most_ird, it.most_ord = map(int, found.groups())


def learn(program, make):
    """program: words for cm_probe; make: of a harness.Bench"""
    it = device()
    _depths(program, it)
    try:
        with _ended(make()) as bench:
            it.rtr = _asks(bench, it)
        with _ended(make()) as bench:
            it.rtr |= _answers(bench, it)
    except (Failed, mpa.Bad, OSError) as err:
        raise NoConnection(err) from None
    it.has_markers = True
    try:
        with _ended(make()) as bench:
            _marks(bench)
    except (Failed, mpa.Bad, OSError):
        it.has_markers = False


def lines():
    """For the report"""
    it = device()
    kinds = [name for name, bit in (("Send", SEND), ("Write", WRITE), ("Read", READ)) if it.rtr & bit]
    if not needs.Place.over:
        yield "driver", driver_name()
    yield "MPA revision", str(it.rev)
    yield "Reads at a time, taken and sent", f"{it.most_ird}, {it.most_ord}"
    yield "RTR messages", ", ".join(kinds) or "none"
    yield "asks for an RTR message", "yes" if it.asks_rtr else "no"
    yield "asks for CRC", "yes" if it.asks_crc else "no"
    yield "Markers", "yes" if it.has_markers else "no"
    for name in ("here", "settings", "attributes", "stats", "counters", "trace", "log", "kverbs",
                 "guest", "hazards"):
        if not needs.has(name):
            yield "without", needs.TEXTS[name]
