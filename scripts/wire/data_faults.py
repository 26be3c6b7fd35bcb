# SPDX-License-Identifier: GPL-2.0
"""Memory allocations fail in srnic: each allocation within a given function fails once, in turn.

faults.py has such tests for the setup of connections; this file has those for verbs and the data
path. A verb that fails has to return an errno and to leave no object. A work request that is posted
has to be executed, when there is memory again.
"""

import os
import subprocess
import time

import fpdu
import mpa
import rdmap
from faults import (FAILSLAB, Point, accepts, asked, clients, connects, destroy, fail_each,
                    hears_of_it, numbers, told, with_a_server)
from harness import LIMIT, SLOW, check, equal, poll
from kernel import gone, hw_counter, lines_of, quiet
from kverbs import KernelLink
from link import Link
from peer import random_octets
from rdmap import READ_RESPONSE, SEND
from registry import rule, say
from storms import run
from verbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, Dut, Verbs

RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ
LARGE = 20000       # bytes, in several page fragments


# --- verbs ---------------------------------------------------------------------------------

VERBS = {   # function of srnic: command of verbs_probe that calls it, least number of allocations
    "srnic_create_cq": ("cq new 200", 5),
    "srnic_create_srq": ("srq new pd 200 1 0", 5),
    "srnic_create_qp": ("qp new pd scq rcq - 100 100 6 6 80 0", 8),
    "srnic_ring_mmap": ("cq new 200", 0),
    "srnic_reg_user_mr": ("mr new pd memory 0 65536 7", 3),
}


@rule("O-05", cases=[(function,) for function in VERBS])
def verb_of_an_application(b, function):
    """A verb in which an allocation fails succeeds or returns an errno; the verb's next call, in
    which no allocation fails, succeeds."""
    quiet()
    dut = Dut(b)
    command, least = VERBS[function]

    def way():
        _, errno = dut.verbs.ask(command)
        if not errno:
            dut.verbs.do("destroy new")
        return not errno
    fail_each(b, function, way, lambda: check(way(), f"{command} fails for good"), least)
    dut.verbs.end()
    Verbs.end_spare()
    run("poll 20 rdma_is_idle")


@rule("O-05")
def region_of_a_kernel_ulp(b):
    link = KernelLink(b, "responder")

    def way():
        _, errno = link.kv.ask("mr 1 0 512 0")
        if not errno:
            link.kv.do("free 1")
        return not errno
    point = Point(b, "srnic_alloc_mr")
    for number in numbers(b):
        point.put(number)
        good = way()
        met = point.is_met()
        check(met or good, "no allocation failed, and there is no region")
        link.works()
        if not met:
            break
    check(number > 3, f"only {number - 1} allocations failed")


@rule("O-05", cases=[(60, 41)])
def link_that_is_added(b, each, stride):
    """"rdma link add" makes a device, or fails and leaves no device.

    The first `each` allocations are made by srnic and iw_mpa: each of them fails once, in turn. The
    RDMA core and sysfs then make more than a thousand; to save time only every `stride`-th of these
    fails.
    """
    b.things.append(lambda: run("ip link delete fault0 2>/dev/null || true"))
    run("ip link add fault0 type dummy; ip link set fault0 up")

    def rdma_link(*words):      # called hundreds of times: starts no shell, to save time
        return subprocess.run(("rdma", "link", *words), stderr=subprocess.DEVNULL,
                              timeout=LIMIT, check=False).returncode == 0

    def way():
        done = rdma_link("add", "siw9", "type", "srnic", "netdev", "fault0")
        equal(os.path.exists("/sys/class/infiniband/siw9"), done, "is there a device?")
        check(not done or rdma_link("delete", "siw9"), "it cannot be deleted")
        return done
    # way() deletes the device that it added: otherwise the next "rdma link add" would fail before
    # the allocation whose failure is tested.
    fail_each(b, "srnic_newlink", way, lambda: None, each, each=each, stride=stride)
    check(way(), "no device any more")


# --- a stream begins -----------------------------------------------------------------------

@rule("O-05")
def stream_of_a_responder(b):
    def way(server):
        peer = b.dial()
        peer.send(mpa.request2(b"data", a=1, rtr=mpa.WRITE, ird=4, ord=4))
        if not asked(server, peer):
            hears_of_it(peer)
            return False
        good = told(server, "accept 4 4 -") and accepts(server, peer)
        destroy(server, peer)
        return good
    with_a_server(b, fail_each, "handoff_prepare", way, 1)


