#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Fail when a file of iw_mpa includes or calls a higher layer.

    check-layers.py [--objects DIR]    check includes; with objects also their symbols
    check-layers.py --selftest         prove that each kind of violation is found

DIR has the built objects of drivers/infiniband/sw/iw_mpa. The order of the layers is that of the
objects in the link line of its Makefile.
"""

import argparse
import pathlib
import posixpath
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = 'drivers/infiniband/sw/iw_mpa'


def link_line():
    """Return {layer: its objects}, in the order in which they are linked."""
    text = ''.join((TOP / LIBRARY / name).read_text(encoding='utf-8') for name in ('Makefile', 'Kbuild'))
    layers = {}
    for layer, objects in re.findall(r'^iw_mpa-(l\d|leaves)(?:-\w+)? := (.*)$', text, re.MULTILINE):
        layers.setdefault(layer, []).extend(re.findall(r'([\w/]+)\.o', objects))
    return layers


def name_of(path):
    """Return the name of a file's object in the link line. A header in a folder belongs to the
    folder's main object, unless it has an object of its own."""
    name = path.with_suffix('').as_posix()
    # iwcm.h is the header of iwcm_faults.c, under a name that the series needs
    name = {'iwcm': 'iwcm_faults'}.get(name, name)
    folder = path.parent.as_posix()
    if name not in LAYER_OF and folder != '.':
        name = '%s/%s' % (folder, folder)
    return name


# A file may include headers of its own layer and of lower ones. An object may call only objects
# that are linked before it, so calls between objects form no circle.
LAYERS = {{'leaves': 'leaf'}.get(layer, layer.upper()): names
          for layer, names in link_line().items()}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names}
ORDER = tuple(LAYERS)
LINKED = [name for names in LAYERS.values() for name in names]
GLUES = ('drivers/infiniband/sw/siw_mpa',)
# Drivers of devices with their own TCP engine, which may only use iw_mpa's protocol layer, L0
ENGINES = ('drivers/infiniband/hw/cxgb4_mpa',)
PUBLIC = 'include/rdma/iw_mpa.h'
PROTO = 'include/rdma/iw_mpa_proto.h'

# The only headers of the kernel that iw_mpa's protocol layer, L0, may include
L0_INCLUDES = re.compile(
    r'linux/(types|stddef|string|kernel|limits|bits|bitops|bitfield|bug|build_bug|errno|minmax|'
    r'align|array_size|const|stringify|byteorder|unaligned|crc32c|export)\.h$|'
    r'asm/(byteorder|unaligned)\.h$|rdma/iw_mpa_proto\.h$')
L0_SYMBOLS = re.compile(
    r'mem(cpy|cmp|set|move|chr_inv)$|str(n?len|n?cmp|scpy|scpy_pad)$|crc32c$|'
    r'__stack_chk_fail$|(__)?fortify_panic$|__(read|write)_overflow\w*$|'
    r'__fentry__$|__x86_(return|indirect)_thunk\w*$|__(asan|ubsan|sanitizer|tsan)_\w+$')

# Interfaces that may be used by one file each
TCP_SYMBOLS = re.compile(r'(kernel|sock|tcp)_')
EVENT_HANDLER = re.compile(r'->\s*event_handler\b')
DRIVER_OP = re.compile(r'\(\s*\*\s*(\w+)\s*\)\s*\(')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def code_of(path):
    """Return the text of a file without its comments."""
    return COMMENT.sub(' ', path.read_text(encoding='utf-8'))


def may_use(user, used):
    return ORDER.index(LAYER_OF[used]) <= ORDER.index(LAYER_OF[user])


def may_call(user, used):
    return LINKED.index(used) <= LINKED.index(user)


def arrow(user, used):
    return '%s (%s) -> %s (%s)' % (user, LAYER_OF[user], used, LAYER_OF[used])


def driver_ops(top):
    """Return the names of a driver's callbacks, struct iw_mpa_driver_ops in iw_mpa.h."""
    path = top / PUBLIC
    if not path.exists():
        return set()
    table = re.search(r'struct iw_mpa_driver_ops\s*\{(.*?)\n\};', code_of(path), re.DOTALL)
    return set(DRIVER_OP.findall(table[1])) if table else set()


