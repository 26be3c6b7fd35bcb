# SPDX-License-Identifier: GPL-2.0
"""Base of the wire tests: Peer, the test's end of a TCP connection; Probe, a process of cm_probe on
the device under test; and Bench, which starts both for a test and ends them."""

import contextlib
import os
import queue
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import mpa
import needs
from device import need_depths
from needs import TRACEFS


def slow():
    """Return the factor by which all times grow on a slow guest: N of slow=N on the kernel's
    command line."""
    with open("/proc/cmdline", encoding="ascii") as f:
        words = [word.partition("=") for word in f.read().split()]
    return int(next((value for name, _, value in words if name == "slow"), 1))


SLOW = slow()
# Seconds to wait for expected events: guests are slow on a busy host, and so are programs started by ssh
LIMIT = float(os.environ.get("WIRE_LIMIT", 20)) * SLOW
QUIET = 0.3 * SLOW      # seconds in which an unexpected event must not occur


class Failed(Exception):
    """An expectation was not met."""


def check(cond, what):
    if not cond:
        raise Failed(what)


def equal(got, want, what):
    check(got == want, f"{what}: {got!r}, not {want!r}")


@contextlib.contextmanager
def no_sooner_than(milliseconds):
    """Check that the with statement's body, which waits for a timer, takes `milliseconds` at least.
    """
    start = time.monotonic()
    yield
    took = time.monotonic() - start
    check(took >= milliseconds / 1000 - 0.01, f"it took {took:.2f} s, not {milliseconds} ms")


def poll(done, limit=LIMIT, step=0.05):
    """Wait until done() is true. Return false if it is not true within `limit` seconds."""
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


