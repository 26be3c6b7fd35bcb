#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Fail when the documents and the code do not name the same things.

    check-docs.py                  check README.md and Documentation/infiniband/*.rst
    check-docs.py --selftest       prove that each kind of difference is found
    check-docs.py --write          write the tables and quotations that are the code's

A table that must be complete stands between the comments "check: NAME" and "check: end". --write
writes the columns whose contents are in the code, and keeps the prose in the last column. A
quotation follows a comment "quote: FILE" and has to be in that file, word by word; tabs of the file
are spaces in the quotation, as reStructuredText needs them.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'bench'))
import users    # noqa: E402

WIDTH = 92    # columns of a table that --write makes

TOP = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = 'drivers/infiniband/sw/iw_mpa'
SKELETON = 'drivers/infiniband/sw/iw_mpa_skeleton'
README = 'README.md'
CHANGES = 'CHANGELOG.md'
OVERVIEW = 'Documentation/infiniband/iw_mpa.rst'
DRIVER = 'Documentation/infiniband/iw_mpa_driver.rst'
TAKEOVER = 'Documentation/infiniband/iw_mpa_takeover.rst'
ENGINE = 'Documentation/infiniband/iw_mpa_engine.rst'
CONSUMERS = 'Documentation/infiniband/iw_mpa_consumers.rst'
ADMIN = 'Documentation/infiniband/iw_mpa_admin.rst'
CONFORMANCE = 'Documentation/infiniband/iw_mpa_conformance.rst'
TESTING = 'Documentation/infiniband/iw_mpa_testing.rst'
PERFORMANCE = 'Documentation/infiniband/iw_mpa_performance.rst'
SRNIC = 'drivers/infiniband/sw/srnic'
SRNIC_PAGE = 'Documentation/infiniband/srnic.rst'

# Words in capitals that this tree does not define: events of iw_cm, and of rdma_cm without their prefix
FOREIGN = {
    'CONNECT_REQUEST', 'CONNECT_REPLY', 'ESTABLISHED', 'DISCONNECT', 'CLOSE', 'REJECTED',
    'UNREACHABLE', 'CONNECT_ERROR', 'ERR', 'SQD', 'RTS', 'KREL', 'LAST_WQE_REACHED',
    'RDMA_CM_EVENT_CONNECT_ERROR', 'RDMA_CM_EVENT_DEVICE_REMOVAL'}
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
PATH = re.compile(r'(?<![\w/$~.-])((?:drivers|include|scripts|Documentation|kunit|LICENSES)/'
                  r'[\w./*-]*[\w*/])')
FUNCTION = re.compile(r'\b(iw_mpa_\w+)\(\)')


def read(path):
    return (TOP / path).read_text(encoding='utf-8')


def code_of(path):
    """Return the text of a file without its comments."""
    return COMMENT.sub(' ', read(path))


def macro(path, name):
    """Return the body of a macro as one line."""
    match = re.search(r'#define %s(?:\([^)]*\))?((?:.*\\\n)*.*)' % name, code_of(path))
    if not match:
        sys.exit('%s: no macro %s' % (path, name))
    return match[1].replace('\\\n', ' ')


def x_list(path, name):
    return re.findall(r'\bX\((\w+)', macro(path, name))


def reasons():
    """Return {reason of iw_mpa: (errno, error code of the Terminate)}."""
    rows = re.findall(r'X\((\w+),\s*(\S+),\s*(\d+),', macro('include/rdma/iw_mpa_proto.h',
                                                          'IW_MPA_REASONS'))
    return {name: (err, term) for name, err, term in rows}


def fsm_list(name):
    return x_list(LIBRARY + '/fsm.h', 'IW_MPA_' + name)


def events():
    return fsm_list('RAISED_EVENTS') + fsm_list('FOUND_EVENTS')


def states():
    """Return {state: (its timer, what an endpoint in this state waits for)}."""
    rows = re.findall(r'\bX\((\w+),\s*(\w+),\s*\w+,\s*\w+,\s*"([^"]*)"\)',
                      macro(LIBRARY + '/fsm.h', 'IW_MPA_STATES'))
    return {name: (timer, text) for name, timer, text in rows}


def timers():
    """Return {timer: the sysctl that sets its time}."""
    return dict(re.findall(r'\bX\((\w+),\s*(\w+),', macro(LIBRARY + '/fsm.h',
                                                          'IW_MPA_TIMERS')))


def cells():
    """Return the transition table of fsm.c: a list of (state, event, next state)."""
    code = code_of(LIBRARY + '/fsm.c')
    table = code[code.index(' iw_mpa_fsm['):]
    rows = re.compile(r'\bGOTO(?:_FAILED)?\((\w+),\s*(\w+),|\b([A-Z_]{4,})\b(?=,?(?:\s|$))')
    defined = set(re.findall(r'#define (\w+)', code)) - {'GOTO', 'GOTO_FAILED', 'DO'}

    def gotos(body):
        for event, after, name in rows.findall(body):
            if event:
                yield event, after
            elif name in defined:
                yield from gotos(macro(LIBRARY + '/fsm.c', name))
    return [(state, event, after)
            for state, body in re.findall(r'\[IW_MPA_ST_(\w+)\] = \{(.*?)\n\t\},', table,
                                          re.DOTALL)
            for event, after in gotos(body)]


