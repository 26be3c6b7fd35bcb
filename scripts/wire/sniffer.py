# SPDX-License-Identifier: GPL-2.0
"""Captures TCP segments on the loopback device, before GSO cuts them: one may exceed the MSS."""

import socket
import struct
from collections import namedtuple

import needs

FIN, SYN, ACK = 0x01, 0x02, 0x10

ETH_P_ALL = 3
ETHERNET = 14
SO_RCVBUFFORCE = 33     # Python's socket module has neither this nor the next two constants
SOL_PACKET, PACKET_VNET_HDR = 263, 15
VNET_HDR = 10

# A captured TCP segment. gso: size of the segments into which GSO would cut it, 0 if it need not
Segment = namedtuple("Segment", "source target seq ack flags data gso")


def tcp_of(packet):
    """Return the TCP segment in an IP packet, or b"" if the packet has none."""
    if packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_TCP:
        return packet[(packet[0] & 15) * 4:struct.unpack_from(">H", packet, 2)[0]]
    if packet[0] >> 4 == 6 and packet[6] == socket.IPPROTO_TCP:
        return packet[40:40 + struct.unpack_from(">H", packet, 4)[0]]
    return b""


class Sniffer:
    """Captures all TCP segments from and to a port on the loopback device, from __init__() on"""

    def __init__(self, b, port):
        needs.need("here")
        self.port = port
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        b.things.append(self.sock.close)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
        self.sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.sock.bind(("lo", 0))
        self.sock.setblocking(False)

    def segments(self):
        """Yield the segments that were captured since the last call."""
        while True:
            try:
                packet, address = self.sock.recvfrom(1 << 17)
            except BlockingIOError:
                return
            tcp = tcp_of(packet[VNET_HDR + ETHERNET:])
            if address[2] == socket.PACKET_OUTGOING or not tcp:
                continue        # a packet socket on lo gets each packet twice: sent and received
            source, target, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
            if self.port in (source, target):
                yield Segment(source, target, seq, ack, flags, tcp[(offset >> 4) * 4:],
                              struct.unpack_from("<H", packet, 4)[0])
