#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A report of what the wire tests have found out about a device, by rule of the RFCs.

    report.py [--about NAME=TEXT]... [--capture FILE] RESULTS FOLDER    write a report into FOLDER
    report.py --unended RESULTS                                         print the test that did not end, if there is one
    report.py --selftest                                                prove that mistakes are found

RESULTS is the file that run.py --results wrote, the FILE of --capture the output of judge.py. report.txt, report.html
and junit.xml are written to FOLDER. A rule has failed if one of its tests has failed, and passed if one has passed and
none failed. It is "not supported" if the device lacks the feature; all others were "not judged", since something that
their tests need is missing.
"""

import argparse
import collections
import html
import json
import os
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

PAGES = pathlib.Path(__file__).resolve().parents[2] / "Documentation/infiniband"
ROW = re.compile(r"^   \* - ([A-Z]-[\w.-]+)\n     - ((?:.*\n)(?:       .*\n)*)", re.MULTILINE)
# A rule gets the first of these results that any of its tests has: one failed test makes it fail.
ORDER = "failed", "passed", "unsupported", "skipped"
WORDS = {"failed": "fails", "passed": "passes", "unsupported": "not supported by the device",
         "skipped": "not judged"}
# The first letter of a rule's id -> the RFC that has the rule
RFCS = {"E": "RFC 6581", "M": "RFC 5044", "F": "RFC 5044", "D": "RFC 5041", "R": "RFC 5040", "S": "RFC 5043"}
OF_RFC = re.compile(rf"[{''.join(RFCS)}]-[\d.]+-\d+")
CAPTURE = "capture"
UNENDED = "it began and did not end: its host died, or the program"

Test = collections.namedtuple("Test", "name shows result why seconds")
Rule = collections.namedtuple("Rule", "id text result tests")


# --- what is known ------------------------------------------------------------------------------


def rule_texts(pages):
    """Return id -> text of each rule: the text paraphrases an RFC. pages: the conformance pages in
    Documentation/infiniband, as texts, whose tables have the rules"""
    return {name: " ".join(text.split()) for page in pages for name, text in ROW.findall(page)}


def read_results(lines):
    """Return what run.py wrote about the device, and a Test for each test. If a test ran twice, its
    result is the one that comes first in ORDER. A test that began and did not end has failed."""
    about, tests, begun = {}, {}, {}
    for line in lines:
        words = json.loads(line)
        if "begins" in words:
            begun[words["begins"]] = Test(words["begins"], words["shows"], "failed", UNENDED, 0)
            continue
        begun.pop(words.get("test"), None)
        if "about" in words:
            about.update(dict.fromkeys(map(tuple, words["about"])))
        elif words["test"] not in tests or \
                ORDER.index(words["result"]) < ORDER.index(tests[words["test"]].result):
            tests[words["test"]] = Test(words["test"], words["shows"], words["result"], words["why"],
                                        words["seconds"])
    tests.update(begun)
    return list(about), list(tests.values())


def read_capture(text):
    """Return judge.py's results of the capture as Tests that belong to no rule."""
    tests, why = [], []
    for line in text.splitlines():
        match = re.match(r"(not )?ok - (.*)", line)
        if match:
            why = []
            tests.append(Test(match[2], {}, "failed" if match[1] else "passed", why, 0))
        else:
            why.append(line.lstrip("# "))
    return [test._replace(why="; ".join(test.why) or None) for test in tests]


def number_of(name):
    """Return the sort key of a rule's id: its parts as numbers, so that 9.2-10 sorts after
    9.2-9."""
    return [int(part) if part.isdigit() else 0 for part in re.split(r"[-.]", name)], name


def rules_of(tests, texts):
    """Yield a Rule for each id of the tests that is a rule of an RFC, in the order of RFC and
    section. Ids of hazards are left out: see other()."""
    by_rule = collections.defaultdict(list)
    for test in tests:
        for name in test.shows:
            if name in texts and OF_RFC.fullmatch(name):
                by_rule[name].append(test)
    for name in sorted(by_rule, key=lambda name: (RFCS[name[0]], number_of(name))):
        results = {test.result for test in by_rule[name]}
        yield Rule(name, texts[name], next(one for one in ORDER if one in results), by_rule[name])


