# SPDX-License-Identifier: GPL-2.0
"""The list of wire tests: for each the ids of the RFC rules that it tests, and what it checks."""

TESTS = []
SOAK = []       # cases that make check leaves out, as they take too long: for make soak
SAID = []


def read(cited):
    """Parse texts "ID ID: what is checked" or "ID". Return ID -> what is checked, or None."""
    shown = {}
    for text in cited:
        ids, _, what = text.partition(": ")
        shown.update(dict.fromkeys(ids.split(), what or None))
    return shown


def rule(*cited, cases=((),), soak=(), only=None, defaults=False):
    """Return a decorator that adds a function to the list of tests.

    cited: "E-9.2-4 E-9.2-5: what the test checks that would be different if the rules were broken";
    for a hazard, which is no RFC rule, only its id. cases: tuples of arguments; each makes a test.
    only: the name of the only device that the test runs against. defaults: the test is about the
    default settings, so run.py changes none for it; for all others run.py sets rtr_repeat_ms to 0.
    """
    shown = read(cited)

    def mark(function):
        function.shows = shown
        function.only = only
        function.defaults = defaults
        for tests, some in ((TESTS, cases), (SOAK, soak)):
            for case in some:
                words = function.__module__, function.__name__, *(str(arg) for arg in case)
                tests.append(("_".join(words), tuple(shown), function, case))
        return function
    return mark


def say(line):
    """Have run.py print line, for example a measured figure, before the result of the test."""
    SAID.append(line)


def said():
    lines = SAID[:]
    SAID.clear()
    return lines
