# SPDX-License-Identifier: GPL-2.0
"""The list of wire tests, each with the ids of the rules that it proves."""

TESTS = []
SOAK = []       # the long cases, which have no place in make check
SAID = []


def rule(*ids, cases=((),), soak=()):
    """Mark a test; cases are tuples of arguments, each a test of its own."""
    def mark(function):
        for tests, some in ((TESTS, cases), (SOAK, soak)):
            for case in some:
                words = function.__module__, function.__name__, *(str(arg) for arg in case)
                tests.append(("_".join(words), ids, function, case))
        return function
    return mark


def say(line):
    """A figure, for who reads the results."""
    SAID.append(line)


def said():
    lines = SAID[:]
    SAID.clear()
    return lines
