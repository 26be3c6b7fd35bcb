#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Fail when a file of iw_mpa or srnic includes or calls a higher layer of its module.

    check-layers.py [--objects DIR]    check includes; with objects also their symbols
    check-layers.py --selftest         prove that each kind of violation is found

DIR has the built objects of drivers/infiniband/sw/iw_mpa; those of srnic are in the folder beside
it. The order of a module's layers is that of the objects in the link line of its Makefile. Leaves
may be used by all layers but the lowest, wherever they are linked.
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


class Module:
    """The layers of a module. A file may include headers of its own layer and of lower ones. An
    object may call only objects before it in LINKED, so calls between objects form no circle."""

    def __init__(self, folder, headers, upwards=()):
        """HEADERS: {header: object to which it belongs}, where their names differ. UPWARDS: pairs
        (file, header of a higher layer that it may include)."""
        self.folder, self.headers, self.upwards = folder, headers, upwards
        layers = self.link_line()
        lowest, *others = [layer for layer in layers if layer != 'leaves']
        layers = {layer: layers[layer] for layer in (lowest, 'leaves', *others)}
        self.lowest = lowest.upper()
        self.order = [{'leaves': 'leaf'}.get(layer, layer.upper()) for layer in layers]
        self.layer_of = {name: layer for layer, names in zip(self.order, layers.values()) for name in names}
        self.linked = list(self.layer_of)

    def link_line(self):
        """Return {layer: its objects}, in the order in which they are linked."""
        text = ''.join((TOP / self.folder / name).read_text(encoding='utf-8') for name in ('Makefile', 'Kbuild'))
        layers = {}
        for layer, objects in re.findall(r'^\w+-([lr]\d|leaves)(?:-\w+)? := (.*)$', text, re.MULTILINE):
            layers.setdefault(layer, []).extend(re.findall(r'([\w/]+)\.o', objects))
        return layers

    def name_of(self, path):
        """Return the name of a file's object in the link line. A header in a folder belongs to the
        folder's main object, unless it has an object of its own."""
        name = path.with_suffix('').as_posix()
        name = self.headers.get(name, name)
        folder = path.parent.as_posix()
        if name not in self.layer_of and folder != '.':
            name = '%s/%s' % (folder, folder)
        return name

    def files(self, top, pattern):
        """Return the module's files, without those for older kernels."""
        for path in sorted((top / self.folder).glob(pattern)):
            inside = path.relative_to(top / self.folder)
            if inside.parts[0] != 'compat':
                yield path, inside

    def may_use(self, user, used):
        return self.order.index(self.layer_of[used]) <= self.order.index(self.layer_of[user])

    def may_call(self, user, used):
        return self.linked.index(used) <= self.linked.index(user)

    def arrow(self, user, used):
        return '%s (%s) -> %s (%s)' % (user, self.layer_of[user], used, self.layer_of[used])


# iwcm.h is the header of iwcm_faults.c, under a name that the series needs. srnic.h has the
# structures of srnic, for all layers but the lowest, as leaves are. sq.c reads the state of its QP
# by an inline function.
IW_MPA = Module(LIBRARY, {'iwcm': 'iwcm_faults'})
SRNIC = Module('drivers/infiniband/sw/srnic', {'srnic': 'stats'}, {('sq.c', 'state.h')})
MODULES = (IW_MPA, SRNIC)
GLUES = ('drivers/infiniband/sw/siw_mpa',)
# Drivers of devices with their own TCP engine, which may only use iw_mpa's protocol layer, L0
ENGINES = ('drivers/infiniband/hw/cxgb4_mpa',)
PUBLIC = 'include/rdma/iw_mpa.h'
PROTO = 'include/rdma/iw_mpa_proto.h'

# The only headers of the kernel that a lowest layer, L0 or R0, may include
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


def driver_ops(top):
    """Return the names of a driver's callbacks, struct iw_mpa_driver_ops in iw_mpa.h."""
    path = top / PUBLIC
    if not path.exists():
        return set()
    table = re.search(r'struct iw_mpa_driver_ops\s*\{(.*?)\n\};', code_of(path), re.DOTALL)
    return set(DRIVER_OP.findall(table[1])) if table else set()


def check_include(module, path, kind, name):
    user = module.name_of(path)
    used = module.name_of(pathlib.PurePath(posixpath.normpath((path.parent / name).as_posix())))
    if kind == '"':
        if used not in module.layer_of:
            return 'includes "%s", which has no layer' % name
        if not module.may_use(user, used) and (path.as_posix(), name) not in module.upwards:
            return 'points up: ' + module.arrow(user, used)
    elif module.layer_of[user] == module.lowest and not L0_INCLUDES.match(name):
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


def check_module(module, top):
    for path, inside in module.files(top, '**/*.[ch]'):
        where = '%s/%s' % (module.folder, inside)
        if module.name_of(inside) not in module.layer_of:
            yield where, 'has no layer: give it one in the Makefile'
            continue
        for kind, name in INCLUDE.findall(code_of(path)):
            fault = check_include(module, inside, kind, name)
            if fault:
                yield where, fault


