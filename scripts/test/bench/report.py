#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What bench.sh measured, as tables (table.rst), a picture (connect.svg) and a page (bench.html).

    report.py FOLDER            instructions per connection, from FOLDER/raw
    report.py --mtu FOLDER      instructions per message at the MTU of a network (mtu-N.tsv, mtu.rst, mtu.html), from
                                FOLDER/mtu-N, with files as in FOLDER/raw
    report.py --rate FOLDER     connections per second (rate.rst, rate.html), from
                                FOLDER/rate/VARIANT.ROUND
    report.py --load FOLDER     bytes per second of many QPs (load.rst, load.html), from
                                FOLDER/load/VARIANT.ROUND
    report.py --pong FOLDER     time there and back (pong.rst, pong.html), from FOLDER/pong/VARIANT.ROUND
    report.py --rtt FOLDER      round trips until an end can send (rtt.rst, rtt.html), from
                                FOLDER/rtt/VARIANT.MICROSECONDS
    report.py --storm FOLDER    a server that is started again (storm.rst, storm.html), from
                                FOLDER/storm/VARIANT
    report.py --comeback FOLDER controllers of NVMe that reconnect (comeback.rst, comeback.html), from
                                FOLDER/comeback/VARIANT.ROUND
    report.py --hops FOLDER     cost of a connection for each of two hosts (hops.rst, hops.html), from
                                FOLDER/hops/VARIANT.END
    report.py --selftest        prove that no part of a picture is cut off, whatever was measured
    report.py --scale FOLDER    more processors, very many connections (scale.rst, scale.html), from
                                FOLDER/scale/VARIANT.cpus-NUMBER, srnic.crowd, srnic.removal

