#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Replace cm_probe for a device that has no user-space provider: kverbs, a kernel ULP, uses the device.

    kernel_probe.py listen ADDRESS PORT | connect ADDRESS PORT | device ADDRESS

Commands and output are those of cm_probe.c, and /dev/kverbs executes the commands. The answer to a command that kverbs
cannot execute is "LACKS WHAT". "device" prints "DEPTHS IRD ORD" of the device with that address, and exits.
"""

import errno
import os
import select
import sys

DEVICE = "/dev/kverbs"
# Names of enum rdma_cm_event_type; the index is the event's number
EVENTS = ("ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST", "CONNECT_RESPONSE",
          "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "ESTABLISHED", "DISCONNECTED", "DEVICE_REMOVAL",
          "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT")
# enum ib_wc_status -> the text that libibverbs has for it, and that cm_probe prints
STATUSES = {0: "success", 1: "local length error", 2: "local QP operation error", 4: "local protection error",
            5: "Work Request Flushed Error", 7: "bad response error", 8: "local access error",
            9: "remote invalid request error", 10: "remote access error", 11: "remote operation error"}
RECV = 128              # IB_WC_RECV
SIGNALED = 2            # IB_SEND_SIGNALED
ERR = 6                 # IB_QPS_ERR
BUFFER = 1 << 16        # bytes of memory that kverbs has
TURN = 10               # milliseconds between two checks for a command
WAIT = 20000            # milliseconds to wait for a completion


def say(line):
    print(line, flush=True)


class Lacks(Exception):
    """The test needs what kverbs cannot do. The argument names it: a command of cm_probe that is
    not possible with kverbs, or to take a second connect request."""


class KernelUlp:
    """Executes cm_probe's commands by means of kverbs, a ULP in the kernel: an open /dev/kverbs"""

    def __init__(self):
        self.file = os.open(DEVICE, os.O_RDWR)
        self.wcs = []

    def do(self, line):
        os.write(self.file, line.encode())
        lines = os.read(self.file, 1 << 16).decode().splitlines()
        if lines[-1] != "OK":
            number = int(lines[-1].split()[1])
            raise OSError(number, os.strerror(number))
        return lines[:-1]

    def look(self, ms):
        """Wait up to ms milliseconds for an rdma_cm event or a completion. Print the event, or
        append the completion to self.wcs. Return False if there was neither."""
        for line in self.do(f"take {ms}"):
            kind, *words = line.split()
            if kind == "EVENT":
                self.tell(int(words[0]), *words[1:])
            elif kind == "WC":
                self.wcs.append([int(word, 0) for word in words])
            elif kind == "BUSY":
                raise Lacks("a second request beside the first")
            return True
        return False

    @staticmethod
    def tell(number, status, ird, ord, pd=""):  # pylint: disable=redefined-builtin
        # Print an rdma_cm event in the format of cm_probe
        say(f"EVENT {EVENTS[number]} status={status} ird={ird} ord={ord} pd={pd}")

    # the commands of cm_probe

    def set_up(self, mode, address, port):
        self.do(f"{'listen' if mode == 'listen' else 'resolve'} {address} {port}")

    def octets(self, words):
        return "" if words == "-" else words

    def do_connect(self, ird, ord, pd):  # pylint: disable=redefined-builtin
        self.do(f"connect {ird} {ord} {self.octets(pd)}")

    def do_take(self):
        self.do("prepare")

    def do_accept_taken(self, ird, ord, pd):  # pylint: disable=redefined-builtin
        self.do(f"accept {ird} {ord} {self.octets(pd)}")

    def do_accept(self, *args):
        self.do_take()
        self.do_accept_taken(*args)

    def do_accept_again(self):
        self.do("accept 4 4")

    def do_reject(self, pd):
        self.do(f"reject {self.octets(pd)}")

    def do_recv(self):
        self.do(f"recv 1 0,{BUFFER}")

    def do_send(self, size):
        self.do(f"post send {SIGNALED} 2 0 0 0,{size}")

    def do_read(self):
        self.do(f"post read {SIGNALED} 3 0 1")

    def do_wc(self):
        for _ in range(WAIT // TURN):
            if self.wcs:
                break
            self.look(TURN)
        else:
            raise OSError(errno.ETIMEDOUT, "no completion")
        _, status, opcode, size, _, _ = self.wcs.pop(0)
        say(f"WC {'RECV' if opcode & RECV else 'SEND'} {STATUSES.get(status, 'general error')} {size}")

    def do_no_wc(self):
        while self.look(0):
            pass
        if self.wcs:
            raise OSError(errno.EEXIST, "a completion")

    def do_disconnect(self):
        self.do("disconnect")

    def do_query_qp(self):
        state, ird, ord = self.do("query")[0].split()[1:]  # pylint: disable=redefined-builtin
        say(f"QP {state} 1 {ird} {ord}")

    def do_fail_qp(self):
        self.do(f"modify {ERR}")

    def do_destroy_qp(self):
        self.do("destroy")

    def do_unlisten(self):
        self.do("unlisten")

    def run(self, line):
        verb, *words = line.split()
        function = getattr(self, f"do_{verb}", None)
        try:
            if not function:
                raise Lacks(f"{verb} of cm_probe")
            function(*words)
            say(f"OK {verb}")
        except OSError as err:
            say(f"ERROR {verb} {err.errno}")
        except Lacks as err:
            say(f"LACKS {err}")


def commands():
    """Yield each line of the standard input, and None whenever it has no complete line."""
    text = b""
    while True:
        while b"\n" in text:
            line, _, text = text.partition(b"\n")
            yield line.decode()
        if select.select([0], [], [], 0)[0]:
            part = os.read(0, 1 << 16)
            if not part:
                return
            text += part
        else:
            yield None


def main():
    mode, address, *more = sys.argv[1:]
    ulp = KernelUlp()
    if mode == "device":
        ulp.do(f"listen {address} 0")
        say(f"DEPTHS {' '.join(ulp.do('limits')[0].split()[1:])}")
        return
    if len(more) != 1:
        say("LACKS a port of its own, or a backlog")
        return
    ulp.set_up(mode, address, more[0])
    say("READY")
    for line in commands():
        if line == "quit":
            break
        try:
            if line is None:
                ulp.look(TURN)
            else:
                ulp.run(line)
        except Lacks as err:
            say(f"LACKS {err}")


main()
