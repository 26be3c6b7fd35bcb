# SPDX-License-Identifier: GPL-2.0
"""QP states: which state a query returns, which changes a ULP may request, how WRs complete."""

import errno
import socket
import time

import mpa
import rdmap
from harness import check, equal
from link import FATAL, Link, both
from peer import FIN, random_octets
from rdmap import READ_REQUEST, READ_RESPONSE, SEND, Read
from registry import rule
from verbs import (ERR, INIT, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, RESET, RTR, RTS, SQD, SUCCESS,
                   WR_FLUSH_ERR, Dut)

MAY_WRITE = LOCAL_WRITE | REMOTE_WRITE


def break_off(link):
    """Modify the QP to ERR by ibv_modify_qp(). Check that all WRs are flushed, and that the device
    ends the connection."""
    link.qp.recv()
    link.qp.modify(ERR)
    link.qp.flushed()
    link.peer.allow_cut()
    link.peer.hear_until_end()
    link.close()
    link.disconnected()


TCP_CLOSE_WAIT = 8
# enum ibv_qp_attr_mask
NEVER_MODIFIED = {"capacities": 1 << 19, "qkey": 1 << 6, "migration": 1 << 18, "sqd_event": 1 << 2}


def refused(link, state):
    _, said = link.verbs.ask(f"modify {link.qp.name} {state}")
    equal(said, errno.EINVAL, f"modify to {state}")


@rule("R-7-1: the QP's state, memory behind it, and a Send that does not leave", cases=both())
def R_7_1_error_is_what_a_ulp_sees_that_asked_for_it(b, role):
    """As soon as the ULP has modified its QP to ERR, the device places no byte of the peer, flushes
    WRs that are posted, and sends none of their messages."""
    link = Link(b, role)
    mr = link.dut.mr(64, MAY_WRITE)
    link.qp.recv()
    link.qp.modify(ERR)
    equal(link.qp.state(), ERR, "state")
    try:
        link.peer.write(mr.rkey, mr.start, b"late")
    except OSError:
        pass
    link.qp.send(b"behind")
    link.qp.flushed()
    mr.expect(bytes([0xa5] * 4))
    link.peer.allow_cut()
    link.peer.hear_until_end()
    check(not [segment for segment in link.peer.heard if segment.op == SEND], "the Send has gone")
    link.close()
    link.disconnected()


@rule("D-6.2.2-1: EINVAL for states that cannot follow, and all flushed once", cases=both())
def D_6_2_2_1_states_that_cannot_follow_are_refused(b, role):
    link = Link(b, role)
    link.works()
    for state in RESET, INIT:
        refused(link, state)
    link.qp.modify(RTS)
    link.works()
    break_off(link)
    for state in RTR, RTS:
        refused(link, state)
    link.qp.modify(SQD)         # rdma_disconnect() requests SQD even if the connection has ended
    equal(link.qp.state(), ERR, "state")


@rule("D-6.2.2-1: no completion of what was posted before RESET", cases=both())
def D_6_2_2_1_reset_forgets_what_is_posted(b, role):
    def post_and_reset(_, qp):
        for _ in range(3):
            qp.recv()
        qp.modify(RESET)
        qp.rq.posted.clear()
        qp.modify(INIT)

    link = Link(b, role, setup=post_and_reset)
    link.dut.nothing_completes("rcq")
    link.ping(b"the first")


@rule("D-6.2.2-1: the receive that was posted in error is flushed before the state changes",
      cases=both((RESET,), (INIT,)))
def D_6_2_2_1_work_of_an_error_is_not_of_the_next_connection(b, state, role):
    link = Link(b, role)
    break_off(link)
    link.qp.recv()
    link.qp.modify(state)
    wc, = link.qp.wait_recv()
    equal(wc.status, WR_FLUSH_ERR, f"{wc}")
    equal(link.qp.state(), state, "state")


@rule(cases=[()])
def R_5_3_1_limit_that_a_new_srq_cannot_have(b):
    """ibv_create_srq(3) ignores srq_limit, so programs may leave any value in it."""
    link = Link(b, "responder")
    link.verbs.do("srq other pd 16 1 4000")


@rule(cases=[()])
def R_5_3_1_receives_of_a_qp_with_an_srq(b):
    """ibv_create_qp(3) ignores max_recv_wr and max_recv_sge if the QP uses an SRQ."""
    link = Link(b, "responder")
    link.verbs.do("srq other pd 16 1 0")
    link.verbs.do("qp second pd scq rcq other 16 1000000 1 1000 0 0")
    _, said = link.verbs.ask("qp third pd scq rcq - 16 1000000 1 1 0 0")
    equal(said, errno.EINVAL, "a receive queue that is too long")


