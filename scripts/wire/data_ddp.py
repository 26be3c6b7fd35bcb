# SPDX-License-Identifier: GPL-2.0
"""DDP: segments, queues, buffers and STags (RFC 5041)."""

import rdmap
from harness import check, equal
from link import Link, both
from peer import random_octets
from registry import rule
from verbs import REMOTE_READ, REMOTE_WRITE, LOCAL_WRITE


@rule("D-7.1-1", cases=both((3,), (0xffffffff,)))
def D_7_1_1_queue_that_is_not(b, qn, role):
    link = Link(b, role)
    link.qp.recv()
    link.peer.send(b"data", qn=qn)
    link.refused(rdmap.UNTAGGED_QN)


@rule("D-4.1-1", cases=both())
def D_0_works(b, role):
    link = Link(b, role)
    link.works()
