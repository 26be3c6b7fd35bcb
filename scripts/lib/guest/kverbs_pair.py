#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A kernel ULP at each end of a connection, which posts work requests of every kind.

    kverbs_pair.py listen|connect ADDRESS PORT ROUNDS

Both ends are given the listener's address, and each has loaded kverbs.ko: see scripts/wire/kverbs. In each round each
end writes into a region of the other end, has the other end read the bytes, reads them back, and returns the region.
The data is compared where it arrives. With ROUNDS 0 this runs until the device is removed or the connection ends, which
is success. "it goes" is printed when the first round is over.
"""

import os
import random
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "wire"))

# pylint: disable=wrong-import-position
from harness import Failed, check, equal                                        # noqa: E402
from kverbs import (LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SIGNALED, SOLICITED,     # noqa: E402
                    WITH_INVALIDATE, Kverbs)

LIMIT = 60
RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ
# Offsets in the 64 KiB of memory: of the region that the peer accesses, of the source of Sends, of the sink of Reads,
# and of the receive buffers
OPEN, OPEN_SIZE = 0, 20000
SOURCE, SINK, INBOX = 20480, 40960, 61440
NOTE = struct.Struct(">QII")        # address and STag of the region, a number
RECEIVE, RECEIVES = 1 << 32, 4      # numbers of work requests
FLUSHED = 5                         # IB_WC_WR_FLUSH_ERR


class Gone(Exception):
    """The device was removed, or the connection has ended."""


class End:
    """One end of the connection, with an open /dev/kverbs"""

    def __init__(self, role):
        self.role = role
        self.kv = Kverbs()
        self.wrs = 0
        self.inbox = 0

    def event(self, name):
        equal(self.kv.event(name, LIMIT), 0, f"status of {name}")

    def look(self, end, what):
        """Wait for one event or completion. Raise Gone if an event has ended the connection."""
        for name, _ in self.kv.events:
            if name in ("DEVICE_REMOVAL", "DISCONNECTED"):
                raise Gone(name)
        check(time.monotonic() < end, f"no {what}")
        self.kv.take(1)

    def give_up(self, why):
        """After a failure wait for the event that ended the connection: raise Gone, else fail."""
        end = time.monotonic() + LIMIT
        while True:
            self.look(end, f"end of the connection: {why}")

    def command(self, line):
        _, errno = self.kv.ask(line)
        if errno:
            self.give_up(f"{line}: {os.strerror(errno)}")

    def done(self, first, last):
        """Wait for the completion of a WR whose number is first to last. Return it."""
        end = time.monotonic() + LIMIT
        while True:
            for wc in self.kv.wcs:
                if first <= wc.id <= last:
                    self.kv.wcs.remove(wc)
                    if wc.status == FLUSHED:
                        self.give_up(f"{wc}")
                    equal(wc.status, 0, f"status of {wc}")
                    return wc
            self.look(end, f"completion of {first:#x}")

    def post_receive(self):
        self.command(f"recv {RECEIVE + self.inbox} {INBOX + 64 * self.inbox},64")
        self.inbox = (self.inbox + 1) % RECEIVES

    def start(self, address, port):
        kv = self.kv
        if self.role == "listen":
            kv.do(f"listen {address} {port}")
            print("listens", flush=True)
            self.event("CONNECT_REQUEST")
            kv.do("prepare")
        else:
            kv.do(f"resolve {address} {port}")
        for _ in range(RECEIVES):
            self.post_receive()
        kv.do("accept 4 4" if self.role == "listen" else "connect 4 4")
        self.event("ESTABLISHED")
        kv.do("mr 0 0 8 0")
        kv.do("mr 1 0 8 0")

    def post(self, words, flags=SIGNALED):
        """Post a WR, and wait until it completes. WORDS has its operation and the arguments that
        follow its ID in a command for /dev/kverbs."""
        self.wrs += 1
        kind, _, rest = words.partition(" ")
        self.command(f"post {kind} {flags} {self.wrs} {rest}")
        self.done(self.wrs, self.wrs)

    def tell(self, at, stag, number, how="send", inv=""):
        self.kv.put(SOURCE, NOTE.pack(at, stag, number))
        self.post(f"{how} 0 0 {inv} {SOURCE},{NOTE.size}", SIGNALED | SOLICITED)

    def hear(self, number):
        wc = self.done(RECEIVE, RECEIVE + RECEIVES - 1)
        equal(wc.length, NOTE.size, "length of a message")
        at, stag, got = NOTE.unpack(self.kv.get(INBOX + 64 * (wc.id - RECEIVE), NOTE.size))
        equal(got, number, "number of a message")
        self.post_receive()
        return at, stag, wc

    def round(self, number):
        kv = self.kv
        mine, theirs = (0, 1) if self.role == "connect" else (1, 0)
        data = [random.Random(2 * number + end).randbytes(OPEN_SIZE - 96) for end in (0, 1)]
        size = OPEN_SIZE - 96

        # A region of two segments, which the peer may access
        own = kv.key(0, number & 0xff)
        region = kv.map(0, [(OPEN + 96, 4000), (OPEN + 4096, OPEN_SIZE - 4096)])
        equal(region.size, size, "size of the region")
        self.post(f"reg 0 {RIGHTS}")
        self.tell(region.start, own, number)
        at, stag, _ = self.hear(number)

        # Write to the peer's region, then Send; the Send shows that all of the Write has arrived
        kv.put(SOURCE, data[mine])
        self.post(f"write {at} {stag} {SOURCE},{7} {SOURCE + 7},{size - 7}")
        self.tell(0, 0, number + 1)
        self.hear(number + 1)
        kv.expect(OPEN + 96, data[theirs])

        # Read the bytes back, into memory of the kernel, and into a region that the Read invalidates
        self.post(f"read {at} {stag} {SINK},{size}")
        kv.expect(SINK, data[mine])
        kv.put(SINK, bytes(size))
        key = kv.key(1, ~number & 0xff)
        sink = kv.map(1, [(SINK, size)])
        self.post(f"reg 1 {LOCAL_WRITE | REMOTE_WRITE}")
        self.post(f"read_inv {at} {stag} {key} {SINK},{size},{key},{sink.start}")
        kv.expect(SINK, data[mine])

        # The connector's Send invalidates the listener's region; the connector invalidates its own
        if self.role == "connect":
            self.tell(0, 0, number + 2, "send_inv", f"{stag}")
            self.hear(number + 2)
            self.post(f"inv {own}")
        else:
            _, _, wc = self.hear(number + 2)
            equal((wc.flags & WITH_INVALIDATE, wc.stag), (WITH_INVALIDATE, own), "what a Send invalidated")
            self.tell(0, 0, number + 2)

    def finish(self):
        """Close the connection, which the connector does. Both ends get DISCONNECTED."""
        if self.role == "connect":
            self.kv.do("disconnect")
        self.event("DISCONNECTED")


def main():
    role, address, port, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    end = End(role)
    try:
        end.start(address, port)
        number = 0
        while not rounds or number < rounds:
            end.round(1000 * number)
            number += 1
            if number == 1:
                print("it goes", flush=True)
        end.finish()
        print(f"{number} rounds")
    except Gone as gone:
        check(not rounds, f"{gone} in the middle")
        print(f"ended by {gone}")
    finally:
        end.kv.close()


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
