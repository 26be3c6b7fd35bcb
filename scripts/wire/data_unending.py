# SPDX-License-Identifier: GPL-2.0
"""The ULP disconnects, and the peer delays the close by FIN: every half second it sends or
acknowledges a little. A timer, or the deletion of the device, has to end the connection."""

import subprocess
import threading
import time

import data_term
import rdmap
from device import driver_name, need_outlived
from harness import LIMIT, SLOW, check, equal, no_sooner_than, poll
from kernel import endpoints, nothing_lives, quiet
from kverbs import FENCE, SIGNALED, KernelLink
from link import Link, both
from peer import Ended
from rdmap import Read
from registry import rule
from storms import SLOWLY, SOON, Ground, run
from verbs import LOCAL_WRITE, REMOTE_WRITE, SUCCESS, Verbs

STEP = 0.5          # seconds from one step of Mover to the next
SIP = 1 << 14       # bytes that a slow peer reads in a step: fewer would not open TCP's window
KERNEL_WRITE = 60000
DEPTH = 64          # IRD of the device: more Reads than the peer sends in a test


class Mover:
    """A thread in which the peer sends or reads a little every STEP seconds, until the connection
    ends"""

    def __init__(self, b, link, how, state=None):
        self.peer, self.moved, self.stopped = link.peer, 0, threading.Event()
        self.is_answered = state == "FINISHING"     # Reads are answered before the device's FIN
        self.lost = 0.0     # seconds by which a busy host has delayed the steps
        self.move = getattr(self, how)
        self.fpdu = link.peer.make(rdmap.write(1, 2, bytes(1000)))
        self.thread = threading.Thread(target=self._run)
        link.peer.allow_cut()
        b.things.append(self.stop)
        self.thread.start()

    def _run(self):
        while not self.stopped.is_set():
            try:
                self.move()
            except (OSError, Ended):
                return
            self.moved += 1
            start = time.monotonic()
            self.stopped.wait(STEP)
            self.lost += max(0.0, time.monotonic() - start - STEP)

    def stop(self):
        self.stopped.set()
        self.thread.join()

    def bytes(self):
        """Send the next byte of an FPDU that the test never sends as a whole."""
        self.peer.raw(self.fpdu[self.moved:self.moved + 1])

    def writes(self):
        self.peer.write(1, 2)

    def reads(self):
        """Send a Read Request of 0 bytes, and read what the device has sent."""
        self.peer.read(1, 2, 0, good=self.is_answered)
        self.peer.sock.settimeout(0)
        try:
            self.peer.inward.feed(self.peer.sock.recv(1 << 16))
        except BlockingIOError:
            pass
        finally:
            self.peer.sock.settimeout(LIMIT)

    def acks(self):
        """Read some of the device's data, so that the peer's TCP window opens little by little."""
        data = self.peer.sock.recv(SIP)
        check(data, "the device has sent all")
        self.peer.inward.feed(data)


def user_link(b, role, **kw):
    link = Link(b, role, ird=DEPTH, peer_ord=DEPTH, **kw)
    link.target = link.dut.mr(64, LOCAL_WRITE | REMOTE_WRITE)
    return link


def kernel_link(b, role, **kw):
    link = KernelLink(b, role, ird=DEPTH, peer_ord=DEPTH, **kw)
    link.target = link.kv.mr(0, [(0, 4096)])
    link.kv.register(0, 0x100, LOCAL_WRITE | REMOTE_WRITE)
    return link


LINKS = {"user": user_link, "kernel": kernel_link}


def post_long_write(link):
    """Post Writes with more data than the peer reads during the test."""
    if isinstance(link, KernelLink):
        for n in range(8):
            link.kv.do(f"post write {SIGNALED} {n} 0x1000 0x55 0,{KERNEL_WRITE}")
        check(link.peer.wait_full(), "the window does not close")
    else:
        data_term.long_write(link)


def post_behind_a_read(link):
    """Post a Read, which the peer does not answer, and a fenced Send, which waits for the Read."""
    if isinstance(link, KernelLink):
        link.kv.do(f"post read {SIGNALED} 1 0x9000 0x99 0,64; "
                   f"send {FENCE | SIGNALED} 2 0 0 0,64")
    else:
        link.qp.read(link.dut.mr(64, LOCAL_WRITE).sge(), 0x9000, 0x99)
        link.qp.send(b"waits", FENCE | SIGNALED)
    link.peer.hear(rdmap.READ_REQUEST)