VARIANT is a driver with some settings, or "tcp", TCP alone. FOLDER/raw has a file VARIANT.MEASURE
with the output of cm_bench, lines "KEY NUMBER", and a file VARIANT.MEASURE.split with the counts of
split.c, lines "PHASE GROUP FUNCTION INSTRUCTIONS CALLS".
"""

import collections
import os
import random
import re
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import page     # noqa: E402

VARIANTS = ("tcp", "siw", "siw_mpa", "srnic", "plain", "markers")
PHASES = ("", "setup", "connect", "qp", "close", "destroy", "settle", "data")
# Names and colours of the groups of functions, in the order of functions.py
GROUPS = (
    ("", ""),
    ("application and its libraries", "#9aa7b4"),
    ("system calls", "#6b7f92"),
    ("rdma_ucm, rdma_cm, iw_cm", "#8d6fb0"),
    ("verbs: ib_core, ib_uverbs", "#b79bd3"),
    ("connection manager", "#d1495b"),
    ("the rest of the driver", "#edae49"),
    ("TCP/IP", "#30638e"),
    ("scheduler, workqueues", "#66a182"),
    ("interrupts, timers", "#c9c9c9"),
    ("copying", "#5fa8d3"),
    ("CRC32c", "#c0ca33"),
    ("storage protocols", "#b5838d"),
)
USER, CM, STORAGE = 1, 5, 12
# Functions of which each slab allocation calls one, so that their calls count allocations
ALLOCATIONS = re.compile(r"__kmem_cache_alloc_node|kmem_cache_alloc(_lru)?|kmem_cache_alloc_node")


class Measure:
    """The results of one run of cm_bench; the methods return numbers for one connection."""

    def __init__(self, path):
        self.values = {}
        with open(path, encoding="ascii") as lines:
            for line in lines:
                key, value, *rest = line.split()
                if not rest:
                    self.values[key] = int(value)
        self.count = self.values.get("connections", 1)
        self.insns = collections.Counter()
        self.calls = collections.Counter()
        if os.path.exists(path + ".split"):
            self.read_split(path + ".split")

    def read_split(self, path):
        with open(path, encoding="ascii") as lines:
            for line in lines:
                phase, group, function, insns, calls = line.split()
                key = PHASES[int(phase)], int(group)
                self.insns[key] += int(insns)
                self.calls[key + (function,)] += int(calls)

    def phase(self, name):
        return self.values.get(name)

    def total(self):
        """Return the instructions in all phases, also in "settle", the phase that follows the end
        of all connections."""
        return round(sum(self.insns.values()) / self.count)

    def of_phase(self, name):
        """Return the instructions in one phase, as split.c counts them."""
        return round(sum(insns for (phase, _), insns in self.insns.items()
                         if phase == name) / self.count)

    def kernel(self):
        """Return how many instructions the kernel executed. Those of programs, which poll in busy
        loops, do not count."""
        return round(sum(insns for (_, group), insns in self.insns.items()
                         if group != USER) / self.count)

    def part(self, phase, group):
        """Return how many instructions a group of functions executed in one phase; if PHASE is "",
        in all phases."""
        return round(sum(insns for (p, g), insns in self.insns.items()
                         if g == group and phase in ("", p)) / self.count)

    def calls_of(self, pattern, phase=None, group=None):
        number = sum(calls for (p, g, function), calls in self.calls.items()
                     if re.fullmatch(pattern, function)
                     and phase in (None, p) and group in (None, g))
        return number / self.count


def load(folder):
    found = collections.defaultdict(dict)
    for name in os.listdir(folder):
        if not name.endswith(".split"):
            variant, measure = name.split(".", 1)
            found[measure][variant] = Measure(os.path.join(folder, name))
    return found


# --- tables ---------------------------------------------------------------------------------------


def number(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def ratio(value, base):
    return f"{value / base:.2f}" if value and base else "-"


# Units: what the rows count, if they differ
Table = collections.namedtuple("Table", "title head rows units", defaults=((),))


def cells_of(table):
    return [[cell if isinstance(cell, str) else number(cell) for cell in row]
            for row in table.rows]


def as_text(table):
    title, rows = table.title, [table.head] + cells_of(table)
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join([row[0].ljust(widths[0])] +
                       [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
             for row in rows]
    return "\n".join([title, "-" * len(title), "", rule, lines[0], rule] + lines[1:] + [rule, ""])


def as_page(table):
    """Return the parts of a page for a table: title, plots of its numbers except ratios, and the
    table itself; return no parts if the table has no numbers."""
    names = [name for name in table.head[1:] if "/" not in name]
    rows = [(row[0], [None if isinstance(cell, str) else cell for cell in row[1:len(names) + 1]])
            for row in table.rows]
    if not any(value for _, values in rows for value in values):
        return []
    return [page.heading(table.title), *map(page.figure, page.charts(names, rows, table.units)),
            page.table(table.head, cells_of(table))]


def write_page(folder, name, title, tables, *pictures):
    parts = [page.paragraph("tcp: connections without RDMA; siw: as the kernel has it; siw_mpa and "
                            "srnic: as they come; plain: srnic with no more than siw does; markers: "
                            "srnic with Markers.")]
    parts += [page.figure(picture) for picture in pictures]
    parts.append(page.note("All bars of a plot have one scale. What is much less has another plot."))
    for table in tables:
        parts += as_page(table)
    write(folder, name, page.judged(page.page(title, *parts)))


HEAD = ["", *VARIANTS, "srnic/siw", "plain/siw"]


def row_of(name, values):
    """Return a row of a table: NAME, the numbers of VALUES, {variant: number}, in the order of
    VARIANTS, and the ratios srnic/siw and plain/siw; plain is srnic with no more than siw does."""
    siw = values.get("siw")
    return [name, *[values.get(variant) for variant in VARIANTS],
            ratio(values.get("srnic"), siw), ratio(values.get("plain"), siw)]


def by_variant(measures, function):
    return {variant: function(measure) for variant, measure in measures.items()}


def table_of_costs(found):
    rows = []
    for name in sorted(found):
        if re.match(r"held|half-open|memory|data|ulp", name):
            continue
        phases = ("setup", "destroy") if name == "listen" else ("connect", "close")
        for phase in phases:
            values = by_variant(found[name], lambda m, p=phase: m.phase(p))
            if any(values.values()):
                rows.append(row_of(f"{name}: {phase}", values))
        rows.append(row_of(f"{name}: all", by_variant(found[name], Measure.total)))
    return Table("Instructions per connection", HEAD, rows)


def table_of_parts(measures, phase, title):
    rows = []
    for group, (name, _) in enumerate(GROUPS):
        if name and group != STORAGE and (phase != "data" or group != USER):
            rows.append(row_of(name, by_variant(measures, lambda m, g=group: m.part(phase, g))))
    return Table(title, HEAD, rows)


def table_of_events(measures):
    kinds = (
        ("context switches", r"__switch_to", "connect", None),
        ("TCP segments", r"__tcp_transmit_skb|tcp_v[46]_send_synack", "connect", None),
        ("work items run", r"process_one_work", "connect", None),
        ("allocations of the connection manager", ALLOCATIONS, None, CM),
    )
    rows = [row_of(name, by_variant(measures, lambda m, a=args: float(m.calls_of(*a))))
            for name, *args in kinds]
    return Table("Events per connection", HEAD, rows)


def table_of_memory(found):
    rows = []
    for name in ("half-open", "waiting", "established"):
        for key, text in (("slab", "slab"), ("memory", "all pages")):
            values = by_variant(found.get("memory-" + name, {}), lambda m, k=key: m.values.get(k))
            rows.append(row_of(f"{name}: {text}", values))
    return Table("Octets per connection, both ends", HEAD, rows)


def table_of_scale(found):
    rows = []
    for name in sorted(found):
        if re.match(r"held|half-open", name):
            rows.append(row_of(name.replace("-", " "),
                               by_variant(found[name], lambda m: m.phase("connect"))))
    return Table("Instructions per connect while others are held", HEAD, rows)


def table_of_data(found):
    rows = [row_of(name, by_variant(found[name], Measure.kernel))
            for name in sorted(found) if name.startswith("data")]
    return Table("Instructions of the kernel per message, both ends", HEAD, rows)


# --- messages at the MTU of a network

MTU_VARIANTS = ("tcp", "siw", "srnic", "plain", "markers")
MTU_MEASURES = ("write-64k", "read-64k", "send-64k", "write-4k", "send-4k", "ping-64")
MTU_RATIOS = (("srnic", "tcp"), ("plain", "tcp"), ("plain", "siw"))
DRIVER = 6
TCP_HEADERS, FPDU_HEADERS = 52, 20      # bytes: IPv4 and TCP with time stamps; MPA length, DDP header and CRC


def mtu_rows(folder, mtu):
    """Return the kernel's instructions per message, as {measure: {variant: instructions}}."""
    found = load(os.path.join(folder, f"mtu-{mtu}"))
    return {name: by_variant(found.get(name, {}), Measure.kernel) for name in MTU_MEASURES}