def settings():
    """Return {sysctl: (default, meaning)}."""
    body = re.search(r'#define IW_MPA_SETTINGS\(.*?\n\n', read(LIBRARY + '/config.h'), re.DOTALL)[0]
    rows = re.findall(r'((?:/\*.*?\*/[\s\\]*)+)\w+\((\w+)(?:, \d+, \d+, (\d+))?\)', body)
    return {name: (value or 'none', ' '.join(re.findall(r'/\* (.*?) \*/', comments)))
            for comments, name, value in rows}


def struct_of(name):
    """Return the body of a structure that drivers fill in; empty if there is none of that name."""
    match = re.search(r'struct %s \{(.*?)\n\};' % name, headers(), re.DOTALL)
    return match[1] if match else ''


def headers():
    """Return the code of the headers that a driver includes, except iw_mpa_proto.h."""
    return code_of('include/rdma/iw_mpa.h') + code_of('include/rdma/iw_mpa_tcb.h')


def members():
    """Return the names of what a driver registers: (values that it declares, callbacks)."""
    ops = struct_of('iw_mpa_takeover_ops')
    return (re.findall(r'(?:\tu\d+\t+|\*)(\w+);', struct_of('iw_mpa_device_attr') + ops),
            re.findall(r'\(\*(\w+)\)\(', struct_of('iw_mpa_driver_ops') + ops))


def capabilities():
    return re.findall(r'(IW_MPA_CAP_\w+)\s*=', code_of('include/rdma/iw_mpa.h'))


def functions(code):
    return sorted(set(re.findall(r'\b(iw_mpa_\w+)\(', code)))


def sources():
    files = ('include/rdma/*.h', LIBRARY + '/*.[ch]', LIBRARY + '/*/*.[ch]', SKELETON + '/*.[ch]',
             'drivers/infiniband/sw/siw_mpa/*.[ch]', 'drivers/infiniband/sw/srnic/*.[ch]',
             'include/uapi/rdma/*.h', 'drivers/infiniband/hw/*_mpa/*.[ch]',
             'Kbuild')
    return '\n'.join(path.read_text(encoding='utf-8')
                     for pattern in files for path in sorted(TOP.glob(pattern)))


def documents():
    names = [README] + sorted(str(path.relative_to(TOP))
                              for path in (TOP / 'Documentation/infiniband').glob('*.rst'))
    return {name: read(name) for name in names}


def table(text, name):
    """Return the lines of a page between the comments "check: NAME" and "check: end"."""
    match = re.search(r'check: %s\b[^\n]*\n(.*?)(?:\.\. |<!-- )check: end' % name, text, re.DOTALL)
    return match[1].splitlines() if match else []


def first_column(text, name):
    return [match[1] for match in (re.match(r'\|?\s*`+(\w+)`+', line)
                                   for line in table(text, name)) if match]


def compare(where, have, want):
    for name in sorted(set(want) - set(have)):
        yield '%s: %s is missing' % (where, name)
    for name in sorted(set(have) - set(want)):
        yield '%s: there is no %s' % (where, name)
    for name in sorted({name for name in have if have.count(name) > 1}):
        yield '%s: %s is there twice' % (where, name)


def states_table(_lines):
    """Yield the lines of iw_mpa.rst's table of states: what an endpoint in each state waits for,
    and which events lead to which other state."""
    width = max(len(name) for name in states()) + 4
    rule = '%s  %s' % ('=' * width, '=' * (WIDTH - width - 2))
    yield from ('', rule, '%-*s  Waits for, and where it leads' % (width, 'State'), rule)
    for name, (_, words) in states().items():
        ways = {}
        for state, event, after in cells():
            if state == name != after:
                ways.setdefault(after, []).append(event)
        ends = ('LINGER', 'DEAD')
        order = sorted(ways, key=lambda after: ends.index(after) + 1 if after in ends else 0)
        text = '. '.join([words] + ['To %s: %s' % (after, ', '.join(ways[after]))
                                    for after in order])
        lines = textwrap.wrap(text, WIDTH - width - 2)
        yield '%-*s  %s' % (width, '``%s``' % name, lines[0])
        yield from (' ' * (width + 2) + line for line in lines[1:])
    yield from (rule, '')


def settings_table(_lines):
    width = max(len(name) for name in settings()) + 4
    rule = '  '.join('=' * n for n in (width, 7, WIDTH - width - 11))
    yield from ('', rule, '%-*s  Default  Meaning' % (width, 'Setting'), rule)
    for name, (default, words) in settings().items():
        lines = textwrap.wrap(words, WIDTH - width - 11)
        yield '%-*s  %-7s  %s' % (width, '``%s``' % name, default, lines[0])
        yield from (' ' * (width + 11) + line for line in lines[1:])
    yield from (rule, '')


