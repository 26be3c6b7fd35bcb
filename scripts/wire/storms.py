# SPDX-License-Identifier: GPL-2.0
"""Life cycles: each event that can end a connection, in each state in which an iw_mpa endpoint can
wait, and for many connections at once.

A test keeps an endpoint in a state by a peer that sends nothing more; debugfs shows the states.
IDLE, HANDOFF and DEAD last only during a function call: KUnit tests cover these.
"""

import errno
import os
import socket
import subprocess
import threading
import time

import mpa
import needs
from device import device, driver_name
from harness import LIMIT, SLOW, Failed, check, equal, poll
from hazards import SOON, comes_up
from kernel import alive, endpoints, gone, lines_of, nothing_lives, quiet, slabs
from mpa import R, WRITE
from registry import rule, say

P2P = mpa.request2(a=1, rtr=WRITE, ird=4, ord=4)
SLOWLY = 60 * SLOW      # seconds within which a link or module is removed, or many peers are served
NET_REFS = "/share/modules/net_refs.ko"
# Is rdma_cm a module? If it is built in, the RDMA core calls uverbs first when a device is removed, and uverbs waits
# for the programs before rdma_cm can send them DEVICE_REMOVAL.
RDMA_CM_IS_FIRST = os.path.exists("/sys/module/rdma_cm/initstate")


# --- one endpoint in each state ------------------------------------------------------------

class Held:
    """A cm_probe, the ULP, whose endpoint stays in a state, and the peer, which does nothing to end
    that state"""

    def __init__(self, b, role, state):
        self.b = b
        self.role, self.state = role, state
        self.probe, self.peer = HOLD[role, state](b)
        check(poll(self.is_there), f"{role} is not in {state}: {self.now()}")

    def now(self):
        return [*endpoints(self.b.port)]

    def is_there(self):
        return (self.role, self.state) in self.now()

    def is_over(self):
        """Are the only endpoints left those in LINGER, which wait for the peer's FIN?"""
        return all(state == "LINGER" for _, state in self.now())


def hold_tcp_connect(b):
    b.unanswering()
    client = b.client()
    client.do("connect 4 4 -")
    return client, None


def hold_v2_offered(b):
    return b.connecting()[:2]


def hold_await_rep(b):
    client, peer = hold_v2_offered(b)
    peer.send(b"MPA")
    return client, peer


def hold_unanswered(b, repeat_ms=1000):
    """The Reply offers one RTR type, and the peer sends no FPDU. The endpoint is in UNANSWERED, as
    the device may have to repeat the RTR message; if repeat_ms is 0 it need not, and the endpoint
    is in OFFLOADED."""
    b.set(rtr_repeat_ms=repeat_ms)
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=WRITE, ird=4, ord=4))
    equal(peer.recv_fpdu().op, "WRITE", "RTR")
    client.event("ESTABLISHED")
    return client, peer


def hold_initiator_offloaded(b):
    return hold_unanswered(b, 0)


def hold_initiator_linger(b):
    """The Reply offers no RTR type that the device supports: the device sends a Terminate, and
    waits in LINGER for the peer's FIN."""
    client, peer, _ = b.connecting()
    peer.send(mpa.reply2(a=1, rtr=0, ird=4, ord=4))
    equal(peer.recv_fpdu().op, "TERM", "answer to the Reply")
    client.event()
    return client, peer


def hold_await_req(b):
    return b.server(), b.dial()


def hold_await_verdict(b):
    server, peer, _ = b.asked(P2P)
    server.do("take")
    return server, peer


def hold_await_rtr(b):
    return b.accepted(P2P)[:2]


def hold_fenced(b):
    server, peer, _ = b.accepted(mpa.request())
    server.event("ESTABLISHED")
    return server, peer


def hold_responder_offloaded(b):
    server, peer, _ = b.accepted(P2P)
    peer.send(mpa.rtr_write())
    equal(server.event("ESTABLISHED").status, 0, "status")
    return server, peer


def hold_responder_linger(b):
    server, peer = hold_await_verdict(b)
    server.do("reject_accepted")
    check(peer.recv_reply().flags & R, "no Reject")
    return server, peer


