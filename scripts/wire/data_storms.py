# SPDX-License-Identifier: GPL-2.0
"""QPs, regions and other objects, and whole devices, are removed and created again while programs
and kernel ULPs use them.

Many mistakes that these tests provoke, such as a use after free, are found only by a kernel with
detectors such as KASAN.
"""

import errno
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time

from harness import SLOW, Failed, check, equal, poll
from kernel import SlowPoint, gone, lines_of, quiet
from kverbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, Kverbs
from link import Link
from registry import rule, say
from storms import SLOWLY, Ground, all_stay, hold_all, kill_all, movable, run, well_again
from verbs import Dut, Qp, Verbs

PROGRAM = "storm_verbs"
WAITS = "connect", "reply", "request", "verdict", "rtr", "linger"
ROUND = 3 * SLOW        # seconds for one program
ALL_DONE = 300          # seconds: in a storm that lasts so long each of DEEDS has to succeed once
WORDS = 22              # words that PROGRAM prints: for each of 11 counts a name and a number


@rule("L-07")
def qp_is_destroyed_as_iw_cm_finds_it(b):
    """iw_cm looks up a QP by its number, which any program may pass, and takes a reference on it
    only afterwards: ibv_destroy_qp() has to wait until iw_cm has the reference and drops it."""
    owner, other = Dut(b), Dut(b)
    qp = Qp(owner, "qp", "pd", "scq", "rcq")
    sock = b.listen()
    other.verbs.do(f"resolve id {b.listen_address} {b.port}")
    slow = SlowPoint(b, "srnic_qp_add_ref", 700 * SLOW)
    other.verbs.tell(f"connect_number id {qp.number}")
    check(poll(slow.is_in), "nobody takes a reference")
    start = time.monotonic()
    owner.verbs.do("destroy qp")
    took = time.monotonic() - start
    check(took > 0.3 * SLOW, f"it was destroyed after {took:.3f} s, while iw_cm had found it")
    answer = other.verbs.answer()
    check(answer.startswith("ERROR connect_number") or answer.startswith("OK"), answer)
    sock.close()
    del owner.qps[qp.number]


# --- a device that is being registered -----------------------------------------------------

SIOCSIFHWADDR = 0x8924
RTM_DELLINK, NLM_F_REQUEST = 17, 1
NEW_MAC = bytes.fromhex("0200c0ffee01")
NEW_GUID = "0000:c0ff:feff:ee01"    # NEW_MAC as EUI-64


# Milliseconds by which a SlowPoint delays a kernel function, if the test does not end the delay
# earlier. After 20 s the kernel would report a soft lockup.
LONG = 8000


def slowly_added(b):
    """Add the RDMA device siw9 on the network device new0, and delay siw9's registration: the RDMA
    core does not find siw9 until the delay ends. Return the process that adds siw9, and the
    SlowPoint, which can end the delay."""
    b.things.append(lambda: run("rdma link delete siw9 2>/dev/null || true; "
                                "ip link delete new0 2>/dev/null || true"))
    run("ip link add new0 type dummy")
    slow = SlowPoint(b, "srnic_get_port_immutable", LONG)
    adding = add_link("siw9", "new0")
    check(poll(slow.is_in), "nobody registers a device")
    return adding, slow


def netdev_added(b):
    """Create new0, a network device without an RDMA device on it."""
    b.things.append(lambda: run("for link in siw9 siw8; do rdma link delete $link || true; done; "
                                "ip link delete new0 || true"))
    run("ip link add new0 type dummy")