def write_tsv(folder, mtu, rows):
    lines = [("measure", *MTU_VARIANTS)]
    lines += [(name, *(str(values.get(variant, "-")) for variant in MTU_VARIANTS))
              for name, values in rows.items()]
    write(folder, f"mtu-{mtu}.tsv", "".join("\t".join(line) + "\n" for line in lines))


def table_of_mtu(folder, mtu):
    rows = mtu_rows(folder, mtu)
    write_tsv(folder, mtu, rows)
    return Table(f"Instructions of the kernel per message at an MTU of {mtu}, both ends",
                 ["", *MTU_VARIANTS, *(f"{a}/{b}" for a, b in MTU_RATIOS)],
                 [[name, *map(values.get, MTU_VARIANTS),
                   *(ratio(values.get(a), values.get(b)) for a, b in MTU_RATIOS)]
                  for name, values in rows.items()])


def fpdus(mtu, octets=65536):
    return -(-octets // (mtu - TCP_HEADERS - FPDU_HEADERS))


def by_function(folder, mtu, variant, name):
    """Return the instructions per message of each function that split.c counts for the driver: its
    own, and the kernel's functions of group 0 (memory, locks, lists) that the driver calls."""
    measure = Measure(os.path.join(folder, f"mtu-{mtu}", f"{variant}.{name}"))
    path = os.path.join(folder, f"mtu-{mtu}", f"{variant}.{name}.split")
    found = collections.Counter()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            _, group, function, insns, _ = line.split()
            if int(group) == DRIVER:
                found[function] += int(insns) / measure.count
    return found


def table_of_fpdu(folder, small=1500, large=9000):
    """The driver's cost per FPDU: a message of 64 KiB takes more FPDUs at the MTU SMALL than at
    LARGE. The message's other costs are equal, so they drop out of the difference."""
    more = fpdus(small) - fpdus(large)
    parts = {}
    for variant in ("srnic", "plain"):
        least = by_function(folder, large, variant, "write-64k")
        for function, insns in by_function(folder, small, variant, "write-64k").items():
            parts.setdefault(function, {})[variant] = (insns - least[function]) / more
    total = {variant: sum(by.get(variant, 0) for by in parts.values())
             for variant in ("srnic", "plain")}
    rows = [[function, *(float(by.get(variant, 0)) for variant in ("srnic", "plain"))]
            for function, by in sorted(parts.items(), key=lambda item: -item[1].get("plain", 0))
            if max(by.values()) >= 1]
    return Table(f"The driver per FPDU: Write of 64 KiB at an MTU of {small} less that at {large}",
                 ["", "srnic", "plain"], [["all", total["srnic"], total["plain"]], *rows])


def mtus_of(folder):
    return sorted(int(name[4:]) for name in os.listdir(folder)
                  if re.fullmatch(r"mtu-\d+", name) and os.listdir(os.path.join(folder, name)))


def report_mtu(folder):
    mtus = mtus_of(folder)
    tables = [with_crc(table_of_mtu(folder, mtu), folder) for mtu in mtus]
    if {1500, 9000} <= set(mtus):
        tables.append(table_of_fpdu(folder))
    write(folder, "mtu.rst", "\n".join(map(as_text, tables)))
    write_page(folder, "mtu.html", "iw_mpa: messages at the MTU of a network", tables)


def table_of_ulps(found):
    rows = [row_of(name[4:], by_variant(found[name], Measure.kernel))
            for name in sorted(found) if name.startswith("ulp")]
    return Table("Instructions of the kernel per I/O, both ends", HEAD, rows)


def table_of_iops(found):
    """I/Os per second as fio reports them, by the guest's clock: unlike the counts of the plugin
    split.c these include the instructions of fio, and the time in which the guest was idle."""
    rows = [row_of(name[4:], by_variant(found[name], lambda m: m.values.get("iops")))
            for name in sorted(found) if name.startswith("ulp-nvme")]
    return Table("I/Os of NVMe in a second of 1,000,000,000 instructions", HEAD, rows)


def with_crc(table, folder):
    """Add to the table's title the driver of the kernel's crypto API that computed CRC32c: without
    the processor's instruction CRC32c costs more, so tables with different drivers in their titles
    cannot be compared."""
    path = os.path.join(folder, "crc32c")
    if not os.path.exists(path):
        return table
    with open(path, encoding="ascii") as lines:
        return table._replace(title=f"{table.title} (CRC32c: {lines.read().strip()})")


def rates_of(path):
    """Yield (load, connections per second, failed attempts) from the output of a run of cm_rate."""
    with open(path, encoding="ascii") as lines:
        for line in lines:
            load, *rest = line.split()
            values = dict(zip(rest[::2], map(int, rest[1::2])))
            yield load, values["connections"] * 1000 / values["milliseconds"], values["failed"]


def interval(values):
    """Return the median and its 95 % confidence interval by bootstrapping: from the medians of 4000
    samples that are drawn with replacement."""
    draw = random.Random(len(values))
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(4000))
    return [statistics.median(values), medians[100], medians[-101]]


