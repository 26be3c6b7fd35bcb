# SPDX-License-Identifier: GPL-2.0
"""Allocations fail during connection setup: a test repeats an operation, such as accept, once for
each of the operation's allocations, and has that allocation fail.

The tests need a kernel with fault injection, which DEBUG=kasan builds. In a task the N-th
allocation is made to fail (fail-nth); in softirq the first one of a function of siw_mpa (failslab).
The ULP has to get an errno or an event, the peer a Reply, FIN or RST; no object may leak; and the
next connection has to reach ESTABLISHED.
"""

import select
import socket
import subprocess

import mpa
from harness import Failed, check, equal, poll
from hazards import comes_up
from kernel import counter, gone, lines_of, quiet
from mpa import R, WRITE
from registry import rule, say

FAILSLAB = "/sys/kernel/debug/failslab/"
FAIL_PAGE = "/sys/kernel/debug/fail_page_alloc/"
REQUEST = mpa.request2(b"data", a=1, rtr=WRITE, ird=4, ord=4)
LONG = bytes(range(200))    # private data for which iw_mpa has to allocate memory
MOST = 500      # limit of the allocations of one operation: more are taken for an endless loop
ENDS = {"CONNECT_ERROR", "UNREACHABLE", "REJECTED", "DISCONNECTED"}


class Fault:
    """Make one allocation fail in the only thread of the process `probe`: the `number`-th from now
    on (/proc/PID/fail-nth)."""

    def __init__(self, probe, number):
        self.path = f"/proc/{probe.proc.pid}/fail-nth"
        self._put(number)

    def _put(self, number):
        with open(self.path, "w", encoding="ascii") as f:
            f.write(str(number))

    def met(self):
        """Turn the fault off. Return true if the thread reached the allocation that had to fail."""
        with open(self.path, encoding="ascii") as f:
            left = int(f.read())
        self._put(0)
        return not left


def numbers(b, each=MOST - 1, stride=MOST):
    """Yield the number of the allocation that is to fail next: 1 to `each`, then every `stride`-th.

    The caller stops when the operation made fewer allocations than the number, so that none failed.
    If no number is high enough for that, the test fails.
    """
    b.put(FAILSLAB + "verbose", 0)
    b.put(FAILSLAB + "ignore-gfp-wait", "N")
    for name, value in (("verbose", 0), ("ignore-gfp-wait", "N"), ("ignore-gfp-highmem", "N"),
                        ("min-order", 0)):
        b.put(FAIL_PAGE + name, value)
    yield from range(1, each + 1)
    most = 10 * MOST if stride < MOST else MOST
    yield from range(each + stride, most, stride)
    raise Failed(f"more than {most} allocations")


def told(probe, line):
    """Send `probe`, a cm_probe, the command `line`, which may fail, but only with an errno. Return
    true if it succeeded."""
    probe.tell(line)
    answer = probe.answer()
    if answer == "OK " + line.split()[0]:
        return True
    check(answer.startswith("ERROR ") and int(answer.split()[2]) > 0, answer)
    return False


def clients(b):
    """Yield cm_probe processes, each with another source port, so that no two connections in the
    capture have the same ports."""
    for port in range(b.port + 10000, b.port + 10000 + MOST):
        yield b.client(str(port))


class Refusals:
    """Check how the device ends connections if it lacks memory for the private data of a Request or
    Reply: a Terminate, if any, must have layer 2, type 0, code 5 (local catastrophic error)."""

    def __init__(self):
        self.counted = counter("LOCAL")
        self.of_frames = 0      # how often memory for a frame's private data was missing
        self.heard = False

    def of_an_initiator(self, fpdu, peer):
        """Check `fpdu`, the first FPDU of the device, which is the initiator: if it is a Terminate,
        it must have layer 2, type 0 and code 5, and FIN has to follow."""
        if fpdu.op == "TERM":
            equal(fpdu.raw.hex(), mpa.terminate(5).hex(), "Terminate message")
            peer.expect_fin()
            self.heard = True

    def of_a_responder(self, peer):
        """Expect at the peer what must follow if the device's ULP gets no CONNECT_REQUEST: a Reject
        and a Terminate, or only FIN or RST."""
        try:
            if not peer.sock.recv(1, socket.MSG_PEEK):
                return
        except ConnectionResetError:
            return
        check(peer.recv_reply().flags & R, "a Reply that accepts")
        peer.expect_rejected(5)
        self.heard = True

    def judge(self):
        """If iw_mpa's counter LOCAL, of local errors, has grown, check that the peer got a
        Terminate. The caller first waits until all connections have ended: an error is counted only
        when its connection ends."""
        if counter("LOCAL") > self.counted:
            check(self.heard, "a local error of which the peer was told nothing")
            self.of_frames += 1
        self.counted = counter("LOCAL")
        self.heard = False