def disconnect(link):
    if isinstance(link, KernelLink):
        link.kv.do("disconnect")
    else:
        link.verbs.do(f"disconnect {link.id}")


def disconnected(link, limit):
    (link.kv if isinstance(link, KernelLink) else link.verbs).event("DISCONNECTED", limit)


def on_ground_of_its_own(b, make, role):
    """Return the connection that make(), which is user_link() or kernel_link(), sets up for an RDMA
    device that only this test uses and deletes."""
    ground = Ground(b)
    one = b.another(ground.address)
    one.listen_address = ground.address
    one.may_reset = True
    link = make(one, role)
    Verbs.end_spare()       # the spare verbs_probe has this device open, which will be removed
    return link


def is_in(link, state):
    return poll(lambda: (link.role, state) in endpoints(link.b.port))


def bring_to(link, state, how):
    """Disconnect, and bring the device's endpoint to `state`: FINISHING, HALF_CLOSED or
    PEER_FINISHED, each of which only the peer or a timer ends."""
    if how == "acks":
        post_long_write(link)
    elif state == "FINISHING":
        post_behind_a_read(link)
    disconnect(link)
    if state == "PEER_FINISHED":
        link.peer.fin()
    check(is_in(link, state), f"{list(endpoints(link.b.port))}, not {state}")


def place(link):
    """Have the peer write into the ULP's memory, and check what arrives."""
    link.peer.write(link.target.rkey, link.target.start, b"soon")
    link.ping()     # the device has then placed what was sent before
    if isinstance(link, KernelLink):
        link.kv.expect(0, b"soon")
    else:
        link.target.expect(b"soon")


def right_to_place_has_ended(link):
    """Have the peer send a Write after DISCONNECTED. The device must not place it: when the test
    ends, verbs.Dut or Kverbs.check_memory() compares all memory with what it should be."""
    try:
        link.peer.write(link.target.rkey, link.target.start, b"late")
    except OSError:
        pass


WAYS = [("bytes", "FINISHING"), ("writes", "FINISHING"), ("reads", "FINISHING"),
        ("acks", "FINISHING"), ("bytes", "HALF_CLOSED"), ("writes", "HALF_CLOSED"),
        ("reads", "HALF_CLOSED"), ("acks", "PEER_FINISHED")]
ROLES = "responder", "initiator"
FINISH_MS = 10000
LINGER_MS = 4000    # far more than STEP, as a busy host may delay a step of Mover by seconds


@rule("M-7.2-1 D-6.2.1-4: DISCONNECTED at finish_timeout_ms, and not before, while a byte, an empty "
      "Write, a Read or an acknowledgement comes each half second; then the peer cannot place",
      cases=[(who, how, state, ROLES[n % 2]) for who in LINKS
             for n, (how, state) in enumerate(WAYS)])
def M_7_2_1_end_has_a_limit(b, who, how, state, role):
    """finish_timeout_ms must end the connection in each state in which a peer can keep it open by
    sending or acknowledging a little again and again."""
    b.set(linger_timeout_ms=LINGER_MS, finish_timeout_ms=FINISH_MS)
    b.may_reset = True      # TCP answers bytes for a socket that no longer exists by RST
    link = LINKS[who](b, role, narrow=how == "acks")
    place(link)
    with no_sooner_than(FINISH_MS - 1000):
        bring_to(link, state, how)
        start = time.monotonic()
        mover = Mover(b, link, how, state)
        disconnected(link, LIMIT + FINISH_MS / 1000)
    took = time.monotonic() - start
    mover.stop()
    check(took < 12 * SLOW + mover.lost, f"DISCONNECTED came after {took:.1f} s")
    check(mover.moved >= FINISH_MS / 1000 - mover.lost, f"it moved {mover.moved} times only")
    right_to_place_has_ended(link)


@rule("M-7.2-1: SUCCESS for what was posted, and DISCONNECTED by the peer's FIN, in far less than "
      "any limit", cases=both())
