#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""hold_ports.py ADDRESS FIRST LAST N: occupy TCP ports until killed, except multiples of N"""

import errno
import signal
import socket
import sys


def main():
    address, first, last, every = sys.argv[1], *map(int, sys.argv[2:5])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    held = []
    for port in range(first, last + 1):
        if port % every == 0:
            continue
        sock = socket.socket(family)
        try:
            sock.bind((address, port))
            sock.listen(1)
        except OSError as error:    # a connection in TIME_WAIT occupies the port just as well
            if error.errno != errno.EADDRINUSE:
                raise
        held.append(sock)
    print(f"holding {len(held)} ports", flush=True)
    signal.pause()


main()
