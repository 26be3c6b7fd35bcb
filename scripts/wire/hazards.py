# SPDX-License-Identifier: GPL-2.0
"""Hazards: behaviour of peers and ULPs that has harmed other implementations must not harm iw_mpa.

The ids of hazards are those of Documentation/infiniband/iw_mpa_conformance.rst. If a rule of an RFC
says how to react to a hazard, the hazard's test names the ids of both, and is in most cases in
initiator.py or responder.py.
"""

import errno
import re
import socket
import threading
import time

import mpa
import needs
from device import device
from harness import QUIET, SLOW, Failed, check, equal, poll
from kernel import LOG_BURST, LOG_INTERVAL, SlowPoint, counter, fresh_log, gone, quiet
from mpa import C, R, READ, WRITE
from registry import rule
from sockmap import Sockmap

QPS_RTS, QPS_ERR = 3, 6     # enum ibv_qp_state
# Seconds within which a connection has to reach ESTABLISHED, whatever other peers do: enough on a
# busy emulator, and less than the timers of iw_mpa that might delay it
SOON = 4.5 * SLOW
FAR_MS = 300000     # milliseconds: a timer that must not expire during the test


def qp_is(probe, state):
    """Is the QP of cm_probe, the ULP, in `state`, and does ibv_query_qp() return the sq_sig_all
    with which cm_probe created the QP?"""
    said, = probe.do("query_qp")
    return said.split()[:3] == ["QP", str(state), "1"]


