#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare session.c with a second implementation, session.py, and with tshark.

    judge.py codec SAY        good and bad chunks: both codecs write the same bytes and read the same values
    judge.py sequences SAY    sequences of chunks and DDP-SSNs: both accept and refuse the same ones
    judge.py capture SAY      chunks of session.c in SCTP packets: tshark judges PPID, U and SSN, and with
                              scripts/iw_mpa.lua reads the same as session.py
    judge.py selftest SAY     prove that the judge of captures finds mistakes

SAY is the program compiled from say.c, which runs session.c.
"""

import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "wire"))

import fpdu             # noqa: E402
import judge_tshark     # noqa: E402
import session          # noqa: E402
import startup          # noqa: E402

SEED = 5043
ERRNO = {None: "-90"}   # session.c returns -EMSGSIZE where session.encode() returns None
SHOWN = 10              # differences that are printed


def ask(say, lines):
    """Run session.c on these lines of input for say.c; return its line of output for each."""
    answer = subprocess.run([say], input="\n".join(lines) + "\n", check=True, text=True,
                            stdout=subprocess.PIPE).stdout.splitlines()
    if len(answer) < len(lines):
        raise ValueError(f"{len(lines)} lines, {len(answer)} answers")
    return answer


def unlike(lines, answers, wanted):
    for line, got, want in zip(lines, answers, wanted):
        if got != want:
            yield f"{line[:100]}: {got[:100]}, but {want[:100]}"


def spell(data):
    return data.hex() or "-"


# --- chunks ------------------------------------------------------------------------------------

def some_chunks(dice):
    """Control chunks of each function code, many with the least or greatest value of a field"""
    for size in (0, 1, 2, 3, 4, 255, 256, 507, 508, 509, 511, 512, 513, 600):
        for code in range(1, 8):
            for _ in range(20):
                enhanced = session.is_enhanced(code)
                a = dice.randrange(2) if enhanced else 0
                yield session.Chunk(code, dice.choice((0, 1, 0x7fff, 0xffff, dice.randrange(65536))),
                                    a, dice.randrange(8) if a else 0,
                                    *(dice.choice((0, 1, 0x3ffe, 0x3fff, dice.randrange(16384)))
                                      if enhanced else 0 for _ in range(2)),
                                    b"" if code == session.TERMINATE else dice.randbytes(size))


def line_of(chunk):
    return (f"encode {chunk.ssn} {chunk.code} {chunk.a} {chunk.rtr} {chunk.ird} {chunk.ord} "
            f"{spell(chunk.pd)}")


def read_as(ppid, data):
    """Return the line that say.c has to print for "decode", according to session.py."""
    try:
        code, *numbers, pd = session.decode(ppid, data)
    except session.Bad as bad:
        return str(bad)
    return " ".join(map(str, (code, *numbers, spell(pd))))


def some_octets(dice, good):
    """Yield (PPID, chunk) to decode: the valid chunks GOOD, as they are, cut, and with one bit
    changed; short chunks of zeros; chunks of all function codes and many sizes; random bytes."""
    yield from ((17, data) for data in good)
    for ppid in (0, 15, 16, 17, 18, 16 << 24, 17 << 24):
        for size in range(12):
            yield ppid, bytes(size)
    for code in range(12):
        for size in range(9):
            yield 17, struct.pack(">HH", 1, code) + dice.randbytes(size)
        for size in (511, 512, 513, 65532):
            yield 17, struct.pack(">HH", 1, code) + dice.randbytes(size)
    for data in good:
        yield 17, data[:dice.randrange(len(data) + 1)]
        changed = bytearray(data)
        changed[dice.randrange(min(8, len(data)))] ^= 1 << dice.randrange(8)
        yield 17, bytes(changed)
    for _ in range(2000):
        yield dice.choice((16, 17)), dice.randbytes(dice.randrange(40))


def codec(say):
    dice = random.Random(SEED)
    chunks = list(some_chunks(dice))
    good = [session.encode(chunk) for chunk in chunks]
    lines = [line_of(chunk) for chunk in chunks]
    yield from unlike(lines, ask(say, lines),
                      [data.hex() if data else ERRNO[data] for data in good])
    octets = list(some_octets(dice, [data for data in good if data]))
    lines = [f"decode {ppid} {spell(data)}" for ppid, data in octets]
    yield from unlike(lines, ask(say, lines), [read_as(*one) for one in octets])


# --- sequences ---------------------------------------------------------------------------------

EACH = session.LETTERS + session.LETTERS.upper()
LIKELY = "sSsSsStT"


def some_sequences(dice):
    """All sequences of one to four chunks, and random longer ones that begin with a legal start"""
    for size in range(1, 5):
        for letters in itertools.product(EACH, repeat=size):
            # The RFCs do not say what follows a violation, so only the last chunk may be one.
            if size < 3 or session.TAKEN.fullmatch("".join(letters[:size - 1])):
                yield "".join(letters)
    for _ in range(5000):
        middle = "".join(dice.choices(LIKELY, k=dice.randrange(12)))
        yield dice.choice(("Ia", "Ec")) + middle + dice.choice(EACH)


def verdict(active, sequence):
    found = session.judge(active, sequence)
    if found:
        return f"{found[0]} {found[1]}"
    return "legal, owes" if session.owes(active, sequence) else "legal"


def sequences(say):
    dice = random.Random(SEED)
    asked = [(role, one) for one in some_sequences(dice) for role in ("active", "passive")]
    lines = [f"walk {role} {one}" for role, one in asked]
    yield from unlike(lines, ask(say, lines),
                      [verdict(role == "active", one) for role, one in asked])
    places = [(dice.randrange(65536), dice.randrange(65536), dice.choice((1, 2, 64, 32768)))
              for _ in range(300)]
    places += [(at, (at + step) % 65536, window) for at in (0, 1, 65535, 32768)
               for window in (1, 2, 64, 32768) for step in (-1, 0, 1, 63, 64, 32767, 32768, -32768)]
    lines = ["place %d %d %d" % one for one in places]
    yield from unlike(lines, ask(say, lines), [session.place(*one) for one in places])


# --- captures ----------------------------------------------------------------------------------

UNORDERED, WHOLE = 4, 3         # flags of a DATA chunk: U, B and E
PASSIVE_PORT, FIRST_PORT = 5043, 20000  # the active side of session N has the port FIRST_PORT + N

PLAYS = [
    ("IaSsT", 0, 0, 0, 0, b"what the ULP has to say"),
    ("IaSSsstT", 0, 0, 0, 0, b""),
    ("Ir", 0, 0, 0, 0, b"no"),
    ("It", 0, 0, 0, 0, bytes(512)),
    ("EcSsT", 1, session.WRITE, 16, 16, b"enhanced"),
    ("EcsStSST", 1, session.SEND | session.READ, 0x3fff, 1, b""),
    ("Ex", 0, 0, 1, 0x3ffe, bytes(range(200))),
    ("Et", 1, 7, 0, 0, bytes(508)),
]


def played(say):
    """For each session of PLAYS yield a list of (sender is active, PPID, data), as session.c makes
    the chunks."""
    lines = [f"play {letters} {a} {rtr} {ird} {ord_} {spell(pd)}"
             for letters, a, rtr, ird, ord_, pd in PLAYS]
    answers = iter(ask(say, lines))
    for letters, *_ in PLAYS:
        chunks = []
        for letter in letters:
            ppid, data = next(answers).split()
            chunks.append((letter.isupper(), int(ppid), bytes.fromhex(data)))
        yield chunks


def packet(port, active, tsn, ssn, ppid, data, flags=UNORDERED | WHOLE):
    """Return an IP packet with one DATA chunk; PORT is the port of the active side."""
    source, sink = (port, PASSIVE_PORT) if active else (PASSIVE_PORT, port)
    chunk = struct.pack(">BBHIHHI", 0, flags, 16 + len(data), tsn, 0, ssn, ppid) + data
    chunk += bytes(-len(chunk) % 4)
    head = struct.pack(">HHI", source, sink, 1 + active)
    check = struct.pack("<I", fpdu.crc32c(head + bytes(4) + chunk))
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(head) + 4 + len(chunk), 0, 0, 64, 132, 0,
                     bytes((10, 0, 0, 1 + active)), bytes((10, 0, 0, 2 - active)))
    return ip + head + check + chunk


class Stack:
    """Numbers the DATA chunks of an SCTP association. RFC 5043 sends chunks unordered; their SSNs
    count up here all the same, so that tshark's SSN can be compared with the DDP-SSN."""

    def __init__(self, number_):
        self.port = FIRST_PORT + number_
        self.ssn = [0, 0]
        self.tsn = 1

    def send(self, active, ppid, data, **how):
        made = packet(self.port, active, self.tsn, self.ssn[active], ppid, data, **how)
        self.ssn[active] += 1
        self.tsn += 1
        return made


