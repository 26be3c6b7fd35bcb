#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make mutants of the library and of srnic, and run the KUnit suites against each.

    mutate.py --make TREE             write sources with all mutants over the copies in TREE
    mutate.py --kunit KERNEL SUITE... run the suites in that kernel, a user mode Linux, with each mutant
    mutate.py --wire TREE             for each mutant that no suite has found, build the modules of TREE, a copy of
                                      this tree, with it, and run the files of scripts/wire about its layer
    mutate.py --verdict               print which mutants were found, group by group, as test results
    mutate.py --selftest              prove that mutants are as intended, and explanations up to date

    Options:
    --state FILE    keep the list of mutants and their results in FILE, from step to step
    --seed N        choose mutants by N: the same ones for the same code
    --count N       choose N mutants in each group
    --people        take those that people have written, all of them: one group for each kind
    --minutes N     end after that time; the next call goes on
    --keep          mutants that were found before count as found, though tests or other code changed
    --drop FILE     with --make: FILE is a log of the compiler; leave out mutants that it rejected

mutants.py says what a mutant is. One kernel contains all of them. At first each suite runs with no mutant switched on,
and reports which mutants it reaches. Then one mutant at a time is switched on by the kernel's command line, and the
suites that reach it run until one fails, or the kernel warns, crashes or hangs. ktap.py judges the console.
scripts/test/mutate/mutants.explained lists the mutants that no suite finds, and why.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / 'scripts/lib'))

import ktap          # noqa: E402
import mutants       # noqa: E402

EXPLAINED = TOP / 'scripts/test/mutate/mutants.explained'
PEOPLE = TOP / 'scripts/test/mutate/people'
LEAST, LEAST_OF_A_KIND = 100, 10          # numbers of mutants that "people" has at least
FOLDER = 'drivers/infiniband/sw/'
GROUPS = {
    'srnic R0 to R3': ('srnic', ('srnic-r0', 'srnic-r1', 'srnic-r2', 'srnic-r3')),
    'library L1 to L3': ('iw_mpa', ('iw_mpa-l1', 'iw_mpa-l2-memory', 'iw_mpa-l2-takeover', 'iw_mpa-l2', 'iw_mpa-l3')),
}
# Layer -> the files of scripts/wire whose tests are about it. Takeover has a suite of its own.
WIRE = {
    'iw_mpa-l0': 'initiator responder data_mpa',
    'iw_mpa-leaves': 'initiator responder hazards',
    'srnic-r0': 'data_term data_ddp data_states',
    'srnic-r1': 'data_access data_rings data_kernel',
    'srnic-r2': 'data_mpa data_ddp data_rdmap data_ops data_order data_term',
    'srnic-r3': 'data_states data_unending data_kernel',
    'srnic-r4': 'data_access data_rings data_kernel',
    'iw_mpa-l1': 'initiator responder fast_open',
    'iw_mpa-l2-memory': 'initiator responder hazards',
    'iw_mpa-l2': 'initiator responder hazards data_unending',
    'iw_mpa-l3': 'hazards initiator responder',
}
WANTED = 95             # per cent of a group's mutants that the suites have to find
SAME = 10               # per cent of a group's mutants that mutants.explained may say change nothing
# Of a group with fewer than FEWEST mutants the suites need not find WANTED per cent; but each
# mutant that no suite finds needs an explanation in mutants.explained, as in all groups.
FEWEST = 20
SLOWEST = 15            # seconds: the least time limit of a suite

HEADER = '''/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ASSEMBLY__
#ifndef MUTANT_H
#define MUTANT_H
extern int mutant_on;
extern unsigned char mutant_reached[];
static inline int mutant_is(int n)
{
	mutant_reached[n] = 1;
	return mutant_on == n;
}
#define MUTANT(n) mutant_is(n)
#endif
#endif
'''

# Kernel code with the parameter mutant=N, which prints at shutdown which mutants were reached
MODULE = '''// SPDX-License-Identifier: GPL-2.0
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/reboot.h>

int mutant_on;
unsigned char mutant_reached[%d];
module_param_named(mutant, mutant_on, int, 0444);

static int mutant_tell(struct notifier_block *block, unsigned long code, void *unused)
{
	int n;

	for (n = 0; n < sizeof(mutant_reached); n++) {
		if (mutant_reached[n])
			pr_info("mutant-reached %%d\\n", n);
	}
	return NOTIFY_DONE;
}

static struct notifier_block mutant_block = { .notifier_call = mutant_tell };

static int __init mutant_init(void)
{
	return register_reboot_notifier(&mutant_block);
}
device_initcall(mutant_init);
'''