def with_prose(rows):
    """Return a function that makes a simple table of ROWS. Each row keeps the prose of its last
    column that the page has now."""
    def make(lines):
        first, body, end = [i for i, line in enumerate(lines) if re.fullmatch(r'=+(  +=+)+', line)]
        starts = [match.start() for match in re.finditer(r'=+', lines[first])]
        prose, name = {}, None
        for line in lines[body + 1:end]:
            name = line[:starts[1]].strip(' `') or name
            prose[name] = '%s %s' % (prose.get(name, ''), line[starts[-1]:].strip())
        yield from lines[:body + 1]
        for row in rows():
            cells = [cell if cell == '-' or cell.isdigit() else '``%s``' % cell for cell in row]
            head = ''.join(cell.ljust(end - start)
                           for cell, start, end in zip(cells, starts, starts[1:]))
            words = textwrap.wrap(prose.get(row[0], '?').strip(), len(lines[first]) - starts[-1])
            yield head + words[0]
            yield from (' ' * starts[-1] + more for more in words[1:])
        yield from lines[end:]
    return make


def reason_rows():
    return [(name, err, '-' if term == '0' else term)
            for name, (err, term) in reasons().items() if name != 'OK']


def timer_rows():
    return [(state, timers()[timer], settings()[timers()[timer]][0])
            for state, (timer, _) in states().items() if timer != 'NONE']


def counter_rows():
    return [(name,) for name in x_list(LIBRARY + '/stats.h', 'IW_MPA_COUNTERS')]


def tracepoint_rows():
    code = code_of(LIBRARY + '/trace.h') + code_of(LIBRARY + '/takeover/trace_takeover.h')
    return [(name,) for name in re.findall(r'TRACE_EVENT\((\w+)', code)]


def meanings_table(title, rows):
    """Return a function that makes a simple table of names and meanings, both from the code."""
    def make(_lines):
        names = dict(rows())
        width = max(len(name) for name in names) + 4
        rule = '%s  %s' % ('=' * width, '=' * (WIDTH - width - 2))
        yield from ('', rule, '%-*s  Counts' % (width, title), rule)
        for name, words in names.items():
            yield '%-*s  %s' % (width, '``%s``' % name, words)
        yield from (rule, '')
    return make


def srnic_counter_rows():
    return re.findall(r'\bX\((\w+),\s*"([^"]*)"\)', macro(SRNIC + '/stats.h', 'SRNIC_COUNTERS'))


def srnic_error_rows():
    rows = re.findall(r'\bX\((\w+),[^"]*"([^"]*)"\)', macro(SRNIC + '/term.h', 'SRNIC_ERRORS'))
    return [('err_' + name, words) for name, words in rows if name != 'NONE']


def users_table(lines):
    """Yield the lines between "check: users" and "check: end" in iw_mpa_performance.rst anew, from
    the figures in LINES, so that the ratios fit the figures."""
    return users.page_lines(users.figures_of(lines))


def users_markdown(_lines):
    return users.readme_lines(users.figures_of(table(read(PERFORMANCE), 'users')))


# Tables that --write makes from the code, or from another page's table
WRITTEN = {(OVERVIEW, 'states'): states_table, (OVERVIEW, 'settings'): settings_table,
           (OVERVIEW, 'reasons'): with_prose(reason_rows),
           (OVERVIEW, 'timers'): with_prose(timer_rows),
           (OVERVIEW, 'counters'): with_prose(counter_rows),
           (OVERVIEW, 'tracepoints'): with_prose(tracepoint_rows),
           (SRNIC_PAGE, 'srnic-counters'): meanings_table('Counter', srnic_counter_rows),
           (PERFORMANCE, 'users'): users_table, (README, 'users'): users_markdown,
           (SRNIC_PAGE, 'srnic-errors'): meanings_table('Counter', srnic_error_rows)}


def check_written(docs):
    for (doc, name), make in WRITTEN.items():
        have = table(docs[doc], name)
        if have != list(make(have)):
            yield '%s, %s: the table is not the code\'s: run check-docs.py --write' % (doc, name)
        if any(line.endswith(' ?') for line in have):
            yield '%s, %s: a row has no prose' % (doc, name)


def check_contract(docs):
    """The pages for drivers have a section for each callback, and name each value that a driver
    declares, and each capability and function in the headers for drivers."""
    data, callbacks = members()
    text = docs[DRIVER] + docs[TAKEOVER]
    sections = re.findall(r'^(\w+)\n~+$', text, re.MULTILINE)
    yield from compare('ops', sections, callbacks)
    yield from compare('declared', first_column(docs[DRIVER], 'declared'), data)
    yield from compare('capabilities', first_column(docs[DRIVER], 'capabilities'), capabilities())
    for name in functions(headers()) + ['iw_mpa_ib_device_ops']:
        if '``%s' % name not in text:
            yield '%s: %s is missing' % (DRIVER, name)
    for name in functions(code_of('include/rdma/iw_mpa_proto.h')):
        if '``%s()' % name not in docs[ENGINE]:
            yield '%s: %s is missing' % (ENGINE, name)