HOLD = {
    ("initiator", "TCP_CONNECT"): hold_tcp_connect,
    ("initiator", "V2_OFFERED"): hold_v2_offered,
    ("initiator", "AWAIT_REP"): hold_await_rep,
    ("initiator", "OFFLOADED"): hold_initiator_offloaded,
    ("initiator", "UNANSWERED"): hold_unanswered,
    ("responder", "AWAIT_REQ"): hold_await_req,
    ("responder", "AWAIT_VERDICT"): hold_await_verdict,
    ("responder", "AWAIT_RTR"): hold_await_rtr,
    ("responder", "FENCED"): hold_fenced,
    ("responder", "OFFLOADED"): hold_responder_offloaded,
    # These two are set up last, as in some tests linger_timeout_ms ends them.
    ("initiator", "LINGER"): hold_initiator_linger,
    ("responder", "LINGER"): hold_responder_linger,
}
# Timers of iw_mpa in ms: none of them may end an endpoint that a test holds in a state.
TIMERS = {f"{wait}_timeout_ms": 300000
          for wait in ("connect", "reply", "request", "verdict", "rtr")}


# --- the ULP ends --------------------------------------------------------------------------

def ulp_destroys_id(held):
    held.probe.do("unlisten" if held.state == "AWAIT_REQ" else "destroy_id")


def ulp_destroys_qp(held):
    """Have cm_probe, the ULP, destroy its QP. In AWAIT_VERDICT the QP is not yet bound to the
    connection, and its destruction does not end the endpoint: so cm_probe exits, too."""
    held.probe.do("destroy_qp")
    if held.state == "AWAIT_VERDICT":
        held.probe.tell("quit")


def ulp_is_killed(held):
    held.probe.proc.kill()
    try:
        held.probe.proc.wait(LIMIT)
    except subprocess.TimeoutExpired:
        raise Failed("the program cannot be killed") from None


# State of the endpoint -> timer. If an id is destroyed in this state, and its QP is not, iw_cm does
# not call the driver, but waits for an event, which iw_mpa sends when the timer expires.
IW_CM_WAITS = {"TCP_CONNECT": "connect_timeout_ms", "V2_OFFERED": "reply_timeout_ms",
               "AWAIT_REP": "reply_timeout_ms", "AWAIT_RTR": "rtr_timeout_ms"}
ULP_ENDS = {"destroy_id": ulp_destroys_id, "destroy_qp": ulp_destroys_qp, "kill": ulp_is_killed}


@rule("L-01", cases=[(role, state, how) for role, state in HOLD for how in ULP_ENDS
                     if (state, how) != ("AWAIT_REQ", "destroy_qp")])
def ulp_goes(b, role, state, how):
    """When its ULP ends, an endpoint must end or enter LINGER at once, without a timer or an answer
    of the peer; the exceptions are in IW_CM_WAITS."""
    quiet()
    b.set(**TIMERS)
    most = SOON
    if how == "destroy_id" and state in IW_CM_WAITS:
        b.set(**{IW_CM_WAITS[state]: 1000 * SLOW})
        most += SLOW
    held = Held(b, role, state)
    start = time.monotonic()
    ULP_ENDS[how](held)
    check(poll(held.is_over, SOON), f"what is left: {held.now()}")
    took = time.monotonic() - start
    check(took < most, f"it took {took:.1f} s")
    b.end_things()
    gone()


# --- link, module or namespace is removed --------------------------------------------------

def run(command, limit=SLOWLY):
    """Run a shell command in the guest, as root, with the functions of inside.sh."""
    try:
        done = subprocess.run(["bash", "-ec", command], timeout=limit, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command}: no end") from None
    check(not done.returncode, f"{command}: {done.stdout.strip()}")
    return done.stdout


class Ground:
    """A second RDMA device, siw1, with a network device and an address of its own: tests may remove
    all of them"""

    def __init__(self, b, netns=None):
        needs.need("guest")
        self.netns = netns
        self.address, self.other = "10.1.0.1", "10.1.0.2"
        b.things.append(self.remove)
        run("ip link add storm0 type veth peer name storm1")
        if netns:
            run(f"ip netns add {netns}; ip link set storm0 netns {netns}; "
                f"ip addr add {self.other}/24 dev storm1")
        self.inside("ip link set lo up; ip link set storm0 up; "
                    f"ip addr add {self.address}/24 dev storm0")
        run("ip link set storm1 up")
        self.inside("rdma link add siw1 type $(link_type) netdev storm0")
        check(poll(self.is_up), "the device does not come up")

    def inside(self, command):
        return run(f"ip netns exec {self.netns} bash -ec '{command}'" if self.netns else command)

    def is_up(self):
        return "state ACTIVE" in run("rdma link show siw1/1")

    @staticmethod
    def is_there():
        return os.path.exists("/sys/class/infiniband/siw1")

    def remove(self):
        run("! rdma link show siw1/1 >/dev/null 2>&1 || rdma link delete siw1")
        run("ip link delete storm1 2>/dev/null || true")
        if self.netns:
            run(f"ip netns delete {self.netns} 2>/dev/null || true")


