#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write the results of clock.sh, FOLDER/rounds, as tables: clock.tsv, clock.rst and clock.html.

    report.py FOLDER ROUNDS

This fails if the result of a measurement in any of the rounds is missing.
"""

import collections
import os
import statistics
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))
import report     # noqa: E402
from report import page     # noqa: E402

ROWS = {
    "nvme-read-4k": "NVMe, read 4 KiB",
    "nvme-write-4k": "NVMe, write 4 KiB",
    "nvme-read-128k": "NVMe, read 128 KiB",
    "nvme-write-128k": "NVMe, write 128 KiB",
}
COLUMNS = ("tcp", "tcp-digest", "srnic", "plain", "srnic-large", "plain-large")
ALWAYS = COLUMNS[:4]
RATIOS = (("plain", "tcp"), ("srnic", "tcp-digest"), ("plain-large", "tcp"), ("srnic-large", "tcp-digest"))


def load(path):
    """Return the times of all rounds as {row: {column: {round: nanoseconds}}}."""
    found = {row: collections.defaultdict(dict) for row in ROWS}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            column, row, turn, value = line.split()
            found[row][column][int(turn)] = int(value)
    return found


def missing(found, rounds):
    columns = {column for by in found.values() for column in by} | set(ALWAYS)
    return [f"{column} {row} {turn}" for row in ROWS for column in COLUMNS if column in columns
            for turn in range(1, rounds + 1) if turn not in found[row][column]]


def table_of_times(found, columns):
    rows = [[words, *(round(statistics.median(found[row][column].values())) if found[row][column] else None
                      for column in columns)] for row, words in ROWS.items()]
    return report.Table("Nanoseconds of a processor that the kernel takes for an I/O, both ends, medians",
                        ["", *columns], rows)


def table_of_ratios(found):
    """Ratios of two columns within a round: the median, its 95 % interval, minimum and maximum"""
    rows = []
    for row, words in ROWS.items():
        for over, under in RATIOS:
            both = sorted(set(found[row][over]) & set(found[row][under]))
            if both:
                values = [found[row][over][i] / found[row][under][i] for i in both]
                rows.append([f"{words}: {over} to {under}", *map(float, report.interval(values)),
                             min(values), max(values)])
    return report.Table("Ratios within a round", ["", "median", "95 %: from", "to", "least", "most"], rows)


WHAT = ("NVMe, eight I/Os at a time, from a host to itself at an MTU of 1500, in a kernel that is a process of its host: "
        "the time that this process has used on a real processor. CRC32c is summed up in software there. No network "
        "card was there.")


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    found = load(os.path.join(folder, "rounds"))
    columns = [column for column in COLUMNS if any(found[row][column] for row in ROWS)]
    times, ratios = table_of_times(found, columns), table_of_ratios(found)
    lines = [("measure", *COLUMNS)]
    lines += [(name, *("-" if column not in columns or cell is None else str(cell)
                       for column, cell in ((c, dict(zip(columns, row[1:])).get(c)) for c in COLUMNS)))
              for name, row in zip(ROWS, times.rows)]
    page.write(folder, "clock.tsv", "".join("\t".join(line) + "\n" for line in lines))
    texts = [textwrap.fill(WHAT, 120) + "\n", *map(report.as_text, (times, ratios))]
    page.write(folder, "clock.rst", "\n".join(texts))
    parts = [page.paragraph(WHAT), *report.as_page(times), page.heading(ratios.title),
             page.table(ratios.head, report.cells_of(ratios))]
    page.write(folder, "clock.html", page.judged(page.page("iw_mpa: NVMe by the clock", *parts)))
    lost = missing(found, rounds)
    if lost:
        sys.exit("\n".join(["not measured:", *lost]))


main()