def layer_files(layers):
    """Return the C files of LAYERS, variables such as "iw_mpa-l1" by which the Makefile or Kbuild
    of a module lists its objects."""
    files = []
    for layer in layers:
        folder = FOLDER + layer.split('-')[0]
        text = ''.join((TOP / folder / name).read_text(encoding='utf-8') for name in ('Makefile', 'Kbuild'))
        objects = re.search(rf'^{layer} := (.*)$', text, re.MULTILINE)[1].split()
        files += [f"{folder}/{name[:-2]}.c" for name in objects]
    return files


def of_people():
    """Return {path: Source} with the mutants of the file "people"; exit if one does not fit the
    code."""
    sources, bad = mutants.people(TOP, FOLDER, PEOPLE.read_text(encoding='utf-8'))
    if bad:
        sys.exit("\n".join(["people: no such statements, or not once:", *bad]))
    return sources


def pick(args, dropped):
    """Return {path: Source}, and {group: mutants} with the chosen ones in the order of the sources,
    numbered from 1 on."""
    every, chosen = {}, {}
    if args.people:
        every = of_people()
        for mutant in (m for source in every.values() for m in source.mutants):
            chosen.setdefault(mutant.kind, []).append(mutant)
    for group, (_, layers) in {} if args.people else GROUPS.items():
        paths = layer_files(layers)
        sources = mutants.load(TOP, paths)
        for source in sources.values():
            source.mutants = [m for m in source.mutants if m.name() not in dropped]
        some = mutants.choose(sources, paths, args.seed, args.count)
        some.sort(key=lambda m: (paths.index(m.path), m.line, m.name()))
        every.update(sources)
        chosen[group] = some
    for number, mutant in enumerate((m for some in chosen.values() for m in some), 1):
        mutant.number = number
    return every, chosen


class State:
    """The list of mutants and their results, kept in a file from one call of mutate.py to the
    next"""

    def __init__(self, path):
        self.path = path
        self.data = {"mutants": [], "dropped": [], "suites": {}}
        with contextlib.suppress(FileNotFoundError):
            self.data = json.loads(path.read_text(encoding='utf-8'))

    def save(self):
        temporary = self.path.with_suffix('.tmp')
        temporary.write_text(json.dumps(self.data, indent=1), encoding='utf-8')
        temporary.replace(self.path)

    def mutants(self):
        return self.data["mutants"]


# --- making them ------------------------------------------------------------------------------

def not_taken(state, log):
    """Return the names of the mutants in the lines for which LOG, the compiler's, has errors."""
    errors = set(re.findall(r'(drivers/infiniband/sw/[\w/]+\.[ch]):(\d+):\d+: error', log))
    names = [m["name"] for m in state.mutants() if (m["path"], str(m["line"])) in errors]
    return names


def put(path, text):
    """Write TEXT, unless the file has it already: make would compile a file with a new time
    again."""
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def make(args, state):
    if args.drop:
        names = not_taken(state, args.drop.read_text(encoding='utf-8', errors='replace'))
        if not names:
            sys.exit("mutate.py: the compiler complains, but of no mutant")
        if args.people:
            sys.exit("\n".join(["people: these do not compile:", *names]))
        state.data["dropped"] += names
        print(f"# {len(names)} that do not compile: others in their place")
    dropped = set(state.data["dropped"])
    sources, chosen = pick(args, dropped)
    for path, source in sources.items():
        mine = [m for some in chosen.values() for m in some if m.path == path]
        put(args.make / path, mutants.schemata(source, mine))
    listed = [{"group": group, "number": m.number, "name": m.name(), "path": m.path, "line": m.line,
               "kind": m.kind, "found": None} for group, some in chosen.items() for m in some]
    put(args.make / 'mutant.h', HEADER)
    put(args.make / 'mutant.c', MODULE % (len(listed) + 1))
    old = {m["name"]: m for m in state.mutants()}
    same = {name: m["number"] for name, m in old.items()} == \
        {m["name"]: m["number"] for m in listed}
    if not same:
        for mutant in listed if args.keep else ():
            mutant["found"] = old.get(mutant["name"], {}).get("found")
        state.data.update(mutants=listed, suites={})
    state.save()
    which = "people" if args.people else f"seed {args.seed}"
    print(f"# {which}: {len(listed)} mutants of {len(chosen)} groups")