def check_names(docs):
    """Nothing is named that does not exist."""
    text = sources()
    known = set(reasons()) | FOREIGN
    known |= set(events()) | set(fsm_list('STATES')) | set(fsm_list('ACTIONS'))
    for doc, words in docs.items():
        for word in re.findall(r'`([A-Z][A-Z0-9_]{2,})`', words):
            if word not in known and not (TOP / word).exists() and not re.search(
                    r'\b(?:S?RNIC_\w+_|SRNIC_)?%s\b' % word, text):
                yield '%s: %s does not exist' % (doc, word)
        for word in set(FUNCTION.findall(words) + re.findall(r'\bIW_MPA_[A-Z0-9_]*\w\b', words) +
                        re.findall(r'\b(iw_mpa_\w+)`', words) +
                        re.findall(r'struct (iw_mpa_\w+)', words)):
            if not re.search(r'\b%s\b' % word, text) and not (TOP / SKELETON).match('*/' + word):
                yield '%s: %s does not exist' % (doc, word)
        for word in re.findall(r'net[./]iw_mpa[./](\w+)', words):
            if word not in settings():
                yield '%s: there is no setting %s' % (doc, word)


def check_paths(docs):
    """Files, folders and make targets that the documents name exist."""
    targets = re.findall(r'^([a-z][a-z0-9 -]*):', read('Makefile'), re.MULTILINE)
    targets = set(' '.join(targets).split())
    for doc, words in docs.items():
        for path in set(PATH.findall(words)):
            if not list(TOP.glob(path.rstrip('/'))):
                yield '%s: %s does not exist' % (doc, path)
        for target in re.findall(r'(?:`|^    )make ([a-z][a-z0-9-]*)', words, re.MULTILINE):
            if target not in targets:
                yield '%s: there is no make %s' % (doc, target)


def check_version(docs):
    """Paths and commands of dkms on a page have the present version of iw_mpa."""
    want = re.search(r'IW_MPA_VERSION\s+"([^"]+)"', read('include/rdma/iw_mpa.h'))[1]
    for doc, words in docs.items():
        for have in set(re.findall(r'iw_mpa[/-](\d+(?:\.\d+)+)', words)) - {want}:
            yield '%s: version %s is not ours, which is %s' % (doc, have, want)


def check_consumers(docs):
    """iw_mpa_consumers.rst names no end-to-end test that does not exist, and its table has all of
    those from 200 to 299, each of which is about one consumer."""
    name_of = re.compile(r'``(\d{3}-[a-z-]+)``')
    cells = re.findall(r'^     - (``\d{3}-.*)$', docs[CONSUMERS], re.MULTILINE)
    tests = {path.stem for path in (TOP / 'scripts/e2e').glob('[0-9]*.sh')}
    for name in sorted(set(name_of.findall(docs[CONSUMERS])) - tests):
        yield '%s: there is no test %s' % (CONSUMERS, name)
    for name in sorted(tests - set(name_of.findall(' '.join(cells)))):
        if name.startswith('2'):
            yield '%s: %s is missing' % (CONSUMERS, name)


QUOTE = re.compile(r'^(\.\. quote: (\S+)\n\n\.\. code-block:: c\n\n)((?:(?:   ?.*)?\n)+)', re.MULTILINE)


def quote_of(path, first):
    """Return what a file has from a line to the next bracket that ends a function or a table."""
    code = read(path).expandtabs()
    start = code.find(first + '\n')
    end = re.compile(r'^\};?\n', re.MULTILINE).search(code, max(start, 0))
    return code[start:end.end()] if start >= 0 and end else ''


def check_quotes(docs):
    quotes = 0
    for doc, words in docs.items():
        for _, path, block in QUOTE.findall(words):
            quotes += 1
            quote = textwrap.dedent(block).strip('\n')
            if quote + '\n' not in read(path).expandtabs():
                yield '%s: not in %s: run check-docs.py --write\n%s' % (doc, path, quote)
    if not quotes:
        yield 'no quotation found'


def check_skeleton(_docs):
    """A driver needs only one header of iw_mpa. Of the files in the driver skeleton's folder skel.h
    includes only rdma/iw_mpa.h, iw_mpa_toe.h only rdma/iw_mpa_proto.h, and the others none."""
    want = {'skel.h': ['rdma/iw_mpa.h'], 'iw_mpa_toe.h': ['rdma/iw_mpa_proto.h']}
    for path in sorted((TOP / SKELETON).glob('*.[ch]')):
        headers = re.findall(r'#\s*include\s*[<"]([^>"]*/iw_mpa[^>"]*)', path.read_text())
        if headers != want.get(path.name, []):
            yield '%s includes %s' % (path.name, headers)


def check_troubles(docs):
    """The administrator's guide says what to do for each of iw_mpa's reasons, except OK."""
    rows = '\n'.join(table(docs[ADMIN], 'troubles'))
    yield from compare('troubles', re.findall(r'^``(\w+)``\n    \S', rows, re.MULTILINE),
                       [name for name in reasons() if name != 'OK'])


