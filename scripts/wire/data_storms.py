# SPDX-License-Identifier: GPL-2.0
"""The device's objects come and go while others use them, and the device with them.

What one test cannot see, the kernel has to tell: these are for a kernel with detectors most of all.
"""

import os
import random
import signal
import subprocess
import threading
import time

from harness import SLOW, Failed, check, poll
from hazards import SlowPoint
from kernel import gone, quiet
from link import Link
from registry import rule, say
from storms import SLOWLY, Ground, run
from verbs import Dut, Qp, Verbs

PROGRAM = "storm_verbs"
WAITS = "connect", "reply", "request", "verdict", "rtr", "linger"
ROUND = 3               # seconds that a program may have
WORDS = 22              # a name and a number for each kind of thing that it counts


@rule("L-07")
def qp_is_destroyed_as_iw_cm_finds_it(b):
    """iw_cm asks for the QP of a number, which any program may name, and takes its reference
    behind that. Who destroys the QP waits."""
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


# --- a storm -------------------------------------------------------------------------------

class Storm:
    """The program, again and again, and what an administrator may do meanwhile"""

    def __init__(self, b, seconds):
        seed = random.SystemRandom().getrandbits(32)
        say(f"seed {seed}")
        self.b, self.end = b, time.monotonic() + seconds
        self.random = random.Random(seed)
        self.ground = Ground(b)
        self.counts = {}
        self.done = {}
        self.failed = []

    def is_over(self):
        return time.monotonic() > self.end

    def _ends(self, program):
        """Whatever happens to it, it ends."""
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
        """One program after the other; some are killed."""
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
        """What an administrator does; it may fail, for the device may be in use, or gone."""
        name, command = self.random.choice(DEEDS)
        run(f"set +e; {command}; true", SLOWLY)
        self.done[name] = self.done.get(name, 0) + 1


# The device under test of the other tests goes and comes with the module.
DEEDS = (
    ("link", "rdma link delete siw1 2>/dev/null; rdma link add siw1 type srnic netdev storm0"),
    ("link", "rdma link delete siw1 2>/dev/null; rdma link add siw1 type srnic netdev storm0"),
    ("down", "ip link set storm0 down; sleep 0.2; ip link set storm0 up"),
    ("address", "ip addr del 10.1.0.1/24 dev storm0; ip addr add 10.1.0.1/24 dev storm0"),
    ("mtu", "ip link set storm0 mtu 900; sleep 0.3; ip link set storm0 mtu 1500"),
    ("netdev", "ip link delete storm1; ip link add storm0 type veth peer name storm1; "
               "ip link set storm1 up; ip link set storm0 up; ip addr add 10.1.0.1/24 dev storm0; "
               "rdma link add siw1 type srnic netdev storm0"),
    ("module", "rmmod srnic 2>/dev/null && insmod /share/modules/srnic.ko; "
               "[[ -e /sys/class/infiniband/siw0 ]] || rdma_add; "
               "rdma link add siw1 type srnic netdev storm0 2>/dev/null"),
)


@rule("L-07", cases=[(15,)], soak=[(900,)])
def objects_come_and_go(b, seconds):
    """Programs end in order or are killed, links and modules come and go: all of it ends, nothing
    is left, and the next connection comes up."""
    quiet()
    Verbs.end_spare()       # it would not survive its device
    # An id whose connection waits for a peer that is not there any more goes by these.
    b.set(**{f"{wait}_timeout_ms": 2000 * SLOW for wait in WAITS})
    storm = Storm(b, seconds)
    player = threading.Thread(target=storm.play)
    player.start()
    while player.is_alive():
        time.sleep(storm.random.random() * 1.5)
        if not storm.is_over():
            storm.meddle()
    player.join()
    say(f"{storm.done} {storm.counts}")
    check(not storm.failed, f"{storm.failed[:1]}")
    check(storm.counts.get("up", 0) > 0 and storm.counts.get("done", 0) > 0,
          "no connection came up, or nothing was sent")
    run("[[ -e /sys/class/infiniband/siw0 ]] || rdma_add; "
        "[[ ! -e /sys/class/infiniband/siw1 ]] || rdma link delete siw1")
    gone()
    run("poll 20 rdma_is_idle")
    link = Link(b, "responder")
    link.ping()
    link.pong()