def check_circles(module, top):
    """Yield headers that include themselves by way of others."""
    used_by = {}
    for path, inside in module.files(top, '**/*.h'):
        used_by[inside.as_posix()] = {posixpath.normpath((inside.parent / name).as_posix())
                                      for kind, name in INCLUDE.findall(code_of(path)) if kind == '"'}
    for header, used in used_by.items():
        size = None
        while size != len(used):
            size = len(used)
            used.update(*[used_by.get(name, ()) for name in used])
        if header in used:
            yield '%s/%s' % (module.folder, header), 'includes itself: a circle'


def check_library(top):
    ops = driver_ops(top)
    if (top / PUBLIC).exists() and not ops:
        yield PUBLIC, 'no struct iw_mpa_driver_ops with callbacks found'
    for path, inside in IW_MPA.files(top, '**/*.[ch]'):
        for fault in check_doors(inside, code_of(path), ops):
            yield '%s/%s' % (LIBRARY, inside), fault


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


def check_symbols(module, tables):
    """tables: object name -> (defined, undefined)."""
    home = {symbol: name for name, (defined, _) in tables.items() for symbol in defined}
    for user, (_, undefined) in sorted(tables.items()):
        for symbol in sorted(undefined):
            used = home.get(symbol)
            if used and not module.may_call(user, used):
                yield user + '.o', 'points up: %s by %s' % (module.arrow(user, used), symbol)
            elif not used and module.layer_of[user] == module.lowest and not L0_SYMBOLS.match(symbol):
                yield user + '.o', '%s is not for the pure layer' % symbol
            elif (not used and module is IW_MPA and user != 'sock' and not user.startswith('takeover/') and
                  TCP_SYMBOLS.match(symbol)):
                yield user + '.o', 'only sock.o and its neighbours speak TCP: %s' % symbol


def check_objects(module, top, objects):
    tables = {}
    for _, inside in module.files(top, '**/*.c'):
        name = module.name_of(inside)
        obj = objects / (name + '.o')
        if name not in module.layer_of:
            continue
        if not obj.exists():
            yield '%s.o' % name, 'not built'
            continue
        nm = subprocess.run(['nm', str(obj)], check=True, capture_output=True, text=True)
        tables[name] = parse_nm(nm.stdout)
    if not tables:
        yield str(objects), 'holds no object of ' + module.folder
    yield from check_symbols(module, tables)


def check_tree(top):
    for module in MODULES:
        yield from check_module(module, top)
        yield from check_circles(module, top)
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
    (LIBRARY + '/device.h', '#include "ep.h"', 'ep.h: includes itself'),
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
    (SRNIC.folder + '/sq.c', '#include "state.h"\n#include "trace.h"\n#include "wire.h"', None),
    (SRNIC.folder + '/trace.h', '#include "srnic.h"', None),
    (SRNIC.folder + '/compat/linux/skbuff.h', '#include_next <linux/skbuff.h>', None),
    (SRNIC.folder + '/sq.h', '#include "state.h"', 'points up: sq (R1) -> state (R2)'),
    (SRNIC.folder + '/cq.c', '#include "state.h"', 'points up: cq (R1) -> state (R2)'),
    (SRNIC.folder + '/wire.h', '#include "srnic.h"', 'points up: wire (R0) -> stats (leaf)'),
    (SRNIC.folder + '/stats.h', '#include "mem.h"', 'points up: stats (leaf) -> mem (R1)'),
    (SRNIC.folder + '/wire.c', '#include <linux/slab.h>', 'not for the pure layer'),
    (SRNIC.folder + '/newcomer.c', '', 'has no layer'),
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

# As above; wire.o, send.o and tx.o exist, too
SELFTEST_SRNIC = (
    ('rx', '     U push\n     U fill\n     U parse\n     U tcp_read_done', None),
    ('stats', '     U parse', None),
    ('stats', '     U fill', 'points up: stats (leaf) -> send (R2) by fill'),
    ('sq', '     U fill', 'points up: sq (R1) -> send (R2) by fill'),
    ('send', '     U push', 'points up: send (R2) -> tx (R2) by push'),
    ('term', '     U mutex_lock', 'not for the pure layer'),
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
        for path, text in ((PUBLIC, OPS), (LIBRARY + '/ep.h', '#include "device.h"'), (name, contents)):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding='utf-8')
        return verdict((name, contents), check_tree(top), words)


def selftest_symbols(module, defined, user, text, words):
    tables = {name: parse_nm('0000 T ' + symbol) for name, symbol in defined.items()}
    tables[user] = parse_nm(text)
    return verdict((user, text), check_symbols(module, tables), words)


def selftest():
    results = [selftest_file(*row) for row in SELFTEST_FILES]
    results += [selftest_symbols(IW_MPA, {'frame': 'decode', 'ep': 'run', 'run': 'ask'}, *row)
                for row in SELFTEST_SYMBOLS]
    results += [selftest_symbols(SRNIC, {'wire': 'parse', 'send': 'fill', 'tx': 'push'}, *row)
                for row in SELFTEST_SRNIC]
    return 0 if all(results) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--objects', type=pathlib.Path)
    parser.add_argument('--selftest', action='store_true')
    args = parser.parse_args()
    if args.selftest:
        return selftest()
    faults = list(check_tree(TOP))
    if args.objects:
        for module in MODULES:
            faults += check_objects(module, TOP, args.objects.parent / pathlib.Path(module.folder).name)
    for fault in faults:
        print('%s: %s' % fault)
    return 1 if faults else 0


sys.exit(main())
