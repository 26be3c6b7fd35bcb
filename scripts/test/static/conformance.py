#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the tables of rules and hazards in Documentation/infiniband against the tests.

    conformance.py             check: each rule has a test, each test's rules are known
    conformance.py --write     write the names of the tests into the pages
    conformance.py --selftest  prove that each kind of mistake is found

A page has a row for each rule: id, rule, kept, how, and tests. This program writes the last column, from what the tests
say of themselves:
    wire (scripts/wire)        @rule("E-9.2-4 E-9.2-5: what shows it", ...)
    KUnit (kunit)              /* Rules: E-9.2-4 E-9.2-5: what shows it; ... */ above the function;
                               for rules that suites in the kernel's tree must not name: a line of kunit/hazards
    e2e (scripts/e2e)          # Rules: E-9.2-4 ...
    static (scripts/static.sh) # Rules: E-9.2-4 ... above the test function

If a test is removed, its name disappears from the page, and the check fails if a rule then has no test. A test that the
text of a page names, as ``name_of_the_test``, has to exist, too, whether or not it names a rule.

A test that would also pass if a rule were broken does not prove the rule. So each test that names a rule has to say
what it checks that would then be different, and the page shows that; a test that does not is refused. For a hazard it
is enough that a test exists.

A test that is never run proves nothing. For each wire test that make wire does not run the page names the suite that
does, and the column "how" of a rule says so if only such tests prove it. A test that no suite runs is refused.
"""

import collections
import importlib
import os
import pathlib
import re
import subprocess
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[3]
PAGES = [TOP / 'Documentation/infiniband' / name
         for name in ('iw_mpa_conformance.rst', 'srnic_conformance.rst')]
HAZARDS = TOP / 'kunit/hazards'
COUNT = 4    # fields of a row after its id: rule, kept, how, tests
HAZARD = r'[BCDHILOPQR]-\d\d|F-[a-z]+'
ID = (r'(?:[FDR]-(?:\d+(?:\.\d+)*|B)-\d+|T-\d+|[EMS]-\d+(?:\.\d+)*-\d+[ab]?|'
      r'X-02-\d|%s)' % HAZARD)
ROW = re.compile(r'^   \* - (%s)\n((?:     .*\n)+)' % ID, re.MULTILINE)
KUNIT = re.compile(r'/\*(?:\n \*)? (Rules:)?((?:[^*]|\*(?!/))*)\*/\n'
                   r'static void (\w+)\(struct kunit \*test\)')
LISTED = re.compile(r'^(\w+\.\w+): (.*)$', re.MULTILINE)
E2E = re.compile(r'^# Rules:(.*)$', re.MULTILINE)
STATIC = re.compile(r'^# Rules:(.*)\n(?:#.*\n)*test_(\w+)\(\)', re.MULTILINE)

# A name with three or more underscores in a page's text is a test, or a word of the sources.
WORD = re.compile(r'``([a-z0-9]+(?:_[a-z0-9]+){3,})``')
CASE = re.compile(r'^static void (\w+)\(struct kunit \*test\)', re.MULTILINE)

# Suites that run the wire tests: a word that names the suite in the conformance pages, the script with its options, and
# its environment. A test gets the word of the first suite that runs it.
ON_SIW_MPA = 'wire.sh', '--device', 'siw_mpa'
SUITES = (('', ('wire.sh',), {}),
          ('soak', ('test/soak.sh',), {}),
          ('siw_mpa', ON_SIW_MPA, {}),
          ('KASAN', ('wire.sh',), {'KERNEL': 'kasan'}),
          ('siw_mpa under KASAN', ON_SIW_MPA, {'KERNEL': 'kasan'}))
NOBODY = 'nobody'
Proof = collections.namedtuple('Proof', 'what suite')

# Values of the column "kept", and whether such a rule needs a test
KEPT = {
    'yes': True,
    'decision': True,   # decided here, where the RFCs are silent, ambiguous, or disagree
    'rdma_cm': True,    # as far as iw_cm and rdma_cm support it
    'driver': True,     # negotiated here, implemented by drivers that can
    'protocol': True,   # by SCTP's session control, which no socket uses
    'needs a socket': False,
    'not us': False,
}


def rules_of(text):
    """Parse what follows "Rules:", "ID ID: text; ID ...". Return {rule: text}: the text says what
    shows that the rule is kept, and is None if it is missing."""
    shown = {}
    for part in re.sub(r'\n \*', ' ', text).split(';'):
        ids, _, what = part.partition(': ')
        shown.update(dict.fromkeys(re.findall(ID, ids), ' '.join(what.split()) or None))
    return shown


def gathered(tests):
    """TESTS are tuples (name, rules_of() of the test, suite). Return {rule: {name: Proof}}."""
    found = {}
    for name, shown, suite in tests:
        for rule, what in shown.items():
            found.setdefault(rule, {})[name] = Proof(what, suite)
    return found


def listed(words, settings):
    """Return the set of cases that a suite of the wire tests runs, as its option -l lists them."""
    env = {name: value for name, value in os.environ.items()
           if name not in ('DRIVER', 'KERNEL', 'KERNELS', 'KREL', 'DEBUG')}
    return set(subprocess.run([TOP / 'scripts' / words[0], *words[1:], '-l'], env={**env, **settings},
                              text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines())


def suites_of(tests, suites):
    """TESTS are pairs (case, function), SUITES pairs (word, cases). Return {function: word of the
    first suite that runs a case of it}."""
    found = dict.fromkeys((function for _, function in tests), NOBODY)
    for word, cases in suites:
        for case, function in tests:
            if case in cases and found[function] == NOBODY:
                found[function] = word
    return found


def wire_registry():
    sys.path.insert(0, str(TOP / 'scripts/wire'))
    sys.dont_write_bytecode = True
    registry = importlib.import_module('registry')
    # A file with tests imports the decorator of registry.py.
    names = {path.stem for path in (TOP / 'scripts/wire').glob('*.py')
             if '\nfrom registry import rule' in path.read_text(encoding='utf-8')}
    first = [name for name in ('initiator', 'responder', 'hazards', 'storms', 'load', 'faults')
             if name in names]
    for name in first + sorted(names.difference(first)):
        importlib.import_module(name)
    return [(' '.join((name, *ids)), function)
            for name, ids, function, _ in registry.TESTS + registry.SOAK]


def wire_name(function):
    return 'wire: %s_%s' % (function.__module__, function.__name__)


def wire_tests():
    tests = wire_registry()
    suites = suites_of(tests, [(word, listed(words, env)) for word, words, env in SUITES])
    for _, function in tests:
        yield wire_name(function), function.shows, suites[function]


def kunit_tests(files, hazards):
    """HAZARDS is the text of kunit/hazards."""
    listed_rules = dict(LISTED.findall(hazards))
    for path, text in files:
        name = path.stem.removesuffix('_kunit')
        for rules, comment, function in KUNIT.findall(text):
            shown = rules_of(comment) if rules else {}
            plain = None if rules else ' '.join(comment.replace('\n *', ' ').split())
            for rule, what in rules_of(listed_rules.get(name + '.' + function, '')).items():
                shown[rule] = what or plain
            yield 'kunit %s: %s' % (name.removeprefix('iw_mpa_'), function), shown, ''


def unread_citations(files, hazards):
    """Report comments with "Rules:" that KUNIT, the pattern for them, does not match, and lines of
    kunit/hazards about no case with a comment: no page would have their tests."""
    cases = set()
    for path, text in files:
        found = KUNIT.findall(text)
        cases.update(path.stem.removesuffix('_kunit') + '.' + function for _, _, function in found)
        unread = len(re.findall(r'\bRules:', text)) - len([rules for rules, _, _ in found if rules])
        if unread:
            yield '%s: %d comments with "Rules:" are not read' % (path.name, unread)
    for case, _ in LISTED.findall(hazards):
        if case not in cases:
            yield 'kunit/hazards: %s is no case with a comment' % case


def e2e_tests(files):
    for path, text in files:
        for rules in E2E.findall(text):
            yield 'e2e: ' + path.stem, rules_of(rules), ''


def static_tests(text):
    for rules, function in STATIC.findall(text):
        yield 'static: ' + function, rules_of(rules), ''


def read_all(pattern):
    return [(path, path.read_text(encoding='utf-8')) for path in sorted(TOP.glob(pattern))]


def known_words():
    """Return all names that a page may have in its text: tests, and words of the sources."""
    words = {wire_name(function).split(': ')[1] for _, function in wire_registry()}
    for _, text in read_all('kunit/*/*_kunit.c'):
        words.update(CASE.findall(text))
    for _, text in read_all('drivers/infiniband/sw/*/*.[ch]'):
        words.update(re.findall(r'\w+', text))
    return words


def all_tests():
    return gathered([*wire_tests(), *kunit_tests(read_all('kunit/*/*_kunit.c'), HAZARDS.read_text(encoding='utf-8')),
                     *e2e_tests(read_all('scripts/e2e/*.sh')),
                     *static_tests((TOP / 'scripts/static.sh').read_text(encoding='utf-8'))])


def fields(body):
    """Return the fields of a row after its id: rule, kept, how, tests."""
    result = []
    for line in body.splitlines():
        if line.startswith('     -'):
            result.append(line[6:].strip())
        else:
            result[-1] = (result[-1] + ' ' + line.strip()).strip()
    return result


def tests_text(names):
    """Return the last column of a row: 'wire: a (what shows it), b (suite: what shows it); kunit
    frame: c', wrapped to the page's width."""
    groups = {}
    for name, proof in names.items():
        kind, test = name.split(': ')
        text = ': '.join(filter(None, (proof.suite, proof.what)))
        groups.setdefault(kind, []).append(test + (' (%s)' % text if text else ''))
    text = '; '.join('%s: %s' % (kind, ', '.join(tests)) for kind, tests in groups.items())
    lines = textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False)
    return '     -' + '\n       '.join([''] + lines).replace('\n       ', ' ', 1) + '\n'


def written(page, tests):
    def row(match):
        rule, body = match.groups()
        parts = re.split(r'(?m)^(?=     -)', body)
        parts = [part for part in parts if part][:COUNT - 1]
        return '   * - %s\n%s%s' % (rule, ''.join(parts), tests_text(tests.get(rule, {})))
    return ROW.sub(row, page)


def suites(proofs):
    return {proof.suite for proof in proofs.values()}


def said(how):
    """Return the suites that a row's column "how" names, as KASAN in "tested under KASAN alone"."""
    return re.findall(r'[Tt]ested (?:by|on|under) ([\w ]+?)\s+alone', how)


