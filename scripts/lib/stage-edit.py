#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Apply a list of edits to a file of the kernel that is copied into the cache.

    stage-edit.py EDITS FILE     print FILE with the changes of EDITS; fail if one of them does not fit
    stage-edit.py --files EDITS  print the names of the files that EDITS change
    stage-edit.py --selftest     prove that each edit works, and that each kind of misfit is found

A list of edits has a line for each: the file's name, the kind of edit, and the place, which is
given by names of functions and structures alone, so that the list quotes nothing of the file:
    declare NAME              remove the body of the function NAME, keep its declaration
    remove NAME               remove the whole function
    wrap NAME AS              rename the function to AS, and declare NAME, which another file then defines by AS
    condition NAME WORD TEXT  in NAME, replace the condition of the one "if" that has WORD by TEXT
    member NAME TEXT          add a last member to the structure NAME
    include HEADER            include HEADER before all others
    append FILE               include FILE as the last line

Files have to be in the kernel's style: the line that begins a function or a structure, and the
brace that ends it, are not indented.
"""

import pathlib
import re
import sys


class Misfit(Exception):
    """An edit that does not fit in exactly one place."""


def the_one(text, pattern, what):
    """Return the only match of a pattern; raise Misfit if there is not exactly one."""
    found = list(re.finditer(pattern, text, re.MULTILINE | re.DOTALL))
    if len(found) != 1:
        raise Misfit('%s: in %d places' % (what, len(found)))
    return found[0]


def function(text, name):
    """Match the definition of a function: group 1 is its declaration, group 2 the body."""
    return the_one(text, r'^((?:\w[\w \t*]*?[ \t*]|)%s\([^;{}]*?\))\n(\{\n.*?^\})\n' % re.escape(name),
                   'function %s' % name)


def wrap(text, name, new):
    match = function(text, name)
    head = re.sub(r'\b%s\(' % re.escape(name), new + '(', match[1], count=1)
    return '%s%s;\n\n%s%s' % (text[:match.start()], match[1], head, text[match.end(1):])


def parenthesis(text, start):
    """Return the position after the parenthesis that closes the one at START."""
    depth = 0
    for at in range(start, len(text)):
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        if not depth:
            return at + 1
    raise Misfit('a parenthesis without end')


def declare(text, name):
    match = function(text, name)
    return text[:match.start(2) - 1] + ';\n' + text[match.end():]


def remove(text, name):
    match = function(text, name)
    return text[:match.start()] + text[match.end():].lstrip('\n')


def condition(text, name, word, new):
    match = function(text, name)
    found = []
    for begin in re.finditer(r'\bif \(', match[2]):
        start = match.start(2) + begin.end() - 1
        end = parenthesis(text, start)
        if re.search(r'\b%s\b' % re.escape(word), text[start:end]):
            found.append((start, end))
    if len(found) != 1:
        raise Misfit('%s: %d conditions with %s' % (name, len(found), word))
    (start, end), = found
    return '%s(%s)%s' % (text[:start], new, text[end:])


def member(text, name, new):
    match = the_one(text, r'^struct %s \{\n.*?^\};\n' % re.escape(name), 'struct %s' % name)
    end = match.end() - len('};\n')
    return '%s\t%s\n%s' % (text[:end], new, text[end:])


def include(text, header):
    match = re.search(r'^#include ', text, re.MULTILINE)
    if not match:
        raise Misfit('nothing is included')
    return '%s#include "%s"\n%s' % (text[:match.start()], header, text[match.start():])


def append(text, header):
    return '%s\n#include "%s"\n' % (text, header)


# Function of each edit, and its number of arguments; the last argument takes the rest of the line
ACTIONS = {'declare': (declare, 1), 'remove': (remove, 1), 'wrap': (wrap, 2),
           'condition': (condition, 3), 'member': (member, 2), 'include': (include, 1),
           'append': (append, 1)}


def read_edits(text):
    """Yield (file, action, arguments) of each line."""
    for line in text.splitlines():
        if not line.strip() or line.startswith('#'):
            continue
        name, what, rest = (line.split(None, 2) + ['', ''])[:3]
        if what not in ACTIONS:
            raise Misfit('no such edit: %s' % line)
        args = rest.split(None, ACTIONS[what][1] - 1)
        if len(args) != ACTIONS[what][1]:
            raise Misfit('arguments: %s' % line)
        yield name, what, args


def edited(edits, name, text):
    for file, what, args in edits:
        if file == name:
            text = ACTIONS[what][0](text, *args)
    return text


SOURCE = '''/* a file */
#include <linux/one.h>
#include "two.h"

struct thing {
\tint a;
};

struct other_thing {
\tint b;
};

static int late(struct thing *t);

static int *early(struct thing *t,
\t\t  int more)
{
\tif (t->a) {
\t\treturn late(t);
\t}
\treturn t ? 1 : 0;
}

int late(struct thing *t)
{
\tif (t->a == 1 ||
\t    (more(t) && t->tried))
\t\tearly(t, 1);
\telse if (t->b)
\t\treturn 2;
\treturn 0;
}
'''

# edits, text that the result must have, text that it must not have; or edits and the error message
SELFTEST = (
    ('f.c declare early', 'int more);\n\nint late', 'return t ?'),
    ('f.c remove late', 'static int late(struct thing *t);\n', 'return 2'),
    ('f.c wrap early inner', 'more);\n\nstatic int *inner(struct thing *t,\n\t\t  int more)\n{\n\tif',
     'int *early(struct thing *t,\n\t\t  int more)\n{'),
    ('f.c condition late tried enough(t)', '\tif (enough(t))\n\t\tearly(t, 1);\n\telse if (t->b)',
     'tried'),
    ('f.c condition late b enough(t, 1)', 'else if (enough(t, 1))', 't->b'),
    ('f.c member thing struct new c;', '\tint a;\n\tstruct new c;\n};\n\nstruct other', None),
    ('f.c include ../first.h', '#include "../first.h"\n#include <linux/one.h>', None),
    ('f.c append ../last.c', '}\n\n#include "../last.c"\n', None),
    ('g.c remove late\n# f.c remove early', SOURCE, None),
    ('f.c declare early\nf.c remove late', 'int more);', 'tried'),
    ('f.c declare earl', 'function earl: in 0 places'),
    ('f.c wrap earl inner', 'function earl: in 0 places'),
    ('f.c wrap early', 'arguments'),
    ('f.c remove tried', 'function tried: in 0 places'),
    ('f.c remove late\nf.c remove late', 'function late: in 0 places'),
    ('f.c condition late nothing x', 'late: 0 conditions with nothing'),
    ('f.c condition late t x', 'late: 2 conditions with t'),
    ('f.c condition tried a x', 'function tried: in 0 places'),
    ('f.c member things int c;', 'struct things: in 0 places'),
    ('f.c member thing', 'arguments'),
    ('f.c replace thing', 'no such edit'),
)


def selftest_row(edits, *wanted):
    try:
        result = edited(list(read_edits(edits)), 'f.c', SOURCE)
    except Misfit as misfit:
        return len(wanted) == 1 and wanted[0] in str(misfit)
    return len(wanted) == 2 and wanted[0] in result and (not wanted[1] or wanted[1] not in result)


def selftest():
    bad = [row[0] for row in SELFTEST if not selftest_row(*row)]
    twice = SOURCE + SOURCE[SOURCE.index('int late(struct thing *t)\n{'):]
    try:
        edited([('f.c', 'remove', ['late'])], 'f.c', twice)
        bad.append('a function that is there twice')
    except Misfit:
        pass
    for row in bad:
        print('selftest: %r' % row)
    return 1 if bad else 0


def main():
    args = sys.argv[1:]
    if args == ['--selftest']:
        return selftest()
    if len(args) != 2:
        sys.exit(__doc__)
    try:
        edits = list(read_edits(pathlib.Path(args[args[0] == '--files']).read_text(encoding='utf-8')))
        if args[0] == '--files':
            print('\n'.join(sorted({name for name, _, _ in edits})))
            return 0
        file = pathlib.Path(args[1])
        sys.stdout.write(edited(edits, file.name, file.read_text(encoding='utf-8')))
    except Misfit as misfit:
        print('error: %s does not fit %s: %s' % (args[0], args[1], misfit), file=sys.stderr)
        return 1
    return 0


sys.exit(main())
