#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Fail if make or a script offers something that make check-all does not run.

    offered.py               compare the help texts with what is run
    offered.py --selftest    prove that each kind of omission is found

What is offered: the targets of make and the variables of "make help"; and for each script NAME.sh the lines
"scripts/FOLDER/NAME.sh ARGUMENT... text" of the comment at its head, and the variables that this comment names, such as
T=. An argument is an option, with or without a value, a word, or a placeholder in capital letters.

What is run: the rows of scripts/test/check/rows, and what the scripts call, except in refusals.sh, whose calls are
refused. A variable may be set in a call of any script, since scripts hand it down.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
NOT_RUN = {'check-all'}         # this target runs all others
FOLDERS = ('scripts/', 'scripts/lib/', 'scripts/test/')       # folders of scripts that offer something
OWN = {'check.sh': {'--all', '--part', '-k', '--record'}}
# options that change how much a script runs, not what: a call with them stands for one without
SHORTER = {'-k', '--sample', '--seed', '--count', '--minutes', '--keep'}
STANDS_FOR = {'VARIABLE', 'NAME', 'PACKAGE'}    # not variables, though "=" follows

Offer = collections.namedtuple('Offer', 'script kind what')     # kind: option, word, value, variable
Run = collections.namedtuple('Run', 'script variables arguments')       # script is None for make


# --- what is offered ------------------------------------------------------------------------------


def head_of(text):
    """Return the lines of the comment at the head of a script."""
    lines = []
    for line in text.splitlines()[1:]:
        if not line.startswith('#'):
            break
        lines.append(line[1:])
    return lines


def arguments_of(usage):
    """Return (kind, name) of each argument in a usage line."""
    words = usage.split(' ')
    found = []
    while words:
        word = words.pop(0)
        bare = word.strip('[].')
        if bare.startswith('-'):
            found += [('option', name) for name in bare.split('|')]
            # The option's value, if it has one
            if words and not word.endswith(']') and words[0][0] not in '[-':
                words.pop(0)
        elif re.match(r'[A-Z]', bare):
            found.append(('value', ''))
        elif bare:
            found += [('word', name) for name in bare.split('|')]
    return found


def offers_of(script, text):
    head = head_of(text)
    for line in head:
        match = re.match(rf' {{3}}(?:[A-Z]+=\S+ )?scripts/(?:lib/|test/)?{re.escape(script)}((?: \S+)*)', line)
        for kind, what in arguments_of(match[1].strip()) if match and match[1] else ():
            yield Offer(script, kind, what)
    for name in set(re.findall(r'\b([A-Z][A-Z_]*)=', '\n'.join(head))) - STANDS_FOR:
        yield Offer(script, 'variable', name)


# --- what is run ----------------------------------------------------------------------------------


def statements(text):
    """Return the lines of a script without comments, continued lines joined."""
    code = '\n'.join(line for line in text.splitlines() if not re.match(r'\s*#', line))
    return [line.strip() for line in re.sub(r'\\\n\s*', ' ', code).splitlines()]


def words_of(text):
    """Yield the words of TEXT, the rest of a line after a command's name, up to the end of the
    command: they may be its arguments."""
    for word in text.split():
        if re.match(r'[|;&<>]|\d>', word):
            return
        yield word.strip('\'"(){};')
        if word.endswith((';', ';;')):
            return


def calls_in(text):
    """Yield the calls of scripts and of make in a text, and the variables that it sets."""
    for line in statements(text):
        if line.startswith('refused '):
            continue
        line = re.sub(r'(?<![\w-])(die|say) .*', '', line)      # text that is only printed
        yield Run(None, set(re.findall(r'(?<![\w$])([A-Z][A-Z_]*)=', line)), [])
        for match in re.finditer(r'scripts/(?:lib/|test/)?([a-z0-9-]+\.sh)"?(?=(.*))', line):
            yield Run(match[1], set(), list(words_of(match[2])))
        # Scripts run this tree's make with -s. Without -s "make" is a word, or makes other sources.
        for match in re.finditer(r'\b(?:user_make|make -s)\b((?: .*)?)$', line):
            yield Run(None, set(), list(words_of(match[1])))
        # check.sh has a table with options of suites
        for match in re.finditer(r'\[([a-z0-9]+)\]=(-\S+)', line):
            yield Run(match[1] + '.sh', set(), list(words_of(match[2])))