def hold_all(b, ground, linger_ms=5000 * SLOW):
    """Return one Held, an endpoint kept in a state, for each state in HOLD. The endpoints use the
    device and the address of `ground`, a Ground."""
    settings = {**TIMERS, "linger_timeout_ms": linger_ms}
    if ground.netns:
        ground.inside("; ".join(f"echo {value} >/proc/sys/net/iw_mpa/{name}"
                                for name, value in settings.items()))
        # More repeats of SYN: by default TCP gives up after 127 s, and on a busy machine the test may take longer.
        ground.inside("echo 20 >/proc/sys/net/ipv4/tcp_syn_retries")
    else:
        b.set(**settings)
    helds = []
    for role, state in HOLD:
        words = "ip", "netns", "exec", ground.netns, *b.program
        one = b.another(ground.address, words if ground.netns else b.program)
        one.listen_address = ground.other if ground.netns else ground.address
        one.netns = ground.netns
        helds.append(Held(one, role, state))
    all_stay(helds)
    return helds


def all_stay(helds, but=None):
    for held in helds:
        check(held.is_there() or held.state == but,
              f"{held.role} did not stay in {held.state}: {held.now()}")


def kill_all(helds):
    for held in helds:
        held.probe.proc.kill()
    for held in helds:
        ulp_is_killed(held)


def well_again(b, address):
    one = b.another(address)
    comes_up(one, one.server())
    one.end_things()


@rule("L-02")
def link_is_deleted(b):
    """When the device is deleted by "rdma link delete", ULPs must get DEVICE_REMOVAL. srnic's
    device is removed at once, siw_mpa's when the programs that have it open exit."""
    quiet()
    helds = hold_all(b, Ground(b), 600000)
    deletion = subprocess.Popen(["rdma", "link", "delete", "siw1"])
    b.things.append(lambda: deletion.wait(SLOWLY))
    try:
        for held in helds if RDMA_CM_IS_FIRST else ():
            while held.probe.event().name != "DEVICE_REMOVAL":
                pass
        if device().outlived:
            check(poll(lambda: deletion.poll() is not None, SOON), "rdma link delete waits")
        else:
            time.sleep(1)
            equal(deletion.poll(), None, "rdma link delete, before the programs end")
    finally:
        kill_all(helds)
    check(poll(lambda: deletion.poll() is not None, SLOWLY), "rdma link delete does not end")
    equal(deletion.returncode, 0, "exit status of rdma link delete")
    check(nothing_lives(), "endpoints or sockets are left")
    well_again(b, b.address)


GROUND = {
    "netdev_down": ("ip link set storm0 down", "ip link set storm0 up"),
    "address_removed": ("ip addr del 10.1.0.1/24 dev storm0",
                        "ip addr add 10.1.0.1/24 dev storm0"),
}


@rule("L-03", cases=[(what,) for what in GROUND])
def ground_goes_and_comes_back(b, what):
    """The network interface is set down, or its address removed: endpoints must end when their ULP
    exits, and those in LINGER by linger_timeout_ms."""
    quiet()
    ground = Ground(b)
    helds = hold_all(b, ground)
    run(GROUND[what][0])
    kill_all(helds)
    for held in helds:
        held.b.end_things()
    gone()
    run(GROUND[what][1])
    check(poll(ground.is_up), "the device does not come up again")
    well_again(b, ground.address)


def namespaces():
    """Return how many network namespaces the kernel has not freed, apart from the initial one."""
    return slabs(("net_namespace",))["net_namespace"]


def namespaces_fall(most, limit=LIMIT):
    """Wait until at most `most` network namespaces are not freed. Newer kernels free a namespace
    only after another one was deleted: so create and delete one more first."""
    run("ip netns add other && ip netns delete other")
    return poll(lambda: namespaces() <= most, limit)