def problems(pages, tests, known):
    rows = {}
    for page in pages:
        for word in sorted(set(WORD.findall(page)) - known):
            yield '%s is no test, and no word of the sources' % word
        for rule, body in ROW.findall(page):
            if rule in rows:
                yield '%s has two rows' % rule
            rows[rule] = fields(body)
            if len(rows[rule]) != COUNT:
                yield '%s: a row has not %d fields' % (rule, COUNT + 1)
                rows[rule] = None
            for name, proof in tests.get(rule, {}).items():
                if not proof.what and not re.fullmatch(HAZARD, rule):
                    yield '%s names %s, and does not say what shows it' % (name, rule)
                if proof.suite == NOBODY:
                    yield '%s is run by no suite' % name
        if written(page, tests) != page:
            yield 'the names of tests are not those of today: run %s --write' % sys.argv[0]
    for rule, row in rows.items():
        if not row:
            continue
        if row[1] not in KEPT:
            yield '%s is "%s": not kept, or not one of %s' % (rule, row[1], ', '.join(KEPT))
        elif KEPT[row[1]] and not tests.get(rule):
            yield '%s has no test' % rule
        elif KEPT[row[1]] and not suites(tests[rule]).intersection(('', *said(row[2]))):
            yield '%s rests on tests of %s alone, and does not say so' % (
                rule, ', '.join(sorted(suites(tests[rule]))))
    for rule in sorted(set(tests) - set(rows)):
        yield '%s is not on the page: %s' % (rule, ', '.join(tests[rule]))