# --- running them -----------------------------------------------------------------------------

class Found(Exception):
    """A suite has found the mutant; the text is how."""


class Judge(ktap.Log):
    """Raises Found at the first failed test"""

    def verdict(self, passed, name):
        if not passed:
            raise Found(name)


class Kernel:
    def __init__(self, path):
        self.path = path

    def lines(self, arguments, limit):
        """Run the kernel. Yield the lines of its console, and None if it does not end within
        LIMIT."""
        end = time.monotonic() + limit
        with tempfile.TemporaryDirectory(prefix='mutant.') as folder:
            process = subprocess.Popen(     # pylint: disable=consider-using-with
                [self.path, 'mem=1G', 'console=tty', 'kunit_shutdown=halt', 'time-travel',
                 'kasan_multi_shot', f'uml_dir={folder}', *arguments], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                yield from self.read(process.stdout.fileno(), end)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.stdout.close()
                process.wait()

    @staticmethod
    def read(fd, end):
        rest = b''
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                yield None
                return
            octets = os.read(fd, 65536)
            if not octets:
                return
            *whole, rest = (rest + octets).split(b'\n')
            for line in whole:
                yield line.decode(errors='replace').rstrip()

    def run(self, suite, mutant, limit, case=None):
        """Run a suite, or one case of it, with the mutant switched on. Return how it finds the
        mutant, or None; and the numbers of all mutants whose code it has reached."""
        judge, reached = Judge([]), []
        try:
            glob = f'{suite}.{case}' if case else suite
            words = f'kunit.filter_glob={glob}', f'mutant.mutant={mutant}'
            for line in self.lines(words, limit):
                if line is None:
                    raise Found("hangs")
                tell = re.search(r'mutant-reached (\d+)', line)
                if tell:
                    reached.append(int(tell[1]))
                judge.feed(line)
            judge.finish()
            if judge.suites != [suite]:
                raise Found("the suite did not run to its end")
        except Found as how:
            return f"{suite}: {how}", reached
        return None, reached

    def finds(self, suite, mutant, limit):
        """Return how the suite finds the mutant, or None. A failure that a busy machine has caused
        must not count: so the suite, or its case that has failed, has to fail again; and a suite that
        hangs has to end within the same limit without the mutant. If it does not, both get four
        times as long, and if it does not even then, nothing is known about the mutant."""
        hangs = f"{suite}: hangs"
        how, _ = self.run(suite, mutant, limit)
        if how == hangs:
            for limit in (limit, 4 * limit):
                if self.run(suite, 0, limit)[0] is None:
                    return self.run(suite, mutant, limit)[0]
            return None
        if how is None:
            return how
        case = re.match(rf'{suite}: {suite}\.(\w+)', how)
        return case and self.run(suite, mutant, limit, case[1])[0] or \
            self.run(suite, mutant, limit)[0]


def original_passes(kernel, suites, state):
    """Run each suite with no mutant switched on; keep which mutants it reaches, and how long it
    takes."""
    for suite in suites:
        if suite in state.data["suites"]:
            continue
        start = time.monotonic()
        how, reached = kernel.run(suite, 0, 10 * SLOWEST)
        if how:
            sys.exit(f"mutate.py: the original fails: {how}")
        seconds = time.monotonic() - start
        print(f"# {suite}: {seconds:.1f} s, {len(reached)} mutants reached", flush=True)
        state.data["suites"][suite] = {"seconds": seconds, "reached": reached}
        state.save()


def kunit(args, state, suites):
    kernel = Kernel(args.kunit)
    end = time.monotonic() + 60 * args.minutes if args.minutes else None
    digest = hashlib.sha256(pathlib.Path(args.kunit).read_bytes()).hexdigest()
    if state.data.get("kernel") != digest:
        state.data.update(kernel=digest, suites={})
        for mutant in state.mutants():
            if not args.keep or mutant["found"] in SURVIVES:
                mutant.update(found=None, wire=None)
    original_passes(kernel, suites, state)
    known = state.data["suites"]
    found_by = {}
    for mutant in (m for m in state.mutants() if m["found"] is None):
        if end and time.monotonic() > end:
            print("# to be continued")
            return
        reaching = [name for name in suites if mutant["number"] in known[name]["reached"]]
        # First the suites that have found most mutants in the least time
        reaching.sort(key=lambda name: known[name]["seconds"] / (1 + found_by.get(name, 0)))
        how = None
        for name in reaching:
            how = kernel.finds(name, mutant["number"], max(SLOWEST, 3 * known[name]["seconds"]))
            if how:
                found_by[name] = found_by.get(name, 0) + 1
                break
        mutant["found"] = how or ("survives" if reaching else "not reached")
        print(f"# {mutant['number']} {mutant['name']}\n#   {mutant['found']}", flush=True)
        state.save()


def wire_files(path):
    """Return the files of scripts/wire with tests about the layer of the source PATH."""
    return next((files.split() for layer, files in WIRE.items() if path in layer_files([layer])), [])


def alone(source, mutant):
    """Return the text of a source with MUTANT, which is always on."""
    return f"#define MUTANT(n) 1\n#line 1\n{mutants.schemata(source, [mutant])}"


def run_on_wire(tree, files):
    """Build the modules of TREE, and run FILES. Return which of these two fails, if one does."""
    for name, command in (("build", ["scripts/lib/build.sh"]), ("wire", ["scripts/wire.sh", *files])):
        if subprocess.run([tree / command[0], *command[1:]], stdin=subprocess.DEVNULL, check=False).returncode:
            return name
    return None


def wire(args, state):
    end = time.monotonic() + 60 * args.minutes if args.minutes else None
    sources, chosen = pick(args, set(state.data["dropped"]))
    by_name = {m.name(): m for some in chosen.values() for m in some}
    passing = []        # lists of files that were seen to pass without a mutant
    for entry in state.mutants():
        files = wire_files(entry["path"])
        if not files or entry.get("wire") or entry["found"] not in SURVIVES or is_same(entry, explained()):
            continue
        if end and time.monotonic() > end:
            print("# to be continued")
            return
        path = args.wire / entry["path"]
        put(path, alone(sources[entry["path"]], by_name[entry["name"]]))
        failed = run_on_wire(args.wire, files)
        put(path, sources[entry["path"]].text)
        # A failure proves something only if the files pass without the mutant, which is tried once for each list.
        if failed == "wire" and files not in passing:
            if run_on_wire(args.wire, files):
                sys.exit(f"mutate.py: the original fails: {' '.join(files)}")
            passing.append(files)
        entry["wire"] = {"build": "does not compile", "wire": FOUND_ON_WIRE, None: "survives"}[failed]
        print(f"# {entry['number']} {entry['name']}\n#   wire: {entry['wire']}", flush=True)
        state.save()


# --- results ----------------------------------------------------------------------------------

SURVIVES = 'survives', 'not reached'
FOUND_ON_WIRE = 'found'
HOW = 'same:', 'lost:'


def explained():
    """Return {name of a mutant: why no suite finds it}."""
    reasons, name = {}, None
    for line in EXPLAINED.read_text(encoding='utf-8').splitlines():
        if not line.strip() or line.startswith('#'):
            name = None
        elif line.startswith('\t'):
            reasons[name] = f"{reasons[name]} {line.strip()}".strip()
        else:
            name = line.strip()
            reasons[name] = ''
    return reasons


def is_same(mutant, reasons):
    return reasons.get(mutant["name"], '').startswith('same:')


def is_lost(mutant):
    return mutant["found"] in SURVIVES and mutant.get("wire") != FOUND_ON_WIRE


def share(group, mine, reasons, judged=True):
    """Print the result for a group. If all its mutants were run, it is "ok" if the tests find
    WANTED % of those that change something and at most SAME % are said to change nothing, if the
    group has fewer than FEWEST, or if not JUDGED."""
    if any(m["found"] is None for m in mine) or not mine:
        print(f"not ok {group}: not all were run")
        return
    lost = [m for m in mine if is_lost(m)]
    same = [m for m in lost if is_same(m, reasons)]
    real = len(mine) - len(same)
    found = len(mine) - len(lost)
    good = 100 * found >= WANTED * real and 100 * len(same) <= SAME * len(mine)
    print("ok" if not judged or len(mine) < FEWEST or good else "not ok",
          f"{group}: {found} of {real} mutants are found; {len(same)} more change nothing")


def verdict(args, state):
    """Print a failure for each mutant that no suite finds and mutants.explained does not list, and
    a result for each group. The kinds of "people", each with few mutants, are judged together."""
    reasons = explained()
    for mutant in state.mutants():
        if is_lost(mutant) and mutant["name"] not in reasons:
            print(f"not ok {mutant['group']}: {mutant['name']}: {mutant['found']}")
    groups = dict.fromkeys(m["group"] for m in state.mutants()) if args.people else GROUPS
    for group in groups:
        share(group, [m for m in state.mutants() if m["group"] == group], reasons, judged=not args.people)
    if args.people:
        share("all that people make", state.mutants(), reasons)


def people_selftest():
    """Check that the mutants of "people" fit the code and can be in one kernel. Return their
    names."""
    sources = of_people()
    every = [m for source in sources.values() for m in source.mutants]
    for source in sources.values():
        mutants.check_whole(source)
        assert mutants.schemata(source, source.mutants).count("\n") == source.text.count("\n"), source.path
    kinds = collections.Counter(m.kind for m in every)
    names = {m.name() for m in every}
    assert len(names) == len(every) >= LEAST and min(kinds.values()) >= LEAST_OF_A_KIND, kinds
    return names


class Script(Kernel):
    """For the selftest: a kernel whose runs with a mutant, and without, take so many seconds each"""

    def __init__(self, *, mutant, original):    # pylint: disable=super-init-not-called
        self.takes = {1: mutant, 0: original}

    def run(self, suite, mutant, limit, case=None):
        return f"{suite}: hangs" if self.takes[mutant] > limit else None, []


def verdict_of(**numbers):
    """Return the first word that share() prints for a group of so many mutants: found, same, lost"""
    mine = [{"name": kind, "found": "survives" if kind in ("same", "lost") else "a test"}
            for kind, number in numbers.items() for _ in range(number)]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        share("all", mine, {"same": "same: so", "lost": "lost: so"})
    return text.getvalue().split(" all: ")[0]


def judging_selftest():
    """A suite that hangs finds a mutant only if it ends without it. A group is not ok if too many
    mutants are lost, or are said to change nothing."""
    for mutant, original, found in ((99, 1, True), (99, 12, True), (12, 12, False), (99, 99, False)):
        how = Script(mutant=mutant, original=original).finds("suite", 1, 10)
        assert how == ("suite: hangs" if found else None), (mutant, original, how)
    assert verdict_of(found=95, lost=5) == "ok" and verdict_of(found=94, lost=6) == "not ok"
    assert verdict_of(found=90, same=10) == "ok" and verdict_of(found=89, same=11) == "not ok"


def selftest():
    """Run the selftests of mutants.py and of the judgement. Check that each entry of mutants.explained
    names an existing mutant, and a reason; and that not_taken() finds the mutant of a line with a compile error."""
    mutants.selftest()
    judging_selftest()
    paths = [path for _, layers in GROUPS.values() for path in layer_files(layers)]
    sources = mutants.load(TOP, paths)
    for source in sources.values():
        mutants.check_whole(source)
    names = {m.name() for source in sources.values() for m in source.mutants} | people_selftest()
    bad = [name for name, reason in explained().items()
           if name not in names or not reason.startswith(HOW)]
    if bad:
        sys.exit("\n".join(["mutants.explained: no such mutant, or no reason:", *bad]))
    state = State(pathlib.Path("/nonexistent"))
    for path in paths:
        state.data["mutants"] = [{"name": "it", "path": path, "line": 9}, {"name": "not it", "path": path, "line": 8}]
        assert set(wire_files(path)) <= {file.stem for file in (TOP / 'scripts/wire').glob('*.py')}, path
        assert wire_files(path) or 'takeover/' in path, path
        assert not_taken(state, f"linux/drivers/iw_mpa/{path}:9:35: error: invalid initializer\n") == ["it"], path


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mutate.py: told to end"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--kunit")
    parser.add_argument("--wire", type=pathlib.Path)
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--people", action="store_true")
    parser.add_argument("--verdict", action="store_true")
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=130)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--drop", type=pathlib.Path)
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    if args.selftest:
        selftest()
        return
    state = State(args.state)
    if args.make:
        make(args, state)
    if args.kunit:
        kunit(args, state, args.suites)
    if args.wire:
        wire(args, state)
    if args.verdict:
        verdict(args, state)


if __name__ == '__main__':
    main()
