#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""srnic against unmodified siw: the steps, the expected results, and the table.

    cells.py variants           print a line per build of siw: NAME CONSTANT=VALUE...
    cells.py steps [--sample]   print a line per step: NUMBER VARIANT ROLE REV P2P CRC PROGRAM
    cells.py judge RESULTS PEER STEPS OUTCOMES CAPTURE...
                                print "ok" or "not ok" for each cell of STEPS; add the results to RESULTS
    cells.py table RESULTS      write the document; a step that was not run gets the result that the rules
                                say, so only a run of all steps proves the table

ROLE, REV (MPA revision), P2P (peer-to-peer model) and CRC are those of srnic. A step gives two cells of the table: IPv4
uses port 7000 + 2 * NUMBER, IPv6 the next one. siw's settings are constants in its source, and a variant is siw with
other values of these.
"""

import importlib.util
import json
import re
import sys
from collections import Counter, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent

Variant = namedtuple("Variant", "name title constants rev p2p rtr crc no_crc alone")
Step = namedtuple("Step", "number variant role rev p2p crc")

PEERS = ("6.1", "6.12")
FAMILIES = ("4", "6")
CRC = re.compile(r"\b(Good|Bad) CRC32\b")      # as tshark prints it


def variant(name, title, constants=(), rev=2, p2p=False, rtr=None, crc=False, no_crc=False,
            alone=False):
    """alone: siw, so built, closes the connection without a Reply if the Request has another
    revision than rev; it is tested only as responder, as its own Requests would not be correct"""
    return Variant(name, title, dict(constants), rev, p2p, rtr, crc, no_crc, alone)


WRITE, READ = "MPA_V2_RDMA_WRITE_RTR", "MPA_V2_RDMA_READ_RTR"
VARIANTS = [
    variant("default", "as it is"),
    variant("crc", "mpa_crc_required", {"mpa_crc_required": "true"}, crc=True),
    variant("no-crc", "mpa_crc_strict", {"mpa_crc_strict": "true"}, no_crc=True),
    variant("p2p", "peer_to_peer", {"peer_to_peer": "true"}, p2p=True, rtr="Write"),
    variant("p2p-write", "peer_to_peer, rtr_type Write",
            {"peer_to_peer": "true", "rtr_type": WRITE}, p2p=True, rtr="Write"),
    variant("p2p-read", "peer_to_peer, rtr_type Read",
            {"peer_to_peer": "true", "rtr_type": READ}, p2p=True, rtr="Read"),
    variant("v1", "mpa_version 1", {"mpa_version": "MPA_REVISION_1"}, rev=1),
    variant("v1-alone", "MPA_REVISION_2 1", {"MPA_REVISION_2": "1"}, rev=1, alone=True),
]
BY_NAME = {v.name: v for v in VARIANTS}


def make_steps():
    """Yield all steps. As responder siw does not use peer_to_peer, rtr_type and mpa_version: so
    with srnic as initiator the variants with other values of these are left out."""
    number = 0
    for v in VARIANTS:
        for crc in () if v.alone else (1, 0):
            yield Step(number, v.name, "responder", "-", "-", crc)
            number += 1
        if v.constants and not (v.crc or v.no_crc or v.alone):
            continue
        for rev, p2p in ((2, 1), (2, 0), (1, 0)):
            for crc in (1, 0):
                yield Step(number, v.name, "initiator", rev, p2p, crc)
                number += 1


STEPS = list(make_steps())


def in_sample(step):
    """Is the step in the sample? The sample has each variant of siw in each role that STEPS has for
    it; and srnic as initiator with each MPA revision, and with and without the peer-to-peer
    model."""
    if step.role == "responder":
        return step.crc == 1
    return (step.variant == "default" and step.crc == 1) or (
        step.variant != "default" and (step.rev, step.p2p, step.crc) == (2, 1, step.variant != "crc"))


def program(step):
    """Return the program for a step. rping's server takes its IRD and ORD from the Request. A
    Request of revision 1 has neither, and then siw allows the server no Reads. So rdma_client and
    rdma_server run in place of rping in such a step: they send one message each way."""
    without_depths = step.role == "initiator" and expected(step).startswith("MPA v1")
    return "rdma_client" if without_depths else "rping"


# --- the rules -------------------------------------------------------------------------------

def up(rev, crc, rtr):
    """Return the text of a table's cell for a connection. IRD and ORD are 1, as rping asks for;
    frames of revision 1 have neither."""
    depths = "IRD/ORD 1/1" if rev == 2 else "no IRD/ORD"
    return ", ".join([f"MPA v{rev}", "CRC" if crc else "no CRC",
                      f"RTR {rtr}" if rtr else "no RTR", depths])


def expected(step):
    peer = BY_NAME[step.variant]
    if step.role == "initiator":
        # siw copies the bit C of the Request into its Reply; with mpa_crc_strict it rejects a
        # Request with C. Of the RTR types that srnic offers siw prefers Write.
        if peer.no_crc and step.crc:
            return "siw rejects a Request with C"
        if peer.alone:      # it closes on a Request of revision 2, and srnic connects again
            return up(1, step.crc, None)
        return up(step.rev, step.crc, "Write" if step.p2p else None)
    # CRC is on if one side asks for it (RFC 5044 section 7.1.1); the initiator chooses the rest.
    crc = step.crc or peer.crc
    if crc and peer.no_crc:
        return "siw closes on a Reply with C"
    return up(peer.rev, crc, peer.rtr)


# --- what was seen ---------------------------------------------------------------------------

def startup():
    spec = importlib.util.spec_from_file_location("startup", HERE.parents[1] / "lib" / "guest" / "startup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rtr_of(connection):
    """Return the type of the RTR message that was sent, None if none was asked for and none was
    sent, or a text that says what is wrong: both Request and Reply have to offer the type."""
    req, rep = connection.request.enhanced, connection.reply.enhanced
    rtr = connection.rtr()
    if not (req and rep and req.a and rep.a):
        return "an RTR that nobody asked for" if rtr else None
    agreed = {"Send": req.b and rep.b, "Write": req.c and rep.c, "Read": req.d and rep.d}
    return rtr if agreed.get(rtr) else f"{rtr}, not agreed on"


def seen_on_wire(connection, outcome):
    req, rep = connection.request, connection.reply
    if not req or not rep:
        return f"{outcome}; no MPA frames in the capture"
    if outcome == "refused":
        return refused(req, rep, connection)
    if outcome != "connected":
        return outcome
    if rep.r or rep.rev != req.rev or rep.m or req.m or bool(req.enhanced) != bool(rep.enhanced):
        return f"connected on {req} and {rep}"
    if not has_message(connection.out_fpdus) or not has_message(connection.back_fpdus):
        return "connected, but not a message each way"
    text = up(rep.rev, req.c or rep.c, rtr_of(connection))
    if rep.enhanced and (rep.enhanced.ird, rep.enhanced.ord) != (1, 1):
        text += f", but {rep.enhanced.ird}/{rep.enhanced.ord} in the Reply"
    return text


def has_message(fpdus):
    return any(fpdu.opcode == 3 and fpdu.data_len >= 16 for _, fpdu in fpdus)


def refused(req, rep, connection):
    with_c = "with C" if (rep.c if not rep.r else req.c) else "without C"
    if rep.r:
        return f"{{responder}} rejects a Request {with_c}"
    if not connection.out_fpdus:
        return f"{{initiator}} closes on a Reply {with_c}"
    return "refused after the startup"


def judge(results_path, peer, steps_path, outcomes_path, captures):
    """Print a result for each cell. OUTCOMES has the lines of step.sh: NUMBER FAMILY
    connected|refused; CAPTURES show what was negotiated."""
    module = startup()
    by_port = {}
    for capture in captures:
        for connection in module.read_connections(capture):
            by_port.setdefault(connection.dport, []).append(connection)
    crcs = Counter(crc for capture in captures
                   for crc in CRC.findall(module.tshark(capture, "-V")))
    results = json.loads(results_path.read_text()) if results_path.exists() else {}
    told = {tuple(line.split()[:2]): line.split()[2] for line in open(outcomes_path)}
    steps = [STEPS[int(line.split()[0])] for line in open(steps_path)]
    for step in steps:
        for family in FAMILIES:
            seen = cell(step, family, by_port, told)
            results[key(step, peer, family)] = seen
            tell(seen == expected(step), f"{cell_name(step, peer, family)}: {seen}")
            if seen != expected(step):
                print(f"# expected: {expected(step)}")
                print(f"# alone: PEERS={peer} scripts/test/interop.sh -k '^{step.number} '")
    # No good CRC and no bad one means that tshark did not check CRCs.
    with_crc = any(", CRC," in expected(step) for step in steps)
    tell(not crcs["Bad"] and (crcs["Good"] or not with_crc),
         f"siw {peer}: tshark finds {crcs['Good']} good CRCs, and {crcs['Bad']} bad ones")
    results_path.write_text(json.dumps(results))


def tell(good, text):
    print("ok - " if good else "not ok - ", text, sep="")


def key(step, peer, family):
    return f"{peer} {family} {step.number}"


def cell(step, family, by_port, told):
    """Return what was seen of a step: of its last connection, and whether a siw that knows revision
    1 alone has closed another one before on a Request of revision 2."""
    connections = by_port.get(port(step, family), [])
    outcome = told.get((str(step.number), family), "failed")
    if not connections:
        return f"{outcome}; no connection in the capture"
    ours, theirs = step.role, {"initiator": "responder", "responder": "initiator"}[step.role]
    seen = seen_on_wire(connections[-1], outcome).format(**{ours: "srnic", theirs: "siw"})
    closed = any(c.request and c.request.rev == 2 and not c.reply for c in connections[:-1])
    if BY_NAME[step.variant].alone and closed != (step.rev == 2):
        seen += f", and revision 2 was {'' if closed else 'not '}tried before"
    return seen


def port(step, family):
    return 7000 + 2 * step.number + (family == "6")


def ours(step):
    text = [f"crc={step.crc}"]
    if step.role == "initiator":
        text = [f"mpa_rev={step.rev}"] + [f"peer_to_peer={step.p2p}"] * (step.rev == 2) + text
    return " ".join(text)


def cell_name(step, peer, family):
    ends = ["srnic", f"siw {peer} ({BY_NAME[step.variant].title})"]
    if step.role == "responder":
        ends.reverse()
    return f"{' -> '.join(ends)}, {ours(step)}, IPv{family}"


# --- the document ----------------------------------------------------------------------------

TEXT = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by scripts/test/interop.sh --write; do not edit.

=================================
srnic and siw: interoperability
=================================

``make interop`` runs srnic on Linux 6.1, and ``KERNEL=6.12 make interop`` on 6.12,
against the kernel's own siw, of Linux 6.1 and of 6.12, in two guests on one wire. What
the two ends agreed on was read from a capture on the wire. The run fails if a cell
differs from what the RFCs and the settings demand, or from this page. ``make check``
runs a third of the cells, 6.1 against 6.12 and the other way round. In the cells:

verified
    ``rping`` connected, and all data was right: Send, RDMA Read, RDMA Write
Send
    ``rdma_client`` and ``rdma_server`` connected and sent a message each way
refused
    no connection, for the reason in the column before

siw's settings are constants in its source: for a row that names one, siw was built with
that constant changed, else siw is unmodified. With ``MPA_REVISION_2 1`` it knows
revision 1 alone: it closes on a Request of revision 2, and srnic offers revision 1.
``mpa_crc_strict`` without ``mpa_crc_required`` stands for "never with CRC". srnic's
settings are its sysctls ``net.iw_mpa.*``; sysctls that a row does not name have no
effect in that role.

RTR is the message that the initiator sends first in the peer-to-peer model. C is
the bit that asks for CRC. A connection is refused where one end is set to ask for
CRC and the other never to use it. Frames of revision 1 have no IRD and ORD, and siw
as responder then allows no Reads: such rows use a program without RDMA Reads.

With ``large_fpdu``, which is off in all rows, srnic allows FPDUs of more than one TCP
segment. It says so by a reserved bit, bit 3 of the flags of a Request and bit 2 of a
Reply, and sends such FPDUs only if the peer's frame says it, too. No other place is
left: private data belongs to the ULP, and the four bytes of RFC 6581 (IRD, ORD, A to D)
have no bit to spare. A receiver must not look at reserved bits (RFC 5044 7.1.1). siw
does not: in either role it connects, and although srnic has ``large_fpdu=1``, siw gets
FPDUs of one segment. As responder it sends the Request's bits back, so a Reply has a
bit of its own. siw has bit 3 for the same purpose, in a mode that is never on
(``try_gso``). With a peer that refuses a frame with a reserved bit, ``large_fpdu`` has
to stay 0.
"""