def ratios(found, variant, base):
    """interval() of the ratios VARIANT to BASE, each within one round, since other load of the host
    changes from round to round. FOUND is {variant: {round: rate}}."""
    both = sorted(set(found[variant]) & set(found[base]))
    return interval([found[variant][i] / found[base][i] for i in both]) if both else [None] * 3


def table_of_rates(folder):
    """For each load: each variant's median rate, and the ratio srnic to siw; in the last row the
    failed attempts of all rounds."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    failed = collections.Counter()
    for name in os.listdir(folder):
        variant, turn = name.split(".")
        for load, rate, failures in rates_of(os.path.join(folder, name)):
            found[tuple(map(int, load.split("-")))][variant][turn] = rate
            failed[variant] += failures
    variants = [variant for variant in VARIANTS if variant in failed]
    rows = [["{}, {}, {}".format(*load),
             *(round(statistics.median(by[variant].values())) if by[variant] else None
               for variant in variants), *ratios(by, "srnic", "siw")]
            for load, by in sorted(found.items())]
    units = ["a second"] * len(rows) + ["attempts"]
    rows.append(["attempts that failed", *(failed[variant] for variant in variants), None, None, None])
    return Table("Connections a second, by clients, listeners, stalled peers of each",
                 ["", *variants, "srnic/siw", "95 %/from", "95 %/to"], rows, units)


LOAD_PAIRS = (("plain", "siw"), ("srnic", "siw_mpa"), ("srnic", "siw"))


def table_of_load(folder):
    """Ratios of the throughput of two drivers; and, to show how evenly QPs share it, the throughput
    of the slowest QP as a fraction of the average QP's."""
    total = collections.defaultdict(lambda: collections.defaultdict(dict))
    share = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in os.listdir(folder):
        variant, turn = name.split(".")
        with open(os.path.join(folder, name), encoding="ascii") as lines:
            for line in lines:
                qps, *rest = line.split()
                values = dict(zip(rest[::2], map(int, rest[1::2])))
                total[int(qps)][variant][turn] = values["total"]
                share[int(qps)][variant].append(values["least"] * int(qps) / values["total"])
    rows = [[f"{qps}: {a} to {b}", *ratios(by, a, b)] for qps, by in sorted(total.items())
            for a, b in LOAD_PAIRS]
    rows += [[f"{qps}: least of {variant}", *interval(values)]
             for qps, by in sorted(share.items()) if qps > 1
             for variant, values in sorted(by.items())]
    return Table("Writes of QPs, four processors", ["", "median", "95 %: from", "to"], rows)