def log_lines():
    """Yield the lines that the modules write into the kernel's log, with "..." for values."""
    for folder in (LIBRARY, SRNIC, 'drivers/infiniband/sw/siw_mpa'):
        for path in sorted([*(TOP / folder).glob('*.c'), *(TOP / folder).glob('compat/**/*.h')]):
            for words in re.findall(r'\b(?:pr|dev|ibdev|netdev)_(?:err|warn|notice|info)\w*\(\s*'
                                    r'(?:[^",]*,\s*)?"([^"]*)"', path.read_text(encoding='utf-8')):
                yield without_values(words)
    yield 'iw_mpa: driver mistake: ...'


def without_values(words):
    return re.sub(r'(?:%(?:p\w*|[-0-9]*[a-z]+))+', '...', words.removesuffix(r'\n'))


def check_mistakes(docs):
    """The table of mistakes in iw_mpa_driver.rst has each line by which iw_mpa logs a driver's
    mistake, and no line that no module logs."""
    code = ''.join(read(path.relative_to(TOP)) for path in sorted((TOP / LIBRARY).glob('*.c')))
    want = ['iw_mpa: driver mistake: ' + without_values(words)
            for words in re.findall(r'\biw_mpa_blame\(\s*"([^"]*)"', code)]
    rows = re.findall(r'``(iw_mpa: [^`]*)``', '\n'.join(table(docs[DRIVER], 'mistakes')))
    yield from compare('mistakes', [row for row in rows if 'mistake' in row], want)
    yield from compare('mistakes', [row for row in {*rows} if row not in [*log_lines(), *want]], [])


def check_log(docs):
    """The administrator's guide explains each line that the modules write into the kernel's log,
    and ___ratelimit()'s line about them, "callbacks suppressed"."""
    rows = '\n'.join(table(docs[ADMIN], 'log'))
    yield from compare('log', re.findall(r'^``(.*)``\n    \S', rows, re.MULTILINE),
                       [*log_lines(), 'iw_mpa: ... callbacks suppressed'])


BORDER = re.compile(r'^ *=+( +=+)+ *$')


def tables_of(text):
    """Yield for each simple table the list of its lines, each a list of the cells."""
    lines = text.split('\n')
    while lines:
        if not BORDER.match(lines[0]):
            lines.pop(0)
            continue
        spans = [match.span() for match in re.finditer('=+', lines.pop(0))]
        spans[-1] = (spans[-1][0], None)
        rows = []
        while lines and lines[0].strip():
            line = lines.pop(0)
            if not BORDER.match(line):
                rows.append([line[start:end].strip() for start, end in spans])
        yield rows


def check_rows(docs):
    """In a simple table words in the first column begin a row: so no cell there may be wrapped."""
    for doc, words in docs.items():
        if not doc.endswith('.rst'):
            continue
        for rows in tables_of(words):
            for before, row in zip([[''], *rows], rows):
                if row[0] and (not any(row[1:]) or before[0].endswith(',')):
                    yield '%s: a row of a table is cut in two: %s' % (doc, row[0])


def titles_of(page, words):
    """Return the titles of the sections of a page."""
    if page.endswith('.md'):
        return [re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', title)
                for title in re.findall(r'^#+ (.*)$', words, re.MULTILINE)]
    return [title for title, _ in re.findall(r'^(\S.*)\n(=+|-+|~+|\.+)$', words, re.MULTILINE)]


def anchor_of(title):
    """Return the anchor that a web page of the repository has for a title: small letters, and
    hyphens for blanks."""
    return re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')


# "Title" in page.rst: a reference in words
NAMED = re.compile(r'(see )?"([A-Z][^"]{2,60})"(?: (?:in|of) `*(?:[\w/]*/)?'
                   r'((?:iw_mpa\w*|srnic\w*|README)\.(?:rst|md)))?')


def check_titles(docs):
    """Sections that the documents and sources name, with their page or after "see", exist."""
    known = {doc.rpartition('/')[2]: titles_of(doc, words) for doc, words in docs.items()}
    of_all = {title for titles in known.values() for title in titles}
    where = {**docs, CHANGES: read(CHANGES), 'the sources': re.sub(r'\n[ \t]*(?:\*|#|//)', ' ', sources()),
             'scripts/lib/kernel.sh': read('scripts/lib/kernel.sh')}
    found = 0
    for doc, words in where.items():
        for see, title, page in NAMED.findall(' '.join(words.split())):
            found += bool(page)
            if page and title not in known.get(page, ()) or see and not page and title not in of_all:
                yield '%s: there is no section "%s"%s' % (doc, title, page and ' in ' + page)
    if not found:
        yield 'no section is named'


def check_links(docs):
    """What a document links to exists: a file, and a section of the same page or of another."""
    for doc, words in {**docs, CHANGES: read(CHANGES)}.items():
        folder = (TOP / doc).parent
        for link, anchor in re.findall(r'\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)', words) if doc.endswith('.md') else ():
            path = folder / link if link else TOP / doc
            if not path.exists():
                yield '%s: a link to %s leads nowhere' % (doc, link)
            elif anchor and anchor not in map(anchor_of, titles_of(path.name, path.read_text() if link else words)):
                yield '%s: a link to %s#%s leads to no section' % (doc, link, anchor)
        titles = {title.lower() for title in re.findall(r'^(\S.*)\n(?:=+|-+|~+)$', words, re.MULTILINE)}
        for link in re.findall(r'(?<!`)`([^`<]+)`_\b', words) if doc.endswith('.rst') else ():
            if ' '.join(link.split()).lower() not in titles:
                yield '%s: there is no section "%s"' % (doc, link)
        for page in re.findall(r'\b((?:iw_mpa|srnic)[a-z_]*\.rst)\b', words):
            if not (TOP / 'Documentation/infiniband' / page).exists():
                yield '%s: there is no page %s' % (doc, page)


