#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the wire tests against the device of this host.

    run.py [-k REGEX] [-l] [--soak] [--map FILE] PROGRAM ADDRESS

PROGRAM is cm_probe, ADDRESS one of the device's own. One result line for each test; -l lists
each test with the rules that it proves. --soak takes the long cases. FILE is for judge.py: a line
for each test with its port, and for each connection of its peer who that was and the two ports.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import traceback

import data_access
import data_ddp
import data_mpa
import data_ops
import data_order
import data_rdmap
import data_term
import faults
import fpdu
import harness
import hazards
import initiator
import load
import mpa
import rdmap
import registry
import responder
import storms
import verbs

DATA = data_mpa, data_ddp, data_rdmap, data_ops, data_order, data_term, data_access
MODULES = responder, initiator, hazards, storms, load, faults, *DATA
BAD = harness.Failed, mpa.Bad, fpdu.Bad, rdmap.Bad, OSError, subprocess.TimeoutExpired
LOADS = storms.__name__, load.__name__      # they have peers that are nobody's test


def selected(pattern, soak=False):
    for name, ids, function, case in registry.SOAK if soak else registry.TESTS:
        if re.search(pattern, f"{name} {' '.join(ids)}"):
            yield name, ids, function, case


def run_one(bench, function, case):
    problem = None
    try:
        function(bench, *case)
    except BAD as err:
        line = traceback.extract_tb(err.__traceback__)[1].lineno
        problem = f"line {line}: {err}"
    try:
        bench.end()
    except BAD as err:
        problem = problem or str(err)
    return problem


def run_all(args, ports):
    failed = 0
    for name, ids, function, case in selected(args.k, args.soak):
        bench = harness.Bench((args.program,), args.address)
        start = time.monotonic()
        problem = run_one(bench, function, case)
        failed += bool(problem)
        for line in registry.said():
            print(f"# {line}", flush=True)
        if args.soak:
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
        print(f"{'not ok' if problem else 'ok'} - {name} [{' '.join(ids)}]", flush=True)
        if problem:
            print(f"# {problem}", flush=True)
        judged = function.__module__ not in LOADS
        for one in (bench, *bench.others):
            print(json.dumps({"test": name, "port": one.port, "judged": judged,
                              "peers": one.peers}), file=ports)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="")
    parser.add_argument("-l", action="store_true")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--map", default="/dev/null")
    parser.add_argument("program", nargs="?")
    parser.add_argument("address", nargs="?")
    args = parser.parse_args()
    if args.l:
        for name, ids, _, _ in selected(args.k, args.soak):
            print(name, *ids)
        return 0
    with open(args.map, "w", encoding="ascii") as ports:
        try:
            return 1 if run_all(args, ports) else 0
        finally:
            verbs.Verbs.end_spare()


sys.exit(main())
