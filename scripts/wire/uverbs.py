# SPDX-License-Identifier: GPL-2.0
"""Commands of uverbs, octet by octet, as libibverbs writes them into the device file."""

import struct
import subprocess

from harness import check

POST_SEND, POST_RECV, CREATE_CQ, CREATE_QP, CREATE_SRQ, REG_MR, GET_CONTEXT, DEREG_MR, POLL_CQ, \
    REQ_NOTIFY, RESIZE_CQ, POST_SRQ_RECV = 28, 29, 18, 24, 32, 9, 0, 13, 21, 23, 19, 36


def command(number, body, in_words=None, out_words=0):
    size = 8 + len(body)
    in_words = size // 4 if in_words is None else in_words
    return struct.pack("<IHH", number, in_words, out_words) + body


def handle(link, name):
    return int(link.verbs.words(f"handle {name}")[0])


def wrote(link, octets, response_at="-", room=256):
    """The errno of a command; 0: it was taken"""
    words = link.verbs.do(f"uverbs {response_at} {room} {octets.hex()}")[0].split()
    check(words[3] if len(words) > 3 else True, words)
    return int(words[2])


def resources():
    """Objects of the device, as the core counts them"""
    said = subprocess.run(["rdma", "resource", "show"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    return [int(said[said.index(kind) + 1]) for kind in ("pd", "cq", "qp", "mr")]
