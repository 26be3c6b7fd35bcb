#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A kernel ULP with a region that libsiw_probe writes to and then invalidates
by a Send.

    libsiw_peer.py ADDRESS PORT

It needs kverbs.ko of scripts/wire: a peer can invalidate only regions of the kernel's ULPs.
"""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "wire"))

# pylint: disable=wrong-import-position
from harness import Failed, equal                                               # noqa: E402
from kverbs import LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, WITH_INVALIDATE, Kverbs  # noqa: E402

LIMIT = 60
SIZE = 64               # bytes that the program writes and sends
# Offsets in the memory: the region, the receive buffer, the data to send
OPEN, INBOX, SOURCE = 0, 8192, 12288
NOTE = struct.Struct(">QII")        # address of the region, its rkey, a number


def hear(kv, wr_id):
    wc = kv.wc(wr_id, limit=LIMIT)
    equal(wc.length, SIZE, "length of a message")
    return wc


def tell(kv, *note):
    kv.put(SOURCE, NOTE.pack(*note))
    kv.do(f"post send {SIGNALED} {note[-1]} 0 0 {SOURCE},{NOTE.size}")
    kv.wc(note[-1], limit=LIMIT)


def serve(kv, address, port):
    kv.do(f"listen {address} {port}")
    equal(kv.event("CONNECT_REQUEST", LIMIT), 0, "status")
    kv.do("prepare")
    for wr_id in (101, 102):
        kv.do(f"recv {wr_id} {INBOX},{SIZE}")
    kv.do("accept 4 4")
    equal(kv.event("ESTABLISHED", LIMIT), 0, "status")
    equal(hear(kv, 101).flags, 0, "flags of a Send")
    region = kv.mr(0, [(OPEN, 4096)])
    kv.register(0, 100, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ)
    tell(kv, region.start, region.rkey, 1)
    wc = hear(kv, 102)
    equal((wc.flags, wc.stag), (WITH_INVALIDATE, region.rkey), "what the Send invalidated")
    kv.expect(OPEN, b"a" * SIZE)
    tell(kv, 0, 0, 2)
    equal(kv.event("DISCONNECTED", LIMIT), 0, "status")
    kv.expect(OPEN, b"a" * SIZE)


def main():
    kv = Kverbs()
    try:
        serve(kv, *sys.argv[1:])
    finally:
        kv.close()


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
