# SPDX-License-Identifier: GPL-2.0
"""Load by many hostile peers: its effect on a listener, on the kernel's memory, and on good
clients.

The rate at which good clients connect is measured alternately without hostile peers and with them.
make soak runs these tests in a guest whose clock counts executed instructions: so the rate falls by
the instructions that hostile peers cost, but not by other load of the host.
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
SPARE = 50      # objects of a slab cache that other tasks may allocate during a test
CROWD = 128     # peers of a load_peer: cm_probe can hold their connect requests at once
WINDOW = 3000   # connections to measure a rate: together they last longer than request_timeout_ms


class Crowd:
    """A process of load_peer, which plays many hostile peers until its standard input is closed"""

    def __init__(self, b, *args):
        self.proc = subprocess.Popen(load_peer(b, *args), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        b.things.append(self.proc.kill)
        check(select.select([self.proc.stdout], [], [], LIMIT * 3)[0], "load_peer is not ready")
        equal(self.proc.stdout.readline(), "READY\n", "load_peer's start")

    def end(self):
        """End load_peer. Return its CPU time divided by the time that it ran."""
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
    """Check that after the with statement's body each slab cache for objects of connections has at
    most SPARE more objects in use than before it."""
    before = slabs()

    def rest():
        now = slabs()
        return {name: now[name] - before[name] for name in now if now[name] > before[name] + SPARE}
    yield
    gone()
    check(poll(lambda: not rest()), f"objects are left: {rest()}")


def good_clients(b):
    """Make WINDOW connections by load_peer's mode "good", one after the other. Return the seconds
    that they took together."""
    done = subprocess.run(load_peer(b, "good", WINDOW, REQUEST.hex(), mpa.rtr_write().hex()),
                          timeout=SLOWLY * 10, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    check(not done.returncode, f"the good client failed: {done.stdout.strip()}")
    return int(done.stdout.split()[1]) / 1e9


CROWDS = {      # modes of load_peer
    "stop": (REQUEST,),     # peers send a part of the Request; request_timeout_ms ends them
    "drip": (REQUEST,),     # peers send a byte of the Request a second
    "flood": (GARBAGE,),    # N connections a second, each with bytes that are no Request
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
    """After request_timeout_ms the device closes the connections of peers that sent a part of the
    MPA Request, and frees their memory."""
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
    """A peer that keeps its connection open after a Reject counts for half_open_max, as a peer does
    that sends no Request: of `count` peers only `most` remain, and a good client can connect."""
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
    """Of the connections without a whole MPA Request at most half_open_max stay open, and the
    device closes others for a new one: a good client can connect."""
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
    """Set the kernel's preemption model to "full" during the with statement's body: then a woken
    task preempts one that runs in a system call."""
    if SLOW > 1 and not os.path.exists(PREEMPT):
        yield   # kernels with detectors, such as KASAN, are built fully preemptible
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
    """TCP's send buffer is smaller than a Send. The task that posts it passes the first bytes to
    TCP, and a thread of the driver the others: each byte has to be sent once, and in order.

    siw's thread for a single connection runs on the last CPU. If the posting task runs there, too,
    the thread preempts it whenever TCP has room again; on another CPU they run in parallel. srnic's
    thread, a worker, runs on the CPU on which TCP reports room.
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