ROLES = (("initiator", "srnic connects to siw"), ("responder", "siw connects to srnic"))


def simple_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def rows_of(role, results):
    columns = [(peer, family) for peer in PEERS for family in FAMILIES]
    yield ("siw", "srnic", "result", *(f"{peer} IPv{family}" for peer, family in columns))
    for step in STEPS:
        if step.role == role:
            yield (BY_NAME[step.variant].title, ours(step), expected(step),
                   *(short(step, results.get(key(step, peer, family), expected(step)))
                     for peer, family in columns))


def short(step, seen):
    if seen != expected(step):
        return seen
    if not seen.startswith("MPA"):
        return "refused"
    return "verified" if program(step) == "rping" else "Send"


def table(results):
    parts = [TEXT]
    for role, title in ROLES:
        parts.append(f"{title}\n{'=' * len(title)}\n\n{simple_table(list(rows_of(role, results)))}\n")
    return "\n".join(parts)


def main():
    verb, *args = sys.argv[1:]
    if verb == "variants":
        for v in VARIANTS:
            print(v.name, " ".join(f"{name}={value}" for name, value in v.constants.items()))
    elif verb == "steps":
        for step in STEPS:
            if not args or in_sample(step):
                print(*step, program(step))
    elif verb == "judge":
        judge(Path(args[0]), *args[1:4], args[4:])
    elif verb == "table":
        print(table(json.loads(Path(args[0]).read_text())), end="")


if __name__ == "__main__":
    main()