def check_charts(docs):
    """Charts of the figures in iw_mpa_performance.rst can be drawn: nothing is cut off, and all
    bars of a chart have one scale."""
    names, rows = users.bars_of(users.figures_of(table(docs[PERFORMANCE], 'users')).rows)
    try:
        for chart in users.page.charts(names, rows):
            users.page.judged(chart)
    except ValueError as error:
        yield '%s: %s' % (PERFORMANCE, error)


def check_lengths(docs):
    """These pages are short enough to be read to their end."""
    for doc, most in ((README, 120), (PERFORMANCE, 300)):
        if docs[doc].count('\n') > most:
            yield '%s has more than %d lines' % (doc, most)


def check_readme(docs):
    """A test runs each block of commands in README.md."""
    run = re.findall(r'\(readme (\w+)', read('scripts/test/package.sh'))
    for mark, block in re.findall(r'(.*)\n((?:    .*\n)+)', docs[README]):
        name = re.fullmatch(r'<!-- run: (\w+) -->', mark)
        if not name or name[1] not in run:
            yield '%s: no test runs the block of: %s' % (README, block.strip().split('\n')[0])


def check_size(docs):
    """The pages stay short: what is added has to take the place of something else. The tables of
    rules are as long as the RFCs. A word has a letter: bullets, rules of tables and figures are none."""
    pages = [words for doc, words in docs.items() if doc.endswith('.rst') and not doc.endswith('_conformance.rst')]
    for what, most, number in (('lines', 5000, sum(page.count('\n') for page in pages)),
                               ('words', 37000, sum(len(re.findall(r'\S*[A-Za-z]\S*', page)) for page in pages))):
        if number > most:
            yield 'the pages have %d %s, and at most %d are wanted' % (number, what, most)


def check_guide(docs):
    """Every block of commands in the administrator's guide is run by a test."""
    blocks = re.findall(r'(.*)\n\n::$', docs[ADMIN], re.MULTILINE)
    blocks += re.findall(r'(.*\w::)$', docs[ADMIN], re.MULTILINE)
    run = ['client', 'server', 'both', *re.findall(r'^\s*guide (\w+)', read('scripts/test/package.sh'), re.MULTILINE)]
    for before in blocks:
        name = re.match(r'\.\. run: (\w+)$', before)
        if not name or name[1] not in run:
            yield '%s: no test runs the commands behind: %s' % (ADMIN, before)


def check_wire(docs):
    """Each command "scripts/wire.sh -k" in iw_mpa_testing.rst chooses at least one test."""
    commands = re.findall(r"scripts/wire\.sh -k ('[^'`]*'|[^\s`]+)([ \w]*)`", docs[TESTING])
    if not commands:
        yield '%s: no command with wire.sh -k' % TESTING
    for regex, files in commands:
        listed = subprocess.run([TOP / 'scripts/wire/run.py', '-l', '-k', regex.strip("'"),
                                 '--file', '|'.join(files.split()) or '.*'],
                                stdout=subprocess.PIPE, check=False, text=True)
        if listed.returncode or not listed.stdout:
            yield '%s: no test is chosen by wire.sh -k %s%s' % (TESTING, regex, files)


def tests():
    """Return the text of the suites that run the modules, and so can test counters."""
    files = ('kunit/*/*.c', 'scripts/wire/*.py', 'scripts/e2e/*.sh')
    return '\n'.join(path.read_text(encoding='utf-8')
                     for pattern in files for path in sorted(TOP.glob(pattern)))


def check_counters(docs):
    """Each counter is named by a test, by its constant in the code or by the name that is shown."""
    text = tests()
    named = set(re.findall(r'"(\w+)"', text))
    for constant, names in (
            (r'(?:SRNIC|IW_MPA)_CNT_', first_column(docs[OVERVIEW], 'counters') +
             first_column(docs[SRNIC_PAGE], 'srnic-counters')),
            (r'(?:IW_MPA_R_|REASON\()', first_column(docs[OVERVIEW], 'reasons')),
            (r'SRNIC_ERR_', [name[len('err_'):] for name in
                             first_column(docs[SRNIC_PAGE], 'srnic-errors')])):
        for name in names:
            if not named & {name, 'err_' + name} and \
                    not re.search(r'\b%s%s\b' % (constant, name), text):
                yield 'no test names the counter %s' % name


