#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The hardware of the device twin0: it takes TCP connections over, and runs rping on them.

    twin.py serve  [OPTION...] LOCAL PORT           be rping's server
    twin.py client [OPTION...] LOCAL REMOTE PORT    be rping's client
    twin.py early  REMOTE PORT                      no device: a client over TCP that sends its first
                                                    FPDU with its MPA Request

    --count N      rounds of rping (client)
    --mirror       the host gets each segment, too: its socket has to bear that in silence
    --skew TICKS   control: restore the time stamp wrong by so much
    --crash        after one round, reset the connection, as hardware that fails does
    --limit SEC    give up by then

The host's packets for the connection go to the network namespace hw, where a socket is restored from
the library's record with TCP_REPAIR. Prints what happened, and "done" at the end.
"""

import argparse
import ctypes
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, "/share/wire")
import fpdu  # noqa: E402  pylint: disable=wrong-import-position
import mpa  # noqa: E402  pylint: disable=wrong-import-position
import rdmap  # noqa: E402  pylint: disable=wrong-import-position

TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, TCP_REPAIR_OPTIONS = 19, 20, 21, 22
TCP_TIMESTAMP, TCP_REPAIR_WINDOW = 24, 29
RECV_QUEUE, SEND_QUEUE = 1, 2
REPAIR_OFF = -1     # without a window probe
OPT_MSS, OPT_WSCALE, OPT_SACK, OPT_TIMESTAMPS = 2, 3, 4, 8
TIMESTAMPS, WSCALE, SACK = 1, 2, 4
CLONE_NEWNET = 0x40000000
STAG = 0x4711
LIMIT = 150     # with TIME_WAIT
GRACE = 20      # to end what has failed

libc = ctypes.CDLL(None, use_errno=True)


def say(*words):
    print("%.3f" % time.monotonic(), *words, flush=True)


def enter(namespace):
    with open(namespace, encoding="ascii") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def open_in(namespace, family):
    with open("/proc/self/ns/net", encoding="ascii") as home:
        enter(namespace)
        try:
            return socket.socket(family, socket.SOCK_STREAM)
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


def restore(record, skew):
    """A socket in the namespace hw that goes on where the host's TCP stopped"""
    local, remote = address(record["local"]), address(record["remote"])
    family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
    number = {key: int(value) for key, value in record.items() if value.isdecimal()}
    options = number["options"]
    sock = open_in("/run/netns/hw", family)

    def tcp(name, value):
        sock.setsockopt(socket.IPPROTO_TCP, name, value)

    tcp(TCP_REPAIR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(local)
    tcp(TCP_REPAIR_QUEUE, SEND_QUEUE)
    tcp(TCP_QUEUE_SEQ, struct.pack("=I", number["snd_una"]))
    tcp(TCP_REPAIR_QUEUE, RECV_QUEUE)
    tcp(TCP_QUEUE_SEQ, struct.pack("=I", number["copied_seq"]))
    sock.connect(remote)
    pairs = [(OPT_MSS, number["mss_clamp"])]
    if options & WSCALE:
        pairs.append((OPT_WSCALE, number["snd_wscale"] | number["rcv_wscale"] << 16))
    if options & SACK:
        pairs.append((OPT_SACK, 0))
    if options & TIMESTAMPS:
        pairs.append((OPT_TIMESTAMPS, 0))
    tcp(TCP_REPAIR_OPTIONS, b"".join(struct.pack("=II", *pair) for pair in pairs))
    if options & TIMESTAMPS:
        # Later kernels take an odd number for one of microseconds.
        stamp = number["ts_val"] + 1 & ~1 if number["ts_tick_us"] == 1000 else number["ts_val"] | 1
        tcp(TCP_TIMESTAMP, struct.pack("=I", stamp + skew & 0xffffffff))
    if record["rx"]:
        sock.send(bytes.fromhex(record["rx"]))
    tcp(TCP_REPAIR_WINDOW, struct.pack("=5I", *(number[name] for name in (
        "snd_wl1", "snd_wnd", "snd_wnd_max", "rcv_wnd", "rcv_wup"))))
    tcp(TCP_REPAIR, REPAIR_OFF)
    tcp(socket.TCP_NODELAY, 1)
    return sock


def run(*command, **kw):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kw).stdout


class Steering:
    """Which packets go to the namespace hw: tc in front of the host's IP, and a queue that holds"""

    def __init__(self, mirror):
        self.action = "mirror" if mirror else "redirect"
        self.on = False

    def hold(self, local, remote):
        (here, here_port), (there, there_port) = address(local), address(remote)
        protocol = "ipv6" if ":" in here else "ip"
        run("tc", "-batch", "-", input=f"qdisc replace dev h0 root plug limit 10000000\n"
            f"filter add dev eth0 ingress protocol {protocol} pref 7 flower ip_proto tcp src_ip {there} "
            f"src_port {there_port} dst_ip {here} dst_port {here_port} "
            f"action mirred egress {self.action} dev h0\n")
        self.on = True

    def release(self):
        run("tc", "qdisc", "change", "dev", "h0", "root", "plug", "release_indefinite")

    def off(self):
        if self.on:
            run("tc", "-batch", "-", input="filter del dev eth0 ingress pref 7\n"
                "qdisc del dev h0 root\n")
        self.on = False