def comes_up(b, server):
    """Connect a peer that breaks no rule to server, the ULP, and close the connection. Return the
    seconds until the ULP got ESTABLISHED."""
    start = time.monotonic()
    peer = b.dial()
    peer.send(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.event("CONNECT_REQUEST")
    server.do("accept 4 4 -")
    peer.recv_reply()
    peer.send(mpa.rtr_write())
    equal(server.event("ESTABLISHED").status, 0, "status")
    took = time.monotonic() - start
    peer.close()
    server.event("DISCONNECTED")
    return took


# --- load on a listener --------------------------------------------------------------------

LEAVE = {
    "fin": lambda peer: peer.close(),
    "reset": lambda peer: peer.reset(),
    "garbage": lambda peer: (peer.send(b"\xff" * 64), peer.close()),
    "bad_key_and_fin": lambda peer: (peer.cork(), peer.send(mpa.reply()), peer.fin()),
    "half_a_header": lambda peer: (peer.send(mpa.request()[:10]), peer.close()),
    "half_the_private_data": lambda peer: (peer.send(mpa.request(bytes(200))[:99]), peer.reset()),
}


@rule("B-01", "B-11", "B-25", "R-01", "F-malformed", cases=[(how, 100) for how in LEAVE])
def clients_that_leave(b, how, count):
    quiet()
    server = b.server()
    for _ in range(count):
        LEAVE[how](b.dial())
    comes_up(b, server)
    gone()
    server.do("unlisten")


@rule("B-02", "I-08", cases=[(1,), (10,), (19,), (24,)])
def clients_that_stop_within_the_request(b, size):
    b.set(request_timeout_ms=int(1500 * SOON))
    server = b.server()
    frame = mpa.request2(b"data", a=1, rtr=WRITE, ird=4, ord=4)
    stalled = [b.dial() for _ in range(4)]
    for peer in stalled:
        peer.send_split(frame[:size], max(1, size // 2))
    check(comes_up(b, server) < SOON, "a good client had to wait")
    for peer in stalled:
        peer.expect_end()


@rule("B-12", "I-11", "Q-06", cases=[(1, 24), (16, 48)])
def more_clients_than_the_backlog(b, backlog, count):
    """More MPA Requests arrive than the backlog of the ULP's listener: the device must hold those
    in excess and pass them to the ULP later, and must not reject them itself."""
    quiet()
    # When the ULP has answered no request for a fiftieth of verdict_timeout_ms, iw_mpa passes on
    # more requests than the listener's backlog. With 3600000 ms that happens only after 72 s, and
    # not during the test.
    b.set(verdict_timeout_ms=3600000)
    server = b.server(str(backlog))
    peers = []
    threads = [threading.Thread(target=lambda: peers.append(b.dial(30))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(peers), count, "clients that TCP let in")
    # Pause cm_probe, the ULP: each request that it reads makes room for another one in rdma_ucm,
    # which then would not reject a request that iw_mpa passed on in excess of the backlog.
    with server.paused():
        for peer in peers:
            peer.send(mpa.request2(ird=4, ord=4))
        time.sleep(QUIET)
        check(not any(peer.is_readable() for peer in peers), "an answer that is not the ULP's")
    for number in range(count):
        equal(server.event("CONNECT_REQUEST").ird, 4, "IRD of the peer")
        server.do(f"reject {number:02x}")
    server.no_event()
    replies = [peer.recv_reply() for peer in peers]
    check(all(reply.flags & R for reply in replies), "no Reject")
    equal(sorted(reply.pd[-1:] for reply in replies), [bytes([number]) for number in range(count)],
          "what the ULP said")
    for peer in peers:
        peer.close()
    comes_up(b, server)
    gone()


@rule("P-05", "E-9.3-1: a Reject, and no Terminate message behind it", cases=[(1,), (8,)])
def listener_goes_while_requests_wait(b, count):
    quiet()
    server = b.server()
    peers = [b.dial() for _ in range(count)]
    for peer in peers:
        peer.send(mpa.request2(ird=4, ord=4))
    half = [b.dial() for _ in range(count)]
    for _ in peers:
        server.event("CONNECT_REQUEST")
    server.do("unlisten")
    for peer in half:
        peer.expect_end()
    server.end()
    for peer in peers:
        check(peer.recv_reply().flags & R, "no Reject")
    # The ULP has destroyed its listener, which is no error: the Rejects must have no Terminate.
    peers[0].expect_rejected()
    for peer in peers:
        peer.close()
    gone()


# --- races between the peer and the device --------------------------------------------------

@rule("B-08", "B-09", "R-04", cases=[(60,)])
def rtr_as_early_as_can_be(b, count):
    """The peer sends the RTR message together with the Request. So the RTR message is in TCP's
    receive queue when the driver takes over the stream: the driver must process it without new data
    from TCP."""
    server = b.server()
    for _ in range(count):
        peer = b.dial()
        peer.send(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4) + mpa.rtr_write())
        server.event("CONNECT_REQUEST")
        start = time.monotonic()
        server.do("accept 4 4 -")
        equal(server.event("ESTABLISHED").status, 0, "status")
        check(time.monotonic() - start < SOON, "ESTABLISHED was late")
        peer.reset()
        server.event("DISCONNECTED")


@rule("B-08", "D-01", "R-04", cases=[(20,)])
def fpdu_as_early_as_can_be(b, count):
    """The peer sends its Reply and its first Send in one TCP segment: iw_mpa reads only the Reply
    from TCP, and the RDMA driver must receive the Send."""
    b.set(peer_to_peer=0)
    for _ in range(count):
        client, peer, _ = b.connecting()
        client.do("recv")
        peer.send(mpa.reply2(ird=4, ord=4) + mpa.send(b"early"))
        client.event("ESTABLISHED")
        equal(client.do("wc"), ["WC RECV success 5"], "receive")
        b.end_things()


@rule("B-21", "E-5-2: the RTR message is the first FPDU, a Send posted meanwhile the second",
      cases=[(20,)])
def sends_race_the_rtr(b, count):
    """The ULP calls ibv_post_send() until the QP accepts a Send, before ESTABLISHED: the RTR
    message must still be the device's first FPDU."""
    for _ in range(count):
        client, peer, _ = b.connecting()
        client.tell("storm")
        peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
        equal(peer.recv_fpdu().op, "WRITE", "the first FPDU")
        client.event("ESTABLISHED")
        equal(peer.recv_fpdu().op, "SEND", "the second")
        b.end_things()


@rule("B-19", "P-07", "R-07", cases=[("fin", 10), ("reset", 10)])
def peer_goes_as_the_ulp_accepts(b, how, count):
    """The peer closes the connection while the ULP calls rdma_accept(): the call must fail, or the
    event ESTABLISHED must have an error as its status. The QP must not remain in RTS."""
    b.set(rtr_timeout_ms=600000)    # ms, so long that no timer ends the wait
    for _ in range(count):
        server, peer, _ = b.asked(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
        server.tell("accept 4 4 -")
        if how == "fin":
            peer.close()
        else:
            peer.reset()
        if server.answer() == "OK accept":
            check(server.event("ESTABLISHED").status != 0, "the connection came up")
            check(poll(lambda: qp_is(server, QPS_ERR)), "the QP is in use")
        else:
            check(not qp_is(server, QPS_RTS), "the QP is in use")
        server.tell("send 8")
        server.answer()
        b.end_things()


@rule("B-19")
def ulp_can_ask_what_its_qp_is(b):
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(mpa.rtr_write())
    server.event("ESTABLISHED")
    check(qp_is(server, QPS_RTS), "not in RTS when established")
    server.do("fail_qp")
    server.event("DISCONNECTED")
    check(qp_is(server, QPS_ERR), "not in error after it failed")


@rule("P-01", "P-11", "B-10", cases=[("destroy_qp",), ("destroy_id",)])
def silent_peer_holds_nobody_up(b, how):
    """The ULP exits while the device waits for the RTR message of a silent peer: the exit must not
    wait until rtr_timeout_ms has passed."""
    b.set(rtr_timeout_ms=FAR_MS)
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    if how == "destroy_qp":
        server.do("destroy_qp")
        check(server.event().status != 0, "the connection came up")
    start = time.monotonic()
    server.end()
    check(time.monotonic() - start < SOON, "the ULP had to wait")
    peer.expect_end()


# --- connecting ----------------------------------------------------------------------------

@rule("B-20", "P-03", cases=[("destroy_qp",), ("quit",)])
def connect_to_where_nobody_answers(b, how):
    """Nothing answers the device's SYNs: neither rdma_connect() nor the exit of the ULP may block
    until connect_timeout_ms has passed."""
    b.set(connect_timeout_ms=FAR_MS)
    b.unanswering()
    client = b.client()
    start = time.monotonic()
    client.do("connect 4 4 -")
    check(time.monotonic() - start < SOON, "connect waited for the peer")
    if how == "destroy_qp":
        client.do("destroy_qp")
        check(client.event().status != 0, "it came up")
    start = time.monotonic()
    client.end()
    check(time.monotonic() - start < SOON, "the ULP had to wait")


@rule("I-12")
def refused_port_is_asked_once(b):
    """No server listens at the port, so TCP answers the device's SYN by RST. The device must not
    take that for a peer that refuses MPA revision 2, and must not connect again with revision 1."""
    before = counter("v1_fallback")
    client = b.client()
    client.do("connect 4 4 -")
    equal(client.event("REJECTED").status, -errno.ECONNRESET, "status")
    equal(counter("v1_fallback"), before, "tries with revision 1")


@rule("C-10", "X-02-2: no RTR message to a Reply of revision 2 without S",
      cases=[("rev_2",), ("rev_1",)])
def unenhanced_reply_to_peer_to_peer(b, rev):
    """A Reply without S has no bits A to D, by which it could select an RTR type: the device, as
    initiator, must send no RTR message."""
    client, peer, _ = b.connecting()
    peer.send(mpa.reply(b"12345678", rev=int(rev[-1])))
    ev = client.event("ESTABLISHED")
    equal(ev.pd, b"12345678", "private data, of which nothing is stripped")
    peer.expect_quiet()


@rule("B-24", "E-9.1-3: IRD of the Reply; the Read is answered")
def read_rtr_works_with_depths_of_0(b):
    server, peer, reply = b.accepted(mpa.request2(a=1, rtr=READ, ird=0, ord=0), ird=0, ord=0)
    check(reply.ird >= 1, "IRD of the Reply")
    peer.send(mpa.rtr_read())
    equal(server.event("ESTABLISHED").status, 0, "status")
    equal(peer.recv_fpdu().op, "RESPONSE", "answer to the RTR")


@rule("B-06", "M-7.1.1-14: PD_Length of the frame, and each octet that it counts",
      cases=[(kind, size) for kind in ("connect", "accept", "reject")
             for size in (247, 248, 251, 252, 253, 255)])
def longest_private_data_of_the_ulp(b, kind, size):
    """PD_Length counts private data and 4 bytes of IRD and ORD: with 252 to 255 bytes of private
    data it exceeds 255, and must not be cut to 8 bits."""
    pd = bytes(1 + i % 255 for i in range(size))
    if kind == "connect":
        _, _, frame = b.connecting(pd=pd)
    elif kind == "accept":
        _, _, frame = b.accepted(mpa.request2(ird=4, ord=4), pd=pd)
    else:
        server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
        server.do("reject " + pd.hex())
        frame = peer.recv_reply()
    equal(frame.pd, pd, "private data")
    equal(frame.flags & ~(C | R), mpa.S, "flags")


# --- the kernel's log ------------------------------------------------------------------------

def log_line(b, role, port, text):
    """Return the line that iw_mpa must log about a connection. role: the device's; port: the
    initiator's (the responder's port is b.port); text: the last words of the line"""
    ends = [f"[{b.address}]:{n}" if ":" in b.address else f"{b.address}:{n}"
            for n in (b.port, port)]
    own, peer = ends if role == "responder" else ends[::-1]
    return f"iw_mpa: {needs.Place.ib_device}: connection ID: {role} {own}, peer {peer}: {text}"


def bad_client(b):
    """Connect, and send bytes that are no MPA Request. Return the line that iw_mpa must log."""
    peer = b.dial()
    port = peer.sock.getsockname()[1]
    peer.send(b"\xff" * 20)
    peer.expect_end()
    peer.close()
    return log_line(b, "responder", port, "BAD_KEY (not an MPA startup frame)")


def ulp_rejects(b, server):
    peer = b.dial()
    peer.send(mpa.request())
    server.event("CONNECT_REQUEST")
    server.do("reject -")
    peer.recv_reply()
    peer.close()


@rule("B-08")
def rtr_arrives_while_the_qp_is_locked(b):
    """The RTR message arrives in softirq while a task holds the QP's lock, for which softirq cannot
    wait: when the task unlocks, the driver must read the message without a new signal from TCP."""
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    slow = SlowPoint(b, device().modify_qp, 300 * SLOW)
    server.tell("modify_qp")
    check(poll(slow.is_in), "nobody locks the QP")
    peer.send(mpa.rtr_write())
    equal(server.event("ESTABLISHED", limit=SOON).status, 0, "status")
    equal(server.answer(), "OK modify_qp", "answer")


@rule("B-08")
def send_arrives_while_the_qp_is_locked(b):
    """A Send arrives in softirq while a task holds the QP's lock: when the task unlocks, the driver
    must read the Send from TCP's receive queue, although TCP signals no new data."""
    server, peer, _ = b.accepted(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    peer.send(mpa.rtr_write())
    server.event("ESTABLISHED")
    server.do("recv")
    slow = SlowPoint(b, device().modify_qp, 300 * SLOW)
    server.tell("modify_qp")
    check(poll(slow.is_in), "nobody locks the QP")
    peer.send(mpa.send(b"ping"))
    equal(server.answer(), "OK modify_qp", "answer")
    equal(server.do("wc"), ["WC RECV success 4"], "receive")


@rule("H-05")
def sockmap_has_the_connection_first(b):
    """A BPF sockmap owns the callbacks of an accepted socket, so iw_mpa cannot use the socket, and
    must close it. The next connection, without the sockmap, must reach ESTABLISHED."""
    quiet()
    server = b.server()
    before = counter("TCP_ERROR")
    bpf = Sockmap()
    try:
        peer = b.dial()
        peer.send(mpa.request())
        peer.expect_end()
        peer.close()
    finally:
        bpf.close()
    check(poll(lambda: counter("TCP_ERROR") == before + 1), "it is not counted")
    comes_up(b, server)
    server.do("unlisten")
    gone()


@rule()
def failed_accept_is_logged_and_no_other_end(b):
    server = b.server()
    lines = fresh_log(b)
    comes_up(b, server)
    ulp_rejects(b, server)
    b.dial().close()
    line = bad_client(b)
    check(poll(lambda: line in lines()), "no line")
    equal(lines(), [line], "the log")


@rule()
def failed_connect_is_logged_and_no_other_end(b):
    lines = fresh_log(b)
    client = b.client()
    client.do("connect 4 4 -")
    client.event("REJECTED")    # no server listens
    sock = b.listen()
    for answer, event in ((mpa.reply2(flags=C | R, ird=4, ord=4), "REJECTED"),
                          (b"\xff" * 24, "CONNECT_ERROR")):
        client = b.client()
        client.do("connect 4 4 -")
        peer = b.take(sock)
        peer.recv_request()
        peer.send(answer)
        client.event(event)
    line = log_line(b, "initiator", b.peers[-1][1],
                    "BAD_KEY (not an MPA startup frame)")
    equal(lines(), [line], "the log")


@rule()
def errno_is_logged_where_there_is_one(b):
    server, peer, _ = b.asked(mpa.request2(ird=4, ord=4))
    lines = fresh_log(b)
    port = peer.sock.getsockname()[1]
    peer.reset()
    line = log_line(b, "responder", port,
                    f"PEER_RESET, errno {-errno.ECONNRESET} (peer reset the connection)")
    check(poll(lambda: lines() == [line]), f"not {line!r}: {lines()}")
    server.fails("accept 4 4 -")


# How the peer ends a connection, and the reason in the line that iw_mpa logs; None: no line, as the
# end is no error
ENDS = (
    (lambda peer: peer.close(), None),
    (lambda peer: peer.reset(), "peer reset the connection"),
    (lambda peer: peer.send(mpa.send(b"data", bad_crc=True)),
     "wrong CRC; Terminate sent: layer 2, type 0, code 0x02"),
    (lambda peer: peer.send(mpa.terminate(0x02)),
     "the peer found an error; Terminate received: layer 2, type 0, code 0x02"),
)


@rule()
def end_of_a_connection_that_was_up_is_logged_if_it_is_an_error(b):
    server = b.server()
    lines = fresh_log(b)
    want = []
    for end, why in ENDS:
        peer, port = up(b, server)
        server.do("recv")   # siw checks the CRC of a Send only if a receive is posted for it
        end(peer)
        server.event("DISCONNECTED")
        peer.close()
        if why is None:
            continue
        reason = f"PEER_RESET, errno {-errno.ECONNRESET}" if "reset" in why else "STREAM"
        for said, instead in device().faults.items():
            why = why.replace(said, instead)
        want.append(re.escape(log_line(b, "responder", port, f"{reason} ({why}; ")) +
                    r"[1-9]\d* bytes sent, [1-9]\d* received\)")
    check(poll(lambda: len(lines()) == len(want)), f"not {len(want)} lines: {lines()}")
    for regex, line in zip(want, lines()):
        check(re.fullmatch(regex, line), f"{line!r} is not {regex}")


def up(b, server):
    """Return a peer whose connection is up, and its port."""
    peer = b.dial()
    peer.send(mpa.request2(a=1, rtr=WRITE, ird=4, ord=4))
    server.event("CONNECT_REQUEST")
    server.do("accept 4 4 -")
    peer.recv_reply()
    peer.send(mpa.rtr_write())
    equal(server.event("ESTABLISHED").status, 0, "status")
    return peer, peer.sock.getsockname()[1]


@rule(cases=[("ulp_first",), ("with_fin",)])
def close_that_fails_is_logged(b, how):
    """A Terminate message of the peer is an error, although the connection is being closed: the ULP has disconnected
    before, or the peer's FIN is in the same segment."""
    server = b.server()
    lines = fresh_log(b)
    before = counter("STREAM")
    peer, port = up(b, server)
    if how == "ulp_first":
        server.do("disconnect")
        peer.expect_end()
        peer.send(mpa.terminate(0x02))
    else:
        peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        peer.send(mpa.terminate(0x02))
        peer.sock.shutdown(socket.SHUT_WR)
    server.event("DISCONNECTED")
    peer.close()
    line = log_line(b, "responder", port, f"STREAM ({ENDS[3][1]}; ")
    check(poll(lines), "no line")
    check(len(lines()) == 1 and lines()[0].startswith(line), f"not {line!r}: {lines()}")
    equal(counter("STREAM"), before + 1, "STREAM")


@rule()
def flood_of_bad_requests_is_logged_within_limits(b, count=200):
    server = b.server()
    lines = fresh_log(b)
    suppressed = b.kernel_log("iw_mpa: ")
    start = time.monotonic()
    for _ in range(count):
        bad_client(b)
    intervals = int((time.monotonic() - start) / LOG_INTERVAL) + 1
    check(LOG_BURST <= len(lines()) <= LOG_BURST * (intervals + 1) < count,
          f"{len(lines())} lines in {intervals} intervals")
    check(comes_up(b, server) < SOON, "a good client had to wait")
    after = fresh_log(b)
    line = bad_client(b)
    check(poll(lambda: line in after()), "no line when the flood is over")
    check(any(line.endswith(" callbacks suppressed") for line in suppressed()),
          "nothing says that lines are missing")


@rule()
def log_that_the_administrator_turned_off(b):
    b.server()
    lines = fresh_log(b)
    b.set(log=0)
    bad_client(b)
    b.set(log=1)
    line = bad_client(b)
    check(poll(lambda: line in lines()), "no line")
    equal(lines(), [line], "the log")


@rule(cases=[("2",), ("-1",), ("yes",)])
def bad_setting_of_the_log_is_refused(b, value):
    try:
        b.set(log=value)
    except OSError as err:
        equal(err.errno, errno.EINVAL, "errno")
    else:
        raise Failed("it was taken")
