#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Set features of the IPv4 route to the peer's network; ip(8) has no names for some of them.

    route_feature.py FEATURES LOCAL     FEATURES: a set of RTAX_FEATURE_*; 16: TCP time stamps in
                                        microseconds. LOCAL: this host's address on eth0
"""

import errno
import os
import socket
import struct
import sys

RTM_NEWROUTE = 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 1, 4, 0x100, 0x400
RTA_DST, RTA_OIF, RTA_PREFSRC, RTA_METRICS, RTAX_FEATURES = 1, 4, 7, 8, 12
RT_TABLE_MAIN, RTPROT_KERNEL, RT_SCOPE_LINK, RTN_UNICAST = 254, 2, 253, 1
PREFIX = 24


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value


def main():
    features, local = int(sys.argv[1]), socket.inet_aton(sys.argv[2])
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, PREFIX, 0, 0, RT_TABLE_MAIN, RTPROT_KERNEL,
                       RT_SCOPE_LINK, RTN_UNICAST, 0)
    body += attribute(RTA_DST, local[:3] + b"\0") + attribute(RTA_PREFSRC, local)
    body += attribute(RTA_OIF, struct.pack("=I", socket.if_nametoindex("eth0")))
    body += attribute(RTA_METRICS, attribute(RTAX_FEATURES, struct.pack("=I", features)))
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE | NLM_F_CREATE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWROUTE, flags, 1, 0) + body)
        error = -struct.unpack_from("=i", sock.recv(4096), 16)[0]
    if error:
        raise SystemExit(f"{errno.errorcode.get(error, error)}: {os.strerror(error)}")


main()
