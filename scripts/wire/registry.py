# SPDX-License-Identifier: GPL-2.0
"""The list of wire tests: for each the ids of the rules that it tests, and what it checks."""

TESTS = []
SOAK = []       # cases that take too long for make check
SAID = []


def read(cited):
    """Parse texts "ID ID: what is checked" or "ID". Return ID -> what is checked, or None."""
    shown = {}
    for text in cited:
        ids, _, what = text.partition(": ")
        shown.update(dict.fromkeys(ids.split(), what or None))
    return shown


def rule(*cited, cases=((),), soak=(), only=None, defaults=False):
    """Mark a test.

    cited: "E-9.2-4 E-9.2-5: what the test checks that would be different if the rule were broken";
    for a hazard only the id. cases: tuples of arguments, each of which makes a test. only: the
    device that the test is about. defaults: no setting is changed for the test, not even those that
    run.py changes for all.
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
    """Have run.py print a line, such as a measured figure, with the test's result."""
    SAID.append(line)


def said():
    lines = SAID[:]
    SAID.clear()
    return lines
