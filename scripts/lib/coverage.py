#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Report lines and branches of layers without I/O that the KUnit suites did not reach.

    coverage.py BUILD FOLDER LOG FSM_H OBJECT...

BUILD is the build folder of a kernel that has run, FOLDER the folder in it with the OBJECTs and the
counts of gcc (.gcno, .gcda), LOG the console of the run, FSM_H the header that lists states and
events. This prints "ok NAME" or "not ok NAME" for each object and for the state table; after a
failure it prints, as "# " lines, what was not reached.

A branch is an outcome of a condition, as gcc counts it before it optimizes:
each part of a && b has two, each case of a switch has one. min() and max()
have none, as gcc has a single operation for each.
"""

import json
import os
import re
import subprocess
import sys

X = re.compile(r'\bX\((\w+)')
CELL = re.compile(r'^ {8}ok \d+ ([A-Z0-9_]+)$', re.MULTILINE)


def gcov(build, counts):
    """Return path and lines, with counts, of the source file to which a .gcda file belongs."""
    text = subprocess.run(['gcov', '--json-format', '--stdout', '--branch-probabilities', counts],
                          cwd=build, stdout=subprocess.PIPE, check=True).stdout
    source = os.path.basename(counts).replace('.gcda', '.c')
    for file in json.loads(text)['files']:
        if os.path.basename(file['file']) == source:
            return os.path.join(build, file['file']), file['lines']
    raise ValueError(counts + ' says nothing of ' + source)


def percent(part, whole):
    return 'no' if not whole else '%.1f %% of %d' % (100 * part / whole, whole)


def holes(path, lines):
    """Print each line and each branch that was not reached, in lines that begin with "# "."""
    with open(path, encoding='utf-8') as source:
        text = [''] + source.read().splitlines()
    for line in lines:
        number = line['line_number']
        where = '# line %d: %s: ' % (number, text[number].strip())
        if not line['count']:
            print(where + 'not reached')
            continue
        for index, branch in enumerate(line['branches']):
            if not branch['count']:
                print(where + 'branch %d of %d not taken' % (index + 1, len(line['branches'])))


def judge_source(build, counts, name):
    if not os.path.exists(os.path.join(build, counts)):
        print('not ok coverage: %s: the kernel left no counts' % name)
        return
    path, lines = gcov(build, counts)
    reached = sum(line['count'] > 0 for line in lines)
    branches = [branch['count'] > 0 for line in lines for branch in line['branches']]
    complete = bool(lines) and reached == len(lines) and all(branches)
    print('%s coverage: %s %s lines, %s branches' %
          ('ok' if complete else 'not ok', name, percent(reached, len(lines)),
           percent(sum(branches), len(branches))))
    if not complete:
        holes(path, lines)


def listed(header, macro):
    """Return the names in an X macro of the header, such as the list of states."""
    body = re.search(r'#define %s\(X\)(.*?[^\\])\n\n' % macro, header, re.DOTALL)
    return X.findall(body[1])


def judge_cells(header, log):
    """Check that the log has a passed result STATE_EVENT for each cell of the state table."""
    cells = [state + '_' + event for state in listed(header, 'IW_MPA_STATES')
             for event in listed(header, 'IW_MPA_RAISED_EVENTS') +
             listed(header, 'IW_MPA_FOUND_EVENTS')]
    seen = set(CELL.findall(log))
    missing = [cell for cell in cells if cell not in seen]
    print('%s coverage: state table %s cells' %
          ('not ok' if missing or not cells else 'ok',
           percent(len(cells) - len(missing), len(cells))))
    for cell in missing:
        print('# %s: not tested, or not ok' % cell)


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def short(path):
    """Return the last folder and the file name: two layers may have files of the same name."""
    return '/'.join(path.split('/')[-2:])


def main():
    build, folder, log, header = sys.argv[1:5]
    for name in sys.argv[5:]:
        counts = os.path.join(folder, name.replace('.o', '.gcda'))
        judge_source(build, counts, short(name.replace('.o', '.c')))
    judge_cells(read(header), read(log))


main()