def fail_for_namespaces(number):
    """Fail the test. A kernel that tracks references to namespaces first logs who holds them."""
    text = f"round {number}: {namespaces()} network namespaces stay in memory"
    if os.path.exists(NET_REFS):
        run(f"insmod {NET_REFS}; rmmod net_refs")
        text += "; the kernel's log has the references on them"
    raise Failed(text)


def delete_namespace_with_all(b):
    """Delete a network namespace in which there are a device and an endpoint in each state, and
    then kill the programs that use them."""
    ground = Ground(b, "storm")
    helds = hold_all(b, ground)
    run("ip netns delete storm")
    all_stay(helds, "LINGER")
    kill_all(helds)
    check(poll(lambda: not ground.is_there(), SLOWLY), "the device stays")
    gone()
    b.end_things()


@rule("L-04", soak=[(100,)])
def network_namespace_is_deleted(b, rounds=1):
    """Programs hold references on a deleted network namespace. When they exit, the kernel must
    remove its RDMA device, and free the namespace: iw_mpa must hold no reference."""
    quiet()
    stay = 0 if namespaces_fall(0, 4 * SLOW) else 1
    check(namespaces_fall(stay), "others are left")
    for number in range(rounds):
        delete_namespace_with_all(b.another())
        if not namespaces_fall(stay):
            fail_for_namespaces(number)
    well_again(b, b.address)


def movable(b):
    """Create siw1, a second RDMA device, and names for two network namespaces between which a test
    moves it: "first", which is that of the tests, and "moved"."""
    b.things.append(lambda: run("ip netns delete first || true; "
                                "ip netns delete moved || true; "
                                "rdma system set netns shared"))
    ground = Ground(b)
    run("rdma system set netns exclusive; ip netns attach first 1; ip netns add moved")
    return ground


# The RDMA core moves a device only if the driver can disassociate it from programs that have it
# open: siw cannot.
@rule("L-04", only="srnic")
def device_moves_to_another_namespace(b):
    """Move a device to another network namespace and back. Each time the RDMA core calls the
    functions remove() and add() of all RDMA clients."""
    quiet()
    ground = movable(b)
    run("rdma dev set siw1 netns moved")
    check("siw1" not in run("rdma dev"), "the device stays")
    run("ip netns exec moved rdma dev set siw1 netns first")
    check(poll(ground.is_up), "the device does not come back")
    well_again(b, ground.address)


@rule("L-05")
def modules_are_unloaded(b):
    """Remove srnic's module while it has connections in each state. siw_mpa's is in use until the
    programs that have the device open exit: end them first, so that only connections in LINGER are
    left."""
    quiet()
    driver = driver_name()
    b.things.append(lambda: run(f"driver_set {driver}"))
    helds = hold_all(b, Ground(b), 600000)
    for module in ("iw_mpa",) if device().outlived else (driver, "iw_mpa"):
        said = run(f"rmmod {module} 2>&1 && echo done || true")
        check("in use" in said and "done" not in said, f"rmmod {module}: {said}")
    all_stay(helds)
    if not device().outlived:
        kill_all(helds)
    check([*endpoints()], "nothing lingers")
    start = time.monotonic()
    check(device().outlived or poll(lambda: lines_of(f"/sys/module/{driver}/refcnt") == ["0"]),
          "the module stays in use")
    run(f"rmmod {driver}")
    check(not device().outlived or time.monotonic() - start < SOON, "rmmod waits")
    check(nothing_lives(), "endpoints or sockets are left")
    kill_all(helds)
    run("rmmod iw_mpa")
    run(f"driver_set {driver}")
    well_again(b, b.address)


# --- en masse ------------------------------------------------------------------------------

def load_peer(b, *args):
    return (os.path.join(os.path.dirname(b.program[0]), "load_peer"), b.address, str(b.port),
            *(str(arg) for arg in args))


@rule("B-01", "B-11", "L-06", cases=[("fin", 300), ("rst", 300)],
      soak=[("fin", 10000), ("rst", 10000)])