@rule("O-05", cases=[("handoff_prepare", 1), ("srnic_tx_send_rtr", 1)])
def stream_of_an_initiator(b, function, least):
    quiet()
    sock = b.listen()
    each = clients(b)

    def way():
        client = next(each)
        client.do("connect 4 4 -")
        up = connects(b, sock, client)
        client.end()
        return up
    fail_each(b, function, way, lambda: check(way(), "the next connection did not come up"), least)
    gone()


# --- data that is sent and received -------------------------------------------------------

def on_a_link(b, function, way, least, **words):
    """Call way(link), which has srnic run `function` for the connection `link`, once for each
    allocation within `function`, and make this allocation fail. Each time way() must succeed, and
    then a Send in each direction."""
    link = Link(b, "responder", **words)

    point = Point(b, function)
    for number in numbers(b):
        point.put(number)
        way(link)
        met = point.is_met()
        link.ping()
        link.pong()
        if not met:
            break
    check(number > least, f"only {number - 1} allocations failed")
    say(f"{function}: {number - 1} allocations, and each of them failed once")


@rule("O-05", cases=[(False,), (True,)])
def send_by_doorbell(b, markers):
    def way(link):
        data = random_octets(LARGE)
        link.qp.send(data)
        equal(link.peer.hear_message(SEND), data, "Send")
        link.qp.sent()
    on_a_link(b, "srnic_tx_doorbell", way, 2, markers=markers)


@rule("O-05")
def response_by_work_item(b):
    def way(link):
        if not hasattr(link, "source"):
            link.source = link.dut.mr(LARGE, RIGHTS)
            link.source.put(random_octets(LARGE))
        link.peer.read(link.source.rkey, link.source.start, LARGE)
        equal(link.peer.hear_message(READ_RESPONSE), link.source.get(), "response")
    on_a_link(b, "srnic_tx_work", way, 2)


@rule("O-05")
def fpdu_longer_than_the_receive_buffer(b):
    b.put("/proc/sys/net/ipv4/tcp_rmem", "4096 4096 4096")
    before = hw_counter("rx_copied_out")

    def way(link):
        data = random_octets(fpdu.MAX_ULPDU - 18)
        place = link.qp.recv(len(data))
        link.peer.send(data)
        link.qp.received(place, data)
    on_a_link(b, "srnic_rx_work", way, 1, mss=536 + 12)
    check(poll(lambda: hw_counter("rx_copied_out") > before), "no FPDU was copied")


@rule("O-05")
def terminate_message(b):
    """If an allocation for a Terminate fails, the device must send the Terminate when there is
    memory again."""
    point = Point(b, "srnic_tx_work")
    for number in numbers(b):
        one = b.another(b.address)
        link = Link(one, "responder")
        link.works()
        point.put(number)
        link.peer.send(b"bad", qn=9)
        link.refused(rdmap.UNTAGGED_QN)
        one.end_things()
        if not point.is_met():
            break
    check(number > 1, "no allocation failed")


# --- failures for some time ----------------------------------------------------------------

@rule("O-05")
def tcp_without_memory_for_a_while(b):
    """TCP returns -EAGAIN as it cannot allocate an skb, though its send buffer has room. As TCP
    will not call sk_write_space then, srnic's sender has to call TCP again by a timer, without a
    busy loop."""
    link = Link(b, "responder")
    symbols = sorted((int(line.split()[0], 16), line.split()[2])
                     for line in lines_of("/proc/kallsyms"))
    at = [name for _, name in symbols].index("tcp_stream_alloc_skb")
    above = next(address for address, _ in symbols[at:] if address > symbols[at][0])
    for name, value in (("verbose", 0), ("ignore-gfp-wait", "N"), ("task-filter", "N"),
                        ("space", 0), ("interval", 1), ("times", -1),
                        ("require-start", hex(symbols[at][0])), ("require-end", hex(above)),
                        ("probability", 0)):
        b.put(FAILSLAB + name, value)
    before = hw_counter("tx_work")
    link.ping()
    b.put(FAILSLAB + "probability", 100)
    start = time.monotonic()
    link.qp.send(b"late")
    time.sleep(0.5 * SLOW)
    runs = hw_counter("tx_work") - before
    took = time.monotonic() - start
    with open(FAILSLAB + "probability", "w", encoding="ascii") as f:
        f.write("0")
    say(f"{runs} runs of the sender in {took:.2f} s without memory")
    check(5 < runs < took / 0.01 * 2 + 20, f"{runs} runs of the sender in {took:.2f} s")
    equal(link.peer.hear_message(SEND), b"late", "Send")
    link.qp.sent()
    link.works()
