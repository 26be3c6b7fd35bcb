#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What bench.sh --users measured: the cost of an I/O over RDMA, and over the TCP protocol it has besides.

    users.py FOLDER             write FOLDER.tsv, FOLDER.rst and FOLDER.html, from FOLDER.when and the files
                                COLUMN.ROW.short and COLUMN.ROW.long in FOLDER, which are as report.py's
    users.py --write FOLDER     write the figures into the page; check-docs.py --write copies them to README.md

A figure is marginal: (long run - short run) / (I/Os of the long one - I/Os of the short one).
"""

import collections
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report     # noqa: E402
from report import page     # noqa: E402

COLUMNS = ("tcp", "tcp-digest", "siw", "rxe", "srnic", "plain", "srnic-large", "plain-large")
ROWS = {
    "nvme-read-4k": "NVMe, read 4 KiB",
    "nvme-write-4k": "NVMe, write 4 KiB",
    "nvme-read-128k": "NVMe, read 128 KiB",
    "nvme-write-128k": "NVMe, write 128 KiB",
    "nfs-read-4k": "NFS, read 4 KiB",
    "nfs-write-4k": "NFS, write 4 KiB",
    "nfs-read-1m": "NFS, read 1 MiB",
    "nfs-write-1m": "NFS, write 1 MiB",
    "iser-read-4k": "iSCSI, read 4 KiB",
    "iser-write-4k": "iSCSI, write 4 KiB",
    "iser-read-128k": "iSCSI, read 128 KiB",
}
TCP_NAME = {"nvme": "NVMe/TCP", "nfs": "NFS over TCP", "iser": "iSCSI over TCP"}
# Pairs of columns that can be compared: both transports checksum all bytes, or neither does.
RATIOS = (("plain", "tcp"), ("srnic", "tcp-digest"), ("plain-large", "tcp"), ("srnic-large", "tcp-digest"))
# Percent by which two transports have to differ for one to be preferred: a row over TCP differs by up to 15 % between
# two boots.
NEAR = 10
PAGE = "Documentation/infiniband/iw_mpa_performance.rst"
TOP = pathlib.Path(__file__).resolve().parents[3]


# --- the tables of the pages: from figures to text, and back ------------------------------------------

Figures = collections.namedtuple("Figures", "when rows")    # "DATE COMMIT KERNEL VERSION"; {row: {column: n}}


def quotient(values, over, under):
    have = over in values and under in values
    return f"{values[over] / values[under]:.2f}" if have else "-"


def ratio_heads():
    return [f"{over}/{under}" for over, under in RATIOS]


def when_of(figures):
    date, commit, kernel, version = figures.when.split()
    return f"Measured on {date}, with commit {commit}, on Linux {kernel} ({version})"


def page_lines(figures):
    """Yield the tables of PAGE, as lines: first the instructions that were measured, then their
    ratios."""
    yield ""
    yield when_of(figures) + ":"
    for head, cells in ((COLUMNS, lambda values: [f"{values[name]:,}" if name in values else "-"
                                                  for name in COLUMNS]),
                        (ratio_heads(), lambda values: [quotient(values, *pair) for pair in RATIOS])):
        rows = [["", *head]] + [[name, *cells(figures.rows.get(name, {}))] for name in ROWS]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        rule = "  ".join("=" * width for width in widths)
        lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in
                                                        zip(row[1:], widths[1:])]) for row in rows]
        yield from ("", rule, lines[0], rule, *lines[1:], rule)
    yield ""


def figures_of(lines):
    """Return as Figures what the first table in LINES, the output of page_lines(), has."""
    text = "\n".join(lines)
    when = re.search(r"Measured on (\S+), with commit (\S+), on Linux (\S+) \((\S+)\)", text)
    rows = {}
    for line in lines:
        name, *cells = line.split() or [""]
        if name in ROWS and len(cells) == len(COLUMNS):
            rows[name] = {column: int(cell.replace(",", "")) for column, cell in zip(COLUMNS, cells)
                          if cell != "-"}
    return Figures(" ".join(when.groups()) if when else "- - - -", rows)


def choice(kind, values, over, under):
    """Return which transport costs less, or "either", and the ratio of srnic's cost, column OVER, to
    that of the same protocol over TCP, column UNDER. KIND is the protocol: nvme, nfs or iser."""
    if over not in values or under not in values:
        return "-"
    if 100 * abs(values[over] - values[under]) <= NEAR * values[under]:
        name = "either"
    else:
        name = "srnic" if values[over] < values[under] else TCP_NAME[kind]
    return f"{name} ({quotient(values, over, under)})"


def readme_lines(figures):
    """Yield the lines of the short table in README.md."""
    yield from ("", "| I/O | without CRC and digests | with them |", "| --- | --- | --- |")
    for name, words in ROWS.items():
        values = figures.rows.get(name, {})
        cells = [choice(name.split("-")[0], values, *pair) for pair in RATIOS[:2]]
        yield f"| {words} | {cells[0]} | {cells[1]} |"
    yield from ("", when_of(figures) + ".", "")


# --- what was measured --------------------------------------------------------------------------------


def load(folder):
    """Return the figures that FOLDER has files of, as {row: {column: Marginal}}."""
    found = {row: {} for row in ROWS}
    for row in ROWS:
        for column in COLUMNS:
            if os.path.exists(os.path.join(folder, f"{column}.{row}.long")):
                found[row][column] = Marginal(folder, column, row)
    return found


class Marginal:
    """The cost of one more I/O: of the kind ROW, over the transport COLUMN"""

    def __init__(self, folder, column, row):
        self.long, self.short = (self.read(os.path.join(folder, f"{column}.{row}.{run}"))
                                 for run in ("long", "short"))
        self.more = self.long.count - self.short.count

    @staticmethod
    def read(path):
        measure = report.Measure(path)
        measure.functions = collections.Counter()
        with open(path + ".split", encoding="ascii") as lines:
            for line in lines:
                _, group, function, insns, _ = line.split()
                measure.functions[int(group), function] += int(insns)
        return measure

    def of(self, number):
        """NUMBER(run) is a number for a whole run, such as its instructions. Return it for one more
        I/O: the difference between the two runs, divided by that of their numbers of I/Os."""
        return (number(self.long) - number(self.short)) / self.more

    def kernel(self):
        return round(self.of(lambda run: sum(insns for (_, group), insns in run.insns.items()
                                             if group != report.USER)))

    def group(self, group):
        return round(self.of(lambda run: sum(insns for (_, g), insns in run.insns.items() if g == group)))

    def functions(self):
        """Return the instructions of each function for an I/O, whichever group has called it."""
        names = {key for key in self.long.functions if key[0] != report.USER}
        found = collections.Counter()
        for key in names:
            found[key[1]] += self.of(lambda run, k=key: run.functions[k])
        return found


def write_tsv(folder, rows):
    lines = [("measure", *COLUMNS)]
    lines += [(name, *(str(rows[name].get(column, "-")) for column in COLUMNS)) for name in ROWS]
    page.write(os.path.dirname(folder), os.path.basename(folder) + ".tsv",
               "".join("\t".join(line) + "\n" for line in lines))


def groups_tables(found):
    """For each row, where the instructions go"""
    for name, by in found.items():
        if by:
            columns = [column for column in COLUMNS if column in by]
            rows = [[words or "before the first of these", *(by[column].group(group) for column in columns)]
                    for group, (words, _) in enumerate(report.GROUPS) if group != report.USER]
            yield report.Table(f"Where they go: {ROWS[name]}", ["", *columns], rows)


def functions_tables(found, columns=("tcp", "plain"), most=25):
    """Yield tables of the kernel's functions that take most of the instructions for an I/O."""
    for name, by in found.items():
        for column in columns:
            if column in by:
                rows = [[function, round(insns)] for function, insns in by[column].functions().most_common(most)]
                yield report.Table(f"Most of it: {ROWS[name]}, {column}", ["", "instructions"], rows)