def table_of_pongs(folder):
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for name in os.listdir(folder):
        variant, turn = name.split(".")
        for what, value in Measure(os.path.join(folder, name)).values.items():
            found[what][variant][turn] = value
    rows = [[f"{what}: {a} to {b}", *ratios(found[what], a, b)]
            for what in ("median", "p99") for a, b in LOAD_PAIRS]
    return Table("64 octets there and back", ["", "median", "95 %: from", "to"], rows)


TRIP_VARIANTS = ("siw", "siw_mpa", "srnic", "plain", "srnic-tfo", "plain-tfo")
TRIPS = (
    ("initiator-sends", "the initiator's first Send has completed"),
    ("responder-sends", "the responder's first Send has completed"),
    ("responder-gets", "the initiator's first message has arrived"),
    ("initiator-gets", "the responder's first message has arrived"),
    ("answered", "the initiator has its first answer"),
)


def table_of_trips(folder):
    """Time from rdma_connect to each of the events in TRIPS, divided by the round trip time"""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for name in os.listdir(folder):
        variant, trip = name.split(".")
        with open(os.path.join(folder, name), encoding="ascii") as lines:
            for line in lines:
                what, value = line.split()
                found[what][int(trip)][variant] = int(value) / 1000 / int(trip)
    rows = [[f"{text}, {trip / 1000:g} ms", *map(by.get, TRIP_VARIANTS)]
            for what, text in TRIPS for trip, by in sorted(found[what].items())]
    return Table("Round trips until", ["", *TRIP_VARIANTS], rows)


STORM_VARIANTS = ("siw", "siw_mpa", "srnic")
STORM = (
    ("rejected", "attempts that were rejected", "attempts"),
    ("failed", "attempts that failed otherwise", "attempts"),
    ("missing", "clients that never came back", "clients"),
    ("median", "half are back, ms", "ms"),
    ("p99", "99 % are back, ms", "ms"),
    ("last", "all are back, ms", "ms"),
    ("peak", "octets of memory of the host for a client, at most", "octets"),
    ("stays", "the same when all are back", "octets"),
)


def table_of_storm(folder):
    found = {variant: Measure(os.path.join(folder, variant)).values
             for variant in os.listdir(folder)}
    rows = [[text, *(found.get(variant, {}).get(what) for variant in STORM_VARIANTS)]
            for what, text, _ in STORM]
    return Table("A server is started again", ["", *STORM_VARIANTS], rows, [unit for *_, unit in STORM])


COMEBACK = (
    ("median", "half are live, ms", "ms"),
    ("last", "all are live, ms", "ms"),
    ("failed", "attempts that failed", "attempts"),
)


