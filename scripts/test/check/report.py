#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""One HTML page of what scripts/check.sh ran: suites, times, and what failed.

    report.py FOLDER FILE    FOLDER/list has a line for each suite, "LOG SECONDS FAULTS NAME": its log in the
                             folder, and how many failures check.sh found that the log does not show; the log of a
                             row that passed earlier says only how often, and on which commit
    report.py --selftest     prove that a page shows them all
"""

import os
import re
import sys
import tempfile
import xml.etree.ElementTree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import page  # pylint: disable=wrong-import-position

RESULT = re.compile(r"(ok|not ok) \d+ (.*)")
KEPT = re.compile(r"# (\d+) passed on [0-9a-f]{12} .*")


class Suite:
    """One run of a suite: its results, each with the lines of its log that belong to it"""

    def __init__(self, name, seconds, faults, lines):
        self.name, self.seconds, self.faults = name, int(seconds), int(faults)
        self.results, self.begin, self.kept = [], [], 0
        for line in lines:
            result, kept = RESULT.fullmatch(line), KEPT.fullmatch(line)
            if kept:
                self.kept, self.name = int(kept[1]), f"{name}: {line[2:]}"
            elif result:
                self.results.append((result[1] == "ok", result[2], []))
            elif line.startswith("# "):
                (self.results[-1][2] if self.results else self.begin).append(line[2:])

    def failures(self):
        return [(name, log) for good, name, log in self.results if not good]

    def row(self):
        failed = len(self.failures()) + self.faults
        return ("FAILED" if failed else "ok", self.name, self.kept + len(self.results) - len(self.failures()), failed,
                self.seconds)


def read(folder):
    with open(os.path.join(folder, "list"), encoding="utf-8") as lines:
        for line in lines:
            log, seconds, faults, name = line.rstrip("\n").split(" ", 3)
            with open(os.path.join(folder, log), encoding="utf-8", errors="replace") as text:
                yield Suite(name, seconds, faults, text.read().splitlines())


def preformatted(lines):
    """Return lines of any bytes as <pre>. XML allows no control characters, so "?" replaces
    them."""
    return "<pre>" + page.text("\n".join(re.sub(r"[^\t\x20-\ufffd]", "?", line) for line in lines)) + "</pre>"


def details(suite):
    return (f"<details><summary>{page.text(suite.name)}</summary>"
            + page.table(("", "test"), [("ok" if good else "FAILED", name) for good, name, _ in suite.results])
            + "</details>")


def document(suites):
    rows = [suite.row() for suite in suites]
    passed, failed = (sum(row[column] for row in rows) for column in (2, 3))
    parts = [page.table(("", "suite", "passed", "failed", "seconds"), rows)]
    for suite in suites:
        for name, log in suite.failures():
            parts += [page.heading(f"{suite.name}: {name}"), preformatted(log)]
        if suite.faults:
            last = suite.results[-1][2] if suite.results else suite.begin
            parts += [page.heading(f"{suite.name}: the suite itself"), preformatted(last)]
    parts.append(page.heading("All tests"))
    parts += map(details, suites)
    whole = page.page(f"{passed} passed, {failed} failed", *parts)
    xml.etree.ElementTree.fromstring(whole)
    return whole


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        page.write(folder, "list", "1 7 0 A=b one -k ^x\n2 90 1 two\n3 5 0 three\n")
        page.write(folder, "1", "# before\nok 1 a\nnot ok 2 <b>\n# why\x1b & where\n# one: 1 passed, 1 failed\n")
        page.write(folder, "2", "ok 1 c\n# the last word\n")
        page.write(folder, "3", "# 41 passed on 0123456789ab in 5 s\n")
        suites = list(read(folder))
    assert [suite.row() for suite in suites] == [
        ("FAILED", "A=b one -k ^x", 1, 1, 7), ("FAILED", "two", 1, 1, 90),
        ("ok", "three: 41 passed on 0123456789ab in 5 s", 41, 0, 5)]
    whole = document(suites)
    for words in ("43 passed, 2 failed", "A=b one -k ^x: &lt;b&gt;", "why? &amp; where", "two: the suite itself",
                  "the last word", '<td class="ok">ok</td><td class="">a</td>'):
        assert words in whole, words


def main():
    match sys.argv[1:]:
        case ["--selftest"]:
            selftest()
        case [folder, path]:
            page.write(os.path.dirname(path), os.path.basename(path), document(list(read(folder))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