def bars_of(rows):
    """Return the columns that have figures; and for each row (title, figures in these columns)."""
    columns = [column for column in COLUMNS if any(column in by for by in rows.values())]
    return columns, [(ROWS[name], [by.get(column) for column in columns]) for name, by in rows.items() if by]


def report_all(folder):
    found = load(folder)
    rows = {name: {column: one.kernel() for column, one in by.items()} for name, by in found.items()}
    write_tsv(folder, rows)
    with open(folder + ".when", encoding="ascii") as source:
        figures = Figures(source.read().strip(), rows)
    groups = list(groups_tables(found))
    title = "Instructions of the kernel per I/O, both ends, MTU 1500"
    where, name = os.path.split(folder)
    texts = [title + "\n" + "-" * len(title), *page_lines(figures)]
    texts += map(report.as_text, groups + list(functions_tables(found)))
    page.write(where, name + ".rst", "\n".join(texts))
    columns, bars = bars_of(rows)
    parts = [page.paragraph("What the kernel does for an I/O at both ends, in instructions: of NVMe and iSCSI eight at "
                            "a time, of NFS one at a time. tcp: the protocol's own transport, without RDMA; siw, rxe: as "
                            "the kernel has them; srnic: as it comes, with CRC; plain: without CRC; large: with large "
                            "FPDUs. The clock of the guest counts instructions: nothing here is the time of a network "
                            "card or of a processor."),
             page.paragraph(when_of(figures) + "."),
             *map(page.figure, page.charts(columns, bars, ["instructions"] * len(bars))),
             page.note("All bars of a plot have one scale. What is much less has another plot."),
             page.table(["", *columns], [[words, *map(report.number, values)] for words, values in bars]),
             page.table(["", *ratio_heads()], [[ROWS[name], *(quotient(by, *pair) for pair in RATIOS)]
                                               for name, by in rows.items() if by])]
    for table in groups:
        parts += [page.heading(table.title), page.table(table.head, report.cells_of(table))]
    page.write(where, name + ".html", page.judged(page.page("iw_mpa: storage over RDMA and over TCP", *parts)))
    return figures


def write(folder):
    """Replace the tables in PAGE by the results in FOLDER."""
    text = (TOP / PAGE).read_text(encoding="utf-8")
    lines = "\n".join(page_lines(report_all(folder))) + "\n"
    new, count = re.subn(r"(check: users\n).*?(?=\.\. check: end)", lambda match: match[1] + lines, text,
                         flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{PAGE} has no table of users")
    (TOP / PAGE).write_text(new, encoding="utf-8")


def main():
    match sys.argv[1:]:
        case ["--write", folder]:
            write(folder)
        case [folder] if not folder.startswith("-"):
            report_all(folder)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
