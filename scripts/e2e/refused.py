#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print the ports of a capture at which TCP has refused a connection, one a line.

    refused.py CAPTURE

A refusal is an RST that acknowledges nothing but a SYN: RFC 9293, section
3.10.7.1, for a port without a listener.
"""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "lib", "guest"))

import startup  # noqa: E402

FIELDS = """ip.src ipv6.src ip.dst ipv6.dst tcp.srcport tcp.dstport tcp.flags.syn tcp.flags.ack
tcp.flags.reset tcp.seq_raw tcp.ack_raw tcp.len""".split()


def refused(path):
    options = ["-Y", "tcp", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]
    for field in FIELDS:
        options += ["-e", field]
    asked = {}
    for line in startup.tshark(path, *options).splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        flag = lambda name: startup.number(row["tcp.flags." + name])
        source = row["ip.src"] or row["ipv6.src"], int(row["tcp.srcport"])
        target = row["ip.dst"] or row["ipv6.dst"], int(row["tcp.dstport"])
        if flag("syn"):
            asked[source, target] = int(row["tcp.seq_raw"]) + 1 + int(row["tcp.len"]) & 0xffffffff
            if flag("ack"):
                asked.pop((target, source), None)   # the SYN was answered
        elif flag("reset") and flag("ack") and \
                asked.get((target, source)) == int(row["tcp.ack_raw"]):
            yield source[1]


print(*sorted(set(refused(sys.argv[1]))), sep="\n")
