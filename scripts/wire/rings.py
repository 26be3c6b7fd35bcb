# SPDX-License-Identifier: GPL-2.0
"""The formats of SQ, RQ and CQ entries in the rings, memory that libsiw and the kernel share."""

import struct

SQE, RQE, CQE, SGE = 120, 112, 32, 16
MAX_SGE, MAX_INLINE = 6, 80

VALID, INLINE, SIGNALLED, SOLICITED, READ_FENCE, REM_INVAL, COMPLETED = (1 << n for n in range(7))

(OP_WRITE, OP_READ, OP_READ_LOCAL_INV, OP_SEND, OP_SEND_IMM, OP_SEND_INV, OP_FETCH_ADD,
 OP_CMP_SWAP, OP_RECEIVE, OP_READ_RESPONSE, OP_INVALIDATE, OP_REG_MR) = range(12)
USER_OPS = OP_WRITE, OP_READ, OP_SEND, OP_SEND_INV


def sge(address, length, lkey):
    return struct.pack("<QII", address, length, lkey)


def sqe(wr_id, opcode, sges=(), flags=VALID | SIGNALLED, rkey=0, raddr=0, num_sge=None, tail=None):
    """Return the bytes of an SQE. tail: bytes in place of the SGEs, such as inline data"""
    head = struct.pack("<QHBBIQ", wr_id, flags, len(sges) if num_sge is None else num_sge, opcode,
                       rkey, raddr)
    return (head + (b"".join(sges) if tail is None else tail)).ljust(SQE, b"\0")


def rqe(wr_id, sges=(), flags=VALID, num_sge=None, opcode=0, tail=None):
    head = struct.pack("<QHBBI", wr_id, flags, len(sges) if num_sge is None else num_sge, opcode, 0)
    return (head + (b"".join(sges) if tail is None else tail)).ljust(RQE, b"\0")


class Cqe:
    """The fields of a completion queue entry that the kernel wrote into the ring of a CQ"""

    def __init__(self, octets):
        self.id, self.flags, self.opcode, self.status, self.length, self.stag, self.qp = \
            struct.unpack("<QBBHIQQ", octets)
