#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Send QEMU a command of its protocol QMP, and print what it returns, as JSON.

    qmp.py SOCKET COMMAND [ARGUMENTS]       ARGUMENTS are JSON
"""

import json
import socket
import sys


def main():
    path, command = sys.argv[1:3]
    with socket.socket(socket.AF_UNIX) as qemu:
        qemu.connect(path)
        with qemu.makefile("rw", encoding="utf-8") as lines:
            def ask(**what):
                lines.write(json.dumps(what) + "\n")
                lines.flush()
                while True:
                    answer = json.loads(lines.readline())
                    if "error" in answer:
                        sys.exit(f"{what}: {answer['error']['desc']}")
                    if "return" in answer:      # an event has no "return"
                        return answer["return"]

            lines.readline()        # the greeting
            ask(execute="qmp_capabilities")
            print(json.dumps(ask(execute=command, arguments=json.loads("".join(sys.argv[3:]) or "{}"))))


if __name__ == "__main__":
    main()
