#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Test fpdu.py, rdmap.py, conduct.py and judge_data.py, on which the wire tests depend.

Their results are compared with known bytes: the CRCs of RFC 3720, two FPDUs of RFC 5044
(figures 5 and 6), and four Terminates. fpdu.Reader must also read what fpdu.Writer
made, with and without Markers, in pieces of any size.
"""

import random
import sys

import conduct
import fpdu
import judge_data
import rdmap

CRCS = [
    # RFC 3720 B.4
    (bytes(32), 0x8a9136aa),
    (b"\xff" * 32, 0x62a8ab43),
    (bytes(range(32)), 0x46dd794e),
    (bytes(range(31, -1, -1)), 0x113fdb5c),
]

TERMINATES = [
    (rdmap.MPA_CRC, b"",
     "0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585"),
    (rdmap.TAGGED_STAG, rdmap.write(0x12345678, 0x1000, bytes(16)),
     "0026 4147 00000000 00000002 00000001 00000000 1100c000 001ec140 12345678 00000000 00001000"
     "4b89d3e9"),
    (rdmap.UNTAGGED_BUFFER, rdmap.untagged(rdmap.SEND, bytes(4), msn=5),
     "002a 4147 00000000 00000002 00000001 00000000 1202c000 00164143 00000000 00000000 00000005"
     "00000000 ccd55b35"),
    (rdmap.READ_RIGHT, rdmap.read_request(rdmap.Read(0xa01, 0x1000, 0x1000, 0xb02, 0x2000), msn=3),
     "0046 4147 00000000 00000002 00000001 00000000 0102e000 002e4141 00000000 00000001 00000003"
     "00000000 00000a01 00000000 00001000 00001000 00000b02 00000000 00002000 c592edd7"),
]


def octets(text):
    return bytes.fromhex(text)


def crcs():
    for data, want in CRCS:
        for function in (fpdu.crc32c, fpdu.crc32c_slowly):
            if function(data) != want:
                yield f"CRC of {data.hex()} is {function(data):#x}"


def vectors():
    for error, ulpdu, want in TERMINATES:
        got = fpdu.Writer().fpdu(rdmap.terminate(rdmap.terminate_body(error, ulpdu)))
        if got != octets(want):
            yield f"Terminate {error} is {got.hex()}"
        again = rdmap.Terminate(rdmap.Segment(got[2:-4]))
        if again.error != error:
            yield f"Terminate {error} is read as {again.error}"


def mulpdus():
    for emss, markers, want in ((1448, False, 1442), (1447, False, 1438), (1460, False, 1454),
                                (1448, True, 1430), (8948, True, 8870), (100, False, 128),
                                (65483, False, 64768)):
        if fpdu.mulpdu(emss, markers) != want:
            yield f"MULPDU of {emss} is {fpdu.mulpdu(emss, markers)}"


def round_trips():
    """fpdu.Reader must return the ULPDUs that fpdu.Writer got, and with Markers the stream must
    have one every 512 bytes."""
    dice = random.Random(5044)
    for markers in (False, True):
        writer, reader = fpdu.Writer(True, markers), fpdu.Reader(True, markers)
        sent, stream = [], b""
        for size in [*range(14, 80), 500, 504, 508, 512, 4096, 64768,
                     *dice.choices(range(600), k=300)]:
            sent.append(dice.randbytes(max(size, 14)))
            stream += writer.fpdu(sent[-1])
        for at in range(0, len(stream), fpdu.SPACING):
            if markers and (stream[at:at + 2] != b"\0\0" or len(stream) - at < 4):
                yield f"no Marker at {at}"
        got = []
        while stream:
            size = dice.choice((1, 3, 100, 5000))
            reader.feed(stream[:size])
            stream = stream[size:]
            while True:
                one = reader.take()
                if not one:
                    break
                got.append(one.ulpdu)
        if got != sent or reader.buffer:
            yield f"markers {markers}: not what was sent"


def flaws():
    """fpdu.Reader must refuse a wrong CRC, pad or Marker."""
    changes = {
        "CRC": {"check": lambda field: bytes([field[0] ^ 1]) + field[1:]},
        "pad": {"pad": b"\1"},
    }
    for name, change in changes.items():
        yield from not_bad(name, fpdu.Writer().fpdu(bytes(17), **change), fpdu.Reader())
    for name, value in (("zero bits", b"\1\0\0\0"), ("FPDUPTR", b"\0\0\0\4")):
        writer = fpdu.Writer(True, True)
        octets_ = writer.fpdu(bytes(17), marker=lambda _, value=value: value)
        yield from not_bad(name, octets_, fpdu.Reader(True, True))


def not_bad(name, stream, reader):
    reader.feed(stream)
    try:
        reader.take()
    except fpdu.Bad:
        return
    yield f"not found: {name}"


def figures():
    """fpdu.Writer must make the FPDUs of RFC 5044, figures 5 and 6. The RFC does not show the bytes
    of the stream between the two: Writer.skip() counts them."""
    writer = fpdu.Writer(True, True)
    first = rdmap.untagged(rdmap.SEND, bytes(24), msn=1)
    got = writer.fpdu(first).hex()
    if got != "00000000" "002a4143" "00000000" "00000000" "00000001" "00000000" + "00" * 24 + \
            "52239983":
        yield f"figure 5 is {got}"
    writer = fpdu.Writer(True, True)
    writer.skip(0x1ec)
    got = writer.fpdu(rdmap.untagged(rdmap.SEND, bytes(24), msn=2)).hex()
    if got != "002a4143" "00000000" "00000000" "00000002" "00000000" "00000014" + "00" * 24 + \
            "84925898":
        yield f"figure 6 is {got}"


def codes():
    """conduct.Conduct must refuse a Terminate whose MPA code is only for the startup."""
    for code in range(8):
        ulpdu = rdmap.terminate(rdmap.terminate_body(rdmap.Error(2, 0, code, rdmap.NONE)))
        try:
            conduct.Conduct().heard(rdmap.Segment(ulpdu))
            refused = False
        except rdmap.Bad:
            refused = True
        if refused != (code > 3):
            yield f"Terminate 2/0/{code:02x}: {'refused' if refused else 'taken'}"


DISSECTED = [
    rdmap.write(0x1234, 0x5678, b"data"), rdmap.response(1, 2, last=False),
    rdmap.untagged(rdmap.SEND, b"data", msn=3, mo=4), rdmap.untagged(rdmap.SEND_INV, msn=1, inv=7),
    rdmap.read_request(rdmap.Read(1, 2, 3, 4, 5), msn=2),
    *(rdmap.terminate(rdmap.terminate_body(error, ulpdu)) for error, ulpdu, _ in TERMINATES),
]


def judges():
    """judge_data.agree() must find any difference between two readings of a segment."""
    for ulpdu in DISSECTED:
        own = judge_data.details_read(ulpdu)
        if own is None or not judge_data.agree(own, own):
            yield f"judge_data: {own} does not agree with itself"
            continue
        for name, value in own._asdict().items():
            for other in others(value):
                if judge_data.agree(own, own._replace(**{name: other})):
                    yield f"judge_data: {name} {other} is taken for {value}"


def others(value):
    """Return copies of value; in each, the lowest bit of one byte, element or number is
    inverted."""
    if isinstance(value, tuple):
        return [value[:i] + (value[i] ^ 1,) + value[i + 1:] for i in range(len(value))]
    if isinstance(value, bytes):
        return [value[:i] + bytes([value[i] ^ 1]) + value[i + 1:] for i in range(len(value))]
    return [] if value is None else [value ^ 1]


def main():
    wrong = [line for part in (crcs, vectors, mulpdus, round_trips, flaws, figures, codes, judges)
             for line in part()]
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