def clients_come_and_go(b, how, count):
    """Many clients connect and end their connections as fast as they can. Afterwards a good client
    must reach ESTABLISHED."""
    quiet()
    server = b.server()
    for frame in ("", P2P[:10].hex()):
        said = run(" ".join(load_peer(b, "leave", count // 2, how, f"'{frame}'")), SLOWLY * 10)
        took = int(said.split()[1]) / 1e9
        say(f"{count // 2} by {how} after {len(frame) // 2} octets: {took:.1f} s")
    comes_up(b, server)
    server.do("unlisten")
    gone()


def dial_with_patience(b):
    """Connect, and return the peer; None if TCP gave up, as the listener's backlog was full."""
    try:
        return b.dial(SLOWLY)
    except OSError as err:
        if err.errno != errno.ETIMEDOUT:
            raise
        return None


def client_comes_up(b, failed):
    """Try to connect until the listener's TCP backlog has room. Then the ULP must accept, and the
    connection must work; otherwise append an error to `failed`."""
    try:
        peer = None
        while not peer:
            peer = dial_with_patience(b)
        peer.sock.settimeout(LIMIT * 3)
        peer.send(P2P)
        check(not peer.recv_reply().flags & R, "a Reject")
        peer.send(mpa.rtr_write())
        peer.expect_end(LIMIT * 3)
    except (Failed, OSError) as err:
        failed.append(err)


@rule("B-12", "L-06", cases=[(64, 1), (64, 512)], soak=[(256, 1), (256, 512)])
def clients_at_once(b, count, backlog):
    """More clients connect at once than the listener's backlog: the device must reject none of
    them, and each must reach ESTABLISHED."""
    quiet()
    b.set(verdict_timeout_ms=3600000)       # the ULP may take long for each request
    server = b.server(str(backlog))
    server.do("serve")
    failed = []
    threads = [threading.Thread(target=client_comes_up, args=(b, failed)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not failed, f"{len(failed)} of {count}: {failed[:1]}")
    equal(server.do("served"), [f"SERVED {count}"], "connections that the server saw")
    server.do("unlisten")
    gone()


@rule("P-05", "L-06", cases=[(20, 8)], soak=[(500, 8)])
def listener_goes_as_clients_come(b, times, count):
    """A listener is destroyed while connections are in TCP's handshake, accepted by iw_mpa, or
    reported to the ULP. If iw_cm then fails to drop a reference on an endpoint, the removal of
    the device must drop it."""
    quiet()
    ground = Ground(b)
    one = b.another(ground.address)
    for number in range(times):
        server = one.server()
        socks = [socket.socket(b.family) for _ in range(count)]
        for sock in socks:
            sock.setblocking(False)
            sock.connect_ex((one.address, one.port))
            one.things.append(sock.close)
            try:
                sock.send(P2P)
            except OSError:
                pass
        if number % 2:
            server.do("unlisten")
        else:
            server.proc.kill()
        one.end_things()
    comes_up(one, one.server())
    one.end_things()
    check(poll(lambda: alive("sock") == alive("listener")), "sockets are left")
    b.end_things()
    gone()


@rule("P-07", "L-06", cases=[(verdict, how, 10) for verdict in ("accept", "reject")
                             for how in ("fin", "reset")],
      soak=[(verdict, how, 1000) for verdict in ("accept", "reject") for how in ("fin", "reset")])
def peer_goes_at_the_verdict(b, verdict, how, count):
    """The peer closes while the ULP calls rdma_accept() or rdma_reject(), which has to succeed, or
    to fail by ECONNRESET or EIO."""
    b.set(rtr_timeout_ms=1000 * SLOW)
    quiet()
    server = b.server()
    for number in range(count):
        peer = b.dial()
        peer.send(P2P)
        server.event("CONNECT_REQUEST")
        if number % 2:
            server.tell("take")
        go = peer.close if how == "fin" else peer.reset
        threading.Thread(target=go).start()
        if number % 2:
            server.answer()
            server.tell("accept_taken 4 4 -" if verdict == "accept" else "reject_accepted")
        else:
            server.tell("accept 4 4 -" if verdict == "accept" else "reject -")
        answer = server.answer()
        if answer.startswith("ERROR "):
            check(int(answer.split()[2]) in (errno.ECONNRESET, errno.EIO), answer)
        elif verdict == "accept":
            check(server.event("ESTABLISHED").status != 0, "the connection came up")
            server.event("DISCONNECTED")
        if number % 2 or verdict == "accept":
            server.do("destroy_id")
    server.do("unlisten")
    gone()
