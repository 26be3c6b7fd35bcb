#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What make demo and make bench saw, as one HTML file that needs no network.

    page.py --demo FOLDER KERNEL    write FOLDER/demo.html and FOLDER/demo.svg, from what is there:
                                    steps, counters, and PART.json of guest/startup.py --keep
    page.py --check FILE.svg        such a picture is what this draws of the data that it carries
    page.py --selftest              prove that what is wrong is found

Pages are well-formed XML, so that any parser can judge them. The functions are used by
test/bench/report.py, too.
"""

import html
import json
import os
import re
import sys
import xml.etree.ElementTree

STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em;
       color: #1c2733; background: #fff }
h1 { font-size: 1.6em } h2 { font-size: 1.25em; margin-top: 2em }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums }
th, td { padding: .25em .8em; border-bottom: 1px solid #d8dee6; text-align: left }
th { background: #f1f4f8 } td.number, th.number { text-align: right }
td.ok { color: #1d7a46; font-weight: bold } td.failed { color: #b3261e; font-weight: bold }
figure { margin: 1em 0 } svg { max-width: 100%; height: auto }
.columns { columns: 18em; } p.note { color: #5b6773; font-size: .9em }
.wide { overflow-x: auto } .wide th, .wide td { white-space: nowrap }
"""
PAGE = """<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width"/>
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
width="{width}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#ffffff"/>
{body}
</svg>
"""
LICENCE = "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
NETWORK = re.compile(r"(?:src|href|action)=|url\(|@import|<script", re.IGNORECASE)


def text(value):
    """Any value as text of an element or attribute."""
    return html.escape(str(value), quote=True)


def page(title, *parts):
    return PAGE.format(title=text(title), style=STYLE, body="\n".join(parts))


def heading(words):
    return f"<h2>{text(words)}</h2>"


def paragraph(words):
    return f"<p>{text(words)}</p>"


def note(words):
    return f'<p class="note">{text(words)}</p>'


def is_number(cell):
    return bool(re.fullmatch(r"-|[0-9][0-9,.]*", str(cell)))


def table(head, rows):
    """Columns of numbers are set flush right; a first column of verdicts is coloured."""
    rows = [[str(cell) for cell in row] for row in rows]
    right = [all(is_number(row[i]) for row in rows) for i in range(len(head))]
    kind = lambda i, cell: ("number" if right[i] else
                            {"ok": "ok", "FAILED": "failed"}.get(cell if i == 0 else "", ""))
    cells = lambda tag, row, name: "".join(
        f'<{tag} class="{name(i, cell)}">{text(cell)}</{tag}>' for i, cell in enumerate(row))
    lines = ["<tr>" + cells("th", head, lambda i, _: "number" if right[i] else "") + "</tr>"]
    lines += ["<tr>" + cells("td", row, kind) + "</tr>" for row in rows]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def figure(svg):
    return f"<figure>{svg}</figure>"


def svg(width, height, lines):
    return SVG.format(width=width, height=round(height), body="\n".join(lines))


# --- a connection ------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT = 760, 110, 590
OUT, BACK = "#30638e", "#c8553d"


def arrow(y, out, colour):
    tip, back = (RIGHT, RIGHT - 9) if out else (LEFT, LEFT + 9)
    return [f'<line x1="{LEFT}" y1="{y}" x2="{RIGHT}" y2="{y}" stroke="{colour}" stroke-width="1.6"/>',
            f'<path d="M{tip} {y} L{back} {y - 5} L{back} {y + 5} Z" fill="{colour}"/>']


def centred(y, words, size=13, colour="#1c2733"):
    return (f'<text x="{(LEFT + RIGHT) // 2}" y="{y}" text-anchor="middle" font-size="{size}"'
            f' fill="{colour}">{text(words)}</text>')


def exchange(connection):
    """The startup of one connection: what startup.py --keep writes, as a picture."""
    lines, y = [], 86
    for number, out, title, details in connection["steps"]:
        colour = OUT if out else BACK
        lines += arrow(y, out, colour)
        lines.append(centred(y - 6, title, colour=colour))
        lines.append(f'<text x="{RIGHT + 70}" y="{y + 4}" font-size="11" fill="#5b6773">'
                     f'frame {text(number)}</text>')
        for detail in details:
            y += 16
            lines.append(centred(y, detail, 11, "#5b6773"))
        y += 32
    ends = []
    for x, name, role in ((LEFT, connection["left"], "initiator"),
                          (RIGHT, connection["right"], "responder")):
        ends.append(f'<rect x="{x - 85}" y="12" width="170" height="42" rx="5" fill="#f1f4f8"'
                    f' stroke="#9aa7b4"/>')
        ends.append(f'<text x="{x}" y="30" text-anchor="middle" font-weight="bold">'
                    f'{text(name)}</text>')
        ends.append(f'<text x="{x}" y="46" text-anchor="middle" font-size="11" fill="#5b6773">'
                    f'{role}</text>')
        ends.append(f'<line x1="{x}" y1="54" x2="{x}" y2="{y - 8}" stroke="#9aa7b4"'
                    f' stroke-dasharray="4 3"/>')
    data = f"<metadata>{text(json.dumps(connection))}</metadata>"
    return svg(WIDTH, y + 4, [data] + ends + lines)


def data_of(picture):
    """The connection that a picture was drawn of"""
    root = xml.etree.ElementTree.fromstring(picture)
    return json.loads(root.find("{http://www.w3.org/2000/svg}metadata").text)


# --- plots -------------------------------------------------------------------------------------

