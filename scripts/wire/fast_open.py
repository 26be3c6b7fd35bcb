# SPDX-License-Identifier: GPL-2.0
"""TCP Fast Open (RFC 7413): the initiator's SYN carries the MPA Request if both ends enable it."""

import socket
import subprocess

import initiator
import mpa
import responder
from harness import check, equal, poll
from mpa import WRITE
from registry import rule
from sniffer import ACK, SYN, Sniffer

TCP_FASTOPEN = 23       # Python's module socket has neither of these two constants
MSG_FASTOPEN = 0x20000000


def data_of_syns(sniffer):
    """Wait until a SYN to sniffer.port has been captured. Return the data of each such SYN."""
    syns = []

    def seen():
        syns.extend(segment.data for segment in sniffer.segments()
                    if segment.target == sniffer.port and segment.flags & (SYN | ACK) == SYN)
        return syns

    check(poll(seen), "no SYN was seen")
    return syns


def allow(b, ours=1):
    """Enable Fast Open for clients and servers in this host's TCP. ours: the value of the sysctl
    net.iw_mpa.fast_open; 1 has iw_mpa use Fast Open"""
    b.put("/proc/sys/net/ipv4/tcp_fastopen", 3)
    b.set(fast_open=ours)


def call(b, sock, pd=b""):
    """Have a process of cm_probe, as ULP of the device, connect to the test's listening `sock`.
    Return the harness.Probe of this process, the test's end of the connection, and the MPA Request.
    """
    client = b.client()
    client.do(f"connect 4 4 {pd.hex() or '-'}")
    peer = b.take(sock)
    return client, peer, peer.recv_request()


def listen(b):
    sock = b.listen()
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 8)
    return sock


def get_cookie(b, sock):
    """Make a connection to `sock`, by which this host's TCP gets the Fast Open cookie of the
    address: TCP needs it to send data in a later SYN to any port of that address."""
    client, peer, _ = call(b, sock)
    initiator.up(client, peer, mpa.reply2(ird=4, ord=4, a=1, rtr=WRITE))
    client.do("disconnect")
    peer.expect_fin()
    peer.close()


def dial(b, frame):
    """Connect the test's peer as initiator by MSG_FASTOPEN, with `frame` as MPA Request: TCP sends
    `frame` in the SYN if TCP has a cookie of the address, else after the handshake."""
    sock = socket.socket(b.family, socket.SOCK_STREAM)
    b.things.append(sock.close)
    equal(sock.sendto(frame, MSG_FASTOPEN, (b.address, b.port)), len(frame), "octets sent")
    return b.player("initiator", sock, sock.getsockname()[1])


def let_in(b, server, frame):
    """Connect the test's peer by dial(), and have the cm_probe `server` accept. Return the peer."""
    peer = dial(b, frame)
    equal(server.event("CONNECT_REQUEST").pd, b"hello", "private data")
    server.do("accept 4 4 -")
    peer.recv_reply()
    responder.up(server, peer)
    return peer


REQUEST = mpa.request2(b"hello", a=1, rtr=WRITE, ird=4, ord=4)


@rule("M-7.1.2-1: the Request, which is the payload of the SYN", "M-7.1.2-5: ESTABLISHED")
def initiator_sends_its_request_with_the_syn(b):
    allow(b)
    sock = listen(b)
    get_cookie(b, sock)
    sniffer = Sniffer(b, b.port)
    client, peer, request = call(b, sock, b"hello")
    octets, = data_of_syns(sniffer)
    equal(mpa.Frame(octets, mpa.KEY_REQ).pd, request.pd, "private data of the SYN's Request")
    initiator.up(client, peer, mpa.reply2(ird=4, ord=4, a=1, rtr=WRITE))
    initiator.data_flows(client, peer)


@rule("M-7.1.2-1: the Request, which follows the handshake of TCP")
def initiator_that_is_not_told_sends_a_bare_syn(b):
    allow(b)
    sock = listen(b)
    get_cookie(b, sock)
    b.set(fast_open=0)
    sniffer = Sniffer(b, b.port)
    client, peer, _ = call(b, sock)
    equal(data_of_syns(sniffer), [b""], "octets of the SYN")
    initiator.up(client, peer, mpa.reply2(ird=4, ord=4, a=1, rtr=WRITE))


@rule("M-7.1.2-1: the Request, though the peer's TCP does not take what came with the SYN")
def initiator_whose_syn_is_taken_without_its_octets(b):
    allow(b)
    sock = listen(b)
    get_cookie(b, sock)
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 0)
    client, peer, request = call(b, sock, b"hello")
    equal(request.pd, b"hello", "private data")
    initiator.up(client, peer, mpa.reply2(ird=4, ord=4, a=1, rtr=WRITE))
    initiator.data_flows(client, peer)


def shorten_path(b, octets):
    route = f"local {b.address} dev eth0 table local scope host src {b.address} proto kernel"
    b.things.append(lambda: subprocess.run(["ip", "route", "replace", *route.split()], check=True))
    subprocess.run(["ip", "route", "replace", *route.split(), "mtu", "lock", str(octets)],
                   check=True)


@rule("M-7.1.1-14: each octet of private data, of which the SYN has a part")
def initiator_whose_request_does_not_fit_into_a_syn(b):
    """With an MTU of 256 the SYN has room for a part of the MPA Request only: TCP sends the rest
    after the handshake. IPv6 does not allow such an MTU: there the SYN may carry all of it."""
    allow(b)
    sock = listen(b)
    get_cookie(b, sock)
    if b.family == socket.AF_INET:
        shorten_path(b, 256)
    pd = bytes(range(1, 197))
    sniffer = Sniffer(b, b.port)
    client, peer, request = call(b, sock, pd)
    octets, = data_of_syns(sniffer)
    size = mpa.HDR + request.pd_length
    check(0 < len(octets) < size or b.family == socket.AF_INET6,
          f"the SYN has {len(octets)} octets of {size}")
    equal(request.pd, pd, "private data")
    initiator.up(client, peer, mpa.reply2(ird=4, ord=4, a=1, rtr=WRITE))
    initiator.data_flows(client, peer)


@rule("M-7.1.2-5: CONNECT_REQUEST, the Reply and ESTABLISHED")
def responder_takes_the_request_of_a_syn(b):
    allow(b)
    server = b.server()
    let_in(b, server, REQUEST)
    sniffer = Sniffer(b, b.port)
    peer = let_in(b, server, REQUEST)
    equal([octets.hex() for octets in data_of_syns(sniffer)], [REQUEST.hex()], "octets of the SYN")
    info = peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
    check(info[5] & 0x20, "TCP did not take the octets of the SYN")
    responder.data_flows(server, peer)


@rule("M-7.1.2-5: CONNECT_REQUEST behind the handshake of TCP, and ESTABLISHED")
def responder_that_is_not_told_leaves_the_octets_of_a_syn(b):
    allow(b)
    get_cookie(b.another(), listen(b.others[0]))
    b.set(fast_open=0)
    server = b.server()
    peer = let_in(b, server, REQUEST)
    info = peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
    check(not info[5] & 0x20, "TCP took the octets of the SYN")
    responder.data_flows(server, peer)
