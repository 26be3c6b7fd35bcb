# SPDX-License-Identifier: GPL-2.0
"""Hostile load: the effect of many bad peers on a listener, on memory, and on a good client.

The rate of a good client is measured by turns with and without bad peers. make soak measures in a
guest whose clock counts executed instructions: so other load of the host has no effect, but the
instructions that the bad peers cost do.
"""

import contextlib
import os
import select
import struct
import subprocess

import mpa
from harness import LIMIT, SLOW, Failed, check, equal, poll
from hazards import comes_up
from kernel import alive, counter, gone, quiet, slabs
from mpa import WRITE
from registry import rule, say
from storms import SLOWLY, load_peer

REQUEST = mpa.request2(b"pd of 8.", a=1, rtr=WRITE, ird=4, ord=4)
GARBAGE = bytes(range(1, 65))
SPARE = 50      # objects of a cache that other tasks may have taken in between
CROWD = 128     # requests that cm_probe can hold at once
WINDOW = 3000   # good connections for one rate: they take longer than the time limit for the Request


class Crowd:
    """A running load_peer, which plays many peers until its standard input is closed"""

    def __init__(self, b, *args):
        self.proc = subprocess.Popen(load_peer(b, *args), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        b.things.append(self.proc.kill)
        check(select.select([self.proc.stdout], [], [], LIMIT * 3)[0], "load_peer is not ready")
        equal(self.proc.stdout.readline(), "READY\n", "load_peer's start")

    def end(self):
        """End load_peer. Return the share of one processor that it has used."""
        try:
            said, _ = self.proc.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise Failed("load_peer does not end") from None
        check(not self.proc.returncode, "load_peer failed")
        _, lasted, cpu = said.split()
        return int(cpu) / int(lasted)


@contextlib.contextmanager
def memory_comes_back():
    """Check that the slab caches of sockets have as many objects afterwards as before."""
    before = slabs()

    def rest():
        now = slabs()
        return {name: now[name] - before[name] for name in now if now[name] > before[name] + SPARE}
    yield
    gone()
    check(poll(lambda: not rest()), f"objects are left: {rest()}")


def good_clients(b):
    """Run WINDOW good clients, one after the other. Return the seconds that they took together."""
    done = subprocess.run(load_peer(b, "good", WINDOW, REQUEST.hex(), mpa.rtr_write().hex()),
                          timeout=SLOWLY * 10, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    check(not done.returncode, f"the good client failed: {done.stdout.strip()}")
    return int(done.stdout.split()[1]) / 1e9


CROWDS = {
    "stop": (REQUEST,),     # clients stop at every byte of the Request; the timer ends them
    "drip": (REQUEST,),     # a byte a second
    "flood": (GARBAGE,),    # this many a second
}


@rule("H-01", "B-02", "I-10", cases=(),
      soak=[("stop", 1000, 3, 95), ("drip", 200, 3, 95), ("flood", 50, 3, 95)])
def good_client_keeps_its_rate(b, crowd, count, rounds, percent):
    quiet()
    b.set(request_timeout_ms=500)
    server = b.server("512")
    server.do("serve")
    good_clients(b)
    alone, among, shares = 0, 0, []
    with memory_comes_back():
        for _ in range(rounds):
            alone += good_clients(b)
            before = counter("ep_created")
            peers = Crowd(b, crowd, count, *(frame.hex() for frame in CROWDS[crowd]))
            among += good_clients(b)
            shares.append(peers.end())
            gone()
            check(counter("ep_created") > before + WINDOW, "there was no bad peer")
    kept = 100 * alone / among
    say(f"{rounds * WINDOW / alone:.0f} connections a second alone, {rounds * WINDOW / among:.0f} "
        f"among them: {kept:.1f} %; they took {100 * max(shares):.1f} % of a processor")
    check(kept >= percent, f"{kept:.1f} % of the rate, {percent} expected")


@rule("H-02", "I-10", cases=[(1000,)], soak=[(3000,)])
def silent_peers_go_in_time(b, count):
    """The timer ends peers that stop within the Request, and their memory is freed."""
    quiet()
    limit = 4000 * SLOW
    b.set(request_timeout_ms=limit, half_open_max=count + SPARE,
          half_open_listener_max=count + SPARE)
    server = b.server("512")
    comes_up(b, server)
    late = counter("TIMEOUT_REQUEST")
    with memory_comes_back():
        peers = Crowd(b, "stop", count, REQUEST.hex())
        comes_up(b, server)
        check(poll(lambda: counter("TIMEOUT_REQUEST") == late + count, LIMIT + limit / 1000),
              f"{counter('TIMEOUT_REQUEST') - late} of {count} were ended by the timer")
        gone()
        peers.end()


@rule("H-04", "M-7.1.2-4: how many Rejects are kept open, and which go first", cases=[(64, 256)],
      soak=[(1024, 4096)])
def refused_past_the_limit(b, most, count):
    """Peers that stay after a Reject count for half_open_max, as do peers that send no Request."""
    quiet()
    b.set(half_open_max=most, linger_timeout_ms=600000)
    server = b.server("512")
    comes_up(b, server)
    crowds = []
    for _ in range(count // CROWD):
        crowds.append(Crowd(b, "whole", CROWD, REQUEST.hex()))
        for _ in range(CROWD):
            server.event("CONNECT_REQUEST")
            server.do("reject -")
    check(poll(lambda: alive("ep") == most), f"{alive('ep')} endpoints, not {most}")
    comes_up(b, server)
    for crowd in crowds:
        crowd.end()
    gone()


@rule("H-03", "M-7.1.2-17: OVERLOAD counts those beyond the limit, and their endpoints are gone",
      cases=[(64, 256)], soak=[(1024, 4096)])
def half_open_past_the_limit(b, most, count):
    """At most half_open_max connections without a Request stay; a good client still comes up."""
    quiet()
    b.set(half_open_max=most, request_timeout_ms=600000)
    server = b.server("512")
    comes_up(b, server)
    before = counter("OVERLOAD")
    with memory_comes_back():
        peers = Crowd(b, "stop", count, REQUEST.hex())
        check(poll(lambda: counter("OVERLOAD") == before + count - most),
              f"{counter('OVERLOAD') - before} of {count} yielded, {count - most} expected")
        check(poll(lambda: alive("ep") == most), f"{alive('ep')} endpoints, not {most}")
        comes_up(b, server)
        check(poll(lambda: alive("ep") == most - 1), "the good client left something")
        equal(counter("OVERLOAD"), before + count - most + 1, "connections that yielded")
        peers.end()


PREEMPT = "/sys/kernel/debug/sched/preempt"


@contextlib.contextmanager
def preemption():
    """Make the kernel fully preemptible: a task that is woken preempts others in system calls."""
    if SLOW > 1 and not os.path.exists(PREEMPT):
        yield   # kernels with detectors are always preemptible
        return

    def put(model):
        with open(PREEMPT, "w", encoding="ascii") as f:
            f.write(model)
    with open(PREEMPT, encoding="ascii") as f:
        was = f.read().partition("(")[2].partition(")")[0]
    put("full")
    try:
        yield
    finally:
        put(was)


@rule("F-full", cases=[("first", 100), ("last", 100)], soak=[("first", 1000), ("last", 1000)])
def data_that_tcp_has_no_room_for(b, processor, count):
    """TCP's send buffer is small. The task that posts a Send begins to pass it to TCP, and a thread
    of the driver goes on: every byte has to arrive once, and in order.

    The thread of a single connection runs on the last processor. If the task does, too, the thread
    preempts the task whenever TCP wakes the thread.
    """
    size = 65536
    octets = b"".join(struct.pack(">I", number) for number in range(size // 4))
    cpu = os.cpu_count() - 1 if processor == "last" else 0
    b.put("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 16384")
    b.put("/proc/sys/net/ipv4/tcp_rmem", "4096 16384 16384")
    b.program = ["chrt", "-i", "0", "taskset", "-c", str(cpu), *b.program]
    with preemption():
        server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
        peer.send(mpa.rtr_write())
        server.event("ESTABLISHED")
        server.tell(f"stream {count} {size}")
        for msn in range(1, count + 1):
            offset = 0
            while offset < size:
                ulpdu = peer.recv_fpdu(crc=False).ulpdu
                head, data = struct.unpack(">IIII", ulpdu[2:18]), ulpdu[18:]
                equal(head, (0, 0, msn, offset), "queue, MSN and offset")
                check(data == octets[offset:offset + len(data)],
                      f"MSN {msn}, offset {offset}: other octets than were sent: {data.hex()}")
                offset += len(data)
        equal(server.answer(), "OK stream", "what the server says")