def check_include(path, kind, name):
    user = name_of(path)
    used = name_of(pathlib.PurePath(posixpath.normpath((path.parent / name).as_posix())))
    if kind == '"':
        if used not in LAYER_OF:
            return 'includes "%s", which has no layer' % name
        if not may_use(user, used):
            return 'points up: ' + arrow(user, used)
    elif LAYER_OF[user] == 'L0' and not L0_INCLUDES.match(name):
        return '<%s> is not for the pure layer' % name
    return None


def check_doors(path, code, ops):
    """Yield what a file calls though only other files may: upcall.c alone calls the event_handler
    of an iw_cm_id, and offload.c and takeover/ alone call a driver's ops."""
    if path.stem != 'upcall' and EVENT_HANDLER.search(code):
        yield 'only upcall.c raises events of iw_cm'
    if path.stem == 'offload' or path.parts[0] == 'takeover':
        return
    # Data that a driver declares may be read anywhere; its callbacks may be called only in offload.c
    for name in re.findall(r'\b(?:drv|ops)\s*->\s*(\w+)', code):
        if name in ops:
            yield 'only offload.c knows the callbacks of a driver: ' + name
    for name in re.findall(r'(?:->|\.)\s*(\w+)\s*\(', code):
        if name in ops:
            yield 'only offload.c calls a driver: %s()' % name


def check_library(top):
    ops = driver_ops(top)
    if (top / PUBLIC).exists() and not ops:
        yield PUBLIC, 'no struct iw_mpa_driver_ops with callbacks found'
    for path in sorted((top / LIBRARY).glob('**/*.[ch]')):
        inside = path.relative_to(top / LIBRARY)
        where = '%s/%s' % (LIBRARY, inside)
        if name_of(inside) not in LAYER_OF:
            yield where, 'has no layer: give it one in the Makefile'
            continue
        code = code_of(path)
        for kind, name in INCLUDE.findall(code):
            fault = check_include(inside, kind, name)
            if fault:
                yield where, fault
        for fault in check_doors(inside, code, ops):
            yield where, fault


def check_public(top):
    """iw_mpa_proto.h includes only what layer L0 may include; iw_mpa.h, for drivers, no private
    header."""
    for header, pattern in ((PROTO, L0_INCLUDES), (PUBLIC, re.compile(r'(linux|net|rdma)/'))):
        path = top / header
        if not path.exists():
            continue
        for kind, name in INCLUDE.findall(code_of(path)):
            if kind == '"' or not pattern.match(name):
                yield header, '%s has no business here' % name


def check_glue(top, glue, header):
    private = {path.name for path in (top / LIBRARY).glob('*.h')}
    own = {path.name for path in (top / glue).glob('*.h')}
    for path in sorted((top / glue).glob('*.[ch]')):
        where = '%s/%s' % (glue, path.name)
        for kind, name in INCLUDE.findall(code_of(path)):
            if '/iw_mpa/' in '/' + name or (kind == '"' and name in private - own):
                yield where, '"%s" is private to the library' % name
            elif name.startswith('rdma/iw_mpa') and name != header:
                yield where, '<%s>: %s is all that a driver needs' % (name, header)
    for path in (top / glue).glob('Kbuild'):
        if re.search(r'-I\S*/iw_mpa/?(\s|$)', path.read_text(encoding='utf-8')):
            yield glue + '/Kbuild', 'puts the private headers of the library in reach'


def parse_nm(text):
    """Return two sets of symbols from nm's output about an object: the global ones that the object
    defines, and those that it uses and does not define."""
    defined, undefined = set(), set()
    for line in text.splitlines():
        match = re.match(r'[0-9a-f]*\s*(\w) (\S+)$', line)
        if match and match[1] in 'Uw':
            undefined.add(match[2])
        elif match and match[1].isupper():
            defined.add(match[2])
    return defined, undefined