SAMPLE = '''
   * - E-1-1
     - one
     - yes
     - so
     - wire: initiator_a (an octet)
   * - M-2.1-1
     - two
     - needs a socket
     -
     -
'''
GOOD = {'E-1-1': {'wire: initiator_a': Proof('an octet', '')}}
SOAK = {'E-1-1': {'wire: initiator_a': Proof('an octet', 'soak')}}
SOAKED = SAMPLE.replace('(an', '(soak: an')


def selftest():
    mistakes = [
        (SAMPLE, {}, 'no test'),
        (SAMPLE, {'E-1-1': {'wire: initiator_b': Proof('an octet', '')}}, 'of today'),
        (SAMPLE, {'E-1-1': {'wire: initiator_a': Proof('another', '')}}, 'of today'),
        (SAMPLE.replace(' (an octet)', ''), {'E-1-1': {'wire: initiator_a': Proof(None, '')}},
         'what shows'),
        (SAMPLE, {**GOOD, 'E-1-2': {'wire: x': Proof('y', '')}}, 'not on the page'),
        (SAMPLE.replace('- yes', '- no'), GOOD, 'not kept'),
        (SAMPLE.replace('     - so\n', ''), GOOD, '5 fields'),
        (SAMPLE + SAMPLE, GOOD, 'two rows'),
        (SAMPLE + '``a_test_that_went``', GOOD, 'is no test'),
        (SAMPLE, SOAK, 'of today'),
        (SOAKED, SOAK, 'rests on tests of soak alone'),
        (SOAKED.replace('- so\n', '- so. Tested on siw_mpa alone.\n'), SOAK, 'of soak alone'),
        (SAMPLE, {'E-1-1': {'wire: initiator_a': Proof('an octet', NOBODY)}}, 'run by no suite'),
    ]
    known = {'a_test_that_is'}
    good = list(problems([SAMPLE + '``a_test_that_is``'], GOOD, known))
    soaked = SOAKED.replace('- so\n', '- so. Tested by soak alone.\n')
    good += problems([soaked], SOAK, known)
    hazard = SAMPLE.replace('E-1-1', 'B-01').replace(' (an octet)', '')
    good += problems([hazard], {'B-01': {'wire: initiator_a': Proof(None, '')}}, known)
    failed = ['the good sample is refused'] if good else []
    for page, tests, text in mistakes:
        if not any(text in problem for problem in problems([page], tests, known)):
            failed.append('not found: ' + text)
    if suites_of([('a_1', 1), ('a_2', 1), ('b', 2), ('c', 3)],
                 [('', {'a_1'}), ('soak', {'a_2', 'b'})]) != {1: '', 2: 'soak', 3: NOBODY}:
        failed.append('who runs a test is not known')
    case = ' Rules: E-1-1: an octet */\nstatic void a(struct kunit *test)\n'
    suite = pathlib.Path('x_kunit.c')
    if list(unread_citations([(suite, '/*' + case)], 'x.a: B-01')):
        failed.append('a good citation is refused')
    if not list(unread_citations([(suite, '/* Prose.\n *\n *' + case)], '')):
        failed.append('not found: a citation that is not read')
    if not list(unread_citations([(suite, '/*' + case)], 'x.b: B-01')):
        failed.append('not found: a hazard of no case')
    plain = '/* so */\nstatic void b(struct kunit *test)'
    if [shown for _, shown, _ in kunit_tests([(suite, '/*' + case + plain)], 'x.a: B-01\nx.b: B-02 B-03')] != [
            {'E-1-1': 'an octet', 'B-01': None}, {'B-02': 'so', 'B-03': 'so'}]:
        failed.append('what shows a hazard is not read')
    if rules_of(' T-1 E-1-1 E-2-1: one\n * thing; E-3-1: another ') != {
            'T-1': 'one thing', 'E-1-1': 'one thing', 'E-2-1': 'one thing', 'E-3-1': 'another'}:
        failed.append('what shows a rule is not read')
    for rule in ('F-4.1-5', 'D-4.3.1-2', 'R-B-3', 'R-8.1.1-10', 'T-22', 'E-9.1-7', 'X-02-1', 'R-01',
                 'F-rtr'):
        if re.findall(ID, 'Rules: %s, and' % rule) != [rule]:
            failed.append('no id: ' + rule)
    return failed


def main():
    if sys.argv[1:] == ['--selftest']:
        found = selftest()
    else:
        pages = [path.read_text(encoding='utf-8') for path in PAGES]
        tests = all_tests()
        if sys.argv[1:] == ['--write']:
            pages = [written(page, tests) for page in pages]
            for path, page in zip(PAGES, pages):
                path.write_text(page, encoding='utf-8')
        found = list(problems(pages, tests, known_words()))
        found += unread_citations(read_all('kunit/*/*_kunit.c'), HAZARDS.read_text(encoding='utf-8'))
    for problem in found:
        print(problem)
    return 1 if found else 0


sys.exit(main())