@rule(cases=[(name,) for name in NEVER_MODIFIED])
def D_6_2_2_1_attributes_that_cannot_be_changed(b, name):
    """ibv_modify_qp() with an attribute that the device cannot change fails and changes nothing."""
    link = Link(b, "responder")
    _, said = link.verbs.ask(f"modify_mask {link.qp.name} {ERR} {NEVER_MODIFIED[name] | 1}")
    equal(said, errno.EOPNOTSUPP, name)
    link.works()


@rule("D-6.2.1-1: the second Read leaves behind the close, both succeed, then FIN", cases=both())
def D_6_2_1_1_both_ends_have_reads_to_send(b, role):
    """The ULP disconnects while its second Read waits for the first one, as ORD is 1. The peer may
    be in the same situation: so the device answers Reads until its own have completed."""
    link = Link(b, role, ord=1, peer_ird=1)
    sink, source = link.dut.mr(64, LOCAL_WRITE), link.dut.mr(64, REMOTE_READ)
    source.put(random_octets(64))
    for at in 0, 32:
        link.qp.read(sink.sge(at, 32), 0x1000 + at, 7)
    first = link.peer.hear(READ_REQUEST)
    link.verbs.do(f"disconnect {link.id}")
    link.peer.ulpdu(link.peer.read_segment(Read(1, 0, 64, source.rkey, source.start)))
    equal(link.peer.hear_message(READ_RESPONSE), source.get(), "response")
    data = random_octets(64)
    link.peer.respond(first.read, data[:32])
    link.peer.respond(link.peer.hear(READ_REQUEST).read, data[32:])
    for wc in link.qp.wait_send(2):
        equal(wc.status, SUCCESS, f"{wc}")
    link.peer.hear_end(FIN)
    link.ended(None)
    sink.expect(data)


@rule("F-8-1: QP_FATAL for half a Send behind the device's FIN, also if the peer's FIN is in its segment",
      cases=both(("apart",), ("together",)))
def F_8_1_message_is_cut_behind_our_fin(b, how, role):
    """The device still receives after its own FIN. The peer then sends the first segment of a Send
    and FIN: that is an error, as the Send is incomplete."""
    link = Link(b, role)
    place = link.qp.recv()
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    link.peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, how == "together")
    link.peer.ulpdu(rdmap.untagged(rdmap.SEND, b"half", msn=link.peer.next_msn(0), last=False))
    link.close()
    link.ended(FATAL)
    place.expect(b"half")


@rule("R-6.2.1-2 T-19: the peer's TCP is in CLOSE_WAIT, where an RST would have closed it",
      cases=both())
def R_6_2_1_2_error_behind_our_fin_is_no_reset(b, role):
    """The peer breaks a rule after the device's FIN: the device has to read all that follows, up to
    the peer's FIN. If it closed its socket, TCP would send RST."""
    link = Link(b, role)
    link.verbs.do(f"disconnect {link.id}")
    link.peer.hear_end(FIN)
    for msn in range(1, 4):
        link.peer.ulpdu(rdmap.untagged(SEND, b"no such queue", qn=9, msn=msn))
        link.peer.settle()
    equal(link.peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0], TCP_CLOSE_WAIT,
          "state of the peer's TCP")
    link.close()
    link.ended("QP_REQ_ERR")


FOUND_S = 60        # seconds after which srnic hides the QP of a connected responder from iw_cm


@rule(cases=[("found",)], soak=[("hidden",)])
def qp_of_a_live_responder_is_not_for_another_request(b, state):
    """A program can call rdma_accept() with the number of any QP. If this QP belongs to a connected
    responder, the call must fail: with EBUSY from iw_mpa or, if the QP has been connected for more
    than FOUND_S seconds, with EINVAL, as srnic then hides the QP from iw_cm."""
    link = Link(b, "responder")
    if state == "hidden":
        time.sleep(FOUND_S + 2)
    other = b.another()
    program = Dut(other).verbs
    program.do(f"listen listener {other.address} {other.port}")
    for _ in range(10):
        peer = other.dial()
        peer.send(mpa.request2(a=1, rtr=mpa.WRITE, ird=4, ord=4))
        asked = program.event("CONNECT_REQUEST").id
        program.fails(f"accept_number {asked} {link.qp.number}",
                      errno.EBUSY if state == "found" else errno.EINVAL)
        check(peer.recv_reply().flags & mpa.R, "no Reject")
        peer.expect_rejected(5 if state == "found" else None)
        link.works()
    link.verbs.do("destroy qp")
    link.peer.allow_cut()
    link.peer.hear_until_end()
