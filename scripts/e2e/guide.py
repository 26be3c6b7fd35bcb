#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The commands of a page of documentation, for a test to run.

    guide.py PAGE               print a line for each command: its host, the command, the expected output
    guide.py --match EXPECTED   succeed if stdin is as EXPECTED says
    guide.py --selftest         prove that differences are found

A literal block after the comment "run: HOST" has commands, each after "# ", and the output of each
below it. In an output "..." stands for any text in a line, or, alone on a line, for any lines; the
number of spaces does not matter. Commands and outputs are printed in base64, or as "-" if empty.
"""

import base64
import re
import sys

BLOCK = re.compile(r'^\.\. run: (\S+)\n\n::\n\n((?:(?:    .*)?\n)+)', re.MULTILINE)


def steps(text):
    """Yield (host, command, output) in the order of the page."""
    for host, block in BLOCK.findall(text):
        command, output = None, []
        for line in [line[4:] for line in block.splitlines()] + ['# ']:
            if not line.startswith('# '):
                output.append(line)
                continue
            if command:
                yield host, command, '\n'.join(output).strip()
            command, output = line[2:], []


def pattern(expected):
    def of_line(line):
        parts = [r'[ \t]+'.join(map(re.escape, re.split(r'\s+', part))) for part in line.split('...')]
        return '.*'.join(parts) + '[ \t]*\n'

    lines = expected.splitlines() if expected else []
    return ''.join('(?:.*\n)*?' if line.strip() == '...' else of_line(line) for line in lines)


def matches(expected, got):
    got = got.strip() + '\n' if got.strip() else ''
    return re.fullmatch(pattern(expected), got) is not None


def encode(text):
    return base64.b64encode(text.encode()).decode() or '-'


def decode(text):
    return '' if text == '-' else base64.b64decode(text).decode()


SELFTEST = (
    ('a  b', 'a b', True), ('a b', 'a   b\n', True), ('a b', 'ab', False), ('', '', True),
    ('', 'error', False), ('a', '', False), ('a', 'a\nb', False), ('a\n...', 'a\nb\nc', True),
    ('a\n...', 'a', True), ('...\nb', 'a\nb', True), ('...\nb', 'a\nc', False),
    ('n=... m', 'n=17 m', True), ('n=... m', 'n=17 k', False), ('a.b', 'axb', False))
PAGE = '.. run: x\n\n::\n\n    # one\n    out\n    more\n    # two &\n\ntext\n\n::\n\n    # never\n'


def selftest():
    good = [matches(expected, got) is want for expected, got, want in SELFTEST]
    good.append(list(steps(PAGE)) == [('x', 'one', 'out\nmore'), ('x', 'two &', '')])
    return 0 if all(good) else 1


def main():
    if sys.argv[1:] == ['--selftest']:
        return selftest()
    if len(sys.argv) == 3 and sys.argv[1] == '--match':
        return 0 if matches(decode(sys.argv[2]), sys.stdin.read()) else 1
    with open(sys.argv[1], encoding='utf-8') as page:
        found = list(steps(page.read()))
    for host, command, output in found:
        print(host, encode(command), encode(output))
    return 0 if found else 1


if __name__ == '__main__':
    sys.exit(main())