def table_of_comebacks(folder):
    """For each quantity in COMEBACK the median, the minimum and the maximum of all rounds"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in os.listdir(folder):
        variant = name.split(".")[0]
        for what, value in Measure(os.path.join(folder, name)).values.items():
            found[what][variant].append(value)
    rows, units = [], []
    for what, text, unit in COMEBACK:
        for suffix, function in (("", statistics.median), (", least", min), (", most", max)):
            rows.append([text + suffix, *(round(function(found[what][variant]))
                                          if found[what][variant] else None
                                          for variant in STORM_VARIANTS)])
            units.append(unit)
    return Table("A target of NVMe comes back", ["", *STORM_VARIANTS], rows, units)


HOPS_VARIANTS = ("siw", "srnic", "plain")
HOPS = (
    ("context switches", r"__switch_to"),
    ("wake-ups", r"try_to_wake_up"),
    ("work items run", r"process_one_work"),
    ("interrupts", r"asm_common_interrupt|asm_sysvec_\w+"),
    ("TCP segments sent", r"__tcp_transmit_skb|tcp_v[46]_send_synack"),
)


def table_of_hops(folder):
    rows = []
    for end in ("initiator", "responder"):
        measures = {variant: Measure(os.path.join(folder, f"{variant}.{end}"))
                    for variant in HOPS_VARIANTS if os.path.exists(f"{folder}/{variant}.{end}")}
        kinds = [(f"instructions, {phase}", lambda m, p=phase: m.of_phase(p))
                 for phase in ("connect", "close")]
        kinds.append(("instructions, whole life", Measure.total))
        kinds += [(f"connection manager, {phase}", lambda m, p=phase: m.part(p, CM))
                  for phase in ("connect", "close")]
        kinds += [(text, lambda m, p=pattern: float(m.calls_of(p))) for text, pattern in HOPS]
        for text, function in kinds:
            values = by_variant(measures, function)
            rows.append([f"{end}: {text}", *map(values.get, HOPS_VARIANTS),
                         *(ratio(values.get(v), values.get("siw")) for v in HOPS_VARIANTS[1:])])
    return Table("What a connection costs each of two hosts",
                 ["", *HOPS_VARIANTS, "srnic/siw", "plain/siw"], rows,
                 ["instructions" if isinstance(row[1], int) else "events" for row in rows])


def table_of_processors(found):
    rows = []
    for variant, measures in sorted(found.items()):
        totals = [measure.total() for _, measure in sorted(measures.items())]
        rows.append([variant, *totals, ratio(totals[-1], totals[0])])
    return Table("Instructions of a connection's whole life, by processors",
                 ["", *map(str, sorted(found["srnic"])), "most/least"], rows)


CROWD = (
    ("endpoints", "endpoints", "endpoints"),
    ("memory", "octets of memory for a pair", "octets"),
    ("slab", "of them in slabs", "octets"),
    ("listing", "the listing, instructions", "instructions"),
    ("longest", "its longest part under one RCU read lock", "instructions"),
    ("removal", "rdma link delete, instructions", "instructions"),
)
SPREAD = (
    ("removal", "rdma link delete, ns by the clock", "ns"),
    ("cpu0", "connections that end on the first", "connections"),
    ("cpu1", "on the second", "connections"),
    ("cpu2", "on the third", "connections"),
    ("cpu3", "on the fourth", "connections"),
)


def table_of_crowd(path, title, lines):
    values = Measure(path).values
    return Table(title, ["", "srnic"], [[text, values.get(what)] for what, text, _ in lines],
                 [unit for *_, unit in lines])


def tables_about_scale(folder):
    found = collections.defaultdict(dict)
    for name in os.listdir(folder):
        variant, what = name.split(".", 1)
        if re.fullmatch(r"cpus-\d+", what):
            found[variant][int(what[5:])] = Measure(os.path.join(folder, name))
    tables = [table_of_processors(found)] if found else []
    for what, title, lines in (("crowd", "Very many connections, srnic", CROWD),
                               ("removal", "A device goes, with four processors", SPREAD)):
        path = os.path.join(folder, "srnic." + what)
        if os.path.exists(path):
            tables.append(table_of_crowd(path, title, lines))
    return tables


# --- picture --------------------------------------------------------------------------------------

WIDTH, BAR, LEFT = 900, 34, 90


def bar(variant, measure, y, scale):
    x, lines = LEFT, [f'<text x="10" y="{y + 22}">{variant}</text>']
    for group, (name, colour) in enumerate(GROUPS):
        value = measure.part("connect", group)
        if name and value:
            lines.append(page.bar(x, y, value, scale, BAR, colour) + f"><title>{name}</title></rect>")
        x += value * scale
    lines.append(f'<text x="{x + 6:.1f}" y="{y + 22}">{measure.phase("connect"):,}</text>')
    return lines


def picture(measures):
    most = max(measure.phase("connect") for measure in measures.values())
    scale, y = (WIDTH - LEFT - 90) / most, 40
    body = ['<text x="10" y="22" font-size="16">Instructions from connect to ESTABLISHED, both ends</text>']
    for variant in VARIANTS:
        if variant in measures:
            body += bar(variant, measures[variant], y, scale)
            y += BAR + 10
    lines, y = page.legend(GROUPS[1:STORAGE], LEFT, WIDTH, y + 8)
    return page.judged(page.svg(WIDTH, y, body + lines))


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write(text)


# For each option: the function that makes the tables, and the title of the page
KINDS = {
    "rate": (table_of_rates, "connections a second"),
    "load": (table_of_load, "many QPs"),
    "pong": (table_of_pongs, "there and back"),
    "rtt": (table_of_trips, "round trips"),
    "storm": (table_of_storm, "a server is started again"),
    "comeback": (table_of_comebacks, "a target of NVMe comes back"),
    "hops": (table_of_hops, "two hosts"),
    "scale": (tables_about_scale, "scale"),
}


def report_kind(folder, kind):
    function, title = KINDS[kind]
    tables = function(os.path.join(folder, kind))
    tables = [tables] if isinstance(tables, Table) else tables
    write(folder, kind + ".rst", "\n".join(map(as_text, tables)))
    write_page(folder, kind + ".html", "iw_mpa: " + title, tables)


class Sample(Measure):
    """For the selftest: a result with the same number of instructions in each group and phase"""

    def __init__(self):     # pylint: disable=super-init-not-called
        self.values, self.count, self.calls = dict.fromkeys(PHASES, 120000), 1, collections.Counter()
        self.insns = collections.Counter({(phase, group): 10000 for phase in PHASES for group in range(1, len(GROUPS))})


def selftest():
    one = dict.fromkeys(VARIANTS, Sample())
    picture(one)
    for table in (table_of_costs({"connect-pd250": one}), table_of_parts(one, "", ""), table_of_events(one),
                  *(Table("", ["", *STORM_VARIANTS], [[text, 1, 20000, None] for _, text, _ in kind],
                          [unit for *_, unit in kind]) for kind in (STORM, COMEBACK, CROWD, SPREAD)),
                  Table("", ["", *TRIP_VARIANTS], [[f"{text}, 0.25 ms", *[1.5] * 6] for _, text in TRIPS]),
                  Table("", ["", *HOPS_VARIANTS], [["responder: connection manager, connect", 1, 2, 3]])):
        drawn = page.judged(page.page("", *as_page(table)))
        if drawn.count("<svg") < len(set(table.units)):
            sys.exit(f"{set(table.units)} have one plot")


def main():
    folder = sys.argv[-1]
    if folder == "--selftest":
        selftest()
        return
    if sys.argv[1] == "--mtu":
        report_mtu(folder)
        return
    if len(sys.argv) == 3:
        report_kind(folder, sys.argv[1].removeprefix("--"))
        return
    found = load(os.path.join(folder, "raw"))
    tables, pictures = [table_of_costs(found)], []
    if 1500 in mtus_of(folder):
        tables.insert(0, with_crc(table_of_mtu(folder, 1500), folder))
    one = {variant: measure for variant, measure in found.get("connect-1", {}).items()
           if measure.phase("connect")}
    if one:
        tables += [table_of_parts(one, phase, f"Where they go, {phase or 'whole life'}, one at a time")
                   for phase in ("", "connect", "close")]
        tables.append(table_of_events(one))
        pictures.append(picture(one))
        write(folder, "connect.svg", pictures[0])
    tables += [table_of_memory(found), table_of_scale(found),
               with_crc(table_of_data(found), folder), with_crc(table_of_ulps(found), folder),
               table_of_iops(found)]
    tables += [table_of_parts(found[name], "data", f"Where they go, {name}")
               for name in ("data-write-64k", "data-read-64k", "data-send-64") if name in found]
    write(folder, "table.rst", "\n".join(map(as_text, tables)))
    write_page(folder, "bench.html", "iw_mpa: what connections cost", tables, *pictures)


if __name__ == "__main__":
    main()