def check_silent(docs):
    """Code, KUnit test and iw_mpa_conformance.rst agree for which errors of this end the peer gets
    a Terminate, and for which it gets none."""
    row = re.search(r'\* - E-9\.3-1\n((?:     .*\n)+)', docs[CONFORMANCE])[1]
    told, _, silent = row.partition('None is sent: ')
    silent = silent.partition('\n     - ')[0]
    codes = reasons()
    aloud = [name for name, (_, code) in codes.items() if code == '5']
    yield from compare('E-9.3-1, told', re.findall(r'``([A-Z_]+)``', told), aloud)
    suite = read('kunit/iw_mpa/iw_mpa_reason_kunit.c')
    yield from compare('iw_mpa_reason_kunit.c, E-9.3-1',
                       re.findall(r'\{ "E-9\.3-1_\w+", IW_MPA_R_(\w+), ', suite), aloud)
    # Errors of this end, by their errno, of which the peer is not told; the page names the time-outs as one group.
    own = [name for name, (err, code) in codes.items() if code == '0' and name != 'REJECTED' and
           err in ('-EIO', '-ENOMEM', '-ECONNABORTED', '-ECONNREFUSED')]
    yield from compare('E-9.3-1, silent', re.findall(r'``([A-Z_]+)``', silent), own)
    if any(name.startswith('TIMEOUT_') and code == '0' for name, (_, code) in codes.items()) and \
            'the time-outs' not in ' '.join(silent.split()):
        yield 'E-9.3-1, silent: the time-outs are missing'


CHECKS = (check_counters, check_silent, check_written, check_contract,
          check_names, check_paths,
          check_version, check_quotes, check_skeleton, check_consumers, check_troubles, check_log, check_mistakes,
          check_guide, check_readme, check_lengths, check_wire, check_rows, check_links, check_titles,
          check_charts, check_size)

# (check, document, text there, replacement): the check has to report each
SELFTEST = (
    (check_counters, OVERVIEW, '``fence_lifted``', '``fence_sifted``'),
    (check_counters, OVERVIEW, '``NO_RTR``', '``NO_RTS``'),
    (check_counters, SRNIC_PAGE, '``tx_no_room``', '``tx_no_broom``'),
    (check_counters, SRNIC_PAGE, '``err_READ_WRAP``', '``err_READ_TRAP``'),
    (check_silent, CONFORMANCE, '``TCP_BUSY``', '``TCP_DIZZY``'),
    (check_silent, CONFORMANCE, '``OVERLOAD``,', '``SAME_ROLE``,'),
    (check_silent, CONFORMANCE, 'the time-outs', 'the times-out'),
    (check_written, OVERVIEW, '``NO_RTR``', '``NO_RTS``'),
    (check_written, OVERVIEW, '``BAD_KEY``           ``-EPROTO``', '``BAD_KEY``           ``-EIO``'),
    (check_written, OVERVIEW, '``FENCED``   ', '``FANCY``    '),
    (check_written, OVERVIEW, '``rtr_timeout_ms``      20000', '``rtr_timeout_ms``      20001'),
    (check_written, OVERVIEW, 'AWAIT_REQ: TCP_ACCEPTED', 'AWAIT_REP: TCP_ACCEPTED'),
    (check_written, SRNIC_PAGE, '``err_CRC``', '``err_CRD``'),
    (check_written, SRNIC_PAGE, '``tx_fpdus``', '``tx_fpdos``'),
    (check_written, OVERVIEW, '``verdict_timeout_ms``', '``verdict_timeout``'),
    (check_written, OVERVIEW, '``mpa_rev``                 2', '``mpa_rev``                1'),
    (check_contract, DRIVER, '\nkick_rx\n', '\nkick_tx\n'),
    (check_contract, DRIVER, '``IW_MPA_CAP_NO_CRC``', '``IW_MPA_CAP_CRC``'),
    (check_contract, DRIVER, '``iw_mpa_qp_gone', '``iw_mpa_qp_done'),
    (check_contract, TAKEOVER, '\nlet_go\n', '\nlet_come\n'),
    (check_contract, TAKEOVER, '``iw_mpa_stream_watch', '``iw_mpa_stream_match'),
    (check_contract, ENGINE, '``iw_mpa_fpdu_term()', '``iw_mpa_fpdu_tram()'),
    (check_written, OVERVIEW, '``iw_mpa_upcall``', '``iw_mpa_call``'),
    (check_written, OVERVIEW, '``v1_fallback``        ', '``v1_backfall``        '),
    (check_names, DRIVER, 'iw_mpa_stream_down()', 'iw_mpa_stream_up()'),
    (check_names, OVERVIEW, '``AWAIT_VERDICT``', '``AWAIT_VERDICTS``'),
    (check_names, README, 'net.iw_mpa.crc', 'net.iw_mpa.src'),
    (check_paths, TESTING, 'scripts/kernels', 'scripts/colonels'),
    (check_paths, README, 'make check', 'make chicken'),
    (check_version, ADMIN, 'iw_mpa/0.', 'iw_mpa/7.'),
    (check_version, ADMIN, '/usr/src/iw_mpa-0.', '/usr/src/iw_mpa-7.'),
    (check_quotes, DRIVER, 'wait_for_completion(&qp->free);', 'wait_for_completion(&qp->done);'),
    (check_quotes, DRIVER, '           xa_erase(', '        xa_erase('),
    (check_consumers, CONSUMERS, '     - ``200-nfs``', '     - ``200-ntfs``'),
    (check_consumers, CONSUMERS, '     - ``210-nvme``', '     - nothing'),
    (check_troubles, ADMIN, '\n``NO_RTR``\n', '\n``NO_RTS``\n'),
    (check_log, ADMIN, '``srnic: ... cannot be loaded', '``srnic: ... can not be loaded'),
    (check_log, ADMIN, '\n``iw_mpa: a driver was refused: ... (IW_MPA_API ...), network device ...: ...``\n', '\n``iw_mpa: a driver was not taken``\n'),
    (check_mistakes, DRIVER, 'driver mistake: ...: connection ...: after stop', 'driver mistake: ...: after stop'),
    (check_mistakes, DRIVER, 'while ... of iw_mpa_ep_get()', 'while all of iw_mpa_ep_get()'),
    (check_guide, ADMIN, 'Who listens, on the server:\n\n.. run: server\n', 'Who listens:\n'),
    (check_guide, ADMIN, '.. run: containers_host\n', '.. run: containers_guest\n'),
    (check_guide, ADMIN, 'Who listens, on the server:', 'Who listens, on the server::'),
    (check_lengths, README, '## Try it', '\n' * 20 + '## Try it'),
    (check_lengths, PERFORMANCE, '.. check: end', '\n' * 120 + '.. check: end'),
    (check_readme, README, '<!-- run: link -->', '<!-- run: lynx -->'),
    (check_readme, README, '<!-- run: try -->\n', '\n'),
    (check_size, ADMIN, 'See what there is\n', 'See what there is\n' * 5000),
    (check_size, ADMIN, 'See what there is\n', 'See what there is\n' + 'word ' * 37000),
    (check_rows, ADMIN, '``TCP_CONNECT``, ``TCP_RECONNECT``  ', '``TCP_CONNECT``,                   x\n``TCP_RECONNECT``  '),
    (check_rows, ADMIN, '``AWAIT_RTR``                       the client', '``AWAIT_RTR``'),
    (check_links, README, '(CHANGELOG.md)', '(CHANGES.md)'),
    (check_links, README, '(#supported-kernels)', '(#supported-colonels)'),
    (check_links, README, '## When srnic, and when', '## If srnic, or if'),
    (check_links, README, '(Documentation/infiniband/iw_mpa_admin.rst)', '(Documentation/infiniband/iw_mpa_admin.rst#no-such)'),
    (check_links, ADMIN, '`Remove it`_', '`Move it`_'),
    (check_titles, ADMIN, '"Mistakes of a driver" in', '"Mistakes of a card" in'),
    (check_titles, SRNIC_PAGE, '\nSecurity\n', '\nSafety\n'),
    (check_titles, README, '## Supported kernels', '## Kernels that are supported'),
    (check_links, ADMIN, 'iw_mpa_security.rst', 'iw_mpa_secrecy.rst'),
    (check_wire, TESTING, '-k rtr_offer responder', '-k rtr_scoffer responder'),
    (check_wire, TESTING, '-k rtr_offer responder', '-k rtr_offer sponder'),
)