def rows_in(text):
    for line in text.splitlines():
        if re.match(r'\d', line):
            words = line.split()[1:]
            variables = set()
            while '=' in words[0]:
                variables.add(words.pop(0).split('=')[0])
            yield Run(words[0] + '.sh', variables, words[1:])


def is_run(offer, runs, words):
    """Does one of the RUNS use the offer? WORDS are the fixed words that the offer's script takes:
    any other argument is a value."""
    if offer.kind == 'variable':
        return any(offer.what in run.variables for run in runs)
    given = {word for run in runs if run.script == offer.script for word in run.arguments}
    if offer.kind == 'value':
        return any(not word.startswith('-') and '=' not in word for word in given - words)
    return offer.what in given


def is_made(call, runs):
    """Does one of the RUNS do the same as CALL, a call in the recipe of a target of make?"""
    for run in runs:
        options = {word for word in run.arguments if word.startswith('-')}
        if run.script == call.script and set(call.arguments) <= set(run.arguments) and \
                options - set(call.arguments) <= SHORTER:
            return True
    return False


def missing(scripts, texts, rows, makefile):
    """Yield what is offered and not run. SCRIPTS has the texts of the scripts that offer something,
    TEXTS those that may call them, both by name; MAKEFILE: recipes, and what make help prints."""
    recipes, helped = makefile
    runs = list(rows_in(rows))
    for name, text in texts.items():
        # Calls of a script by itself do not count.
        runs += [run for run in calls_in(text) if run.script != name]
    made = {word for run in runs if run.script is None for word in run.arguments}
    runs += [run for target in made & set(recipes) for run in calls_in(recipes[target])]
    for name in sorted(scripts):
        offers = list(offers_of(name, scripts[name]))
        words = {offer.what for offer in offers if offer.kind == 'word'}
        for offer in sorted(set(offers)):
            if not is_run(offer, runs, words) and offer.what not in OWN.get(name, ()):
                yield f"{name}: {offer.what or 'an argument'}"
    for target, recipe in sorted(recipes.items()):
        called = [run for run in calls_in(recipe) if run.script]
        if target not in NOT_RUN | made and not (called and all(is_made(call, runs) for call in called)):
            yield f"make {target}"
    for name in sorted(set(re.findall(r'\b([A-Z][A-Z_]*)=', helped)) - {'PART'}):
        if not is_run(Offer(None, 'variable', name), runs, ()):
            yield f"make {name}="


# --- this tree ------------------------------------------------------------------------------------


def make(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(('MAKE', 'MFLAGS'))}
    return subprocess.run(['make', '-s', '-C', TOP, *words], check=True, capture_output=True, text=True,
                          env=environment).stdout


def targets():
    text = (TOP / 'Makefile').read_text(encoding='utf-8')
    names = ' '.join(re.findall(r'^([a-z][a-z0-9 -]*):(?!=)', text, re.MULTILINE)).split()
    if not {'check', 'e2e', 'clean'} <= set(names):
        sys.exit(f'the Makefile has {names}')
    return {name: make('-n', name) for name in names if name != 'help'}


