# SPDX-License-Identifier: GPL-2.0
"""For judge.py: what tshark, with scripts/iw_mpa.lua, finds in each packet of a capture.

tshark reads the file twice: once for the fields, once for its verdict on CRCs, which is not a field
but text of a line. tshark 4.4 prints that text with -O and not with -T fields, 4.0 with both.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "lib", "guest"))

import judge_data   # noqa: E402
import startup      # noqa: E402

LUA = os.path.join(TOP, "scripts", "iw_mpa.lua")
# By default tshark tries these protocols on the payload of messages, which is not judged here.
QUIET = ["--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct"]
# tshark counts two more protocol layers for each FPDU in a segment. An assertion in tshark fails if there are more
# layers than this setting allows: by default 500.
DEEP = ["-o", "gui.max_tree_depth:100000"]

FRAME = ("iwarp_mpa.rev iwarp_mpa.res iwarp_mpa.marker_flag iwarp_mpa.crc_flag iwarp_mpa.rej_flag "
         "iwarp_mpa.pdlength").split()
ENHANCED = "iw_mpa.a iw_mpa.b iw_mpa.c iw_mpa.d iw_mpa.ird iw_mpa.ord".split()
FIELDS = ["frame.number", "iwarp_mpa.key.req", "iwarp_mpa.key.rep", *FRAME, "iw_mpa.s", "iw_mpa.large", *ENHANCED,
          "iwarp_mpa.ulpdulength", "iwarp_rdma.opcode", "iwarp_mpa.crc",
          "_ws.malformed", "_ws.expert.message", "_ws.expert.severity", "_ws.expert.group",
          *judge_data.FIELDS]
BAD_CRC = "Bad CRC32"
CRC_LINE = re.compile(r"Frame (?P<packet>\d+):|"
                      r" *\[CRC is good: (?P<good>True|False)\]|"
                      rf" *\[Expert Info \(.*?\): (?P<words>.*{BAD_CRC}.*)\]")

# tshark implements RFC 5044 alone, and reports these for every Request and Reply of MPA revision 2.
OLD = {"Res field is NOT set to zero as required by RFC 5044",
       "Rev field is NOT set to one as required by RFC 5044"}
WARNING, ERROR = 0x600000, 0x800000
SEQUENCE = 0x02000000       # tshark's group of messages about TCP
NOBODY = 65534

# tshark's output for a packet. items: tuples like judge_own.Item.what; complaints: messages
Seen = namedtuple("Seen", "items complaints")
# Verdicts on the CRCs in a packet. good: 1 or 0 for each FPDU with a CRC; words: tshark's messages
# about bad CRCs
Checks = namedtuple("Checks", "good words")


def run(path, *options):
    """Run tshark on a capture. Newer releases load no Lua script as root: so a process of root runs
    tshark as user nobody. As nobody may have no access to this source tree and the capture, the
    script is copied to a temporary folder, and tshark reads the capture from its standard input."""
    if os.geteuid():
        return startup.tshark(path, "-X", "lua_script:" + LUA, *QUIET, *DEEP, *options)
    with tempfile.TemporaryDirectory() as folder, open(path, "rb") as capture:
        os.chmod(folder, 0o755)
        script = shutil.copy(LUA, folder)
        os.chmod(script, 0o644)
        try:
            return startup.tshark("-", "-X", "lua_script:" + script, *QUIET, *DEEP, *options,
                                  stdin=capture, user=NOBODY, group=NOBODY, extra_groups=[],
                                  cwd=folder, env={**os.environ, "HOME": folder})
        except subprocess.CalledProcessError as error:
            error.cmd[error.cmd.index("-r") + 1] = path
            raise


def read_rows(path):
    """Yield tshark's fields of each packet with MPA, with 1 and 0 for its words for true and
    false."""
    options = ["-Y", "iwarp_mpa or _ws.malformed", "-T", "fields", "-E", "separator=/t",
               "-E", "aggregator=|"]
    for name in FIELDS:
        options += ["-e", name]
    for line in run(path, *options).splitlines():
        yield {name: "|".join(str(startup.WORDS.get(one, one)) for one in text.split("|"))
               for name, text in zip(FIELDS, line.split("\t"))}


def read_checks(path):
    """Return packet number -> Checks, tshark's verdicts on the CRCs in that packet."""
    checks, of_packet = {}, None
    for line in run(path, "-Y", "iwarp_mpa.crc_check", "-O", "iw_mpa").splitlines():
        match = CRC_LINE.match(line)
        if not match:
            continue
        if match["packet"]:
            of_packet = checks[int(match["packet"])] = Checks([], [])
        elif match["good"]:
            of_packet.good.append(startup.WORDS[match["good"]])
        else:
            of_packet.words.append(match["words"])
    return checks


def values(row, name):
    return row[name].split("|") if row.get(name) else []


def frame_seen(row):
    kind = "Request" if row["iwarp_mpa.key.req"] else "Reply"
    enhanced = None
    if row["iw_mpa.s"] == "1" and row["iw_mpa.ird"]:
        enhanced = tuple(int(row[name], 0) for name in ENHANCED)
    return kind, *(int(row[name], 0) for name in FRAME), row["iw_mpa.large"] == "1", enhanced


def fpdus_seen(row, good):
    """Return each FPDU in a packet as tuple: "FPDU", length, opcode, is the CRC good (None: no
    CRC), details. Return None if tshark did not dissect all of them as DDP and RDMAP."""
    lengths, opcodes = values(row, "iwarp_mpa.ulpdulength"), values(row, "iwarp_rdma.opcode")
    good = good or [None] * len(values(row, "iwarp_mpa.crc"))
    if not len(lengths) == len(opcodes) == len(good):
        return None
    details = judge_data.details_seen(row, [int(opcode, 0) for opcode in opcodes])
    return [("FPDU", int(length), int(opcode, 0), *more)
            for length, opcode, *more in zip(lengths, opcodes, good, details)]


def complaints_of(row):
    """Yield tshark's complaints about a packet, except those about CRCs: see read_checks()."""
    if row["_ws.malformed"]:
        yield "Malformed Packet"
    for message, severity, group in zip(values(row, "_ws.expert.message"),
                                        values(row, "_ws.expert.severity"),
                                        values(row, "_ws.expert.group")):
        severity, group = int(severity, 0), int(group, 0)
        if (severity >= ERROR or severity == WARNING and group != SEQUENCE and
                message not in OLD) and BAD_CRC not in message:
            yield message


def seen_in(row, checks):
    complaints = [*complaints_of(row), *checks.words]
    items = []
    if row["iwarp_mpa.pdlength"]:
        items.append(frame_seen(row))
    fpdus = fpdus_seen(row, checks.good)
    if fpdus is None:
        complaints.append("an FPDU that is not DDP and RDMAP")
    return Seen(items + (fpdus or []), complaints)


def read(path):
    """Return packet number -> Seen, what tshark found, for each packet with MPA or malformed data.
    """
    checks = read_checks(path)
    seen = {}
    for row in read_rows(path):
        number = int(row["frame.number"])
        seen[number] = seen_in(row, checks.get(number, Checks([], [])))
    return seen
