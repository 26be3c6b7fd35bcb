# SPDX-License-Identifier: GPL-2.0
"""uverbs commands as libibverbs writes them into the device file; tests can make invalid ones."""

import ctypes
import os
import struct
import subprocess

import needs
from harness import check

POST_SEND, POST_RECV, CREATE_CQ, CREATE_QP, CREATE_SRQ, REG_MR, GET_CONTEXT, DEREG_MR, POLL_CQ, \
    REQ_NOTIFY, RESIZE_CQ, POST_SRQ_RECV = 28, 29, 18, 24, 32, 9, 0, 13, 21, 23, 19, 36
ALLOC_PD, MODIFY_SRQ = 3, 33
SRQ_LIMIT = 2       # ib_srq_attr_mask


def command(number, body, in_words=None, out_words=0):
    size = 8 + len(body)
    in_words = size // 4 if in_words is None else in_words
    return struct.pack("<IHH", number, in_words, out_words) + body


def handle(link, name):
    return int(link.verbs.words(f"handle {name}")[0])


def wrote(link, octets, response_at="-", room=256):
    """Have verbs_probe write `octets` to its uverbs device file. Return the errno, 0 for
    success."""
    words = link.verbs.do(f"uverbs {response_at} {room} {octets.hex()}")[0].split()
    check(words[3] if len(words) > 3 else True, words)
    return int(words[2])


def get_context(tail):
    """Open the uverbs device file, and write the command GET_CONTEXT into it, followed by the bytes
    `tail`. Return the errno, 0 for success."""
    response = ctypes.create_string_buffer(256)
    file = os.open("/dev/infiniband/uverbs0", os.O_RDWR)
    try:
        body = struct.pack("<Q", ctypes.addressof(response)) + tail
        os.write(file, command(GET_CONTEXT, body, out_words=len(response) // 4))
        return 0
    except OSError as err:
        return err.errno
    finally:
        os.close(file)


def resources():
    """Return how many PDs, CQs, QPs and MRs exist in this host, as "rdma resource show" prints."""
    needs.need("here")
    said = subprocess.run(["rdma", "resource", "show"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    return [int(said[said.index(kind) + 1]) for kind in ("pd", "cq", "qp", "mr")]