def other(tests, rules):
    """Return the tests that are about no rule of an RFC."""
    known = {test.name for rule in rules for test in rule.tests}
    return [test for test in tests if test.name not in known]


def counted(things):
    count = collections.Counter(thing.result for thing in things)
    return ", ".join(f"{count[result]} {WORDS[result]}" for result in ORDER if count[result])


# --- as text ------------------------------------------------------------------------------------


def text_of(title, about, tests, rules, captured):
    yield from (title, "=" * len(title), "")
    yield from (f"{name}: {value}" for name, value in about)
    yield from ("", f"{len(rules)} rules: {counted(rules)}", f"{len(tests)} tests: {counted(tests)}")
    yield f"tshark: {counted(captured) or 'nothing was captured'}"
    for result in ("failed", "unsupported", "skipped", "passed"):
        some = [rule for rule in rules if rule.result == result]
        if some:
            yield from ("", f"{WORDS[result]}:", "")
        for rule in some:
            yield f"  {rule.id}  {rule.text} ({RFCS[rule.id[0]]})"
            if result == "passed":
                continue
            for test in rule.tests:
                if test.result == result:
                    yield f"      {test.name}: {test.why}"
    rest = [test for test in other(tests, rules) + captured if test.result == "failed"]
    if rest:
        yield from ("", "fails, and is about no rule:", "")
        yield from (f"  {test.name}: {test.why}" for test in rest)


# --- as a page ----------------------------------------------------------------------------------

STYLE = """body { font-family: sans-serif; max-width: 70em; margin: auto }
td, th { text-align: left; vertical-align: top; padding: .2em .6em; border-bottom: 1px solid #ccc }
.failed { background: #fdd } .passed { background: #dfd } .unsupported, .skipped { background: #eee }"""


def cells(row, kind="td"):
    return "<tr>" + "".join(f"<{kind}>{cell}</{kind}>" for cell in row) + "</tr>"


def test_cell(test):
    why = f": {html.escape(test.why)}" if test.why else ""
    return f'<span class="{test.result}">{html.escape(test.name)}</span>{why}'


def html_of(title, about, tests, rules, captured):
    yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
    yield f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1><table>"
    yield from (cells(map(html.escape, pair)) for pair in about)
    yield f"</table><p>{len(rules)} rules: {counted(rules)}<br>{len(tests)} tests: {counted(tests)}"
    yield f"<br>tshark: {counted(captured) or 'nothing was captured'}</p><table>"
    yield cells(("Rule", "RFC", "In our words", "", "Tests"), "th")
    for rule in rules:
        row = cells((rule.id, RFCS[rule.id[0]], html.escape(rule.text), WORDS[rule.result],
                     "<br>".join(map(test_cell, rule.tests))))
        yield row.replace("<tr>", f'<tr class="{rule.result}">', 1)
    yield "</table><h2>About no rule</h2><p>"
    yield "<br>".join(map(test_cell, other(tests, rules) + captured))
    yield "</p></body></html>"


# --- as JUnit -----------------------------------------------------------------------------------


def junit_of(title, tests):
    count = collections.Counter(test.result for _, test in tests)
    suite = xml.Element("testsuite", name=title, tests=str(len(tests)), failures=str(count["failed"]),
                        skipped=str(count["skipped"] + count["unsupported"]))
    for group, test in tests:
        case = xml.SubElement(suite, "testcase", classname=group, name=test.name, time=str(test.seconds))
        if test.result == "failed":
            xml.SubElement(case, "failure", message=test.why or "")
        elif test.result != "passed":
            xml.SubElement(case, "skipped", message=f"{WORDS[test.result]}: {test.why}")
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


# --- main ---------------------------------------------------------------------------------------


