#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What make demo and make bench saw, as one HTML file that needs no network.

    page.py --demo FOLDER KERNEL    write FOLDER/demo.html and FOLDER/demo.svg, of the files in FOLDER:
                                    steps, counters, and PART.json of guest/startup.py --keep
    page.py --check FILE.svg        succeed if the picture is what this draws of the data in it
    page.py --selftest              prove that mistakes are found

Pages are well-formed XML, so that any parser can check them. test/bench/report.py uses the
functions, too.
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
    """Return any value as text of an element or attribute."""
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
    """Return a table. Columns of numbers are set flush right; a first column of verdicts is
    coloured."""
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
    """Return a picture of the startup of one connection, as startup.py --keep has written it."""
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


def width_of(words, size=13):
    """Return the greatest width of a text in any font without serifs."""
    return len(words) * size * 0.62


def shown(value):
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def legend(entries, left, right, y):
    """Draw the legend of ENTRIES, pairs of name and colour, in as many lines as they need. Return
    the elements of SVG, and the y below them."""
    lines, x = [], left
    for name, colour in entries:
        wide = 20 + width_of(name)
        if x > left and x + wide > right:
            x, y = left, y + 22
        lines.append(f'<rect x="{x:.0f}" y="{y}" width="14" height="14" fill="{colour}"/>')
        lines.append(f'<text x="{x + 20:.0f}" y="{y + 12}">{text(name)}</text>')
        x += wide + 16
    return lines, y + 22


def bar(x, y, value, scale, height, colour):
    """Draw a bar, with its value in data-value: so judged() can check that all bars have one
    scale."""
    return (f'<rect class="bar" data-value="{value}" x="{x:.1f}" y="{y}" width="{value * scale:.2f}" height="{height}"'
            f' fill="{colour}"')


def axis(left, y, end, most, scale, unit):
    """Draw lines across the plot, at multiples of 1, 2 or 5 times a power of ten."""
    step = next(step for step in (m * 10 ** e for e in range(-2, 15) for m in (1, 2, 5)) if most / step <= 5)
    lines = [f'<text x="{left - 20:.1f}" y="{y}" text-anchor="end" font-size="11" fill="#5b6773">{text(unit)}</text>']
    for i in range(int(most / step) + 1):
        x, value = left + i * step * scale, i * step if step >= 1 else float(i * step)
        lines.append(f'<line x1="{x:.1f}" y1="{y + 4}" x2="{x:.1f}" y2="{end}" stroke="#d8dee6"/>')
        lines.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle" font-size="11" fill="#5b6773">'
                     f'{shown(value or 0)}</text>')
    return lines


def bars(names, rows, unit=""):
    """Draw bars of numbers side by side, all to the same scale. rows: pairs of a name and its values; for each value
    there is an element of names, with a colour of its own. A value may be None, but not all of them.
    """
    left, thick = 20 + max(width_of(words) for words in (unit, *(name for name, _ in rows))), 15
    width = left + 700
    most = max(value for _, values in rows for value in values if value)
    scale = (width - left - 110) / most
    head, top = legend(zip(names, COLOURS), left, width, 6)
    lines, y = [], top + 22
    for name, values in rows:
        lines.append(f'<text x="{left - 10:.1f}" y="{y + 12}" text-anchor="end">{text(name)}</text>')
        for value, colour in zip(values, COLOURS):
            if value is None:
                continue
            lines.append(bar(left, y, value, scale, thick - 3, colour) + "/>")
            lines.append(f'<text x="{left + value * scale + 6:.1f}" y="{y + 11}" font-size="11">{shown(value)}</text>')
            y += thick
        y += 10
    return svg(round(width), y + 4, head + axis(left, top + 12, y - 6, most, scale, unit) + lines)


def charts(names, rows, units=()):
    """Draw ROWS in several plots. The rows of a plot have the same unit (UNITS has one for each
    row), and values within a factor of 20: much shorter bars could not be compared."""
    found, units = [], units or [""] * len(rows)
    for unit in dict.fromkeys(units):
        left = [(row, max(value or 0 for value in row[1])) for row, of in zip(rows, units) if of == unit]
        left = [(row, most) for row, most in left if most]
        while left:
            least = max(most for _, most in left) / 20
            found.append(bars(names, [row for row, most in left if most > least], unit))
            left = [(row, most) for row, most in left if most <= least]
    return found


def box_of(one):
    """Return left, top, right and bottom of a text or rectangle of SVG; None for another element,
    or if the width is in percent."""
    number = lambda key: float(one.get(key, 0))
    tag = one.tag.rpartition("}")[2]
    if tag == "text":
        size = float(one.get("font-size", 13))
        wide = width_of("".join(one.itertext()), size)
        x = number("x") - wide * {"end": 1, "middle": 0.5}.get(one.get("text-anchor"), 0)
        return x, number("y") - 0.75 * size, x + wide, number("y") + 0.25 * size
    if tag == "rect" and "%" not in one.get("width"):
        return number("x"), number("y"), number("x") + number("width"), number("y") + number("height")
    return None


