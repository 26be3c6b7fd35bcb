#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Turn the console log of a KUnit kernel into one verdict per test case.

    ktap.py [--mute] LOG SUITE...

Prints "ok NAME" or "not ok NAME", and after a failure, as "# " lines, what the log says about it.
Failures are also: a suite among the arguments that did not run, a number of cases other than
announced, a skipped case, a kernel that did not reach its end, and any warning of the kernel itself
(KASAN, lockdep, WARN_ON, ...). The console of some architectures is closed before the kernel says
that it halts: with --mute that message need not be there.

A test that provokes a warning on purpose announces it:
    kunit_info(test, "expect-splat: iw_mpa_register");
Then one warning has to appear before the case ends, with these words in its text.
"""

import re
import sys

RESULT = re.compile(r'^((?:    )*)(ok|not ok) \d+ (?:- )?([^#\s][^#]*?)\s*(#.*)?$')
SUBTEST = re.compile(r'^((?:    )*)# Subtest: (\S+)')
PLAN = re.compile(r'^((?:    )*)1\.\.(\d+)$')
EXPECT = re.compile(r'# .*expect-splat: (.*\S)')
SPLAT = re.compile(r'\bWARNING: |\bBUG: |\bINFO: (trying|task|possible|rcu)|'
                   r'Kernel panic|general protection fault|Unable to handle|UBSAN: |Oops|'
                   r'kmemleak: \d+ new')
END = re.compile(r'reboot: (System halted|Restarting system|Power down)')
GUESS = re.compile(r'\[<[0-9a-f]+>\] \? ')    # an address that was left on the stack, and perhaps is no caller
HEAD, TAIL = 40, 20     # lines of log shown with a failure


class Log:
    def __init__(self, wanted):
        self.wanted = list(wanted)
        self.groups = []        # open subtests: [depth, name, plan, results]
        self.plan = None        # suites announced
        self.suites = []        # suites finished
        self.expected = []      # texts of warnings that the test has announced
        self.splats = 0         # warnings since the last verdict
        self.lines = []         # the log since the last verdict
        self.case_failed = False    # KUnit reports a failed case of this suite
        self.ended = False

    def verdict(self, passed, name):
        print('ok' if passed else 'not ok', name)
        if passed:
            return
        lines = [line for line in self.lines if not GUESS.search(line)]
        if len(lines) > HEAD + TAIL:
            lines[HEAD:-TAIL] = ['...']
        for line in lines:
            print('#', line)

    def group_at(self, depth):
        for group in self.groups:
            if group[0] == depth:
                return group
        return None

    def name_of(self, depth, name):
        return '.'.join([g[1] for g in self.groups if g[0] <= depth] + [name])

    def feed(self, line):
        self.lines.append(line)
        match = SUBTEST.match(line)
        if match:
            depth = len(match[1])
            self.groups = [g for g in self.groups if g[0] < depth]
            self.groups.append([depth, match[2], None, 0])
            return
        match = PLAN.match(line)
        if match:
            self.take_plan(len(match[1]), int(match[2]))
            return
        match = RESULT.match(line)
        if match:
            self.take_result(len(match[1]), match[2] == 'ok', match[3], match[4] or '')
            return
        self.take_other(line)

    # The plan of a suite, "1..N", may come before or after the suite's name.
    def take_plan(self, depth, count):
        if depth == 0:
            self.plan = count
        elif self.group_at(depth):
            self.group_at(depth)[2] = count

    def take_other(self, line):
        if END.search(line):
            self.ended = True
        match = EXPECT.search(line)
        if match:
            self.expected.append(match[1])
            self.lines.pop()        # otherwise missing_splats() would find the words in this line
        elif SPLAT.search(line):
            self.splats += 1

    def missing_splats(self):
        text = '\n'.join(self.lines)
        return [words for words in self.expected if words not in text]

    def take_result(self, depth, passed, name, remark):
        parent = self.group_at(depth)
        if parent:
            parent[3] += 1
        child = self.group_at(depth + 4)
        if depth == 0:
            self.end_suite(passed, name, child)
        elif depth == 4:
            self.end_case(passed, name, remark, child)
        # deeper results are parameters: their case is reported, and the log shows which failed

    def end_case(self, passed, name, remark, child):
        label = self.name_of(4, name)
        self.case_failed |= not passed
        if child:
            label += ' (%d parameters)' % child[3]
            self.groups.remove(child)
        if re.search(r'#\s*SKIP', remark, re.IGNORECASE):
            passed, label = False, label + ': skipped'
        if self.splats > len(self.expected):
            passed, label = False, label + ': warning of the kernel'
        elif self.splats < len(self.expected) or self.missing_splats():
            passed, label = False, label + ': no warning about ' + ', '.join(self.expected)
        self.verdict(passed, label)
        self.lines, self.splats, self.expected = [], 0, []

    # Each case has been reported already: report only failures of a suite that no case shows.
    def end_suite(self, passed, name, group):
        self.suites.append(name)
        ran = group[3] if group else 0
        plan = group[2] if group else None
        self.groups = []
        if not ran or ran != plan:
            self.verdict(False, '%s: %s cases planned, %d run' % (name, plan, ran))
        elif self.splats:
            self.verdict(False, name + ': warning of the kernel after the last case')
        else:
            # If a case failed, so did its suite, and the case was reported. Else report the suite.
            if not passed and not self.case_failed:
                self.verdict(False, name + ': the suite itself')
        self.lines, self.splats, self.case_failed = [], 0, False

    def finish(self):
        if self.plan is None:
            self.verdict(False, 'the kernel ran no test')
        elif len(self.suites) != self.plan or not self.ended:
            where = self.groups[0][1] if self.groups else 'its last suite'
            self.verdict(False, 'the kernel died in or after ' + where)
        elif self.splats:
            self.verdict(False, 'warning of the kernel after the tests')
        for suite in self.wanted:
            if suite not in self.suites:
                print('not ok', suite + ': did not run to its end')


def main():
    args = sys.argv[1:]
    mute = args[0] == '--mute'
    name, *suites = args[mute:]
    log = Log(suites)
    log.ended = mute
    with open(name, encoding='utf-8', errors='replace') as console:
        for line in console:
            log.feed(line.rstrip())
    log.finish()


if __name__ == '__main__':
    main()