def write(folder, about, lines, capture):
    """Write the three reports to folder. Return the line that counts the rules by result."""
    texts = rule_texts(path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*conformance.rst")))
    said, tests = read_results(lines)
    captured = read_capture(capture)
    rules = list(rules_of(tests, texts))
    about = about + said
    title = "The wire suite on " + dict(about).get("device", "a device")
    os.makedirs(folder, exist_ok=True)
    for name, text in (
            ("report.txt", "\n".join(text_of(title, about, tests, rules, captured)) + "\n"),
            ("report.html", "\n".join(html_of(title, about, tests, rules, captured)) + "\n"),
            ("junit.xml", junit_of(title, [(" ".join(test.shows) or "-", test) for test in tests] +
                                   [(CAPTURE, test) for test in captured]))):
        pathlib.Path(folder, name).write_text(text, encoding="utf-8")
    return f"{len(rules)} rules: {counted(rules)}"


def line(name, ids, result, why=None):
    return json.dumps({"test": name, "shows": dict.fromkeys(ids, "x"), "result": result, "why": why, "seconds": 1})


def unended(lines):
    """Yield each test that began and did not end as run.py prints it, with the ids of its rules."""
    for test in read_results(lines)[1]:
        if test.why == UNENDED:
            yield f"{test.name} [{' '.join(test.shows)}]"


def selftest():
    """Write a report of known results, and yield what is wrong in it."""
    some = ["E-9.2-1", "E-9.2-10"], ["M-7.1.1-1"], ["R-5.3-1"], ["M-4.4-1"], ["B-01", "R-03"]
    lines = [json.dumps({"about": [["Markers", "no"]]}), json.dumps({"begins": "a", "shows": {}}),
             line("a", some[0], "passed"), line("b", some[0][:1], "failed", "<7> & no 8"),
             line("c", some[1], "unsupported", "MPA"), line("d", some[1] + some[2], "skipped", "needs it"),
             line("e", some[3], "failed", "at first"), line("e", some[3], "passed"), line("g", [], "passed"),
             line("f", some[4], "failed", "a hazard"), json.dumps({"begins": "h", "shows": {"B-02": "x"}})]
    with tempfile.TemporaryDirectory() as folder:
        said = write(folder, [("device", "x0")], lines, "ok - seen\nnot ok - dissected\n# packet 3\n")
        texts = {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(folder).iterdir()}
    if said != "5 rules: 2 fails, 1 passes, 1 not supported by the device, 1 not judged":
        yield said
    text = texts["report.txt"]
    for words in ("The wire suite on x0", "Markers: no", "8 tests: 4 fails, 2 passes",
                  "tshark: 1 fails, 1 passes", "      b: <7> & no 8", "      d: needs it", "  f: a hazard",
                  "  dissected: packet 3", "e: at first", f"  h: {UNENDED}"):
        if words not in text:
            yield f"not in the text: {words}"
    if not text.index("  E-9.2-1  ") < text.index("  M-7.1.1-1  ") < text.index("  R-5.3-1  ") < \
            text.index("  E-9.2-10  "):
        yield "the order of the text"
    if "&lt;7&gt; &amp; no 8" not in texts["report.html"]:
        yield "the page takes words for markup"
    suite = xml.fromstring(texts["junit.xml"])
    if [suite.get(key) for key in ("tests", "failures", "skipped")] != ["10", "5", "2"]:
        yield f"JUnit: {suite.attrib}"
    if list(unended(lines)) != ["h [B-02]"] or list(unended(lines[:-1])):
        yield f"unended: {list(unended(lines))}, {list(unended(lines[:-1]))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--about", action="append", default=[], metavar="NAME=TEXT")
    parser.add_argument("--capture")
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("--unended", action="store_true")
    parser.add_argument("results", nargs="?")
    parser.add_argument("folder", nargs="?")
    args = parser.parse_args()
    if args.selftest:
        wrong = list(selftest())
        print(*wrong, sep="\n")
        sys.exit(bool(wrong))
    capture = pathlib.Path(args.capture).read_text(encoding="utf-8") if args.capture else ""
    about = [tuple(pair.split("=", 1)) for pair in args.about]
    with open(args.results, encoding="ascii") as results:
        if args.unended:
            print(*unended(results), sep="\n")
            return
        print(write(args.folder, about, results, capture))


main()