def main():
    scripts = {path.name: path.read_text(encoding='utf-8')
               for folder in FOLDERS for path in TOP.glob(f'{folder}*.sh')}
    texts = dict(scripts)
    for path in (*TOP.glob('scripts/*/**/*.sh'), TOP / 'scripts/new-driver', TOP / 'dkms.conf', TOP / '.ci/run'):
        folder = f'{path.parent.relative_to(TOP)}/'
        if folder in (*FOLDERS, 'scripts/test/check/'):     # scripts there name all others, but only to run the rows
            continue
        texts[str(path)] = path.read_text(encoding='utf-8')
    rows = (TOP / 'scripts/test/check/rows').read_text(encoding='utf-8')
    lost = list(missing(scripts, texts, rows, (targets(), make('help'))))
    if lost:
        sys.exit('\n'.join(['offered, but not run by make check-all:', *lost]))


# --- the selftest ---------------------------------------------------------------------------------

SCRIPT = '''#!/bin/bash
# A script
#
#   scripts/a.sh [-k REGEX] [-l] [one|two] [FILE...]    some text: -x
#   scripts/a.sh --all [--part N/M]     more
#   T=SECONDS scripts/a.sh
#
# DRIVER=b is a choice.

scripts/a.sh -k ^x -l --all
'''
CALLER = '''# scripts/a.sh --in-a-comment
refused "no space" \\
	make -s a
"$TOP/scripts/a.sh" -k ^x -l one \\
	two --all --part 1/2 FILE
"$TOP/scripts/a.sh" --all >log --not-an-argument
true || die "run scripts/a.sh -l, or make -s clean"
tap_run 'make clean works' true
T=1 DRIVER=c "$TOP/scripts/a.sh"
'''
MAKEFILE = ({'a': 'scripts/a.sh --all\n', 'b': 'scripts/a.sh\n', 'clean': 'true\n', 'check-all': ''},
            'make a  T=seconds\n')


def selftest():
    def lost(rows, caller, makefile=MAKEFILE):
        return list(missing({'a.sh': SCRIPT}, {'a.sh': SCRIPT, 'b.sh': caller}, rows, makefile))

    every = [f'a.sh: {what}' for what in ('--all', '--part', '-k', '-l', 'an argument', 'DRIVER', 'T',
                                                  'one', 'two')]
    cases = (
        ('', '', [*every[:4], *every[5:9], every[4], 'make a', 'make b', 'make clean', 'make T=']),
        ('# 1 a', CALLER, ['make clean']),
        ('', CALLER + 'make -s clean', []),
        ('', CALLER.replace(' one ', ' ') + 'user_make clean', ['a.sh: one']),
        ('', CALLER.replace('FILE', '') + 'make -s clean', []),
        ('', CALLER.replace(' -l ', ' -m ') + 'make -s clean', ['a.sh: -l']),
        ('1 a -l', CALLER.replace(' -l ', ' -m ') + 'make -s clean', []),
        ('1 DRIVER=x a file', CALLER.replace('DRIVER=c ', '') + 'make -s clean', []),
        ('1 a file', CALLER.replace('DRIVER=c ', '') + 'make -s clean', ['a.sh: DRIVER']),
        ('', CALLER.replace('T=1 ', '') + 'make -s clean', ['a.sh: T', 'make T=']),
        ('', CALLER.replace(' --all', '') + 'make -s clean', ['a.sh: --all', 'make a']),
        ('1 a --all', CALLER.replace(' --all', '') + 'make -s clean', []),
        ('', CALLER.replace('sh"\n', 'sh" --all\n') + 'make -s clean', ['make b']),
        ('1 a -k x', CALLER.replace('sh"\n', 'sh" --all\n') + 'make -s clean', []),
        ('', CALLER.replace(' --all', '') + 'declare -A OPTION=([a]=--all [b]=-x)\nmake -s clean', []),
        ('', CALLER.replace(' --all', '') + 'scripts/b.sh --x && scripts/a.sh --all || make -s clean', []),
    )
    for rows, caller, want in cases:
        have = lost(rows, caller)
        if sorted(have) != sorted(want):
            sys.exit(f'selftest: {rows!r}, {caller!r}: {have}, not {want}')


if __name__ == '__main__':
    if sys.argv[1:] == ['--selftest']:
        selftest()
    else:
        main()