def add_link(name, netdev):
    return subprocess.Popen(["rdma", "link", "add", name, "type", "srnic", "netdev", netdev],
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"})


def refused_link(name, netdev, error):
    """Check that "rdma link add" of `name` on `netdev` fails with the errno in `error`."""
    said = run(f"! LC_ALL=C rdma link add {name} type srnic netdev {netdev} 2>&1")
    check(os.strerror(error) in said, f"{netdev}: {said!r}, not {os.strerror(error)!r}")


def links_of(netdev):
    """Return the names of the RDMA devices on a network device."""
    lines = run("rdma link show").splitlines()
    return sorted(line.split()[1].split("/")[0] for line in lines if f"netdev {netdev} " in line)


@rule("L-08")
def link_that_cannot_be_added(b):
    """No RDMA device can be added on a network device that has one already or does not exist, or
    with a name that is in use."""
    netdev_added(b)
    refused_link("siw9", "nobody0", errno.ENODEV)
    refused_link("siw0", "new0", errno.ENFILE)
    equal(links_of("new0"), [], "links of new0")
    run("rdma link add siw9 type srnic netdev new0")
    refused_link("siw8", "new0", errno.EEXIST)
    equal(links_of("new0"), ["siw9"], "links of new0")
    run("rdma link delete siw9; rdma link add siw8 type srnic netdev new0")
    equal(links_of("new0"), ["siw8"], "links of new0")


@rule("L-08")
def links_added_at_once(b):
    """Two "rdma link add" for one network device run at the same time: one of them fails."""
    netdev_added(b)
    slow = SlowPoint(b, "srnic_get_port_immutable", 500 * SLOW)
    adding = [add_link(name, "new0") for name in ("siw8", "siw9")]
    said = [one.communicate(timeout=SLOWLY)[1] for one in adding]
    check(slow.is_in(), "nobody has added a device")
    equal(sorted(bool(one.returncode) for one in adding), [False, True], f"who failed: {said}")
    check(os.strerror(errno.EEXIST) in "".join(said), f"{said}")
    equal(len(links_of("new0")), 1, "number of links of new0")


@rule("L-08")
def netdev_changes_as_its_device_is_added(b):
    """A network device is brought up and gets another hardware address while an RDMA device is
    added on it: the RDMA device must have the new port state and GUID."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        adding, slow = slowly_added(b)
        with open("/sys/class/net/new0/flags", "w", encoding="ascii") as flags:
            flags.write("0x1003")   # IFF_UP, and the flags that the interface had before
        fcntl.ioctl(sock, SIOCSIFHWADDR, struct.pack("16sH6s8x", b"new0", 1, NEW_MAC))
    equal(adding.poll(), None, "exit status of rdma link add, before it was to end")
    slow.release()
    equal(adding.wait(SLOWLY), 0, "exit status of rdma link add")
    check("state ACTIVE" in run("rdma link show siw9/1"), "the port is down")
    equal(lines_of("/sys/class/infiniband/siw9/node_guid"), [NEW_GUID], "GUID")
    run("rdma link delete siw9")


def sleeps_in(thread, function):
    """Is `thread`, a thread of the test, in a call of the kernel's `function`? While a SlowPoint (a
    delay in a kernel function) keeps a CPU busy, the deletion of a network device stays in
    rtnl_dellink(): it waits for an RCU grace period before drivers are notified."""
    if not thread.is_alive():
        return False
    with open(f"/proc/self/task/{thread.native_id}/stack", encoding="ascii") as f:
        return f" {function}+" in f.read()


@rule("L-08")
def netdev_goes_as_its_device_is_added(b):
    """A network device is deleted while its RDMA device is being registered: the RDMA device must
    be removed, too, even if its registration is finished first."""
    adding, slow = slowly_added(b)
    index = socket.if_nametoindex("new0")
    request = struct.pack("=IHHIIBxHiII", 32, RTM_DELLINK, NLM_F_REQUEST, 1, 0, 0, 0, index, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        # send() returns when no reference on the network device is left.
        deleting = threading.Thread(target=sock.send, args=(request,))
        deleting.start()
        check(poll(lambda: sleeps_in(deleting, "rtnl_dellink"), step=0.005), "nobody deletes the network device")
        slow.release()
        adding.wait(SLOWLY)
        deleting.join(SLOWLY)
        check(not deleting.is_alive(), "the network device is still in use")
    check(poll(lambda: not os.path.exists("/sys/class/infiniband/siw9")), "the device is left")


def slowly_moved(b):
    """Move siw1 to another network namespace, and delay the move: until the delay ends the RDMA
    core does not find siw1. Return siw1's Ground (its network device and address), the process that
    moves siw1, and the SlowPoint, which can end the delay."""
    ground = movable(b)
    slow = SlowPoint(b, "device_rename", LONG)
    moving = subprocess.Popen(["rdma", "dev", "set", "siw1", "netns", "moved"])
    check(poll(slow.is_in), "nobody moves a device")
    return ground, moving, slow


@rule("L-08")
def netdev_goes_down_as_its_device_moves(b):
    """A network device is brought down while its RDMA device moves to another namespace: the port
    of the RDMA device must be down afterwards."""
    ground, moving, slow = slowly_moved(b)
    with open("/sys/class/net/storm0/flags", "w", encoding="ascii") as flags:
        flags.write("0x1002")   # without IFF_UP
    equal(moving.poll(), None, "exit status of rdma dev set, before it was to end")
    slow.release()
    equal(moving.wait(SLOWLY), 0, "exit status of rdma dev set")
    check(poll(lambda: "state DOWN" in run("ip netns exec moved rdma link show siw1/1")),
          "the port is up")
    run("ip link set storm0 up; ip netns exec moved rdma dev set siw1 netns first")
    check(poll(ground.is_up), "the port is down")


@rule("L-08")
def netdev_moves_as_its_device_does(b):
    """The RDMA device is removed when its network device moves to another namespace, even if a move
    of the RDMA device itself ends first."""
    ground, moving, slow = slowly_moved(b)
    run("ip link set storm0 netns moved")
    slow.release()
    moving.wait(SLOWLY)
    check(poll(lambda: not ground.is_there() and
               "siw1" not in run("ip netns exec moved rdma dev")), "the device is left")


@rule("L-08")
def netdev_gets_no_second_device_as_the_first_moves(b):
    """While an RDMA device moves to another namespace the RDMA core does not find it, but srnic
    does, and so refuses a second one on the same network device."""
    ground, moving, slow = slowly_moved(b)
    adding = add_link("siw8", "storm0")
    # "rdma link add" is refused, and then waits for a lock of the RDMA core to free its device.
    check(poll(lambda: any("ib_dealloc_device" in line for line in lines_of(f"/proc/{adding.pid}/stack"))),
          "nothing is refused")
    equal(moving.poll(), None, "exit status of rdma dev set, before it was to end")
    slow.release()
    said = adding.communicate(timeout=SLOWLY)[1]
    check(os.strerror(errno.EEXIST) in said, said)
    equal(moving.wait(SLOWLY), 0, "exit status of rdma dev set")
    refused_link("siw8", "storm0", errno.EEXIST)
    run("ip netns exec moved rdma dev set siw1 netns first")
    check(poll(ground.is_up), "the device does not come back")


@rule("L-08", cases=((20,),), soak=((200,),))
def netdev_has_one_device_whatever_moves(b, rounds):
    """An RDMA device moves between two namespaces again and again, while "rdma link add" asks for a
    second one on its network device, which must never succeed."""
    ground = movable(b)
    b.things.append(lambda: run("rdma link delete siw8 2>/dev/null || true"))
    run(f"""
        cd /run && rm -f added moved
        (for ((i = 0; i < {rounds}; i++)); do
            rdma dev set siw1 netns moved && ip netns exec moved rdma dev set siw1 netns first ||
                break
        done; echo $i >moved) &
        until [[ -e moved ]]; do
            ! rdma link add siw8 type srnic netdev storm0 2>/dev/null || echo >added
        done""", limit=SLOWLY + 5 * SLOW * rounds)
    equal(lines_of("/run/moved"), [str(rounds)], "rounds in which the device has moved")
    check(not os.path.exists("/run/added"), "a second device was added")
    check(poll(ground.is_up), "the device does not come back")
    equal(links_of("storm0"), ["siw1"], "links of storm0")


@rule("L-08")
def port_goes_down_and_up(b):
    """When the network interface goes down or up, the RDMA port must get the new state and report
    one asynchronous event."""
    ground = Ground(b)
    verbs = Dut(b.another(ground.address)).verbs
    Verbs.end_spare()       # the spare verbs_probe has this device open, which will be removed
    for _ in range(2):
        for name, state, deed in (("PORT_ERR", "DOWN", "down"), ("PORT_ACTIVE", "ACTIVE", "up")):
            run(f"ip link set storm0 {deed}")
            verbs.async_event(f"{name} -")
            check(f"state {state}" in run("rdma link show siw1/1"), f"the port is not {state}")
            verbs.nothing_happens()


@rule("L-03")
def netdev_changes_under_connections(b):
    """The network device gets another hardware address and another name. iw_mpa's endpoints in each
    state of storms.HOLD must stay in their state, except LINGER, which a timer may end. New
    connections must work, and programs get no asynchronous event for the new address."""
    quiet()
    ground = Ground(b)
    verbs = Dut(b.another(ground.address)).verbs
    Verbs.end_spare()       # the spare verbs_probe has this device open, which will be removed
    helds = hold_all(b, ground)
    run(f"ip link set storm0 address {NEW_MAC.hex(':')}")
    for guid in ("node_guid", "sys_image_guid"):
        equal(lines_of(f"/sys/class/infiniband/siw1/{guid}"), [NEW_GUID], guid)
    check(poll(lambda: NEW_MAC.hex(":", 2) in
               lines_of("/sys/class/infiniband/siw1/ports/1/gids/0")[0]), "it has the old GID")
    # Older kernels cannot rename an interface that is up.
    run("ip link set storm0 down; ip link set storm0 name storm2; ip link set storm2 up")
    for event in ("PORT_ERR", "PORT_ACTIVE"):
        verbs.async_event(f"{event} -")
    check("netdev storm2" in run("rdma link show siw1/1"), "it has the old name")
    verbs.nothing_happens()
    all_stay(helds, "LINGER")
    well_again(b, ground.address)
    kill_all(helds)
    for held in helds:
        held.b.end_things()
    verbs.end()
    gone()


@rule("L-02")
def program_outlives_its_device(b):
    """A program gets DEVICE_FATAL when its device is removed, and EIO for its verbs afterwards."""
    ground = Ground(b)
    dut = Dut(b.another(ground.address))
    Qp(dut, "qp", "pd", "scq", "rcq")
    Verbs.end_spare()       # the spare verbs_probe has this device open, which will be removed
    run("rdma link delete siw1")
    dut.verbs.async_event("DEVICE_FATAL -")
    for line in ("pd more", "mr more pd memory 0 4096 1", "cq more 8", "modify qp ERR",
                 "srq more pd 4 1 0"):
        dut.verbs.fails(line, errno.EIO)
    check(not ground.is_there(), "the device stays")
    dut.verbs.nothing_happens()


# --- a storm -------------------------------------------------------------------------------

class Storm:
    """Runs of storm_verbs (PROGRAM), one after the other, and commands of an administrator (DEEDS)
    at the same time"""

    def __init__(self, b, seconds):
        seed = random.SystemRandom().getrandbits(32)
        say(f"seed {seed}")
        self.b, self.seconds, self.start = b, seconds, time.monotonic()
        self.random = random.Random(seed)
        self.ground = Ground(b)
        self.counts = {}
        self.done = {}
        self.failed = []

    def is_good(self):
        return all(self.counts.get(name) for name in ("up", "done"))

    def is_over(self):
        """Has the storm lasted long enough? Programs that are killed print no counts: until other
        programs have counted a connection and a completed WR, the storm may last twice as long."""
        took = time.monotonic() - self.start
        return took > self.seconds * (1 if self.is_good() else 2)

    def _ends(self, program):
        """Wait until the program exits; fail if it does not. Add up the counts that it prints."""
        try:
            said, _ = program.communicate(timeout=SLOWLY)
        except subprocess.TimeoutExpired:
            program.kill()
            raise Failed("the program does not end") from None
        words = said.decode().split()
        if len(words) == WORDS:
            for name, number in zip(words[::2], words[1::2]):
                self.counts[name] = self.counts.get(name, 0) + int(number)

    def _play(self):
        """Run PROGRAM again and again, and kill 40 % of the runs."""
        path = os.path.join(os.path.dirname(self.b.program[0]), PROGRAM)
        port = self.b.port
        while not self.is_over():
            port = self.b.port + self.random.randrange(1000) * 8
            with subprocess.Popen((path, self.ground.address, str(port), str(ROUND),
                                   str(self.random.getrandbits(31))),
                                  stdout=subprocess.PIPE) as program:
                if self.random.random() < 0.4:
                    time.sleep(self.random.random() * ROUND)
                    program.send_signal(signal.SIGKILL)
                self._ends(program)
            self.done["programs"] = self.done.get("programs", 0) + 1
            time.sleep(0.05)

    def play(self):
        try:
            self._play()
        except Exception as err:  # pylint: disable=broad-exception-caught
            self.failed.append(err)

    def meddle(self):
        """Execute one command of DEEDS, chosen at random. It may fail, as the device may be in use
        or removed; count it if it succeeds."""
        name, command = self.random.choice(DEEDS)
        said = run(f"set +e; {{ {command}; }} && echo it is done; true", SLOWLY)
        self.done[name] = self.done.get(name, 0) + ("it is done" in said)


# netem on lo, over which all packets to addresses of this host go
LOSSY = "tc qdisc replace dev lo root netem delay 2ms 2ms loss 2% duplicate 1% reorder 20% 50%"
CLEAN = "tc qdisc del dev lo root 2>/dev/null || true"
ANEW = ("ip link add storm0 type veth peer name storm1; ip link set storm1 up; ip link set storm0 up; "
        "ip addr add 10.1.0.1/24 dev storm0; rdma link add siw1 type srnic netdev storm0")

# Commands of an administrator, of which a Storm executes random ones: name and shell command.
# The one named "module" also removes siw0, the device of the other tests, and adds it again. Each
# command's exit status is 0 if the command has had its effect.
DEEDS = (
    ("link", "rdma link delete siw1 2>/dev/null; rdma link add siw1 type srnic netdev storm0"),
    ("link", "rdma link delete siw1 2>/dev/null; rdma link add siw1 type srnic netdev storm0"),
    ("down", "ip link set storm0 down; sleep 0.2; ip link set storm0 up"),
    ("address", "ip addr del 10.1.0.1/24 dev storm0; ip addr add 10.1.0.1/24 dev storm0"),
    ("mtu", "ip link set storm0 mtu 900; sleep 0.3; ip link set storm0 mtu 1500"),
    ("mac", "ip link set storm0 address 02:00:00:00:$((RANDOM % 90 + 10)):$((RANDOM % 90 + 10))"),
    ("name", "ip link set storm0 down; ip link set storm0 name storm2 && "
             "ip link set storm2 name storm0; named=$?; ip link set storm0 up; (exit $named)"),
    ("netdev", f"ip link delete storm1; {ANEW}"),
    ("netns", "ip netns add away; ip link set storm0 netns away; ip netns delete away; "
              f"ip link delete storm1 2>/dev/null; {ANEW}"),
    ("loss", LOSSY),
    ("lost", "[[ $(tc -s qdisc show dev lo) == *netem*'(dropped '[1-9]* ]]; lost=$?; "
             f"{CLEAN}; (exit $lost)"),
    ("narrow", "ip route change local 10.1.0.1 dev storm0 table local advmss 120"),
    ("wide", "ip route change local 10.1.0.1 dev storm0 table local"),
    ("module", "rmmod srnic 2>/dev/null && insmod /share/modules/srnic.ko; went=$?; "
               "[[ -e /sys/class/infiniband/siw0 ]] || rdma_add; "
               "rdma link add siw1 type srnic netdev storm0 2>/dev/null; (exit $went)"),
)


@rule("L-07", cases=[(15,)], soak=[(900,)])
def objects_come_and_go(b, seconds):
    """Programs exit or are killed while RDMA devices and modules are removed and added again.
    Programs and commands must not hang, no object may be left, and the next connection must
    work."""
    quiet()
    Verbs.end_spare()       # the spare verbs_probe has a device open that will be removed
    b.things.append(lambda: run(CLEAN))
    # Short timers, so that an id which waits for a peer that no longer exists is soon destroyed
    b.set(**{f"{wait}_timeout_ms": 2000 * SLOW for wait in WAITS})
    storm = Storm(b, max(seconds, 5 * ROUND))
    player = threading.Thread(target=storm.play)
    player.start()
    while player.is_alive():
        time.sleep(storm.random.random() * 1.5)
        if not storm.is_over():
            storm.meddle()
    player.join()
    say(f"{storm.done} {storm.counts}")
    check(not storm.failed, f"{storm.failed[:1]}")
    check(storm.is_good(), "no connection came up, or nothing was sent")
    for name, _ in DEEDS if seconds >= ALL_DONE else ():
        check(storm.done.get(name), f"nobody ever did {name}")
    run(CLEAN)
    run("[[ -e /sys/class/infiniband/siw0 ]] || rdma_add; "
        "[[ ! -e /sys/class/infiniband/siw1 ]] || rdma link delete siw1")
    gone()
    run("poll 20 rdma_is_idle")
    link = Link(b, "responder")
    link.ping()
    link.pong()


# --- ULPs of the kernel ----------------------------------------------------------------------

RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ
HALF = 32768            # bytes that the peer may access; the rest is for local buffers
REGIONS = 3
REG = 100               # WR id of a registration, plus the region's number


class KernelUlp:
    """A kernel ULP (kverbs) that posts random WRs: each command may fail, and the ULP may end its
    connection at any time."""

    def __init__(self, dice, counts):
        self.kv, self.dice, self.counts = Kverbs(), dice, counts
        self.regions = [(0, 0)] * REGIONS       # address and STag
        self.valid = set()
        self.pending = set()    # registrations that have not completed, whose regions must not be used
        self.other = None

    def does(self, name, line):
        """Give kverbs a command that may fail; if it succeeds, count it and return True."""
        _, errno = self.kv.ask(line)
        if not errno:
            self.counts[name] = self.counts.get(name, 0) + 1
        return not errno

    def hears(self, wait=100):
        """Take all completions and events, and count the completions. Wait up to `wait` ms for the
        first one."""
        while True:
            said, _ = self.kv.ask(f"take {wait}")
            if not said:
                return
            wait = 0
            words = said[0].split()
            if words[0] == "WC":
                self.pending.discard(int(words[1], 0) - REG)
                name = "flushed" if int(words[2], 0) else "done"
                self.counts[name] = self.counts.get(name, 0) + 1

    def register(self, n):
        """Map the ULP's region `n` to other memory, and post its registration."""
        if n in self.pending:
            return
        if self.dice.random() < 0.3:
            self.kv.ask(f"free {n}")
        self.kv.ask(f"mr {n} 0 16 {self.dice.choice((0, 1))}")
        at = self.dice.randrange(0, HALF // 2, 4096)
        said, errno = self.kv.ask(f"map {n} 4096 0 {at},{HALF // 2}")
        if not errno:
            words = said[0].split()
            self.regions[n] = int(words[2], 0), int(words[4], 0)
        if self.does("registered", f"post reg {SIGNALED} {REG + n} {n} {RIGHTS}"):
            self.pending.add(n)
            self.valid.add(n)

    def one_thing(self):
        dice = self.dice
        how, n = dice.random(), dice.randrange(REGIONS)
        (start, rkey), near = self.other.regions[n], f"{HALF + 4096 * dice.randrange(7)},4096"
        far = f"{start} {rkey}"
        if n not in self.valid and how < 0.5:
            self.register(n)
        elif how < 0.1:
            self.valid.discard(n)
            self.does("invalidated", f"post inv {SIGNALED} 2 {self.regions[n][1]}")
        elif how < 0.4:
            self.does("written", f"post write {SIGNALED} 3 {far} {near}")
        elif how < 0.6:
            self.does("read", f"post read {SIGNALED} 4 {far} {near}")
        elif how < 0.65:
            self.valid.discard(n)
            self.does("read", f"post read_inv {SIGNALED} 5 {far} {self.regions[n][1]} {near}")
        elif how < 0.75:
            self.other.valid.discard(n)
            self.does("sent", f"post send_inv {SIGNALED} 6 0 0 {rkey} {near}")
        elif how < 0.97:
            self.does("receives", f"recv 7 {near}")
        else:
            self.does("ended", dice.choice(("modify 6", "modify 4", "disconnect", "drain",
                                            "destroy")))


def kernel_ulps_meet(address, port, dice, counts):
    """Have two kernel ULPs connect with each other, post random WRs, and close. Each invalidates
    and registers regions while the other one reads and writes them."""
    listening, dialling = ends = [KernelUlp(dice, counts) for _ in range(2)]
    listening.other, dialling.other = dialling, listening
    stop = dice.choice((0, 1, 2, 3, 100, 100, 100, 100))       # end after so many steps
    steps = ((listening, "listen", f"listen {address} {port}"),
             (dialling, "resolve", f"resolve {address} {port}"),
             (dialling, "connect", "connect 4 4"),
             (listening, "prepare", "prepare"),
             (listening, "accept", "accept 4 4"))
    try:
        for number, (end, name, line) in enumerate(steps):
            if name == "prepare":
                end.hears(1000 * SLOW)
            if number > stop or not end.does(name, line):
                return
        for end in ends:
            for n in range(REGIONS):
                end.register(n)
            for _ in range(4):
                end.does("receives", f"recv 7 {HALF},4096")
            end.hears()
        for _ in range(dice.randrange(100)):
            dice.choice(ends).one_thing()
            if dice.random() < 0.1:
                dice.choice(ends).hears()
    finally:
        dice.shuffle(ends)
        for end in ends:
            end.kv.close()


@rule("L-07", cases=[(10,)], soak=[(300,)])
def kernel_ulps_come_and_go(b, seconds):
    """Kernel ULPs register, invalidate and free regions while Writes, Reads and Sends use them; in
    the second half of the time lo loses and reorders packets."""
    quiet()
    Verbs.end_spare()       # no program but the kernel ULPs shall have the device open
    seed = random.SystemRandom().getrandbits(32)
    say(f"seed {seed}")
    b.things.append(lambda: run(CLEAN))
    counts, failed = {}, []
    seconds = max(seconds, 10 * SLOW)
    over = time.monotonic() + seconds

    def play(port, dice):
        try:
            while time.monotonic() < over:
                kernel_ulps_meet(b.address, port, dice, counts)
        except Exception as err:  # pylint: disable=broad-exception-caught
            failed.append(err)
    players = [threading.Thread(target=play, args=(b.another().port, random.Random(seed + n)))
               for n in range(4)]
    for player in players:
        player.start()
    time.sleep(seconds / 2)
    run(LOSSY)
    for player in players:
        player.join()
    run(CLEAN)
    say(f"{counts}")
    check(not failed, f"{failed[:1]}")
    for name in ("accept", "invalidated", "written", "read", "sent", "done", "flushed"):
        check(counts.get(name), f"nothing was {name}: {counts}")
    gone()
    run("poll 20 rdma_is_idle")
    link = Link(b, "responder")
    link.ping()
    link.pong()
