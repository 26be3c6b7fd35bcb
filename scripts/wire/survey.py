# SPDX-License-Identifier: GPL-2.0
"""Find out by a few connections which optional features a device has whose
driver is neither srnic nor siw_mpa.

The connections here are no tests: they set attributes of the device's class, by
which device.lacks() skips tests. The peer breaks no rule on them, so that even a
driver which crashes its host when a peer breaks a rule can be examined.
"""

import contextlib
import os
import re
import subprocess

import mpa
import needs
from device import device, driver_name
from harness import Failed, equal
from mpa import C, M, R, READ, SEND, WRITE


class NoConnection(Exception):
    """No connection with the device came up, so it cannot be tested."""


def _asks(bench, it):
    """Connect from the device to the test. Set rev, asks_rtr (bit A) and asks_crc (flag C) of `it`,
    the device's class, from the device's MPA Request. Return the RTR types that the Request offers.
    """
    client, peer, request = bench.connecting()
    it.rev = request.rev
    it.asks_rtr = bool(request.rev >= 2 and request.a)
    it.asks_crc = bool(request.flags & C)
    rtr = request.rtr if it.asks_rtr else 0
    kind = next((bit for bit in (WRITE, READ, SEND) if rtr & bit), 0)
    if request.rev < 2:
        peer.send(mpa.reply(flags=request.flags & C))
    else:
        peer.send(mpa.reply2(flags=request.flags & C, a=int(bool(kind)), rtr=kind, ird=4, ord=4))
    if kind:
        message = peer.recv_fpdu(it.asks_crc)
        if message.op == "READ":
            peer.send(mpa.read_response(message, crc=it.asks_crc))
    client.event("ESTABLISHED")
    peer.close()
    return rtr


RTR = {WRITE: mpa.rtr_write, READ: mpa.rtr_read, SEND: mpa.rtr_send}


def _answers(bench, it):
    """Connect from the test to the device, with an MPA Request that offers all RTR types. Return
    the RTR types in the device's Reply."""
    server, peer, reply = bench.accepted(mpa.request2(a=1, rtr=SEND | WRITE | READ, ird=4, ord=4))
    if reply.rev < 2:
        it.rev = 1
    rtr = reply.rtr if reply.rev >= 2 and reply.a else 0
    kind = next((bit for bit in RTR if rtr & bit), WRITE)
    peer.send(RTR[kind](crc=bool(reply.flags & C)))
    server.event("ESTABLISHED")
    peer.close()
    return rtr


def _marks(bench):
    """Fail if the device rejects an MPA Request with M set, by which the peer asks for Markers."""
    _, peer, reply = bench.accepted(mpa.request(flags=C | M))
    peer.close()
    equal(reply.flags & R, 0, "R of the Reply")


def _repeats(bench):
    """Fail if the device as initiator does not repeat its RTR message while the peer sends nothing.
    """
    bench.set(rtr_repeat_ms=20)
    _, peer, _ = bench.connecting()
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    for _ in range(2):
        equal(peer.recv_fpdu().raw, mpa.rtr_write(), "RTR message")
    peer.close()


@contextlib.contextmanager
def _ended(bench):
    try:
        yield bench
    finally:
        with contextlib.suppress(Failed):
            bench.end()


def _depths(*program):
    """Run `program`. Return the device's limits of IRD and ORD if it prints them, else None."""
    said = subprocess.run(program, check=False, text=True, stdout=subprocess.PIPE).stdout
    found = re.search(r"^DEPTHS (\d+) (\d+)$", said, re.MULTILINE)
    return found and tuple(map(int, found.groups()))


def choose_program(program, address):
    """Return cm_probe, or kernel_probe.py if libibverbs has no provider for the device."""
    it = device()
    found = _depths(*needs.Place.over, program, "device", needs.Place.ib_device)
    if not found and not needs.Place.over and needs.has("kverbs"):
        needs.Place.user = False
        program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "kernel_probe.py")
        found = _depths(program, "device", address)
    if not found:
        raise NoConnection(f"libibverbs does not know {needs.Place.ib_device}: does the driver have a provider?")
    it.most_ird, it.most_ord = found
    return program


def learn(make):
    """Set the attributes of the device's class by a few connections with the device. make: function
    that returns a new harness.Bench"""
    it = device()
    try:
        with _ended(make()) as bench:
            it.sent_rtr = _asks(bench, it)
        with _ended(make()) as bench:
            it.rtr = _answers(bench, it)
    except (Failed, mpa.Bad, OSError) as err:
        raise NoConnection(err) from None
    it.has_markers = True
    try:
        with _ended(make()) as bench:
            _marks(bench)
    except (Failed, mpa.Bad, OSError):
        it.has_markers = False
    # Where rtr_repeat_ms cannot be set, the time between repeats is unknown: a device that has not
    # repeated its RTR message while the test waits might do so later.
    if it.asks_rtr and it.sent_rtr & WRITE and needs.has("settings"):
        with contextlib.suppress(Failed, mpa.Bad, OSError), _ended(make()) as bench:
            _repeats(bench)
            it.repeats_rtr = True


def lines():
    """Yield (name, value) for each feature of the device and each need that is not met, for
    report.py."""
    it = device()
    if not needs.Place.over:
        yield "driver", driver_name()
    yield "MPA revision", str(it.rev)
    yield "Reads at a time, taken and sent", f"{it.most_ird}, {it.most_ord}"
    for what, rtr in ("received", it.rtr), ("sent", it.sent_rtr):
        kinds = [name for name, bit in (("Send", SEND), ("Write", WRITE), ("Read", READ)) if rtr & bit]
        yield f"RTR messages {what}", ", ".join(kinds) or "none"
    yield "asks for an RTR message", "yes" if it.asks_rtr else "no"
    yield "repeats it", "yes" if it.repeats_rtr else "no"
    yield "asks for CRC", "yes" if it.asks_crc else "no"
    yield "Markers", "yes" if it.has_markers else "no"
    for name in ("here", "settings", "attributes", "stats", "counters", "trace", "log", "kverbs",
                 "user", "guest", "hazards"):
        if not needs.has(name):
            yield "without", needs.TEXTS[name]
