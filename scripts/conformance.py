#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the tables of rules and hazards in Documentation/infiniband against the tests.

    conformance.py             check: each rule has a test, each test's rules are known
    conformance.py --write     write the names of the tests into the pages
    conformance.py --selftest  prove that each kind of mistake is found

A page has a row for each rule: id, rule, kept, how, on one page what shows it, and tests. The last
is made here, from what the tests say of themselves:

    wire (scripts/wire)        @rule("E-9.2-4", ...)
    KUnit (kunit)              /* Rules: E-9.2-4 ... */ above the test function
    e2e (scripts/e2e)          # Rules: E-9.2-4 ...
    static (scripts/static.sh) # Rules: E-9.2-4 ... above the test function

So a test that goes away takes its name off the page, and the check fails.
"""

import importlib
import pathlib
import re
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parent.parent
# page -> fields of a row behind its id
PAGES = {TOP / 'Documentation/infiniband' / name: count
         for name, count in (('iw_mpa_conformance.rst', 4), ('iw_mpa_security.rst', 4),
                             ('srnic_conformance.rst', 5))}
ID = (r'(?:[FDR]-(?:\d+(?:\.\d+)*|B)-\d+|T-\d+|[EM]-\d+(?:\.\d+)*-\d+[ab]?|'
      r'[BCDHILOPQR]-\d\d|F-[a-z]+)')
ROW = re.compile(r'^   \* - (%s)\n((?:     .*\n)+)' % ID, re.MULTILINE)
KUNIT = re.compile(r'/\*\s*Rules:([^*]*)\*/\nstatic void (\w+)\(struct kunit \*test\)')
E2E = re.compile(r'^# Rules:(.*)$', re.MULTILINE)
STATIC = re.compile(r'^# Rules:(.*)\n(?:#.*\n)*test_(\w+)\(\)', re.MULTILINE)

# What "kept" may say, and whether such a rule needs a test
KEPT = {
    'yes': True,
    'decision': True,   # decided here, where the RFCs are silent, loose, or disagree
    'rdma_cm': True,    # as far as iw_cm and rdma_cm carry it
    'driver': True,     # negotiated here, done by drivers that can
    'SCTP': False,
    'not us': False,
}


def wire_tests():
    """rule -> names of its tests"""
    sys.path.insert(0, str(TOP / 'scripts/wire'))
    sys.dont_write_bytecode = True
    registry = importlib.import_module('registry')
    found = {}
    data = sorted(path.stem for path in (TOP / 'scripts/wire').glob('data_*.py'))
    for name in ('initiator', 'responder', 'hazards', 'storms', 'load', 'faults', *data):
        importlib.import_module(name)
    for _, ids, function, _ in registry.TESTS + registry.SOAK:
        name = 'wire: %s_%s' % (function.__module__, function.__name__)
        for rule in ids:
            found.setdefault(rule, {})[name] = None
    return found


def kunit_tests(files):
    found = {}
    for path, text in files:
        for rules, function in KUNIT.findall(text):
            suite = path.stem.removesuffix('_kunit').removeprefix('iw_mpa_')
            for rule in re.findall(ID, rules):
                found.setdefault(rule, {})['kunit %s: %s' % (suite, function)] = None
    return found


def e2e_tests(files):
    found = {}
    for path, text in files:
        for rules in E2E.findall(text):
            for rule in re.findall(ID, rules):
                found.setdefault(rule, {})['e2e: ' + path.stem] = None
    return found


def static_tests(text):
    found = {}
    for rules, function in STATIC.findall(text):
        for rule in re.findall(ID, rules):
            found.setdefault(rule, {})['static: ' + function] = None
    return found


def read_all(pattern):
    return [(path, path.read_text(encoding='utf-8')) for path in sorted(TOP.glob(pattern))]


def all_tests():
    tests = {}
    for part in (wire_tests(), kunit_tests(read_all('kunit/*_kunit.c')),
                 e2e_tests(read_all('scripts/e2e/*.sh')),
                 static_tests((TOP / 'scripts/static.sh').read_text(encoding='utf-8'))):
        for rule, names in part.items():
            tests.setdefault(rule, []).extend(names)
    return tests


def fields(body):
    """The fields of a row behind its id: rule, kept, how, tests."""
    result = []
    for line in body.splitlines():
        if line.startswith('     -'):
            result.append(line[6:].strip())
        else:
            result[-1] = (result[-1] + ' ' + line.strip()).strip()
    return result


def tests_text(names):
    """'wire: a, b; kunit frame: c' in lines that fit the page"""
    groups = {}
    for name in names:
        kind, test = name.split(': ')
        groups.setdefault(kind, []).append(test)
    text = '; '.join('%s: %s' % (kind, ', '.join(tests)) for kind, tests in groups.items())
    lines = textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False)
    return '     -' + '\n       '.join([''] + lines).replace('\n       ', ' ', 1) + '\n'


def written(page, tests, count=4):
    def row(match):
        rule, body = match.groups()
        parts = re.split(r'(?m)^(?=     -)', body)
        parts = [part for part in parts if part][:count - 1]
        return '   * - %s\n%s%s' % (rule, ''.join(parts), tests_text(tests.get(rule, [])))
    return ROW.sub(row, page)


def problems(pages, tests):
    """pages: (text, fields of a row)"""
    rows = {}
    for page, count in pages:
        for rule, body in ROW.findall(page):
            if rule in rows:
                yield '%s has two rows' % rule
            rows[rule] = fields(body)
            if len(rows[rule]) != count:
                yield '%s: a row has %d fields' % (rule, count + 1)
                rows[rule] = None
        if written(page, tests, count) != page:
            yield 'the names of tests are not those of today: run %s --write' % sys.argv[0]
    for rule, row in rows.items():
        if not row:
            continue
        if row[1] not in KEPT:
            yield '%s is "%s": not kept, or not one of %s' % (rule, row[1], ', '.join(KEPT))
        elif KEPT[row[1]] and not tests.get(rule):
            yield '%s has no test' % rule
    for rule in sorted(set(tests) - set(rows)):
        yield '%s is not on the page: %s' % (rule, ', '.join(tests[rule]))


SAMPLE = '''
   * - E-1-1
     - one
     - yes
     - so
     - wire: initiator_a
   * - M-2.1-1
     - two
     - SCTP
     -
     -
'''
GOOD = {'E-1-1': ['wire: initiator_a']}


def selftest():
    mistakes = [
        (SAMPLE, {}, 'no test'),
        (SAMPLE, {'E-1-1': ['wire: initiator_b']}, 'of today'),
        (SAMPLE, {**GOOD, 'E-1-2': ['wire: x']}, 'not on the page'),
        (SAMPLE.replace('- yes', '- no'), GOOD, 'not kept'),
        (SAMPLE.replace('     - so\n', ''), GOOD, '5 fields'),
        (SAMPLE + SAMPLE, GOOD, 'two rows'),
    ]
    failed = [] if not list(problems([(SAMPLE, 4)], GOOD)) else ['the good sample is refused']
    for page, tests, text in mistakes:
        if not any(text in problem for problem in problems([(page, 4)], tests)):
            failed.append('not found: ' + text)
    for rule in ('F-4.1-5', 'D-4.3.1-2', 'R-B-3', 'R-8.1.1-10', 'T-22', 'E-9.1-7', 'R-01', 'F-rtr'):
        if re.findall(ID, 'Rules: %s, and' % rule) != [rule]:
            failed.append('no id: ' + rule)
    return failed


def main():
    if sys.argv[1:] == ['--selftest']:
        found = selftest()
    else:
        pages, tests = [path.read_text(encoding='utf-8') for path in PAGES], all_tests()
        if sys.argv[1:] == ['--write']:
            pages = [written(page, tests, count) for page, count in zip(pages, PAGES.values())]
            for path, page in zip(PAGES, pages):
                path.write_text(page, encoding='utf-8')
        found = list(problems(list(zip(pages, PAGES.values())), tests))
    for problem in found:
        print(problem)
    return 1 if found else 0


sys.exit(main())