def segs_out(port):
    """How many segments the host's own socket has sent, as TCP counts"""
    text = run("ss", "-Htino", "state", "connected", f"( sport = :{port} or dport = :{port} )")
    found = re.search(r"segs_out:(\d+)", text)
    return int(found[1]) if found else None


class Rping:
    """One end of rping: what comes goes to feed(), what is to be sent to send()."""

    def __init__(self, send, crc):
        self.send = send
        self.writer = fpdu.Writer(crc=crc)
        self.reader = fpdu.Reader(crc=crc)
        self.msn = {0: 0, 1: 0}
        self.rounds = 0
        self.octets = 0

    def put(self, segment):
        self.send(self.writer.fpdu(segment))

    def untagged(self, op, data):
        queue = rdmap.QUEUE[op]
        self.msn[queue] += 1
        self.put(rdmap.untagged(op, data, msn=self.msn[queue]))

    def rtr(self):
        self.put(rdmap.write(1, 0))

    def feed(self, data):
        self.reader.feed(data)
        taken = self.reader.take()
        while taken:
            self.segment(rdmap.Segment(taken.ulpdu))
            taken = self.reader.take()


class Server(Rping):
    """Reads what the client names, says so, and writes it to where the client says then."""

    def __init__(self, send, crc):
        super().__init__(send, crc)
        self.data = b""
        self.reading = None

    def segment(self, seg):
        if seg.op == rdmap.WRITE:       # the RTR message
            return
        if seg.op == rdmap.READ_RESPONSE:
            self.data += seg.data
            if seg.last:
                self.reading = None
                self.untagged(rdmap.SEND, bytes(16))
            return
        if seg.op not in rdmap.SENDS:
            raise SystemExit(f"the peer has sent {seg}")
        to, stag, size = struct.unpack_from(">QII", seg.data)
        if not self.data:
            self.reading = rdmap.Read(STAG, 0, size, stag, to)
            self.untagged(rdmap.READ_REQUEST, rdmap.read_body(self.reading))
        else:
            self.put(rdmap.write(stag, to, self.data))
            self.untagged(rdmap.SEND, bytes(16))
            self.rounds += 1
            self.octets += len(self.data)
            self.data = b""


class Client(Rping):
    """Has the server read a text, and wants it back."""

    def __init__(self, send, crc, count):
        super().__init__(send, crc)
        self.count = count
        self.text = b""
        self.back = b""
        self.step = 0

    def start(self):
        self.text = (b"rdma-ping-%d: " % self.rounds + b"twin" * 20)[:63] + b"\0"
        self.back = b""
        self.step = 0
        self.advertise()

    def advertise(self):
        self.untagged(rdmap.SEND, struct.pack(">QII", 0, STAG, 64))

    def segment(self, seg):
        if seg.op == rdmap.READ_REQUEST:
            self.put(rdmap.response(seg.read.sink_stag, seg.read.sink_to,
                                    self.text[seg.read.to:seg.read.to + seg.read.size]))
        elif seg.op == rdmap.WRITE:
            self.back += seg.data
        elif seg.op in rdmap.SENDS:
            self.step += 1
            if self.step == 1:
                self.advertise()
            elif self.back != self.text:
                raise SystemExit(f"{self.back} came back for {self.text}")
            else:
                self.rounds += 1
                self.octets += len(self.text)
                if self.rounds < self.count:
                    self.start()
        else:
            raise SystemExit(f"the peer has sent {seg}")


