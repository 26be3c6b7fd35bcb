# SPDX-License-Identifier: GPL-2.0
"""tun.py NETNS NETNS: make an interface tun0 in each of two network namespaces, and pass packets between
them, as a VPN's program does. The interfaces exist as long as this program runs."""

import ctypes
import fcntl
import os
import selectors
import struct
import sys

TUNSETIFF = 0x400454ca
IFF_TUN, IFF_NO_PI = 1, 0x1000
CLONE_NEWNET = 0x40000000


def enter(path):
    with open(path, "rb") as namespace:
        if ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWNET):
            sys.exit(f"no permission to enter {path}")


def tun(netns):
    """Return a file descriptor: what is read from it was sent by tun0 of netns."""
    enter(f"/run/netns/{netns}")
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    return file


def main():
    one, other = (tun(netns) for netns in sys.argv[1:])
    enter("/proc/1/ns/net")
    wait = selectors.DefaultSelector()
    wait.register(one, selectors.EVENT_READ, other)
    wait.register(other, selectors.EVENT_READ, one)
    while True:
        for key, _ in wait.select():
            packet = os.read(key.fd, 1 << 16)
            try:
                os.write(key.data, packet)
            except OSError:
                pass    # the interface that should get the packet is down: the packet is lost


main()
