#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The peer of a takeover, for cases in which no driver can be made to behave as needed.

    peer.py early REMOTE PORT       a client over TCP that sends its first FPDU with its MPA Request,
                                    though by RFC 5044 7.1.2 it has to wait for the Reply
    peer.py fill  REMOTE PORT       the same, and it sends more bytes than the window takes
    peer.py wrap  REMOTE PORT       the same, and it begins a little below sequence number 2^32
    peer.py back  REMOTE PORT       a client from the port that "old --client" has used
    peer.py serve LOCAL PORT        a server over TCP that is the first to close
    peer.py old   LOCAL REMOTE PORT one end of an earlier connection of the addresses and ports that
                                    the device's connection will have. With --first it is the end on
                                    the device's host, and leaves TIME_WAIT there: TCP continues its
                                    sequence numbers (RFC 9293 3.6.1), a little below 2^32. With
                                    --client the device will be the server, else the client
    peer.py until WORD COMMAND      run the command when WORD arrives as a datagram

Prints "done" at the end.
"""

import argparse
import socket
import struct
import subprocess
import sys

from rping import Client, Filler, Server

sys.path.insert(0, "/share/wire")
import mpa  # noqa: E402  pylint: disable=wrong-import-position

TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, TCP_REPAIR_OPTIONS = 19, 20, 21, 22
TCP_REPAIR_WINDOW = 29
OPT_TIMESTAMPS = 8
RECV_QUEUE, SEND_QUEUE = 1, 2
REPAIR_OFF = -1     # ends TCP_REPAIR without a window probe
DISCARD = 9
LIMIT = 100
DEVICE_PORT = 33333     # source port of the device's connection when the device is the client
CLIENT_PORT = 20000     # offset from the case's port to the port of the device's client
ROUNDS = 3

# First sequence numbers a little below 2^32: the number 2^32 is then within the client's first FPDU, which follows a
# Request of 20 bytes; or within the device's RTR message, which follows a Request of 24 bytes.
WRAP_CLIENT = 2**32 - 1 - 20 - 10
WRAP_DEVICE = 2**32 - 1 - 24 - 10
# If a new connection takes the addresses and ports of one in TIME_WAIT, Linux begins 65535 + 2
# after the old one's last sequence number; the old one's FIN takes one number more.
TIME_WAIT_STEP = 65535 + 2 + 1
OLD_WINDOW = 1000
OLD_SEQ = 1000


def family_of(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def repair(sock, snd, rcv=None):
    """Begin TCP_REPAIR, and set the next sequence numbers to send (SND) and to receive (RCV)."""
    def tcp(name, value):
        sock.setsockopt(socket.IPPROTO_TCP, name, value)

    tcp(TCP_REPAIR, 1)
    for queue, seq in (SEND_QUEUE, snd), (RECV_QUEUE, rcv):
        if seq is not None:
            tcp(TCP_REPAIR_QUEUE, queue)
            tcp(TCP_QUEUE_SEQ, struct.pack("=I", seq & 0xffffffff))


def repaired(sock):
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_OFF)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def open_client(role, remote, port):
    sock = socket.socket(family_of(remote), socket.SOCK_STREAM)
    sock.settimeout(LIMIT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if role == "wrap":
        repair(sock, WRAP_CLIENT)
        repaired(sock)
    if role == "back":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("", port + CLIENT_PORT))
    sock.connect((remote, port))
    return sock


def read_frame(sock):
    """Receive an MPA Request or Reply: 20 bytes, the last two with the length of private data."""
    frame = receive_all(sock, mpa.HDR)
    return frame + receive_all(sock, int.from_bytes(frame[18:20], "big"))


def receive(sock, most):
    octets = sock.recv(most)
    if not octets:
        raise SystemExit("the device has closed")
    return octets


def receive_all(sock, size):
    octets = b""
    while len(octets) < size:
        octets += receive(sock, size - len(octets))
    return octets


def drain(sock):
    while sock.recv(65536):
        pass


def client(role, remote, port):
    sock = open_client(role, remote, port)
    held = [mpa.request()]
    app = (Filler if role == "fill" else Client)(held.append, True, ROUNDS)
    app.start()
    sock.sendall(b"".join(held))
    app.send = sock.sendall
    print("Reply", read_frame(sock).hex(), flush=True)
    while app.rounds < ROUNDS:
        app.feed(receive(sock, 65536))
    print(f"rounds {app.rounds} octets {app.octets}")
    sock.shutdown(socket.SHUT_WR)
    drain(sock)


def serve(local, port):
    listener = socket.create_server((local, port), family=family_of(local))
    listener.settimeout(LIMIT)
    print("ready", flush=True)
    sock, _ = listener.accept()
    sock.settimeout(LIMIT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("Request", read_frame(sock).hex(), flush=True)
    app = Server(sock.sendall, True)
    sock.sendall(mpa.reply2(ird=4, ord=4, a=1, rtr=mpa.WRITE))
    while app.rounds < ROUNDS:
        app.feed(receive(sock, 65536))
    print(f"rounds {app.rounds} octets {app.octets}")
    sock.shutdown(socket.SHUT_WR)
    drain(sock)


def old(local, remote, port, first, client_there):
    """Be one end of the earlier connection, which TCP_REPAIR makes without a handshake. It has TCP
    time stamps, since only then Linux accepts a new connection on ports in TIME_WAIT."""
    sock = socket.socket(family_of(local), socket.SOCK_STREAM)
    sock.settimeout(LIMIT)
    snd, rcv = WRAP_DEVICE - TIME_WAIT_STEP, OLD_SEQ
    ports = (port, port + CLIENT_PORT) if client_there else (DEVICE_PORT, port)
    if not first:
        snd, rcv, ports = rcv, snd, ports[::-1]
    repair(sock, snd, rcv)
    sock.bind((local, ports[0]))
    sock.connect((remote, ports[1]))
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_OPTIONS, struct.pack("=II", OPT_TIMESTAMPS, 0))
    sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_WINDOW,
                    struct.pack("=5I", rcv, OLD_WINDOW, OLD_WINDOW, OLD_WINDOW, rcv))
    repaired(sock)
    print("ready", flush=True)
    if first:
        sock.shutdown(socket.SHUT_WR)
    drain(sock)
    sock.close()


def until(word, command):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.settimeout(LIMIT)
        sock.bind(("::", DISCARD))
        print("ready", flush=True)
        while sock.recv(64) != word.encode():
            pass
    subprocess.run(["bash", "-c", command], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("early", "fill", "wrap", "back", "serve", "old", "until"))
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--client", action="store_true")
    parser.add_argument("words", nargs="+")
    args = parser.parse_args()
    words = args.words
    if args.role == "until":
        until(*words)
    elif args.role == "old":
        old(words[0], words[1], int(words[2]), args.first, args.client)
    elif args.role == "serve":
        serve(words[0], int(words[1]))
    else:
        client(args.role, words[0], int(words[1]))
    print("done", flush=True)


if __name__ == "__main__":
    main()