def check_symbols(tables):
    """tables: object name -> (defined, undefined)."""
    home = {symbol: name for name, (defined, _) in tables.items() for symbol in defined}
    for user, (_, undefined) in sorted(tables.items()):
        for symbol in sorted(undefined):
            used = home.get(symbol)
            if used and not may_call(user, used):
                yield user + '.o', 'points up: %s by %s' % (arrow(user, used), symbol)
            elif not used and LAYER_OF[user] == 'L0' and not L0_SYMBOLS.match(symbol):
                yield user + '.o', '%s is not for the pure layer' % symbol
            elif (not used and user != 'sock' and not user.startswith('takeover/') and
                  TCP_SYMBOLS.match(symbol)):
                yield user + '.o', 'only sock.o and its neighbours speak TCP: %s' % symbol


def check_objects(top, objects):
    tables = {}
    for path in sorted((top / LIBRARY).glob('**/*.c')):
        name = name_of(path.relative_to(top / LIBRARY))
        obj = objects / (name + '.o')
        if name not in LAYER_OF:
            continue
        if not obj.exists():
            yield '%s.o' % name, 'not built'
            continue
        nm = subprocess.run(['nm', str(obj)], check=True, capture_output=True, text=True)
        tables[name] = parse_nm(nm.stdout)
    if not tables:
        yield str(objects), 'holds no object of the library'
    yield from check_symbols(tables)


def check_tree(top):
    yield from check_library(top)
    yield from check_public(top)
    for glue in GLUES:
        yield from check_glue(top, glue, 'rdma/iw_mpa.h')
    for glue in ENGINES:
        yield from check_glue(top, glue, 'rdma/iw_mpa_proto.h')


OPS = 'struct iw_mpa_driver_ops {\n\tint\t(*prepare)(void *qp);\n};\n'

# (file, contents, text of the fault; None: has to be accepted)
SELFTEST_FILES = (
    (LIBRARY + '/frame.c', '#include <linux/types.h>\n/* #include "ep.h" */', None),
    (LIBRARY + '/frame.c', '#include "fsm.h"', None),
    (LIBRARY + '/ep.c', '#include "sock.h"\n#include "stats.h"\n#include "fsm.h"', None),
    (LIBRARY + '/trace.h', '#include "fsm.h"', None),
    (LIBRARY + '/main.c', '/* drv->prepare() */ int x;', None),
    (LIBRARY + '/upcall.c', 'id->event_handler(id, ev);', None),
    (LIBRARY + '/offload.c', 'drv->prepare(qp);', None),
    (LIBRARY + '/frame.c', '#include "sock.h"', 'points up: frame (L0) -> sock (L1)'),
    (LIBRARY + '/fsm.h', '#include "ep.h"', 'points up: fsm (L0) -> ep (L2)'),
    (LIBRARY + '/fsm.c', '#include "stats.h"', 'points up: fsm (L0) -> stats (leaf)'),
    (LIBRARY + '/stats.c', '#include "ep.h"', 'points up: stats (leaf) -> ep (L2)'),
    (LIBRARY + '/sock.c', '#include "ep.h"', 'points up: sock (L1) -> ep (L2)'),
    (LIBRARY + '/ep.h', '  #  include "main.h"', 'points up: ep (L2) -> main (L3)'),
    (LIBRARY + '/fpdu.c', '#include <linux/slab.h>', 'not for the pure layer'),
    (LIBRARY + '/fpdu.c', '#include <rdma/iw_mpa.h>', 'not for the pure layer'),
    (LIBRARY + '/newcomer.c', '', 'has no layer'),
    (LIBRARY + '/ep.c', '#include "other.h"', 'which has no layer'),
    (LIBRARY + '/ep.c', 'id->event_handler(id, &ev);', 'only upcall.c'),
    (LIBRARY + '/ep.c', 'err = dev->ops->prepare(qp);', 'only offload.c calls'),
    (LIBRARY + '/ep.c', 'cb = drv->prepare;', 'only offload.c knows'),
    (LIBRARY + '/ep.c', 'x = ep->drv->caps;', None),
    (LIBRARY + '/takeover/tcb.c', '#include "path.h"\n#include "../sock.h"', None),
    (LIBRARY + '/takeover/tcb.c', '#include "../main.h"', 'points up: takeover/tcb (L2) -> main (L3)'),
    (LIBRARY + '/takeover/other.h', '#include "../ep.h"', None),
    (LIBRARY + '/sock.c', '#include "takeover/takeover.h"', 'points up: sock (L1) -> takeover/takeover (L2)'),
    (PROTO, '#include <rdma/iw_cm.h>', 'no business'),
    (PUBLIC, OPS + '#include "../../drivers/infiniband/sw/iw_mpa/ep.h"', 'no business'),
    (PUBLIC, 'struct nothing;', 'no struct iw_mpa_driver_ops'),
    (GLUES[0] + '/glue.c', '#include <rdma/iw_mpa.h>\n#include "siw.h"', None),
    (GLUES[0] + '/glue.c', '#include <rdma/iw_mpa_proto.h>', 'all that a driver needs'),
    (GLUES[0] + '/glue.c', '#include "../iw_mpa/sock.h"', 'private to the library'),
    (GLUES[0] + '/glue.c', '#include "ep.h"', 'private to the library'),
    (GLUES[0] + '/Kbuild', 'ccflags-y += -I$(src)/../iw_mpa', 'in reach'),
    (ENGINES[0] + '/glue.c', '#include <rdma/iw_mpa_proto.h>', None),
    (ENGINES[0] + '/glue.c', '#include <rdma/iw_mpa.h>', 'all that a driver needs'),
    (ENGINES[0] + '/glue.c', '#include "ep.h"', 'private to the library'),
)