def selftest():
    good = True
    for check, name, old, new in SELFTEST:
        docs = documents()
        if old not in docs[name]:
            print('selftest: %s: %r is not in %s any more' % (check.__name__, old, name))
            good = False
            continue
        docs[name] = docs[name].replace(old, new)
        if not list(check(docs)):
            print('selftest: %s does not see %r in place of %r' % (check.__name__, new, old))
            good = False
    return 0 if good else 1


def quote_anew(match):
    """Return the quotation as the code is now; unchanged, if the file no longer has the quotation's
    first line."""
    quote = textwrap.dedent(match[3]).strip('\n') + '\n'
    if quote in read(match[2]).expandtabs():
        return match[0]
    now = quote_of(match[2], quote.split('\n', 1)[0])
    return match[1] + textwrap.indent(now, '   ') + '\n' if now else match[0]


def write():
    for (doc, name), make in WRITTEN.items():
        lines = '\n'.join(make(table(read(doc), name))) + '\n'
        text = re.sub(r'(check: %s\b[^\n]*\n).*?(?=(?:\.\. |<!-- )check: end)' % name,
                      lambda match, lines=lines: match[1] + lines, read(doc), flags=re.DOTALL)
        (TOP / doc).write_text(text, encoding='utf-8')
    for name, words in documents().items():
        (TOP / name).write_text(QUOTE.sub(quote_anew, words).rstrip('\n') + '\n',
                                encoding='utf-8')
    return 0


def main():
    if sys.argv[1:] == ['--selftest']:
        return selftest()
    if sys.argv[1:] == ['--write']:
        return write()
    if sys.argv[1:]:
        sys.exit(__doc__)
    docs = documents()
    failed = 0
    for number, check in enumerate(CHECKS, 1):
        faults = list(check(docs))
        failed += bool(faults)
        print('%s %d docs: %s' % ('not ok' if faults else 'ok', number, check.__name__[6:]))
        for fault in faults:
            print('# ' + fault.replace('\n', '\n#   '))
    return 1 if failed else 0


sys.exit(main())
