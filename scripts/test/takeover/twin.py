#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The hardware of the device twin0: it takes TCP connections over, and runs rping on them.

    twin.py serve  [OPTION...] LOCAL PORT           act as rping's server
    twin.py client [OPTION...] LOCAL REMOTE PORT    act as rping's client

    Options:
    --count N      rounds of rping
    --close        server: close first, when the client begins a further round; a client always does
    --mirror       the host gets each segment, too, and its socket must not answer
    --full         accept the connection only when the peer has filled the host's window
    --open         have the peer open its window some time after the first FPDU was sent
    --move         when the record is there, have the peer change its link-layer address, and send
                   nothing until the host reports the new one
    --deaf         ignore the host's report of the new address: then the test has to fail
    --us           the record has to have time stamps in microseconds
    --skew TICKS   restore a time stamp that is wrong by TICKS: then the test has to fail
    --crash        after one round, reset the connection, as hardware that fails does
    --brief        do not wait for the end of TIME_WAIT, which lasts a minute
    --limit SEC    give up after that time

The twin sends UDP datagrams to the peer: "hold" marks the moment of the hold in the capture,
"open" and "move" have the peer open its window, and change its link-layer address.

The host's packets for the connection are redirected to the network namespace hw, where a socket is restored with
TCP_REPAIR from iw_mpa's record of the connection. This prints what happened, and "done" at the end.
"""

import argparse
import ctypes
import errno
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from rping import Client, Server

TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, TCP_REPAIR_OPTIONS = 19, 20, 21, 22
TCP_TIMESTAMP, TCP_REPAIR_WINDOW = 24, 29
RECV_QUEUE, SEND_QUEUE = 1, 2
REPAIR_OFF = -1     # ends TCP_REPAIR without a window probe
OPT_MSS, OPT_WSCALE, OPT_SACK, OPT_TIMESTAMPS = 2, 3, 4, 8
TIMESTAMPS, WSCALE, SACK = 1, 2, 4
CLONE_NEWNET = 0x40000000
DISCARD = 9         # UDP port
FULL = 1            # seconds without new data after which the window counts as full
SHUT = 1.5          # seconds for which the peer's window stays shut
PATIENCE = 15
LIMIT = 150     # seconds, including TIME_WAIT
GRACE = 20      # seconds to end after a failure

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
    """Return a socket in the namespace hw that continues the connection by RECORD, the state of the
    host's TCP socket that the driver has got from iw_mpa."""
    local, remote = address(record["local"]), address(record["remote"])
    family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
    number = {key: int(value) for key, value in record.items() if value.isdecimal()}
    options = number["options"]
    sock = open_in("/run/netns/hw", family)

    def tcp(name, value):
        sock.setsockopt(socket.IPPROTO_TCP, name, value)

    tcp(TCP_REPAIR, 1)
    # With TCP_REPAIR a socket may bind to a port in TIME_WAIT; setting SO_REUSEADDR would end that.
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
        # Later kernels take an odd value for time stamps in microseconds.
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


def tell_peer(word, remote):
    host, _ = address(remote)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(word.encode(), (host, DISCARD))


def set_neighbour(remote, lladdr):
    run("ip", "-n", "hw", "neigh", "replace", address(remote)[0], "dev", "h1", "lladdr", lladdr,
        "nud", "permanent")


class Steering:
    """Redirects packets of the connection to the namespace hw: by a tc filter before the host's IP,
    into a queue that holds them until the restored socket is ready."""

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
    """Return how many segments the host's socket has sent, by TCP's counter; None: no socket."""
    text = run("ss", "-Htino", "state", "connected", f"( sport = :{port} or dport = :{port} )")
    found = re.search(r"segs_out:(\d+)", text)
    return int(found[1]) if found else None


class Witness:
    """Counts by netfilter the connection's packets that this host sends, even without a socket.
    Packets from the namespace hw do not count: tc sends them out, past this hook."""

    def __init__(self, field, port):
        run("nft", "-f", "-", input="add table inet frozen\ndelete table inet frozen\n"
            "add table inet frozen\n"
            "add chain inet frozen out { type filter hook output priority filter; }\n"
            f"add rule inet frozen out tcp {field} {port} counter\n")

    @staticmethod
    def packets():
        return int(re.search(r"packets (\d+)", run("nft", "list", "chain", "inet", "frozen", "out"))[1])


def received(port):
    """Return the number of bytes in the receive queue of the host's socket."""
    text = run("ss", "-Htn", "state", "established", f"( sport = :{port} )")
    return int(text.split()[0]) if text else 0