# (user, output of nm, text of the fault); frame.o, ep.o and run.o exist, too
SELFTEST_SYMBOLS = (
    ('ep', '0000 T run\n     U decode\n     U queue_work_on', None),
    ('frame', '0000 T decode\n     U memcpy\n     U crc32c\n     U __fentry__', None),
    ('sock', '     U kernel_sendmsg', None),
    ('frame', '     U run', 'points up: frame (L0) -> ep (L2) by run'),
    ('sock', '     U run', 'points up: sock (L1) -> ep (L2) by run'),
    ('config', '     U run', 'points up: config (leaf) -> ep (L2) by run'),
    ('ep', '     U ask', 'points up: ep (L2) -> run (L2) by ask'),
    ('fsm', '     U _raw_spin_lock', 'not for the pure layer'),
    ('fsm', '     U kmalloc_trace', 'not for the pure layer'),
    ('cm', '     U kernel_connect', 'only sock.o'),
    ('ep', '     U tcp_sock_set_nodelay', 'only sock.o'),
)


def verdict(name, faults, words):
    faults = ['%s: %s' % fault for fault in faults]
    good = not faults if words is None else any(words in fault for fault in faults)
    if not good:
        print('selftest: %r: expected %r, got %r' % (name, words, faults))
    return good


def selftest_file(name, contents, words):
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for path, text in ((PUBLIC, OPS), (LIBRARY + '/ep.h', ''), (name, contents)):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding='utf-8')
        return verdict((name, contents), check_tree(top), words)


def selftest_symbols(user, text, words):
    tables = {'frame': parse_nm('0000 T decode'), 'ep': parse_nm('0000 T run'),
              'run': parse_nm('0000 T ask')}
    tables[user] = parse_nm(text)
    return verdict((user, text), check_symbols(tables), words)


def selftest():
    results = [selftest_file(*row) for row in SELFTEST_FILES]
    results += [selftest_symbols(*row) for row in SELFTEST_SYMBOLS]
    return 0 if all(results) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--objects', type=pathlib.Path)
    parser.add_argument('--selftest', action='store_true')
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    top = pathlib.Path(__file__).resolve().parents[3]
    faults = list(check_tree(top))
    if args.objects:
        faults += check_objects(top, args.objects)
    for fault in faults:
        print('%s: %s' % fault)
    return 1 if faults else 0


sys.exit(main())
