# SPDX-License-Identifier: GPL-2.0
"""Memory runs out: in turn, each allocation that a call of the ULP makes fails, once.

Only a kernel that can let allocations fail has these tests: DEBUG=kasan. The caller gets an errno
or an event, the peer is not left waiting, and the next connection comes up. That nothing leaks is
for the end of the run.
"""

import socket

import mpa
from harness import Failed, check, equal
from hazards import comes_up
from mpa import WRITE
from registry import rule

FAILSLAB = "/sys/kernel/debug/failslab/"
MOST = 500      # allocations of one call
ENDS = {"CONNECT_ERROR", "UNREACHABLE", "REJECTED", "DISCONNECTED"}


class Fault:
    """The allocation that will fail in a program's only thread."""

    def __init__(self, probe, number):
        self.path = f"/proc/{probe.proc.pid}/fail-nth"
        self._put(number)

    def _put(self, number):
        with open(self.path, "w", encoding="ascii") as f:
            f.write(str(number))

    def met(self):
        """Did the program come so far? Whether or not, it is over."""
        with open(self.path, encoding="ascii") as f:
            left = int(f.read())
        self._put(0)
        return not left


def numbers(b):
    """1, 2 ...: which allocation is to fail, until the test has seen that there are no more."""
    b.put(FAILSLAB + "verbose", 0)
    b.put(FAILSLAB + "ignore-gfp-wait", "N")
    yield from range(1, MOST)
    raise Failed(f"more than {MOST} allocations")


def told(probe, line):
    """A command that may fail, with an errno. True: it did not."""
    probe.tell(line)
    answer = probe.answer()
    if answer == "OK " + line.split()[0]:
        return True
    check(answer.startswith("ERROR ") and int(answer.split()[2]) > 0, answer)
    return False


def connects(b, sock, client):
    """A connect that was begun ends in exactly one event. True: it came up."""
    try:
        peer = b.take(sock)
        peer.recv_request()
        peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
        equal(peer.recv_fpdu().op, "WRITE", "RTR")
    except (Failed, OSError):
        pass    # then the event says so
    event = client.event()
    check(event.name == "ESTABLISHED" or event.name in ENDS, repr(event))
    return event.name == "ESTABLISHED"


def hears_of_it(peer):
    """A Reply, or the end; not nothing."""
    try:
        peer.sock.recv(4096)
    except ConnectionResetError:
        pass
    except socket.timeout:
        raise Failed("the peer is left waiting") from None
    peer.close()


@rule()
def connect(b):
    sock = b.listen()
    for number in numbers(b):
        client = b.client()
        fault = Fault(client, number)
        begun = told(client, "connect 4 4 -")
        met = fault.met()
        up = begun and connects(b, sock, client)
        client.end()
        check(met or up, "no allocation failed, and the connection did not come up")
        if not met:
            break
    check(number > 10, f"only {number - 1} allocations failed")


@rule()
def accept(b):
    server = b.server()
    for number in numbers(b):
        peer = b.dial()
        peer.send(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
        server.event("CONNECT_REQUEST")
        server.do("take")
        fault = Fault(server, number)
        accepted = told(server, "accept_taken 4 4 -")
        met = fault.met()
        up = accepted and accepts(server, peer)
        server.do("destroy_id")
        hears_of_it(peer)
        check(met or up, "no allocation failed, and the connection did not come up")
        if not met:
            break
    check(number > 3, f"only {number - 1} allocations failed")
    comes_up(b, server)


def accepts(server, peer):
    """An accept that succeeded ends in an event, too. True: the connection came up."""
    try:
        peer.recv_reply()
        peer.send(mpa.rtr_write())
    except (Failed, OSError):
        pass
    event = server.event()
    check(event.name == "ESTABLISHED" or event.name in ENDS, repr(event))
    return event.name == "ESTABLISHED"


@rule()
def reject(b):
    server = b.server()
    for number in numbers(b):
        peer = b.dial()
        peer.send(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
        server.event("CONNECT_REQUEST")
        server.do("take")
        fault = Fault(server, number)
        told(server, "reject_accepted")
        met = fault.met()
        server.do("destroy_id")
        hears_of_it(peer)
        if not met:
            break
    comes_up(b, server)