def faults_of(picture):
    """Yield a sentence for each text or rectangle that an edge of the picture cuts, and for each
    bar whose scale is not that of the bar with the greatest value."""
    left, top, width, height = map(float, picture.get("viewBox").split())
    for one in picture.iter():
        box = box_of(one)
        if box and (box[0] < left or box[1] < top or box[2] > left + width or box[3] > top + height):
            yield f"{''.join(one.itertext()) or one.get('fill')} is cut: {box} of {width} x {height}"
    of_bars = [(float(one.get("data-value")), float(one.get("width"))) for one in picture.iter()
               if one.get("class") == "bar"]
    most, widest = max(of_bars, default=(0, 0))
    for value, wide in of_bars:
        scale = widest / (most or 1)
        if abs(value * scale - wide) > 0.5:
            yield f"the bar of {value:g} is {wide} wide, and not {value * scale:.1f}"


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
    # One connection for each pair of initiator and responder
    shown = {}
    for connection in part["connections"]:
        shown.setdefault((connection["left"], connection["right"]), connection)
    parts += [figure(exchange(connection)) for connection in shown.values()]
    return parts


def gains(steps):
    """Yield sentences for readers who do not know RDMA: what it is for, and figures of the steps
    that passed."""
    good = [step for step in steps if step[1] == "ok"]
    sums = lambda regex: sum(int(match[1]) for match in (re.search(regex, step[6]) for step in good) if match)
    rates = [float(match[1]) for match in (re.search(r"([0-9.]+) MB/s", step[6]) for step in good) if match]
    foreign = sum("(siw)" in step[3] + step[4] for step in good)
    yield ("RDMA lets a program read and write memory of another host: disks (NVMe), file servers (NFS) and parallel "
           "programs (MPI) use it for speed. As a rule it takes a special network card. Neither host here has one: "
           "srnic makes an RDMA device of any Ethernet interface, for programs as they come from the distribution.")
    found = [f"{sums('([0-9]+) blocks'):,} blocks of data came through and were compared",
             f"{sums('([0-9]+) connections'):,} connections carried {sums('([0-9]+) messages'):,} messages"]
    if rates:
        found.append(f"memory of the other host was written at up to {max(rates):g} MB/s")
    words = f"What they did in this run: {'; '.join(found)}."
    if foreign:
        words += (f" In {foreign} of {len(good)} steps the other host ran siw, Linux's own driver: it needs no "
                  "change.")
    yield words


def demo(folder, kernel):
    steps = load_lines(os.path.join(folder, "steps"))
    parts = [*map(paragraph, gains(steps)),
             paragraph(f"{sum(step[1] == 'ok' for step in steps)} of {len(steps)} steps passed, between two virtual "
                       f"hosts with kernel {kernel}. They are emulated: how fast they are says nothing of real ones.")]
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
    """Return the document. Fail unless it is well-formed, loads nothing from elsewhere, and its
    pictures are not cut and have bars of one scale."""
    root = xml.etree.ElementTree.fromstring(document)
    found = NETWORK.search(document)
    if found:
        raise ValueError(f"a page that wants something of others: {found.group()}")
    for picture in root.iter("{http://www.w3.org/2000/svg}svg"):
        for fault in faults_of(picture):
            raise ValueError(fault)
    return document


def check(path):
    with open(path, encoding="utf-8") as source:
        have = source.read()
    if have != LICENCE + exchange(data_of(have)):
        sys.exit(f"{path} is not what this draws: take demo.svg of make demo")
    judged(have)


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
                 *map(figure, charts(("x", "y"), [("first", (1, None)), ("none", (None, None)), ("other", (3, 0))])))
    assert judged(whole) == whole
    many = charts(COLOURS, [("small", [i + 1 for i in range(8)]), ("large", [1000] * 8), ("time", [1.5, None])],
                  ["", "", "s"])
    assert len(many) == 3 and all(judged(one) == one for one in many)
    for wrong, right in (('viewBox="0 0 ', 'viewBox="0 40 '), ('width="590.00"', 'width="300.00"'),
                         ('>large<', f'>{"large" * 40}<'), ('y="6"', 'y="-6"')):
        assert right != wrong and wrong in many[0] and fails(judged, many[0].replace(wrong, right, 1)), right
    ran = [["", "ok", "", "A (srnic)", "B (siw)", "", "20 blocks of data verified"], ["", "ok", *[""] * 4, "8.5 MB/s"],
           ["", "FAILED", *[""] * 4, "9 connections, 7 messages"]]
    said = " ".join(gains(ran))
    assert all(words in said for words in ("20 blocks", "0 connections", " 8.5 MB/s", "1 of 2 steps")), said
    height = int(re.search(r'viewBox="0 0 \d+ (\d+)"', picture)[1])
    assert judged(picture) and fails(judged, picture.replace(f' {height}"', f' {height // 2}"', 1))
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