def connects(b, sock, client, pd=b"", refusals=None):
    """Play the responder for `client`, a cm_probe that connects. Return true if the event that the
    cm_probe gets is ESTABLISHED, false for an event that reports a failure."""
    peer = None
    try:
        peer = b.take(sock)
        peer.recv_request()
        peer.send(mpa.reply2(pd, a=1, rtr=WRITE, ird=4, ord=4))
        fpdu = peer.recv_fpdu()
        if refusals:
            refusals.of_an_initiator(fpdu, peer)
        equal(fpdu.op, "WRITE", "RTR")
    except (Failed, OSError):
        pass    # the device may close the connection: the ULP's event is checked below
    event = client.event()
    check(event.name == "ESTABLISHED" or event.name in ENDS, repr(event))
    if peer:
        peer.close()
    return event.name == "ESTABLISHED"


def hears_of_it(peer):
    """Check that the peer gets something from the device: a Reply, FIN or RST. Close the peer."""
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
    for number, client in zip(numbers(b), clients(b)):
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
    """Expect the event that has to follow a successful rdma_accept(). Return true if the event is
    ESTABLISHED, false if it reports a failure."""
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


VERDICTS = {    # name -> cm_probe's command, function that checks its success, least allocations
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

class Point:
    """Make an allocation of a function or its callees fail, in any task: see fault_point.c."""

    parameters = "/sys/module/fault_point/parameters/"

    def __init__(self, b, function):
        subprocess.run(["insmod", "/share/modules/fault_point.ko", "function=" + function],
                       check=True)
        b.things.append(lambda: subprocess.run(["rmmod", "fault_point"], check=True))

    def _get(self, name):
        return int(lines_of(self.parameters + name)[0])

    def put(self, number):
        with open(self.parameters + "nth", "w", encoding="ascii") as f:
            f.write(str(number))

    def met(self):
        """Wait until all connections have ended, then turn the fault off: see is_met()."""
        gone()
        return self.is_met()

    def is_met(self):
        """Turn the fault off. Return true if the function reached the allocation that had to fail.
        """
        check(poll(lambda: not self._get("inside")), "a worker does not come back")
        left = self._get("nth")
        self.put(0)
        return not left


def fail_each(b, function, way, well, least, **which):
    """Call way(), which has the kernel run `function`, once for each allocation in `function` and
    its callees, and make that one fail. After each call, well() checks that the next connection
    works.

    When way() runs with fewer allocations than the number of the one to fail, it has to return
    true. least: how many allocations have to fail in all; which: arguments of numbers()
    """
    point = Point(b, function)
    failed = 0
    for number in numbers(b, **which):
        point.put(number)
        try:
            good = way()
            met = point.met()
            check(met or good, "no allocation failed, and no good came of it")
            well()
        except Failed as problem:
            raise Failed(f"allocation {number}: {problem}") from None
        if not met:
            break
        failed += 1
    check(failed >= least, f"only {failed} allocations failed")
    say(f"{function}: {failed} allocations failed, each once, of fewer than {number}")


def fail_in_softirq(b, function, way, well):
    """Make the only allocation of a function fail in softirq, by failslab: fail-nth works in tasks
    only. way() has the kernel run `function`; well() checks that the next connection works."""
    symbols = sorted((int(line.split()[0], 16), line.split()[2])
                     for line in lines_of("/proc/kallsyms"))
    at = [name for _, name in symbols].index(function)
    end = next(address for address, _ in symbols[at:] if address > symbols[at][0])
    for name, value in (("verbose", 0), ("ignore-gfp-wait", "N"), ("task-filter", "N"),
                        ("times", 0), ("space", 0), ("interval", 1), ("probability", 100),
                        ("require-start", hex(symbols[at][0])), ("require-end", hex(end))):
        b.put(FAILSLAB + name, value)
    for _ in range(3):
        with open(FAILSLAB + "times", "w", encoding="ascii") as f:
            f.write("1")
        way()
        equal(lines_of(FAILSLAB + "times"), ["0"], "allocations that are still to fail")
        well()


def asked(server, peer):
    """Wait until the server gets CONNECT_REQUEST: return true; or until the peer gets bytes, FIN or
    RST: return false."""
    def heard():
        return bool(select.select([peer.sock], [], [], 0)[0])
    check(poll(lambda: not server.events.empty() or heard()), "nobody hears of the Request")
    if server.events.empty():
        return False
    server.event("CONNECT_REQUEST")
    return True


def destroy(server, peer):
    """Destroy the connection's rdma_cm_id at the server, discard the server's events, and check
    that the peer gets bytes, FIN or RST."""
    server.do("destroy_id")
    while not server.events.empty():
        server.event()
    hears_of_it(peer)


def with_a_server(b, fail, function, way, *least):
    """Start a server; call fail(), which is fail_each() or fail_in_softirq(), with `function`, and
    with way(server) as the operation that has the kernel run `function`."""
    quiet()
    server = b.server()
    fail(b, function, lambda: way(server), lambda: comes_up(b, server), *least)
    server.do("unlisten")
    gone()


def accepted(b, server):
    """Connect the test's peer as initiator, and have the server accept. Return the peer."""
    peer = b.dial()
    peer.send(REQUEST)
    server.event("CONNECT_REQUEST")
    server.do("accept 4 4 -")
    peer.recv_reply()
    return peer


@rule("O-02")
def listener_takes_connections(b):
    """Allocations of iw_mpa_listen_work() fail, each once. It accepts TCP connections; if a Request
    has already arrived, it also reads the Request and reports CONNECT_REQUEST."""
    def way(server):
        peer = b.dial()
        peer.send(REQUEST)
        good = asked(server, peer)
        if good:
            server.do("reject -")
        hears_of_it(peer)
        return good
    with_a_server(b, fail_each, "iw_mpa_listen_work", way, 4)


@rule("O-03", "E-9.3-1: a Terminate message of 2/0/5, compared whole, behind the Reject of a Request "
      "for which there is no memory", cases=[("ulp",), ("peer",)])
def worker_of_a_responder_closed_by(b, who):
    """Allocations of iw_mpa_run_work() fail, each once. For a responder it reads the part of the
    Request that arrives after iw_mpa_listen_work() has accepted the socket, and reports events to
    the ULP."""
    quiet()
    refusals = Refusals()

    def fail(bench, function, way, well, least):
        def all_is_well():
            refusals.judge()
            well()
        fail_each(bench, function, way, all_is_well, least)

    def way(server):
        peer = b.dial()
        peer.send_split(mpa.request2(LONG, a=1, rtr=WRITE, ird=4, ord=4), 20)
        if not asked(server, peer):
            refusals.of_a_responder(peer)
            peer.close()
            return False
        good = told(server, "accept 4 4 -") and accepts(server, peer)
        if good and who == "peer":
            peer.fin()
            server.event("DISCONNECTED")
        destroy(server, peer)
        return good
    with_a_server(b, fail, "iw_mpa_run_work", way, 5)
    check(refusals.of_frames, "no Request found its memory missing")


@rule("O-03", "E-9.3-1: a Terminate message of 2/0/5, compared whole, then FIN, for a Reply for which "
      "there is no memory")
def worker_of_an_initiator(b):
    """Allocations of iw_mpa_run_work() fail, each once. For an initiator it reads the Reply, passes
    the stream to the driver, and has the RTR message sent."""
    quiet()
    sock = b.listen()
    each = clients(b)
    ups = []
    refusals = Refusals()

    def way():
        client = next(each)
        client.do("connect 4 4 -")
        ups.append(connects(b, sock, client, LONG, refusals))
        client.end()
        return ups[-1]

    def well():
        refusals.judge()
        way()
        check(ups[-1], "the next connection did not come up")
    fail_each(b, "iw_mpa_run_work", way, well, 15)
    gone()
    check(refusals.of_frames, "no Reply found its memory missing")


@rule("O-04", only="siw_mpa")
def driver_holds_octets_back(b):
    """The RTR message arrives in two TCP segments. siw_mpa holds the bytes of the first one back,
    and passes them to siw later in a new skb, whose allocation fails."""
    def way(server):
        peer = accepted(b, server)
        try:
            peer.send_split(mpa.rtr_write(), 3)
        except OSError:
            pass    # the device may close the connection: the ULP's event is checked below
        server.event("ESTABLISHED")
        destroy(server, peer)
    with_a_server(b, fail_in_softirq, "siw_mpa_rx_octets", way)


@rule("O-04", only="siw_mpa")
def driver_mends_a_trailer(b):
    """Pad and CRC of an FPDU arrive in two TCP segments. siw_mpa passes them to siw in a new skb,
    whose allocation fails."""
    fpdu = mpa.send(b"data")

    def way(server):
        peer = accepted(b, server)
        peer.send(mpa.rtr_write())
        equal(server.event("ESTABLISHED").status, 0, "status")
        server.do("recv")
        peer.send_split(fpdu, len(fpdu) - 2)
        server.do("wc")
        destroy(server, peer)
    with_a_server(b, fail_in_softirq, "siw_mpa_rx_octets", way)
