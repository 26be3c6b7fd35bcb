# SPDX-License-Identifier: GPL-2.0
"""A BPF program that puts each TCP connection that this host accepts into a sockmap.

Service meshes attach such programs. This one runs at the end of TCP's handshake,
before iw_mpa accepts the socket. From then on the sockmap uses the socket's
callbacks and sk_user_data, so that iw_mpa cannot use them.
"""

import ctypes
import os
import platform
import struct

from kernel import cgroups

SYSCALL = {"x86_64": 321}[platform.machine()]
MAP_CREATE, PROG_LOAD, PROG_ATTACH, PROG_DETACH = 0, 5, 8, 9
MAP_TYPE_SOCKHASH = 18
PROG_TYPE_SOCK_OPS, ATTACH_SOCK_OPS = 13, 3
PASSIVE_ESTABLISHED = 5     # BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB
SOCK_HASH_UPDATE = 70       # bpf_sock_hash_update()
REMOTE_PORT = 64            # offset in struct bpf_sock_ops


def bpf(command, attr):
    buf = ctypes.create_string_buffer(attr, 128)
    result = ctypes.CDLL(None, use_errno=True).syscall(SYSCALL, command, buf, len(buf))
    if result < 0:
        err = ctypes.get_errno()
        raise OSError(err, f"bpf({command}): {os.strerror(err)}")
    return result


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def program(sockets):
    """Return the BPF instructions of: if (skops->op == PASSIVE_ESTABLISHED)
    bpf_sock_hash_update(skops, sockets, &skops->remote_port, BPF_ANY); return 1"""
    return b"".join((
        insn(0xbf, 6, 1),                                   # r6 = r1
        insn(0x61, 2, 6),                                   # r2 = op
        insn(0x55, 2, off=9, imm=PASSIVE_ESTABLISHED),     # if (r2 != ...) goto out
        insn(0x61, 3, 6, REMOTE_PORT),                      # r3 = remote_port
        insn(0x63, 10, 3, -4),                              # *(u32 *)(fp - 4) = r3
        insn(0xbf, 1, 6),                                   # r1 = skops
        insn(0x18, 2, 1, imm=sockets), insn(0),             # r2 = map
        insn(0xbf, 3, 10), insn(0x07, 3, imm=-4),           # r3 = fp - 4
        insn(0xb7, 4),                                      # r4 = BPF_ANY
        insn(0x85, imm=SOCK_HASH_UPDATE),                   # call
        insn(0xb7, 0, imm=1),                               # out: r0 = 1
        insn(0x95)))                                        # exit


class Sockmap:
    """The loaded BPF program, attached to all sockets of the host until close()"""

    def __init__(self):
        self.cgroup = os.open(cgroups(), os.O_RDONLY)
        self.sockets = bpf(MAP_CREATE, struct.pack("<IIII", MAP_TYPE_SOCKHASH, 4, 4, 4096))
        insns = program(self.sockets)
        text = ctypes.create_string_buffer(insns, len(insns))
        licence = ctypes.create_string_buffer(b"GPL")
        self.prog = bpf(PROG_LOAD, struct.pack(
            "<IIQQ", PROG_TYPE_SOCK_OPS, len(insns) // 8, ctypes.addressof(text),
            ctypes.addressof(licence)))
        bpf(PROG_ATTACH, struct.pack("<III", self.cgroup, self.prog, ATTACH_SOCK_OPS))

    def close(self):
        bpf(PROG_DETACH, struct.pack("<III", self.cgroup, self.prog, ATTACH_SOCK_OPS))
        for fd in (self.prog, self.sockets, self.cgroup):
            os.close(fd)