class Twin:
    """The hardware of twin0: it executes the driver's ops, and moves the connection's bytes."""

    def __init__(self, args):
        self.args = args
        self.dev = os.open("/dev/iw_mpa_twin", os.O_RDWR)
        self.steering = Steering(args.mirror)
        self.sock = None
        self.app = None
        self.witness = Witness("sport" if args.role == "serve" else "dport", args.port)
        self.before = None      # segments sent before the freeze, as counted by TCP and by netfilter
        self.took = None
        self.open = False       # the Reply, or the RTR message, was sent
        self.stopped = False
        self.shut = False
        self.late = False
        self.moved = False
        self.remote = None
        self.open_at = None
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
        if kind == "event" and name == "PATH":
            self.path_changed(values)
            return
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

    def path_changed(self, values):
        self.moved = True
        if self.remote and not self.args.deaf and values["lladdr_known"] == "1":
            set_neighbour(self.remote, values["lladdr"])

    def op_request(self, _):
        """With --full, delay the ULP's answer to the Request until the host's window is full."""
        end = time.monotonic() + PATIENCE
        was, since = 0, time.monotonic()
        while self.args.full and time.monotonic() < end:
            now = received(self.args.port)
            if now != was:
                was, since = now, time.monotonic()
            elif now and time.monotonic() - since > FULL:
                break
            time.sleep(0.1)
        if self.args.full:
            say(f"{was} octets wait")

    def op_hold(self, values):
        self.took = time.monotonic()
        self.steering.hold(values["local"], values["remote"])
        tell_peer("hold", values["remote"])

    def op_let_go(self, _):
        self.steering.off()

    def op_prepare(self, values):
        if self.args.us and values["ts_tick_us"] != "1":
            raise OSError(errno.EPROTO, "time stamps are not in microseconds")
        self.before = (segs_out(self.args.port), self.witness.packets())
        self.remote = values["remote"]
        if values["lladdr_known"] == "1":
            set_neighbour(self.remote, values["lladdr"])
        self.sock = restore(values, self.args.skew)
        crc = values["crc"] == "1"
        if self.args.role == "serve":
            self.app = Server(self.sock.sendall, crc, self.args.count if self.args.close else None)
        else:
            self.app = Client(self.sock.sendall, crc, self.args.count)
        self.steering.release()
        if self.args.move:
            tell_peer("move", self.remote)

    def wait_for_move(self):
        end = time.monotonic() + PATIENCE
        while self.args.move and not self.moved and time.monotonic() < end:
            if select.select([self.dev], [], [], 1)[0]:
                self.message()

    def op_send_reply(self, values):
        self.wait_for_move()
        self.sock.sendall(bytes.fromhex(values["octets"]))
        self.open = True
        say("takeover and Reply took %.3f s" % (time.monotonic() - self.took))

    def op_send_rtr(self, _):
        self.app.rtr()
        self.open = True
        say("takeover and RTR took %.3f s" % (time.monotonic() - self.took))
        if self.args.open:
            self.open_at = time.monotonic() + SHUT
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
            self.app.send = lambda octets: None
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
        elif self.args.close and self.app.over and not self.shut:
            self.command("disconnect 0")

    def close(self):
        """The peer has closed or reset the connection: send a FIN, if it was not sent before."""
        self.shutdown()
        self.sock.close()
        self.sock = None

    def is_over(self):
        if not (self.stopped and not self.sock and "CLOSE" in self.events):
            return False
        text = run("ip", "netns", "exec", "hw", "ss", "-Htan")
        return not any(f":{self.args.port} " in line + " " for line in text.splitlines()
                       if not (self.args.brief and line.startswith("TIME-WAIT")))

    def finish(self):
        after = segs_out(self.args.port)
        self.command("released")
        end = time.monotonic() + PATIENCE
        while segs_out(self.args.port) is not None and time.monotonic() < end:
            time.sleep(0.1)
        seen = self.witness.packets()
        self.steering.off()
        say(f"rounds {self.app.rounds} octets {self.app.octets}")
        say(f"frozen: segs_out {self.before[0]} {after}, netfilter {self.before[1]} {seen}")
        if not self.before[1]:
            print("netfilter has not seen the socket before", flush=True)
            return 1
        if after is None or after != self.before[0]:
            print("the frozen socket has spoken, or is gone: TCP has counted it", flush=True)
        if seen != self.before[1]:
            print("the frozen socket has spoken: netfilter has counted it", flush=True)
        if (after, seen) != self.before or self.late:
            return 1
        print("done", flush=True)
        return 0

    def fail(self):
        """Reset the connection, and report ETIMEDOUT, as hardware does whose TCP gives up."""
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
            # Before this write() returns, the driver may send ops, which the main loop answers.
            threading.Thread(target=self.command, daemon=True, args=(
                f"connect {self.args.local} {self.args.remote} {self.args.port}",)).start()
        print("ready", flush=True)
        while not self.is_over():
            fds = [self.dev] + ([self.sock] if self.sock and self.open else [])
            for fd in select.select(fds, [], [], 0.2)[0]:
                if fd == self.dev:
                    self.message()
                elif self.sock:
                    self.readable()
            if self.open_at and time.monotonic() > self.open_at:
                self.open_at = None
                tell_peer("open", self.remote)
            if time.monotonic() > limit:
                if self.late or not self.app:
                    say("it takes far too long")
                    return 1
                self.fail()
                limit += GRACE
        return self.finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("serve", "client"))
    parser.add_argument("--count", type=int, default=3)
    for name in ("close", "mirror", "full", "open", "move", "deaf", "us", "crash", "brief"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--skew", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("local")
    parser.add_argument("remote", nargs="?")
    parser.add_argument("port", type=int)
    args = parser.parse_args()
    args.close |= args.role == "client"
    twin = Twin(args)
    try:
        return twin.run()
    finally:
        twin.steering.off()
        if args.role == "serve":
            twin.command("unlisten")


if __name__ == "__main__":
    sys.exit(main())