class Peer:
    """The test's end of a TCP connection, whose other end is the device under test."""

    def __init__(self, sock, on_reset=lambda: None):
        """on_reset: function that reset() calls before it has TCP send RST"""
        self.sock = sock
        self.on_reset = on_reset
        self.sock.settimeout(LIMIT)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        self.sock.sendall(data)

    def send_split(self, data, size=1):
        """Send pieces of `size` bytes, each in a TCP segment of its own: the next one is written
        when the device's TCP has acknowledged the one before."""
        for i in range(0, len(data), size):
            self.sock.sendall(data[i:i + size])
            self._wait_acked()

    def _wait_acked(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not struct.unpack("I", fcntl_ioctl(self.sock, 0x5411))[0]:
                return
        raise Failed("no acknowledgement")

    def recv(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self.sock.recv(size - len(data))
            except socket.timeout:
                raise Failed(f"silence after {len(data)} of {size} octets") from None
            except ConnectionResetError:
                raise Failed(f"reset after {len(data)} of {size} octets") from None
            if not part:
                raise Failed(f"closed after {len(data)} of {size} octets")
            data += part
        return data

    def recv_frame(self, key, large):
        data = self.recv(mpa.HDR)
        length, = struct.unpack(">H", data[18:20])
        frame = mpa.Frame(data + self.recv(length), key)
        if large and not frame.large and not needs.Place.ours:
            raise needs.Unsupported("FPDUs longer than a TCP segment")
        if frame.large != large:
            raise mpa.Bad(f"large FPDUs: {frame.large} where {large} is due")
        return frame

    def recv_request(self, large=False):
        return self.recv_frame(mpa.KEY_REQ, large)

    def is_readable(self):
        return bool(select.select([self.sock], [], [], 0)[0])

    def recv_reply(self, large=False):
        return self.recv_frame(mpa.KEY_REP, large)

    def recv_fpdu(self, crc=True):
        data = self.recv(2)
        return mpa.Fpdu(data + self.recv(mpa.Fpdu.size(data) - 2), crc)

    def expect_end(self, limit=LIMIT):
        """Expect that the device sends FIN or RST, and no byte before it. Return "FIN" or "RST".

        Linux sends RST, not FIN, if a socket is closed while its receive queue has unread bytes.
        """
        self.sock.settimeout(limit)
        try:
            data = self.sock.recv(64)
        except ConnectionResetError:
            return "RST"
        except socket.timeout:
            raise Failed("the connection was not closed") from None
        check(not data, f"octets before the close: {data.hex()}")
        return "FIN"

    def expect_fin(self, limit=LIMIT):
        """Expect FIN. An RST fails: it would make TCP discard bytes that the device sent before."""
        equal(self.expect_end(limit), "FIN", "end of the connection")

    def expect_terminate(self, code, crc=True):
        """Expect a Terminate of layer 2 (LLP), type 0 (MPA), with code `code` and no copied header.
        """
        equal(self.recv_fpdu(crc).raw.hex(), mpa.terminate(code, crc=crc).hex(),
              f"Terminate message of code {code}")

    def expect_refusal(self, code, crc=True):
        """Expect that the device as initiator refuses the MPA Reply that the test sent: it sends a
        Terminate, then FIN, and nothing else."""
        self.expect_terminate(code, crc)
        self.expect_fin()

    def expect_rejected(self, code=None, crc=True):
        """Expect what the device sends after its MPA Reply with R (reject) set: a Terminate if a
        code is given, else nothing, and in neither case FIN.

        Then the test, which is the initiator, sends FIN, and expects the device's FIN.
        """
        if code:
            self.expect_terminate(code, crc)
        self.expect_quiet()
        self.fin()
        self.expect_fin()

    def expect_quiet(self):
        ready, _, _ = select.select([self.sock], [], [], QUIET)
        check(not ready, "octets, or a close, that should not come")

    def cork(self):
        """Have TCP hold back what the test sends from now on, so that the next FIN and these bytes
        are one TCP segment."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)

    def urgent(self, data):
        self.sock.send(data, socket.MSG_OOB)

    def send_with_urgent(self, octets, offset):
        """Send the bytes `octets`, the one at `offset` as TCP urgent data. An error in sending the
        bytes behind it is ignored: the device may reset the connection because of urgent data."""
        if offset:
            self.send(octets[:offset])
        self.urgent(octets[offset:offset + 1])
        try:
            self.send(octets[offset + 1:])
        except OSError:
            pass

    def fin(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def reset(self):
        self.on_reset()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def fcntl_ioctl(sock, request):
    import fcntl  # pylint: disable=import-outside-toplevel
    return fcntl.ioctl(sock.fileno(), request, b"\0\0\0\0")


EVENT = re.compile(r"EVENT (\S+) status=(-?\d+) ird=(\d+) ord=(\d+) pd=([0-9a-f]*)$")


class Event:
    def __init__(self, line):
        m = EVENT.match(line)
        check(m, f"not an event: {line}")
        self.name = m.group(1)
        self.status, self.ird, self.ord = (int(m.group(i)) for i in (2, 3, 4))
        self.pd = bytes.fromhex(m.group(5))

    def __repr__(self):
        return (f"{self.name} status={self.status} ird={self.ird} ord={self.ord} "
                f"pd={self.pd.hex()}")


# Contents of the CRC field that tests send when no CRC was negotiated: the receiver must ignore the
# field then. None: the right CRC.
CRC_FIELDS = bytes(4), b"\xff" * 4, b"\xde\xad\xbe\xef", None


class Probe:
    """A running cm_probe, the ULP of the device under test, which executes the test's commands"""

    def __init__(self, *args):
        self.proc = subprocess.Popen(args, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, bufsize=1)
        self.events = queue.Queue()
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        equal(self._answer(), "READY", "cm_probe's start")

    def _read(self):
        for line in self.proc.stdout:
            line = line.rstrip()
            if line.startswith(("EVENT ", "LACKS ")):
                self.events.put(line)
            if not line.startswith("EVENT "):
                self.answers.put(line)
        self.answers.put("ENDED")

    def answer(self):
        """Return cm_probe's line "OK ..." or "ERROR ..." for the command that tell() has sent."""
        return self._answer()

    def _answer(self):
        try:
            return self._known(self.answers.get(timeout=LIMIT))
        except queue.Empty:
            raise Failed("cm_probe does not answer") from None

    @staticmethod
    def _known(line):
        """Return `line`. Skip the test if it is "LACKS COMMAND": kernel_probe.py, which takes the
        place of cm_probe on a device without a provider in rdma-core, does not have all commands.
        """
        if line.startswith("LACKS "):
            raise needs.Skipped(f"needs {needs.TEXTS['user']}: {line.partition(' ')[2]}")
        return line

    def tell(self, line):
        self.proc.stdin.write(line + "\n")

    def do(self, line):
        """Run a command that must succeed. Return the lines that cm_probe printed before OK."""
        self.tell(line)
        said = []
        while True:
            answer = self._answer()
            if answer == "OK " + line.split()[0]:
                return said
            check(answer.startswith(("WC ", "QP ", "SERVED ")), f"{line}: {answer}")
            said.append(answer)

    def fails(self, line):
        """Run a command that must fail. Return its errno."""
        self.tell(line)
        answer = self._answer()
        check(answer.startswith("ERROR "), f"{line} did not fail: {answer}")
        return int(answer.split()[2])

    def received(self, size, status="success"):
        """Expect the completion of a receive. Successful Sends that complete before are skipped."""
        said, = self.do("wc")
        while said.startswith("WC SEND success "):
            said, = self.do("wc")
        equal(said, f"WC RECV {status} {size}", "receive")

    def depths(self):
        """Return IRD and ORD of the QP, as the driver returns them to ibv_query_qp()."""
        state, = self.do("query_qp")
        return tuple(int(word) for word in state.split()[3:])

    def event(self, name=None, limit=LIMIT):
        try:
            ev = Event(self._known(self.events.get(timeout=limit)))
        except queue.Empty:
            raise Failed(f"no event, {name or 'any'} expected") from None
        if name:
            check(ev.name == name, f"{ev!r}, {name} expected")
        return ev

    @contextlib.contextmanager
    def paused(self):
        needs.need("here")
        self.proc.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.proc.send_signal(signal.SIGCONT)

    def no_event(self):
        try:
            raise Failed(f"unexpected: {self.events.get(timeout=QUIET)}")
        except queue.Empty:
            pass

    def end(self):
        """End cm_probe. Raise Failed if it does not exit in LIMIT seconds, which means that one of
        its system calls hangs."""
        if self.proc.poll() is None:
            try:
                self.tell("quit")
            except BrokenPipeError:
                pass
        try:
            self.proc.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed("cm_probe cannot end") from None


def pd_arg(pd):
    return pd.hex() if pd else "-"


class Bench:
    """The connections, programs and changed settings of one test. end() closes the connections,
    ends the programs and restores the settings."""

    port = 20000

    def __init__(self, program, address):
        self.program = program      # cm_probe's command line, in words; tests may prepend words
        self.address = address
        self.listen_address = needs.Place.peer or address   # address at which the test listens
        self.netns = None           # cm_probe's network namespace, if the test's is another one
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.things = []
        self.settings = []
        self.peers = []         # (role, port of the initiator, port of the responder)
        self.may_be_cut = False     # may the device end a stream within an FPDU?
        self.may_reset = False      # may the device reset after its FIN, before the peer's FIN?
        self.cuts = []              # peers that sent RST: the device's last FPDU may be incomplete
        self.others = []
        Bench.port += 1
        self.port = Bench.port

    def another(self, address=None, program=None):
        """Return a second Bench, with another port. end_things() of the first Bench also ends the
        programs and connections of the second one."""
        other = Bench(program or self.program, address or self.address)
        self.others.append(other)
        return other

    def put(self, path, value):
        """Write `value` to `path`, a setting in /proc or /sys. end() writes the old value back."""
        self.settings.append((path, needs.read(path)))
        needs.write(path, str(value))

    def set(self, **settings):
        """Set sysctl net.iw_mpa.NAME, in the network namespace self.netns if that is given. end()
        restores it only in the test's own namespace."""
        for name, value in settings.items():
            if self.netns:
                subprocess.run(["ip", "netns", "exec", self.netns, "sh", "-c",
                                f"echo {value} >/proc/sys/net/iw_mpa/{name}"], check=True)
            else:
                self.put("/proc/sys/net/iw_mpa/" + name, value)

    def set_device(self, name, value):
        self.put(needs.ib_path("iw_mpa/") + name, value)

    def trace(self, system="iw_mpa"):
        """Enable all trace events of `system`. Return a function that returns the lines traced
        since trace() was called."""
        trace = TRACEFS + "trace"
        self.put(TRACEFS + f"events/{system}/enable", 1)
        needs.write(trace, "")      # this empties the trace

        def lines():
            return [line.rstrip() for line in needs.read(trace).splitlines()
                    if not line.startswith("#")]
        return lines

    def kernel_log(self, prefix=None):
        """Return a function that returns the lines which the kernel has logged since this call and
        which begin with prefix: by default those of iw_mpa about the device under test.

        "connection N:" becomes "connection ID:", as the number N differs in each run.
        """
        needs.need("log")
        prefix = prefix or f"iw_mpa: {needs.Place.ib_device}: "
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(log, 0, os.SEEK_END)
        self.things.append(lambda: os.close(log))
        found = []

        def lines():
            while True:
                try:
                    record = os.read(log, 8192).decode(errors="replace")
                except BlockingIOError:
                    return found
                text = record.split(";", 1)[1].split("\n", 1)[0]
                if text.startswith(prefix):
                    found.append(re.sub(r"connection \d+:", "connection ID:", text))
        return lines

    # responder under test

    def server(self, *backlog):
        probe = Probe(*self.program, "listen", self.address, str(self.port), *backlog)
        self.things.append(probe.end)
        return probe

    def dial(self, limit=LIMIT):
        sock = socket.create_connection((self.address, self.port), limit)
        self.things.append(sock.close)
        return self.player("initiator", sock, sock.getsockname()[1])

    def player(self, role, sock, initiator_port):
        """Return a Peer for `sock`, the test's end of a connection. run.py writes the Peer's role
        and ports to a file, by which judge.py finds the connection in the capture."""
        who = role, initiator_port, self.port
        self.peers.append(who)
        return Peer(sock, lambda: self.cuts.append(who))

    def asked(self, frame):
        """Start cm_probe as server, and send it `frame`, an MPA Request. Return the server, the
        peer, and the event CONNECT_REQUEST."""
        server = self.server()
        peer = self.dial()
        peer.send(frame)
        return server, peer, server.event("CONNECT_REQUEST")

    def accepted(self, frame, ird=4, ord=4, pd=b""):  # pylint: disable=redefined-builtin
        """Start a cm_probe, which accepts the MPA Request `frame` of the peer. Return the cm_probe,
        the peer and the Reply."""
        need_depths(ird, ord)
        server, peer, _ = self.asked(frame)
        server.do(f"accept {ird} {ord} {pd_arg(pd)}")
        return server, peer, peer.recv_reply()

    # initiator under test

    def listen(self):
        sock = socket.create_server((self.listen_address, self.port), family=self.family,
                                    backlog=8)
        sock.settimeout(LIMIT)
        self.things.append(sock.close)
        return sock

    def unanswering(self):
        """Listen at the port, and fill the backlog, so that TCP drops each SYN of the device."""
        sock = socket.create_server((self.listen_address, self.port), family=self.family,
                                    backlog=0)
        self.things.append(sock.close)
        for _ in range(4):
            fill = socket.socket(self.family)
            fill.setblocking(False)
            fill.connect_ex((self.listen_address, self.port))
            self.things.append(fill.close)

    def take(self, sock):
        conn, address = sock.accept()
        self.things.append(conn.close)
        return self.player("responder", conn, address[1])

    def client(self, *source_port):
        probe = Probe(*self.program, "connect", self.listen_address, str(self.port), *source_port)
        self.things.append(probe.end)
        return probe

    def connecting(self, ird=4, ord=4, pd=b""):  # pylint: disable=redefined-builtin
        """Start a cm_probe that connects to the test. Return the cm_probe, the peer, and the MPA
        Request that the peer got."""
        need_depths(ird, ord)
        sock = self.listen()
        client = self.client()
        client.do(f"connect {ird} {ord} {pd_arg(pd)}")
        peer = self.take(sock)
        return client, peer, peer.recv_request()

    def end_things(self):
        """End the programs and connections of the test, but do not restore the settings yet."""
        failed = None
        for thing in [*(other.end_things for other in self.others)] + self.things[::-1]:
            try:
                thing()
            except Failed as err:
                failed = err
        self.things.clear()
        if failed:
            raise failed

    def end(self):
        failed = None
        try:
            self.end_things()
        except Failed as err:
            failed = err
        for path, value in reversed(self.settings):
            needs.write(path, value)
        if failed:
            raise failed