def packets_of(sessions, first=0):
    """Yield the packets of all sessions. Each session is an association of its own, in which TSNs,
    SSNs and DDP-SSNs begin anew."""
    for number_, chunks in enumerate(sessions, first):
        stack = Stack(number_)
        for chunk in chunks:
            yield stack.send(*chunk)


def write_capture(path, packets):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 228))
        for number, data in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(data), len(data)) + data)


CHUNK = ["sctp.checksum.status", "sctp.data_payload_proto_id", "sctp.data_u_bit", "sctp.data_b_bit",
         "sctp.data_e_bit", "sctp.data_ssn"]
CONTENT = ["iw_mpa.ssn", "iw_mpa.function", "iw_mpa.a", "iw_mpa.b", "iw_mpa.c", "iw_mpa.d",
           "iw_mpa.ird", "iw_mpa.ord", "iw_mpa.pd_len", "iw_mpa.pd", "iwarp_rdma.opcode"]
COMPLAINTS = ["_ws.malformed", "_ws.expert.message"]


def seen(path):
    options = ["-o", "sctp.checksum:CRC 32c", "-Y", "sctp", "-T", "fields", "-E", "separator=/t"]
    names = CHUNK + CONTENT + COMPLAINTS
    for name in names:
        options += ["-e", name]
    for line in judge_tshark.run(path, *options).splitlines():
        yield dict(zip(names, line.split("\t")))


