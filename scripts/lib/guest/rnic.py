#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Send this host's iwpmd what the kernel sends for an RNIC in hardware.

    rnic.py listen ADDRESS PORT                          listen, until this is killed
    rnic.py connect ADDRESS PORT PEER-ADDRESS PEER-PORT  connect, until this is killed

The port mapper iwpmd gives a card's hardware a TCP port in place of the application's, and asks the
peer's port mapper which port the peer's hardware got. This prints both ports. The kernel tells
iwpmd the ports by netlink (include/uapi/rdma/rdma_netlink.h); iwpmd does not check the sender, so
this program can act as the kernel.
"""

import ipaddress
import signal
import socket
import struct
import sys

NETLINK_RDMA = 20
IWCM = 2                            # client id of iw_cm in RDMA's netlink
ADD_MAPPING, QUERY_MAPPING, REMOVE_MAPPING, HANDLE_ERR = 1, 2, 3, 5
# Attributes of a request, and of an answer
SEQ, LOCAL, FLAGS, QUERY_REMOTE, QUERY_FLAGS = 1, 2, 3, 3, 4
ADDED, ADDED_ERR = 3, 4
QUERIED_LOCAL, QUERIED_REMOTE, QUERIED_ERR = 4, 5, 6
HEADER = struct.Struct("=IHHII")    # nlmsghdr
ATTRIBUTE = struct.Struct("=HH")
STORAGE = 128                       # struct sockaddr_storage
LIMIT = 60                          # seconds


def sockaddr(address, port):
    ip = ipaddress.ip_address(address)
    if ip.version == 4:
        octets = struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + ip.packed
    else:
        octets = struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", port, 0) + ip.packed
    return octets.ljust(STORAGE, b"\0")


def port_of(storage):
    return struct.unpack_from(">H", storage, 2)[0]


def attribute(kind, octets):
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(octets), kind) + octets.ljust(-(-len(octets) // 4) * 4, b"\0")


def attributes(octets):
    found = {}
    while octets:
        size, kind = ATTRIBUTE.unpack_from(octets)
        found[kind] = octets[ATTRIBUTE.size:size]
        octets = octets[-(-size // 4) * 4:]
    return found


def iwpmd():
    """Return iwpmd's netlink port id: that of the RDMA netlink socket with multicast groups."""
    with open("/proc/net/netlink", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return next(int(pid) for _, protocol, pid, groups, *_ in rows
                if int(protocol) == NETLINK_RDMA and int(pid) and int(groups, 16))


class Mapper:
    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        self.sock.bind((0, 0))
        self.sock.settimeout(LIMIT)
        self.pid = self.sock.getsockname()[0]
        self.seq = 0

    def say(self, op, *parts):
        self.seq += 1
        text = b"".join((attribute(SEQ, struct.pack("=I", self.seq)), *parts))
        header = HEADER.pack(HEADER.size + len(text), IWCM << 10 | op, 1, self.seq, self.pid)
        self.sock.sendto(header + text, (iwpmd(), 0))

    def ask(self, op, *parts):
        self.say(op, *parts)
        answer = self.sock.recv(4096)
        size, kind, *_ = HEADER.unpack_from(answer)
        if kind != IWCM << 10 | op:
            sys.exit(f"rnic.py: answer of type {kind & 1023}")
        return attributes(answer[HEADER.size:size])


def flags(kind):
    """Return the flags of a request: no IWPM_FLAGS_NO_PORT_MAP, as an RNIC needs a mapped port."""
    return attribute(kind, struct.pack("=I", 0))


def main():
    verb, address, port, *peer = sys.argv[1:]
    mapper = Mapper()
    local = sockaddr(address, int(port))
    if verb == "listen":
        said = mapper.ask(ADD_MAPPING, attribute(LOCAL, local), flags(FLAGS))
        ports, err = [said[ADDED]], said[ADDED_ERR]
    else:
        remote = sockaddr(peer[0], int(peer[1]))
        said = mapper.ask(QUERY_MAPPING, attribute(LOCAL, local), attribute(QUERY_REMOTE, remote),
                          flags(QUERY_FLAGS))
        ports, err = [said[QUERIED_LOCAL], said[QUERIED_REMOTE]], said[QUERIED_ERR]
    print(*(port_of(storage) for storage in ports), struct.unpack("=H", err)[0], flush=True)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    mapper.say(REMOVE_MAPPING, attribute(LOCAL, local))


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
main()
