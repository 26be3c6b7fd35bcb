#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A rank of an MPI job: each rank sends data to each other rank, which compares it; rank 0 prints
how many ranks have received the right data.

Only buffers are sent, no Python objects: for objects mpi4py uses a matched probe, which hangs or
fails for messages above 16 kB over RxM of libfabric 1.17."""

import array
import random
import sys

from mpi4py import MPI

# Depending on the size, libfabric's RxM sends the data in one message or in several, or the
# receiver reads the data by RDMA.
SIZES = (1, 1000, 16000, 20000, 200000)


def data(sender, receiver, size):
    return random.Random(f"{sender} {receiver} {size}").randbytes(size)


def main():
    world = MPI.COMM_WORLD
    me, ranks = world.rank, range(world.size)
    good = True
    for size in SIZES:
        got = bytearray(size * world.size)
        world.Alltoall(b"".join(data(me, other, size) for other in ranks), got)
        good = good and got == b"".join(data(other, me, size) for other in ranks)
    total = array.array("i", [0])
    world.Allreduce(array.array("i", [good]), total)
    if me == 0:
        print(f"{total[0]} of {world.size} ranks have what was sent", flush=True)
    return 0 if total[0] == world.size else 1


sys.exit(main())
