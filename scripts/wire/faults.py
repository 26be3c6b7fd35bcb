# SPDX-License-Identifier: GPL-2.0
"""Memory runs out: in turn, each allocation on a path fails, once.

Only a kernel that can let allocations fail has these tests: DEBUG=kasan. Those of a call of the ULP
are counted (fail-nth); those below a function of the modules, which is called from wherever it
happens to be, are met by the octets that were allocated before (failslab's space). The caller gets
an errno or an event, the peer is not left waiting, nothing is left, and the next connection comes
up.
"""

import select
import socket

import mpa
from harness import Failed, check, equal, poll
from hazards import comes_up
from kernel import gone, lines_of, quiet
from mpa import R, WRITE
from registry import rule, say

FAILSLAB = "/sys/kernel/debug/failslab/"
REQUEST = mpa.request2(b"data", a=1, rtr=WRITE, ird=4, ord=4)
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


@rule("O-01")
def connect(b):
    quiet()
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
    gone()


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


def was_rejected(_, peer):
    try:
        return bool(peer.recv_reply().flags & R)
    except Failed:
        return False


VERDICTS = {    # what to tell, what good comes of it, allocations that it makes at the least
    "accept": ("accept_taken 4 4 -", accepts, 3),
    "reject": ("reject_accepted", was_rejected, 1),
}


@rule("O-01", cases=[(verdict,) for verdict in VERDICTS])
def verdict_of_the_ulp(b, verdict):
    line, comes_to_good, least = VERDICTS[verdict]
    quiet()
    server = b.server()
    for number in numbers(b):
        peer = b.dial()
        peer.send(REQUEST)
        server.event("CONNECT_REQUEST")
        server.do("take")
        fault = Fault(server, number)
        done = told(server, line)
        met = fault.met()
        good = done and comes_to_good(server, peer)
        server.do("destroy_id")
        hears_of_it(peer)
        check(met or good, "no allocation failed, and no good came of it")
        if not met:
            break
    check(number > least, f"only {number - 1} allocations failed")
    comes_up(b, server)
    server.do("unlisten")
    gone()


# --- below a function ----------------------------------------------------------------------

class Below:
    """The allocation that will fail below a function of the modules, whoever calls it."""

    def __init__(self, b, function):
        symbols = sorted((int(line.split()[0], 16), line.split()[2])
                         for line in lines_of("/proc/kallsyms"))
        at = [name for _, name in symbols].index(function)
        end = next(address for address, _ in symbols[at:] if address > symbols[at][0])
        for name, value in (("verbose", 0), ("ignore-gfp-wait", "N"), ("task-filter", "N"),
                            ("times", 0), ("space", 0), ("interval", 1), ("probability", 100),
                            ("require-start", hex(symbols[at][0])), ("require-end", hex(end))):
            b.put(FAILSLAB + name, value)

    @staticmethod
    def _put(name, value):
        with open(FAILSLAB + name, "w", encoding="ascii") as f:
            f.write(str(value))

    @staticmethod
    def _get(name):
        return int(lines_of(FAILSLAB + name)[0])

    def after(self, octets):
        """One is to fail as soon as so many octets were allocated."""
        self._put("space", octets)
        self._put("times", 1)

    def met(self):
        """Did one fail? Whether or not, no other will."""
        left = self._get("times")
        self._put("times", 0)
        return not left

    def octets(self, way):
        """How many are allocated on the way"""
        self.after(ENOUGH)
        way()
        check(not self.met(), "more was allocated than can be")
        return ENOUGH - self._get("space")


ENOUGH = 1 << 30
STEP = 64       # octets; an allocation of less may be passed over


def fail_each(b, function, way, well):
    """Go the way with each allocation below function failing; all is well each time afterwards."""
    below = Below(b, function)
    total = below.octets(way)
    count = 0
    for octets in range(0, total, STEP):
        below.after(octets)
        way()
        count += below.met()
        well()
    say(f"{function}: {total} octets, {count} times an allocation failed")
    check(count, "no allocation failed")


def asked(server, peer):
    """A Request has been sent: the ULP is asked, or the peer hears of it."""
    def heard():
        return bool(select.select([peer.sock], [], [], 0)[0])
    check(poll(lambda: not server.events.empty() or heard()), "nobody hears of the Request")
    if server.events.empty():
        return False
    server.event("CONNECT_REQUEST")
    return True


def destroy(server, peer):
    """The ULP lets go; what it has not heard yet it never will."""
    server.do("destroy_id")
    while not server.events.empty():
        server.event()
    hears_of_it(peer)


@rule("O-02")
def listener_takes_connections(b):
    """Also those that come with their Request, which it reads, and announces."""
    quiet()
    server = b.server()

    def way():
        peer = b.dial()
        peer.send(REQUEST)
        if asked(server, peer):
            server.do("reject -")
        hears_of_it(peer)
    fail_each(b, "iw_mpa_listen_work", way, lambda: comes_up(b, server))
    server.do("unlisten")
    gone()


@rule("O-03")
def worker_of_a_responder(b):
    """It reads the second part of the Request, announces it, and reports what came up."""
    quiet()
    server = b.server()

    def way():
        peer = b.dial()
        peer.send_split(REQUEST, 20)
        if not asked(server, peer):
            hears_of_it(peer)
            return
        if told(server, "accept 4 4 -"):
            accepts(server, peer)
        destroy(server, peer)
    fail_each(b, "iw_mpa_run_work", way, lambda: comes_up(b, server))
    server.do("unlisten")
    gone()


@rule("O-03")
def worker_of_an_initiator(b):
    """It reads the Reply, hands the stream to the driver, sends the RTR message, and reports."""
    quiet()
    sock = b.listen()
    ups = []

    def way():
        client = b.client()
        client.do("connect 4 4 -")
        ups.append(connects(b, sock, client))
        client.end()

    def well():
        way()
        check(ups[-1], "the next connection did not come up")
    fail_each(b, "iw_mpa_run_work", way, well)
    gone()


@rule("O-04")
def driver_holds_octets_back(b):
    """An RTR message whose head and trailer were cut; this is in softirq."""
    quiet()
    server = b.server()

    def way():
        peer = b.dial()
        peer.send(REQUEST)
        server.event("CONNECT_REQUEST")
        server.do("accept 4 4 -")
        peer.recv_reply()
        try:
            peer.send_split(mpa.rtr_write(), 3)
        except OSError:
            pass    # then the event says so
        server.event("ESTABLISHED")
        destroy(server, peer)
    fail_each(b, "siw_mpa_first_data_ready", way, lambda: comes_up(b, server))
    server.do("unlisten")
    gone()


@rule("O-04")
def driver_mends_a_trailer(b):
    """The last FPDU has a trailer that was cut: siw is given it in one piece."""
    quiet()
    server = b.server()
    fpdu = mpa.send(b"data")

    def way():
        peer = b.dial()
        peer.send(REQUEST)
        server.event("CONNECT_REQUEST")
        server.do("accept 4 4 -")
        peer.recv_reply()
        peer.send(mpa.rtr_write())
        equal(server.event("ESTABLISHED").status, 0, "status")
        server.do("recv")
        peer.send_split(fpdu, len(fpdu) - 2)
        server.do("wc")
        destroy(server, peer)
    fail_each(b, "siw_mpa_rx_data", way, lambda: comes_up(b, server))
    server.do("unlisten")
    gone()