class Twin:
    """The hardware: answers what the driver asks, and moves octets."""

    def __init__(self, args):
        self.args = args
        self.dev = os.open("/dev/iw_mpa_twin", os.O_RDWR)
        self.steering = Steering(args.mirror)
        self.sock = None
        self.app = None
        self.before = None      # segs_out of the frozen socket
        self.took = None
        self.open = False       # the Reply, or the RTR message, has gone out
        self.stopped = False
        self.shut = False
        self.late = False
        self.events = []

    def command(self, text):
        try:
            os.write(self.dev, text.encode())
        except OSError as error:
            say("driver:", text, error)

    def message(self):
        text = os.read(self.dev, 65536).decode().strip()
        say(text[:1200])
        kind, name, *pairs = text.split(" ")
        values = dict(pair.split("=", 1) for pair in pairs)
        if kind == "event":
            self.events.append(name)
            if name == "CLOSE" or name != "DISCONNECT" and values["status"] != "0":
                self.command("destroy")
            return
        try:
            err = getattr(self, "op_" + name)(values) or 0
        except OSError as error:
            say("failed:", error)
            err = -error.errno
        self.command(f"answer {err}")

    def op_hold(self, values):
        self.took = time.monotonic()
        self.steering.hold(values["local"], values["remote"])

    def op_let_go(self, _):
        self.steering.off()

    def op_prepare(self, values):
        self.before = segs_out(self.args.port)
        self.sock = restore(values, self.args.skew)
        crc = values["crc"] == "1"
        if self.args.role == "serve":
            self.app = Server(self.sock.sendall, crc)
        else:
            self.app = Client(self.sock.sendall, crc, self.args.count)
        self.steering.release()

    def op_send_reply(self, values):
        self.sock.sendall(bytes.fromhex(values["octets"]))
        self.open = True
        say("takeover and Reply took %.3f s" % (time.monotonic() - self.took))

    def op_send_rtr(self, _):
        self.app.rtr()
        self.open = True
        say("takeover and RTR took %.3f s" % (time.monotonic() - self.took))
        self.app.start()

    def op_open_tx(self, _):
        self.open = True
        if self.args.role == "client":
            self.app.start()

    def op_finish_tx(self, _):
        self.shutdown()
        self.command("tx_finished")

    def op_stop(self, _):
        self.stopped = True
        self.shutdown()

    def shutdown(self):
        if self.sock and not self.shut:
            self.shut = True
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError as error:
                say("shutdown:", error)

    def readable(self):
        try:
            data = self.sock.recv(65536)
        except OSError as error:
            self.command(f"peer_closed {error.errno}")
            self.close()
            return
        if not data:
            self.command("peer_closed 0")
            self.close()
            return
        first = not self.app.reader.position
        self.app.feed(data)
        if first and self.app.reader.position:
            self.command("first_fpdu")
        self.after_data()

    def after_data(self):
        if self.args.crash and self.app.rounds:
            say("crash")
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.command("peer_closed 104")
            self.sock.close()
            self.sock = None
        elif self.args.role == "client" and self.app.rounds == self.args.count and not self.shut:
            self.command("disconnect 0")

    def close(self):
        """The peer's FIN is there; ours follows it, if it has not gone before."""
        self.shutdown()
        self.sock.close()
        self.sock = None

    def is_over(self):
        if not (self.stopped and not self.sock and "CLOSE" in self.events):
            return False
        text = run("ip", "netns", "exec", "hw", "ss", "-Htan")
        return str(self.args.port) not in text

    def finish(self):
        after = segs_out(self.args.port)
        say(f"frozen: segs_out {self.before} {after}")
        say(f"rounds {self.app.rounds} octets {self.app.octets}")
        self.command("released")
        self.steering.off()
        if after is None or after != self.before:
            print("the frozen socket has spoken, or is gone", flush=True)
            return 1
        if self.late:
            return 1
        print("done", flush=True)
        return 0

    def fail(self):
        """As hardware that gives the connection up"""
        say("it takes too long")
        self.late = True
        if self.sock:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.sock.close()
            self.sock = None
        self.command("peer_closed 110")

    def run(self):
        limit = time.monotonic() + self.args.limit
        if self.args.role == "serve":
            self.command(f"listen {self.args.local} {self.args.port}")
        else:
            self.command(f"connect {self.args.local} {self.args.remote} {self.args.port}")
        print("ready", flush=True)
        while not self.is_over():
            fds = [self.dev] + ([self.sock] if self.sock and self.open else [])
            for fd in select.select(fds, [], [], 0.2)[0]:
                if fd == self.dev:
                    self.message()
                elif self.sock:
                    self.readable()
            if time.monotonic() > limit:
                if self.late or not self.app:
                    say("it takes far too long")
                    return 1
                self.fail()
                limit += GRACE
        return self.finish()


def early(remote, port, count):
    """A peer that sends before it has the Reply, for which RFC 5044 7.1.2 has it wait"""
    sock = socket.create_connection((remote, port), timeout=LIMIT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    held = [mpa.request()]
    app = Client(held.append, True, count)
    app.start()
    sock.sendall(b"".join(held))
    app.send = sock.sendall
    reply = b""
    while len(reply) < 20:
        reply += sock.recv(20 - len(reply))
    say("Reply", reply.hex())
    while app.rounds < count:
        app.feed(sock.recv(65536))
    say(f"rounds {app.rounds} octets {app.octets}")
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(65536):
        pass
    print("done", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("serve", "client", "early"))
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--mirror", action="store_true")
    parser.add_argument("--skew", type=int, default=0)
    parser.add_argument("--crash", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("local")
    parser.add_argument("remote", nargs="?")
    parser.add_argument("port", type=int)
    args = parser.parse_args()
    if args.role == "early":
        return early(args.local, args.port, args.count)
    twin = Twin(args)
    try:
        return twin.run()
    finally:
        twin.steering.off()
        if args.role == "serve":
            twin.command("unlisten")


if __name__ == "__main__":
    sys.exit(main())