def number(text):
    return startup.number(text, None)


def content_wanted(ppid, data):
    """Return the fields that tshark with scripts/iw_mpa.lua has to show for a chunk with DATA: what
    session.py decodes."""
    chunk = session.decode(ppid, data)
    wanted = dict.fromkeys(CONTENT)
    wanted["iw_mpa.ssn"] = chunk.ssn
    if ppid == session.SEGMENT_PPID:
        wanted["iwarp_rdma.opcode"] = 0         # RDMA Write
        return wanted
    wanted["iw_mpa.function"] = chunk.code
    if chunk.code != session.TERMINATE:
        wanted["iw_mpa.pd_len"] = len(chunk.pd)
        wanted["iw_mpa.pd"] = chunk.pd.hex() or None
    if session.is_enhanced(chunk.code):
        wanted.update({"iw_mpa.a": chunk.a, "iw_mpa.ird": chunk.ird, "iw_mpa.ord": chunk.ord})
        for name, rtr in (("b", session.SEND), ("c", session.WRITE), ("d", session.READ)):
            wanted["iw_mpa." + name] = int(bool(chunk.rtr & rtr))
    return wanted


def judge_packet(row, active, ppid, data, sequence):
    """Yield each difference between tshark's row and the chunk in the capture. SEQUENCE has the
    expected SSNs of both sides."""
    for name, want in (("sctp.checksum.status", 1), ("sctp.data_payload_proto_id", ppid),
                       ("sctp.data_u_bit", 1), ("sctp.data_b_bit", 1), ("sctp.data_e_bit", 1),
                       ("sctp.data_ssn", sequence[active])):
        if number(row[name]) != want:
            yield f"{name} is {row[name]}, not {want}"
    if number(row["iw_mpa.ssn"]) != number(row["sctp.data_ssn"]):
        yield f"DDP-SSN {row['iw_mpa.ssn']}, SSN {row['sctp.data_ssn']}"
    try:
        wanted = content_wanted(ppid, data)
    except session.Bad as bad:
        yield f"session.py: {bad}"
        return
    for name, want in wanted.items():
        got = row[name] or None
        if name != "iw_mpa.pd":
            got = number(row[name])
        if got != want:
            yield f"{name} is {got}, not {want}"
    for name in COMPLAINTS:
        if row[name]:
            yield f"{name}: {row[name]}"


def rows_of(packets):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "session.pcap")
        write_capture(path, packets)
        rows = list(seen(path))
    if len(rows) != len(packets):
        raise ValueError(f"{len(packets)} chunks, and tshark sees {len(rows)}")
    return rows


def judge_rows(rows, sessions):
    """Yield all differences between tshark's rows and the sessions in the capture."""
    rows = iter(rows)
    for (letters, *_), chunks in zip(PLAYS, sessions):
        sequence = [0, 0]
        for letter, (active, ppid, data) in zip(letters, chunks):
            for fault in judge_packet(next(rows), active, ppid, data, sequence):
                yield f"{letters}, {letter}: {fault}"
            sequence[active] += 1


