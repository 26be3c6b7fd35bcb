#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Take the network links of guests down and up, again and again.

    flap.py SOCKET...       QEMU's QMP sockets; the network device has the id "nic"

One guest after the other loses its carrier for DOWN seconds. Upon SIGTERM all links are up again.
"""

import itertools
import json
import signal
import socket
import sys

DOWN, UP = 0.3, 0.9     # seconds


class Monitor:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.lines = self.sock.makefile("r", encoding="utf-8")
        self.lines.readline()
        self.do("qmp_capabilities")

    def do(self, command, **arguments):
        order = {"execute": command, "arguments": arguments}
        self.sock.sendall(json.dumps(order).encode())
        while True:
            answer = json.loads(self.lines.readline())
            if "error" in answer:
                raise OSError(answer["error"]["desc"])
            if "return" in answer:
                return

    def link(self, is_up):
        self.do("set_link", name="nic", up=is_up)


def ends_within(seconds):
    return signal.sigtimedwait({signal.SIGTERM}, seconds) is not None


def main():
    # SIGTERM is only checked between two commands of QMP, so that each command gets its answer.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    monitors = [Monitor(path) for path in sys.argv[1:]]
    for monitor in itertools.cycle(monitors):
        if ends_within(UP):
            return
        monitor.link(False)
        ended = ends_within(DOWN)
        monitor.link(True)
        if ended:
            return


if __name__ == "__main__":
    main()
