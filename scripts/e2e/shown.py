#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check srnic's own values in "rdma resource show" against what rping does.

    shown.py CLIENT SERVER      files with a line of JSON each for the QPs, CQs and MRs of a guest

rping's client is stopped (SIGSTOP), and its server waits for it, so the values do not change. The
client posts only Sends; the server posts in turn a Read, a Send, a Write and a Send; both have a
completion for each of these."""

import json
import sys

WORDS = {"sq_size": 16, "rq_size": 2, "ord": 1, "ird": 1, "reads": 0, "tx_batch": 0, "err": 0}
WRITE, ALL = 1, 7               # access rights: only local write; local write, remote write and remote read
USER = 1                        # a region of an application's memory
SEND, RECV, DATA = 16, 16, 64   # bytes of rping's buffers


def values(entry):
    """Return the driver's own values of an entry as integers, by their names without drv_. The JSON
    has some of them as strings in hexadecimal."""
    return {name[len("drv_"):]: int(str(value), 0) for name, value in entry.items()
            if name.startswith("drv_")}


def read(path):
    with open(path, encoding="utf-8") as file:
        qps, cqs, mrs = (json.loads(line) for line in file)
    qp, = [values(qp) for qp in qps if qp.get("comm") == "rping"]
    cq, = [values(cq) for cq in cqs if cq.get("comm") == "rping"]
    return qp, cq, sorted((mr["mrlen"], *values(mr).items()) for mr in mrs)


def equal(seen, wanted, what):
    if seen != wanted:
        sys.exit(f"{what}: {seen}, not {wanted}")


def regions(number_of_data):
    found = [(SEND, 0), (RECV, WRITE)] + [(DATA, ALL)] * number_of_data
    return sorted((size, ("kind", USER), ("valid", 1), ("access", access)) for size, access in found)


def main():
    client, server = (read(path) for path in sys.argv[1:3])
    for name, (qp, cq, mrs), number_of_data in ("client", client, 2), ("server", server, 1):
        equal({word: qp[word] for word in WORDS}, WORDS, f"the {name}'s QP")
        for index in ("sq_next", "sq_sent", "sq_get"):
            equal(qp[index], qp["sq_put"], f"{index} of the {name}")
        equal(cq, {"put": qp["sq_get"] + qp["rq_get"], "get": 0, "overflowed": 0}, f"the {name}'s CQ")
        equal(mrs, regions(number_of_data), f"the {name}'s MRs")
    client, server = client[0], server[0]
    if not client["sq_put"]:
        sys.exit("nothing went")
    equal(server["rq_get"], client["sq_put"], "messages that the server got")
    equal(client["rq_get"] * 2, server["sq_put"], "twice the messages that the client got")


main()
