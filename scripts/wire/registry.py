# SPDX-License-Identifier: GPL-2.0
"""The list of wire tests, each with the ids of the rules that it proves."""

TESTS = []


def rule(*ids, cases=((),)):
    """Mark a test; cases are tuples of arguments, each a test of its own."""
    def mark(function):
        for case in cases:
            name = "_".join([function.__name__, *(str(arg) for arg in case)])
            TESTS.append((name, ids, function, case))
        return function
    return mark
