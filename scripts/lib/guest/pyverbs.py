#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the tests of python3-pyverbs on an RDMA device, and compare with what is expected of it.

    pyverbs.py TOOLS DEVICE INTERFACE inet|inet6 EXPECTED SUITE...

TOOLS has the package, unpacked. EXPECTED lists the tests that do not pass: a
reason, and below it, indented, a line "OUTCOME TEST REGEX" for each test. OUTCOME
is fail or skip, and the test's message has to match REGEX. All other tests have to
pass, and these must not. If EXPECTED is "-", the results are only printed, as
lines "case: OUTCOME TEST TEXT", like those of case_is of scripts/suites/lib.sh.
"""

import collections
import gzip
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = "/run/pyverbs"
# Files that the suites import; those of other providers need no device when they are imported.
SHARED = ("__init__", "args_parser", "base", "base_rdmacm", "efa_base", "mlx5_base",
          "mlx5_prm_structs", "rdmacm_utils", "utils")
# A suite may import other suites.
IMPORTED = re.compile(r"^ *(?:from|import) tests\.(\w+)", re.M)
PASS, FAIL, SKIP = "pass", "fail", "skip"
PATIENCE = 4        # the time limits of the suites are multiplied by this


def unpack(tools, suites):
    """Copy the suites, and other files that they import. Debian compresses those above 4 KiB."""
    folder = tools + "/usr/share/doc/rdma-core/tests/"
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(HERE + "/tests")
    names = [*SHARED, *suites]
    for name in names:
        path = f"{folder}{name}.py"
        with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
            text = file.read()
        with open(f"{HERE}/tests/{name}.py", "wb") as copy:
            copy.write(text)
        names += {*IMPORTED.findall(text.decode())}.difference(names)


def read_expected(path):
    """Return test -> (outcome, regex) of a file EXPECTED."""
    expected = {}
    reason = None
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if not line[0].isspace():
                reason = None if line[0] == "#" else line
            elif line.strip():
                outcome, test, regex = line.split(None, 2)
                assert reason and outcome in (FAIL, SKIP) and test not in expected, line
                expected[test] = outcome, regex.rstrip()
    return expected


class Outcomes(unittest.TestResult):
    """Collects the result of each test: (outcome, output of the test and its processes)

    The suites choose random values. Here these are the same in each run, and are never those flags
    of ibv_create_qp_ex() that only another provider's library supports.
    """

    SEED = 0

    def __init__(self):
        super().__init__()
        self.outcomes = collections.OrderedDict()
        self.outcome = self.said = self.printed = self.stdout = None

    def startTest(self, test):
        super().startTest(test)
        random.seed(self.SEED)
        self.outcome, self.said = PASS, ""
        self.printed = tempfile.TemporaryFile("w+")
        sys.stdout.flush()
        self.stdout = os.dup(1)
        os.dup2(self.printed.fileno(), 1)

    def stopTest(self, test):
        sys.stdout.flush()
        os.dup2(self.stdout, 1)
        os.close(self.stdout)
        self.printed.seek(0)
        said = " ".join(f"{self.said} {self.printed.read()}".split())
        self.printed.close()
        name = test.id().removeprefix("tests.")
        self.outcomes[name] = self.outcome, said
        print(f"{name}: {self.outcome} {said}", flush=True)
        super().stopTest(test)

    def addFailure(self, test, err):
        self.outcome, self.said = FAIL, f"{err[0].__name__}: {err[1]}"

    addError = addFailure

    def addSkip(self, test, reason):
        self.outcome, self.said = SKIP, reason


def be_patient():
    """Multiply by PATIENCE the few seconds for which the suites wait for their processes, and the
    processes for each other: a guest is slow on a busy host. A wait for a process that ends takes
    no longer than before."""
    barrier, join = multiprocessing.context.BaseContext.Barrier, multiprocessing.process.BaseProcess.join

    def patient_barrier(self, parties, action=None, timeout=None):
        return barrier(self, parties, action, timeout and PATIENCE * timeout)

    def patient_join(self, timeout=None):
        return join(self, timeout and PATIENCE * timeout)
    multiprocessing.context.BaseContext.Barrier = patient_barrier
    multiprocessing.process.BaseProcess.join = patient_join


def name_exceptions():
    """Print the type of an exception in a test of rdma_cm. Such a test has two processes, and the
    suites print only the text of their exceptions, which an assertion does not have."""
    from tests.base import RDMACMBaseTest  # pylint: disable=import-outside-toplevel
    handler = RDMACMBaseTest._rdmacm_exception_handler  # pylint: disable=protected-access

    def handler_with_name(passive, exception):
        print(type(exception).__name__)
        handler(passive, exception)
    RDMACMBaseTest._rdmacm_exception_handler = staticmethod(  # pylint: disable=protected-access
        handler_with_name)


def run(device, interface, suites):
    """Run the suites. They would find addresses by the GIDs of RoCE: use the interface's address
    instead."""
    import args_parser  # pylint: disable=import-outside-toplevel
    args_parser.parser.args = {"dev": device, "port": 1, "gid": 0, "pci_dev": None, "gpu": 0,
                               "gtt": False, "verbosity": 2, "list_tests": False}
    import tests.base  # pylint: disable=import-outside-toplevel

    def get_ip_mac(self, dev, port, idx):
        self.args.append([dev, port, idx, *interface])
    tests.base.RDMATestCase._get_ip_mac = get_ip_mac  # pylint: disable=protected-access

    be_patient()
    name_exceptions()
    result = Outcomes()
    for suite in suites:
        unittest.defaultTestLoader.loadTestsFromName("tests." + suite).run(result)
    return result.outcomes


def address_of(name, family):
    """Return the address of interface NAME that is of FAMILY and not link-local, and NAME's MAC."""
    said = subprocess.run(["ip", "-j", "address", "show", name], check=True,
                          stdout=subprocess.PIPE).stdout
    link, = json.loads(said)
    return next(info["local"] for info in link["addr_info"]
                if info["family"] == family and info["scope"] == "global"), link["address"]


def main():
    tools, device, interface, family, path, *suites = sys.argv[1:]
    unpack(tools, suites)
    sys.path[:0] = HERE, HERE + "/tests", tools + "/usr/lib/python3/dist-packages"
    outcomes = run(device, address_of(interface, family), suites)
    if path == "-":
        for test, (outcome, said) in outcomes.items():
            print(f"case: {outcome} {test} {said}")
        return 0 if outcomes else 1
    expected = read_expected(path)
    wrong = 0
    for test, (outcome, said) in outcomes.items():
        want, regex = expected.get(test, (PASS, ""))
        if outcome != want or not re.search(regex, said):
            wrong += 1
            print(f"WRONG: {test}: {outcome}, where {want} {regex!r} is expected: {said}")
    for test in expected.keys() - outcomes.keys():
        wrong += 1
        print(f"WRONG: {test} did not run: {path} has it")
    count = collections.Counter(outcome for outcome, _ in outcomes.values())
    print(f"result: {count[PASS]} tests of pyverbs pass; {count[FAIL]} fail and {count[SKIP]} are "
          "skipped, as expected of iWARP")
    return 1 if wrong or not count[PASS] else 0


sys.exit(main())