COLOURS = ("#9aa7b4", "#30638e", "#d1495b", "#edae49", "#66a182", "#8d6fb0", "#5fa8d3", "#c0ca33")


def bars(names, rows):
    """Numbers side by side: rows of (name, values), a colour for each of names; a value may be None.

    Each row has its own scale, for they may count different things.
    """
    left, width, thick, lines, y = 250, 860 if len(names) < 7 else 1080, 15, [], 34
    for i, name in enumerate(names):
        x = left + i * min(110, (width - left) // len(names))
        lines.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{COLOURS[i]}"/>')
        lines.append(f'<text x="{x + 17}" y="16">{text(name)}</text>')
    for name, values in rows:
        most = max((value for value in values if value), default=0)
        if not most:
            continue
        lines.append(f'<text x="{left - 10}" y="{y + 12}" text-anchor="end">{text(name)}</text>')
        for i, value in enumerate(values):
            if value is None:
                continue
            length = value / most * (width - left - 110)
            lines.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{thick - 3}"'
                         f' fill="{COLOURS[i]}"/>')
            lines.append(f'<text x="{left + length + 6:.1f}" y="{y + 11}" font-size="11">'
                         f'{value:,}</text>')
            y += thick
        y += 10
    return svg(width, y + 4, lines)


# --- make demo ---------------------------------------------------------------------------------

def load_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def load_part(path):
    with open(path, encoding="utf-8") as source:
        return json.load(source)


def demo_part(title, steps, part):
    parts = [heading(title),
             table(("", "program", "from", "to", "", "what came through", "seconds"), steps)]
    if not part or not part["connections"]:
        return parts + [paragraph("The capture has no connection.")]
    parts.append(paragraph("What the hosts agreed on, as the capture has it:"))
    parts.append(table(["n"] + part["head"], [[n] + row for row, n in part["rows"]]))
    parts.append(note(part["legend"]))
    parts.append(paragraph("How a connection came up. The letters are those of the table, and R is for "
                           "Reject. A frame is a packet, by its number in the capture."))
    # One of each kind, by who is initiator
    shown = {}
    for connection in part["connections"]:
        shown.setdefault((connection["left"], connection["right"]), connection)
    parts += [figure(exchange(connection)) for connection in shown.values()]
    return parts


def demo(folder, kernel):
    steps = load_lines(os.path.join(folder, "steps"))
    parts = [paragraph(f"Real RDMA programs between two virtual hosts with kernel {kernel}: "
                       f"{sum(step[1] == 'ok' for step in steps)} of {len(steps)} steps passed. The hosts are emulated: how fast they "
                       "are says nothing of real ones.")]
    picture = None
    for title in dict.fromkeys(step[0] for step in steps):
        path = os.path.join(folder, title.split(".")[0] + ".json")
        part = load_part(path) if os.path.exists(path) else None
        rows = [step[1:] for step in steps if step[0] == title]
        if part is None:
            parts += [heading(title), table(("", "program", "from", "to", "", "", "seconds"), rows)]
            continue
        parts += demo_part(title, rows, part)
        if not picture and part["connections"]:
            picture = exchange(part["connections"][0])
    counters = load_lines(os.path.join(folder, "counters"))
    if counters:
        rows = [line[0].split() for line in counters]
        parts += [heading("What host A's iw_mpa counted"),
                  '<div class="columns">', table(("counter", "number"),
                                                 [row for row in rows if len(row) == 2]), "</div>"]
    write(folder, "demo.html", judged(page("iw_mpa: two hosts, and what they negotiated", *parts)))
    if picture:
        write(folder, "demo.svg", LICENCE + picture)


# --- proofs ------------------------------------------------------------------------------------

def judged(document):
    """It is well-formed, and asks nobody for anything."""
    xml.etree.ElementTree.fromstring(document)
    found = NETWORK.search(document)
    if found:
        raise ValueError(f"a page that wants something of others: {found.group()}")
    return document


def check(path):
    with open(path, encoding="utf-8") as source:
        have = source.read()
    if have != LICENCE + exchange(data_of(have)):
        sys.exit(f"{path} is not what this draws: take demo.svg of make demo")


SAMPLE = {"left": "A <v4>", "right": "B & C", "row": ["a"],
          "steps": [[1, True, "SYN", []], [2, False, "Reply", ["rev=2", 'pd="0"']]]}


def fails(function, *args):
    try:
        function(*args)
    except (ValueError, xml.etree.ElementTree.ParseError):
        return True
    return False


def selftest():
    picture = exchange(SAMPLE)
    assert data_of(picture) == SAMPLE
    assert exchange(data_of(picture)) == picture
    assert exchange(dict(SAMPLE, left="D")) != picture
    whole = page("a < b", figure(picture), table(("", "n"), [("FAILED", "1,000")]),
                 figure(bars(("x", "y"), [("first", (1, None)), ("none", (None, None))])))
    assert judged(whole) == whole
    assert 'class="failed"' in whole and 'class="number"' in whole
    assert fails(judged, page("", "<p>"))
    assert fails(judged, page("", '<img src="a.png"/>'))
    assert fails(judged, page("", "<style>@import x</style>"))


def write(folder, name, words):
    path = os.path.join(folder, name)
    with open(path + ".tmp", "w", encoding="utf-8") as out:
        out.write(words)
    os.replace(path + ".tmp", path)


def main():
    match sys.argv[1:]:
        case ["--demo", folder, kernel]:
            demo(folder, kernel)
        case ["--check", path]:
            check(path)
        case ["--selftest"]:
            selftest()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
