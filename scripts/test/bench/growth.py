#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What bench.sh --growth measured: how an NVMe I/O's cost grows with the number of controllers.

    growth.py FOLDER            write FOLDER/growth.rst and FOLDER/growth.html, from FOLDER/growth with
                                COLUMN.NUMBER.cpus-CPUS.BYTES.short and .long, which are as report.py's;
                                COLUMN.NUMBER.memory and COLUMN.NUMBER.BYTES.rate.ROUND, lines "KEY NUMBER"
"""

import collections
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report     # noqa: E402
import users      # noqa: E402

COLUMNS = ("tcp", "plain", "srnic")
COUNTED = re.compile(r"(?P<column>[a-z]+)\.(?P<number>\d+)\.cpus-(?P<cpus>\d+)\.(?P<bytes>\d+)\.long")
RATE = re.compile(r"(?P<column>[a-z]+)\.(?P<number>\d+)\.(?P<bytes>\d+)\.rate\.(?P<round>\d+)")
MEMORY = re.compile(r"(?P<column>[a-z]+)\.(?P<number>\d+)\.memory")


def matching(folder, pattern):
    """Yield, for each file in FOLDER whose name PATTERN matches, its path and the match"""
    for name in sorted(os.listdir(folder)):
        match = pattern.fullmatch(name)
        if match:
            yield os.path.join(folder, name), match


def nested():
    return collections.defaultdict(dict)


def with_growth(title, found, unit):
    """Return a table. FOUND is {words of the row: {number of controllers: value}}. The last column says how many times
    the first value the last is."""
    numbers = sorted({number for by in found.values() for number in by}) or [0]
    rows = [[words, *map(by.get, numbers), report.ratio(by.get(numbers[-1]), by.get(numbers[0]))]
            for words, by in found.items()]
    return report.Table(title, ["", *map(str, numbers), "last/first"], rows, [unit] * len(rows))


def tables_of_costs(folder):
    """Yield, for each number of bytes, the instructions of the kernel for an I/O by processors and controllers."""
    found = collections.defaultdict(nested)
    for path, match in matching(folder, COUNTED):
        row = os.path.basename(path).removeprefix(match["column"] + ".").removesuffix(".long")
        cost = users.Marginal(folder, match["column"], row).kernel()
        found[int(match["bytes"])][int(match["cpus"]), COLUMNS.index(match["column"])][int(match["number"])] = cost
    for size, by in sorted(found.items()):
        yield with_growth(f"Instructions of the kernel for a read of {size // 1024} KiB, by controllers",
                          {f"{COLUMNS[column]}, processors: {cpus}": values
                           for (cpus, column), values in sorted(by.items())}, "instructions")


def table_of_memory(folder):
    """The bytes that a controller takes at both ends, from all of them together. With few controllers the memory
    that other parts of the kernel take and give back meanwhile counts more than theirs, so those are left out."""
    found = nested()
    for path, match in matching(folder, MEMORY):
        values, number = report.Measure(path).values, int(match["number"])
        for state in ("idle", "busy"):
            if number >= 64 and state in values:
                found[f"{match['column']}, {state}"][number] = (values["before"] - values[state]) * 1024 // number
    return with_growth("Bytes of memory for a controller, both ends, by controllers", found, "bytes")


def table_of_rates(folder):
    """I/Os per second by the clock, as a ratio to those over TCP of the same round; and how much the ratio falls"""
    found = collections.defaultdict(nested)
    for path, match in matching(folder, RATE):
        rate = report.Measure(path).values.get("iops")
        if rate:
            found[int(match["bytes"]), int(match["number"])][match["column"]][match["round"]] = rate
    rows = [[f"{column} to tcp, {size // 1024} KiB, controllers: {number}", *report.ratios(by, column, "tcp")]
            for (size, number), by in sorted(found.items()) for column in COLUMNS[1:] if column in by]
    return report.Table("I/Os per second by the clock", ["", "median", "95 %: from", "to"], rows)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data = os.path.join(sys.argv[1], "growth")
    tables = [table for table in (*tables_of_costs(data), table_of_memory(data), table_of_rates(data)) if table.rows]
    report.write(sys.argv[1], "growth.rst", "\n".join(map(report.as_text, tables)))
    report.write_page(sys.argv[1], "growth.html", "iw_mpa: how the cost of an I/O grows", tables)


if __name__ == "__main__":
    main()