def capture(say):
    sessions = list(played(say))
    yield from judge_rows(rows_of(list(packets_of(sessions))), sessions)


# --- selftest ----------------------------------------------------------------------------------

def changed(sessions, which, at, change):
    """Return the sessions with the bytes of one chunk changed: chunk AT of session WHICH."""
    return [[(*chunk[:2], change(chunk[2])) if (which, at) == (i, j) else chunk
             for j, chunk in enumerate(chunks)] for i, chunks in enumerate(sessions)]


def flip(offset, bit):
    return lambda data: data[:offset] + bytes([data[offset] ^ bit]) + data[offset + 1:]


# Changes that judge_rows() has to report: session, chunk, change, text of the report
CONTENT_FLAWS = [
    (0, 0, flip(1, 1), "DDP-SSN 1, SSN 0"),
    (0, 2, flip(0, 1), "DDP-SSN"),
    (0, 0, flip(3, 3), "iw_mpa.function is 2, not 1"),
    (4, 0, flip(4, 0x80), "iw_mpa.a is 0, not 1"),
    (4, 0, flip(4, 0x40), "iw_mpa.b is 1, not 0"),
    (4, 0, flip(6, 0x80), "iw_mpa.c is 0, not 1"),
    (4, 1, flip(6, 0x40), "iw_mpa.d is 1, not 0"),
    (4, 1, flip(5, 1), "iw_mpa.ird is 17, not 16"),
    (4, 1, flip(7, 1), "iw_mpa.ord is 17, not 16"),
    (4, 1, flip(9, 1), "iw_mpa.pd is"),
    (6, 1, lambda data: data + b"\0", "iw_mpa.pd_len is 201, not 200"),
    (0, 4, lambda data: data + b"\0", "private data in a Terminate"),
    (3, 0, lambda data: data + b"\0", "more private data than 512"),
    (4, 0, lambda data: data[:7], "IRD and ORD are missing"),
    (0, 0, flip(2, 0x80), "no such function"),
    (0, 2, lambda data: data[:1], "no DDP-SSN"),
    (0, 0, lambda data: data[:3], "no function code"),
    (6, 0, flip(6, 0x80), "B, C or D without A"),
]
CHUNK_FLAWS = [
    (lambda stack, chunk: stack.send(*chunk, flags=WHOLE), "sctp.data_u_bit is"),
    (lambda stack, chunk: stack.send(*chunk, flags=UNORDERED | 2), "sctp.data_e_bit is"),
    (lambda stack, chunk: stack.send(chunk[0], 33 - chunk[1], chunk[2]),
     "sctp.data_payload_proto_id is"),
    (lambda stack, chunk: packet(stack.port, chunk[0], 9, 9, *chunk[1:]), "sctp.data_ssn is 9"),
    (lambda stack, chunk: flip(39, 1)(stack.send(*chunk)), "sctp.checksum.status is"),
]


def with_flaw(sessions, flaw, first):
    """Return the packets of the sessions, with the first packet made by FLAW, the function in a
    row of CHUNK_FLAWS."""
    made = list(packets_of(sessions, first))
    return [flaw(Stack(first), sessions[0][0])] + made[1:]


def selftest(say):
    sessions = list(played(say))
    firsts = itertools.count(step=len(sessions))
    tries = [(list(packets_of(changed(sessions, which, at, change), next(firsts))), words)
             for which, at, change, words in CONTENT_FLAWS]
    tries += [(with_flaw(sessions, flaw, next(firsts)), words) for flaw, words in CHUNK_FLAWS]
    rows = iter(rows_of([packet_ for packets, _ in tries for packet_ in packets]))
    for packets, words in tries:
        found = list(judge_rows(itertools.islice(rows, len(packets)), sessions))
        if len({fault.split(": ")[0] for fault in found}) != 1:
            yield f"{words}: not in one chunk: {found[:3]}"
        if not any(words in fault for fault in found):
            yield f"not found: {words}: {found[:3]}"


def main():
    what, say = sys.argv[1:]
    found = list({"codec": codec, "sequences": sequences, "capture": capture,
                  "selftest": selftest}[what](say))
    print(*(line + "\n" for line in found[:SHOWN]), sep="", end="")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
