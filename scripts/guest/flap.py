#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Pull the plugs of guests, again and again.

    flap.py SOCKET...       QEMU's QMP sockets; the network device has the id "nic"

One after the other loses its carrier for a moment, until SIGTERM; then all links are up.
"""

import json
import signal
import socket
import sys
import time

DOWN, UP = 0.3, 0.9     # seconds


class Ended(Exception):
    pass


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


def end(*_):
    raise Ended


def main():
    monitors = [Monitor(path) for path in sys.argv[1:]]
    signal.signal(signal.SIGTERM, end)
    try:
        while True:
            for monitor in monitors:
                time.sleep(UP)
                monitor.link(False)
                time.sleep(DOWN)
                monitor.link(True)
    except Ended:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for monitor in monitors:
        monitor.link(True)


main()