def M_7_2_1_end_that_goes_well_is_quick(b, role):
    """If the peer sends FIN at once, a close by FIN must not wait for linger_timeout_ms or
    finish_timeout_ms."""
    b.set(linger_timeout_ms=600000, finish_timeout_ms=600000)
    link = Link(b, role)
    link.works()
    link.qp.send(b"the last words")
    disconnect(link)
    equal(link.peer.hear_message(rdmap.SEND), b"the last words", "Send")
    equal([wc.status for wc in link.qp.wait_send()], [SUCCESS], "status of the Send")
    link.peer.hear_end()
    link.ended(None)


@rule("L-02: the connection has gone, and rdma link delete ends, in far less time than one "
      "linger_timeout_ms", cases=[(who, role) for who in LINKS for role in ROLES])
def L_02_device_does_not_wait_for_an_end(b, who, role):
    """The deletion of a device must not wait for a connection whose close by FIN a peer delays."""
    quiet()
    b.set(linger_timeout_ms=600000, finish_timeout_ms=600000)
    link = on_ground_of_its_own(b, LINKS[who], role)
    bring_to(link, "HALF_CLOSED", "bytes")
    Mover(link.b, link, "bytes")
    deletion = subprocess.Popen(["rdma", "link", "delete", "siw1"])
    b.things.append(lambda: deletion.wait(SLOWLY))
    if who == "kernel":     # the removal waits until the ULP has destroyed its rdma_cm_id
        b.things.append(link.kv.close)
    check(poll(lambda: not list(endpoints(link.b.port)), SOON), "the connection stays")
    if who == "kernel":
        link.kv.close()
    check(poll(lambda: deletion.poll() is not None, SOON), "rdma link delete waits")
    equal(deletion.returncode, 0, "exit status of rdma link delete")


@rule("L-02: the connection has gone at linger_timeout_ms though finish_timeout_ms is far away",
      cases=[(role,) for role in ROLES])
def L_02_end_on_a_device_that_goes_is_short(b, role):
    """A kernel ULP gets DEVICE_REMOVAL and disconnects. As its device is being removed, the close
    by FIN is limited by linger_timeout_ms, and not by the longer finish_timeout_ms."""
    quiet()
    b.set(linger_timeout_ms=3000, finish_timeout_ms=600000)
    link = on_ground_of_its_own(b, kernel_link, role)
    deletion = subprocess.Popen(["rdma", "link", "delete", "siw1"])
    b.things.append(lambda: deletion.wait(SLOWLY))
    b.things.append(link.kv.close)
    link.kv.event("DEVICE_REMOVAL")
    bring_to(link, "HALF_CLOSED", "bytes")
    Mover(link.b, link, "bytes")
    check(poll(lambda: not list(endpoints(link.b.port)), SOON + 3), "the connection stays")
    link.kv.close()
    check(poll(lambda: deletion.poll() is not None, SOON), "rdma link delete waits")


@rule("L-05: no connection is left, and rmmod of the driver's module ends, in far less time than any "
      "limit", cases=[("bytes", "FINISHING", "responder"), ("reads", "HALF_CLOSED", "initiator"),
                      ("acks", "PEER_FINISHED", "responder")])
def L_05_rmmod_does_not_wait_for_an_end(b, how, state, role):
    """The removal of the driver's module must not wait for a connection whose close by FIN a peer
    delays."""
    need_outlived()
    quiet()
    b.set(linger_timeout_ms=600000, finish_timeout_ms=600000)
    b.may_reset = True
    driver = driver_name()
    b.things.append(lambda: run(f"rmmod {driver} iw_mpa || true; driver_set {driver}"))
    link = user_link(b, role, narrow=how == "acks")
    Verbs.end_spare()
    bring_to(link, state, how)
    mover = Mover(b, link, how, state)
    check(poll(lambda: mover.moved > 1), "the peer moves nothing")
    removal = subprocess.Popen(["rmmod", driver])
    b.things.append(lambda: removal.wait(SLOWLY))
    check(poll(lambda: removal.poll() is not None, SOON), "rmmod waits")
    equal(removal.returncode, 0, "exit status of rmmod")
    check(nothing_lives(), "endpoints or sockets are left")
