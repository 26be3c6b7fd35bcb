#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the wire tests against the device of this host.

    run.py [-k REGEX] [--file REGEX] [-l] [--sample SALT [--part K/N]] [--soak] [--map FILE]
           [--device NAME] [--results FILE] [--hazards] [--over WORDS --ib-device NAME --peer ADDRESS]
           PROGRAM ADDRESS

PROGRAM is cm_probe, ADDRESS one of the device's addresses. A result line is printed for each test; -l lists each test
with the rules that it proves. --file chooses by the names of the files here; --sample takes one case of each test,
another one for another SALT; --part runs one of N parts of the tests; --soak takes the long cases; --device says what
ADDRESS belongs to. A device that is not ours is examined first. --map writes a FILE for judge.py: a line for each test
with its port, and for each connection of its peer the role and the two ports; whether the device may be cut amid an
FPDU, on all or on some of its connections; what else it may do, see may(). --results writes a FILE for report.py.

The device may be in another host: WORDS are put in front of PROGRAM, which then runs there; NAME is what libibverbs
there calls the device; the ADDRESS of --peer is one of this host. --hazards also runs tests in which a driver that is
not ours may crash its host.

A device of this host that libibverbs does not know is judged through the kernel, by kernel_probe.py and kverbs. What
those cannot do is skipped.
"""

import argparse
import contextlib
import json
import re
import shlex
import sys
import time
import traceback
import zlib

import data_access
import data_charge
import data_ddp
import data_faults
import data_fuzz
import data_kernel
import data_mpa
import data_ops
import data_order
import data_rdmap
import data_rings
import data_states
import data_stock
import data_storms
import data_term
import data_unending
import device
import fast_open
import faults
import fpdu
import harness
import hazards
import initiator
import load
import mpa
import needs
import registry
import responder
import storms
import survey
import verbs

DATA = (data_mpa, data_ddp, data_rdmap, data_ops, data_order, data_states, data_term, data_unending,
        data_access, data_rings, data_kernel, data_charge, data_stock, data_fuzz, data_storms,
        data_faults)
MODULES = responder, initiator, fast_open, hazards, storms, load, faults, *DATA
# judge.py skips the connections of these files: their peers break the rules, or only make load.
LOADS = tuple(module.__name__ for module in (storms, load, data_storms, data_faults, data_charge,
                                             data_stock))


def sample(tests, salt, part):
    """Yield one case of each test function of part K/N. A CRC of salt and the function's name
    selects it, so that a run with the same salt selects the same cases."""
    cases = {}
    for test in tests:
        cases.setdefault(test[2], []).append(test)
    number, parts = map(int, part.split("/"))
    for position, (function, some) in enumerate(cases.items()):
        if position % parts == number - 1:
            yield some[zlib.crc32(f"{salt} {function.__name__}".encode()) % len(some)]


def selected(args):
    tests = [test for test in (registry.SOAK if args.soak else registry.TESTS)
             if test[2].only in (None, args.device)]
    for name, ids, function, case in \
            sample(tests, args.sample, args.part) if args.sample else tests:
        if re.fullmatch(args.file, function.__module__) and \
                re.search(args.k, f"{name} {' '.join(ids)}"):
            yield name, ids, function, case


EXPECTED = harness.Failed, fpdu.Bad


def told(err):
    """Return the message of err, and the line of the test that raised it."""
    frames = traceback.extract_tb(err.__traceback__)
    line = frames[min(2, len(frames) - 1)].lineno
    text = str(err) if isinstance(err, EXPECTED) else f"{type(err).__name__}: {err}"
    return f"line {line}: {text}"


def try_one(bench, ids, function, case):
    lacking = device.lacks(function.__module__, ids)
    if lacking:
        raise needs.Unsupported(lacking)
    needs.need(*needs.OF_FILES.get(function.__module__, ()))
    # Repeats of the RTR message are off, unless a test turns them on: on a slow host a device would
    # repeat it whenever the peer's first message arrives late, and the test would fail.
    if not function.defaults and needs.has("settings"):
        bench.set(rtr_repeat_ms=0)
    function(bench, *case)


def run_one(bench, *test):
    """Run one test. Return "passed", "failed", "skipped" or "unsupported", and why."""
    result, why = "passed", None
    try:
        try_one(bench, *test)
    except needs.Unsupported as err:
        result, why = "unsupported", str(err)
    except needs.Skipped as err:
        result, why = "skipped", str(err)
    except Exception as err:  # pylint: disable=broad-exception-caught
        result, why = "failed", told(err)
    try:
        bench.end()
    except Exception as err:  # pylint: disable=broad-exception-caught
        if result != "failed":
            result, why = "failed", told(err)
    return result, why


def may(bench):
    """Return the exceptions that judge.py has to make for the device on all connections of bench:
    "reset", it may send RST after its FIN; "terminate", its Terminates may break rules for senders.
    """
    return ["reset"] * bench.may_reset + ["terminate"] * (not device.device().own_terminates)


def make_bench(args):
    return harness.Bench((*needs.Place.over, args.program), args.address)


def show(name, ids, result, why):
    skip = {"skipped": f" # SKIP {why}", "unsupported": f" # SKIP not supported: {why}"}
    print(f"{'not ok' if result == 'failed' else 'ok'} - {name} [{' '.join(ids)}]{skip.get(result, '')}",
          flush=True)
    if result == "failed":
        print(f"# {why}", flush=True)


def is_stuck(why):
    """Does cm_probe or verbs_probe hang in a driver that is not srnic or siw_mpa? Results of tests
    after that would say nothing about the device."""
    return not needs.Place.ours and "cannot end" in (why or "")


def run_all(args, ports, results):
    failed, stuck = 0, None
    for name, ids, function, case in selected(args):
        bench = make_bench(args)
        start = time.monotonic()
        # If this host dies in the test, this line says in which.
        print(json.dumps({"begins": name, "shows": function.shows}), file=results, flush=True)
        result, why = ("skipped", stuck) if stuck else run_one(bench, ids, function, case)
        if is_stuck(why):
            stuck = f"the device holds a program since {name}: start its host again"
        failed += result == "failed"
        for line in registry.said():
            print(f"# {line}", flush=True)
        if args.soak:
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
        show(name, ids, result, why)
        print(json.dumps({"test": name, "shows": function.shows, "result": result, "why": why,
                          "seconds": round(time.monotonic() - start, 2)}), file=results, flush=True)
        judged = function.__module__ not in LOADS
        for one in (bench, *bench.others):
            note(one, name, judged, ports)
    return failed


def note(bench, name, judged, ports):
    print(json.dumps({"test": name, "port": bench.port, "judged": judged, "peers": bench.peers,
                      "cut": bench.may_be_cut, "cuts": bench.cuts, "may": may(bench)}), file=ports)


def learn(args, ports):
    benches = []

    def make():
        benches.append(make_bench(args))
        return benches[-1]

    try:
        survey.learn(make)
    finally:
        for bench in benches:
            note(bench, "survey", False, ports)


# First ports for runs at the same time, each of which uses the STEP ports from its first port on
STEP = 3000
PORTS = range(20000, 32000, STEP)


@contextlib.contextmanager
def own_ports(args, ports):
    """Choose the ports of this run. Several runs may use one remote device, or one host: each
    reserves its range by listening, on both hosts, at the range's first port, which no test
    uses."""
    if not needs.Place.over:
        yield
        return
    for port in PORTS:
        bench = make_bench(args)
        bench.port = port
        try:
            bench.listen()
            bench.server()
            break
        except (OSError, harness.Failed) as err:
            why = err
            with contextlib.suppress(harness.Failed):
                bench.end()
    else:
        raise survey.NoConnection(f"no port to listen at, here or there: {why}")
    harness.Bench.port = port
    for other in PORTS:
        if other != port:
            print(json.dumps({"others": [other, other + STEP]}), file=ports)
    try:
        yield
    finally:
        with contextlib.suppress(harness.Failed):
            bench.end()


def set_place(args):
    needs.Place.ours = args.device in device.OWN
    needs.Place.over = tuple(shlex.split(args.over))
    needs.Place.ib_device = args.ib_device
    needs.Place.peer = args.peer
    needs.Place.hazards = args.hazards


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="")
    parser.add_argument("-l", action="store_true")
    parser.add_argument("--file", default=".*")
    parser.add_argument("--sample", metavar="SALT")
    parser.add_argument("--part", metavar="K/N", default="1/1")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--device", default="srnic", choices=device.DEVICES)
    parser.add_argument("--map", default="/dev/null")
    parser.add_argument("--results", default="/dev/null")
    parser.add_argument("--hazards", action="store_true")
    parser.add_argument("--over", default="", metavar="WORDS")
    parser.add_argument("--ib-device", default="siw0", metavar="NAME")
    parser.add_argument("--peer", metavar="ADDRESS")
    parser.add_argument("program", nargs="?")
    parser.add_argument("address", nargs="?")
    args = parser.parse_args()
    device.choose(args.device)
    set_place(args)
    if args.l:
        for name, ids, _, _ in selected(args):
            print(name, *ids)
        return 0
    with open(args.map, "w", encoding="ascii") as ports, \
            open(args.results, "a", encoding="ascii") as results:
        try:
            with own_ports(args, ports):
                if not needs.Place.ours:
                    args.program = survey.choose_program(args.program, args.address)
                    learn(args, ports)
                print(json.dumps({"about": list(survey.lines())}), file=results, flush=True)
                return 1 if run_all(args, ports, results) else 0
        except survey.NoConnection as err:
            print(f"error: no connection came up: {err}", file=sys.stderr)
            return 2
        finally:
            verbs.Verbs.end_spare()


sys.exit(main())
