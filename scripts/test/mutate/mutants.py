# SPDX-License-Identifier: GPL-2.0
"""Mutants of C sources: small faults, all compiled at once, of which one at a time is switched on.

A source is divided into tokens, and function bodies into statements, by C's grammar and the
kernel's style. A mutant is one change of one condition, initializer or statement, its "unit". The
unit is written twice, changed and as it was, and "MUTANT(n)" selects one of them at run time, so
that one build has all mutants:
    if (a < b)      if (MUTANT(7) ? !!(a <= b) : !!(a < b))
    f(x);           { if (MUTANT(8)) { ; } else { f(x); } }

Traces, messages and assertions are not changed; nor are memory barriers, since a test on one
processor passes without them, too.

The file "people" lists further mutants, written by people; its comment has the format. Each may
change several statements, and a part of its unit may be the unit of another mutant.
"""

import hashlib
import pathlib
import re
import tempfile

TOKEN = re.compile(r'''
    (?P<space>\s+|\\\n|/\*.*?\*/|//[^\n]*)|
    (?P<pre>(?<![^\n])\#(?:[^\n\\]|\\.)*)|
    (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|
    (?P<word>[A-Za-z_]\w*)|
    (?P<number>\d\w*)|
    (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.VERBOSE | re.DOTALL)

OPENS = {'(': ')', '[': ']', '{': '}'}
JUMPS = ('return', 'break', 'continue', 'goto')
DECLARES = re.compile(r'(static|const|struct|enum|union|unsigned|signed|int|long|short|char|bool|'
                      r'void|u8|u16|u32|u64|s8|s16|s32|s64|__\w?e\d\d|\w+_t|DEFINE_\w+|'
                      r'DECLARE_\w+|LIST_HEAD|\w+_ONSTACK)$')
OBSERVES = re.compile(r'(trace_\w+|pr_\w+|net_\w+_ratelimited|ibdev_\w+|lockdep_\w+|WARN\w*|'
                      r'BUILD_BUG_ON\w*|BUG_ON|might_\w+|smp_\w+|barrier\w*|cond_resched|'
                      r'cpu_relax|sparse_\w+|__acquire|__release|sock_owned_by_me)$')

# Operators between two operands
BINARY = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||',
          '||': '&&', '+': '-', '-': '+', '<<': '>>', '>>': '<<', '&': '|', '|': '&', '+=': '-=',
          '-=': '+=', '|=': '&=', '&=': '|=', '<<=': '>>=', '>>=': '<<='}
STEPS = {'++': '--', '--': '++'}
WORDS = {'true': 'false', 'false': 'true', 'min': 'max', 'max': 'min', 'min_t': 'max_t',
         'max_t': 'min_t'}


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start = kind, text, start
        self.end = start + len(text)


class Mutant:
    """One mutant: TEXT replaces its unit (a condition, initializer or statement) at SPAN in the
    source."""

    def __init__(self, where, kind, span, text, note):
        self.path, self.function, self.line = where
        self.kind, self.span, self.text = kind, span, text
        self.note = note
        self.number = 0
        self.nth = 1            # number among equal mutants of this function

    def name(self):
        """Return a name without line numbers, which changes only if the mutant's statement does."""
        nth = f" [{self.nth}]" if self.nth > 1 else ""
        return f"{self.path} {self.function}: {self.note}{nth}"

    def rank(self, seed):
        return hashlib.sha256(f"{seed} {self.name()}".encode()).hexdigest()


def flat(text):
    """Return a piece of C on one line, without comments."""
    return re.sub(r'\s+', ' ', re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL)).strip()


class Source:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = [Token(m.lastgroup, m[0], m.start()) for m in TOKEN.finditer(text)
                       if m.lastgroup not in ('space', 'pre')]
        self.match = {}         # index of an opening token -> index of its closing one
        self.units = {}         # span -> "condition", "value" or "statement"
        self.bodies = {}        # function -> its first and last token
        self.mutants = []
        self.function = None
        self.pair_up()
        self.find_functions()
        self.number_twins()

    def pair_up(self):
        stack = []
        for n, token in enumerate(self.tokens):
            if token.kind == 'op' and token.text in OPENS:
                stack.append(n)
            elif token.kind == 'op' and token.text in OPENS.values():
                self.match[stack.pop()] = n
        assert not stack, f"{self.path}: brackets"

    def number_twins(self):
        seen = {}
        for mutant in self.mutants:
            key = mutant.name()
            seen[key] = seen.get(key, 0) + 1
            mutant.nth = seen[key]

    def is_(self, n, *texts):
        return n < len(self.tokens) and self.tokens[n].text in texts

    def span(self, first, last):
        """Return the place in the text, (start, end), of the tokens from FIRST to LAST."""
        return self.tokens[first].start, self.tokens[last].end

    def of(self, span):
        return self.text[span[0]:span[1]]

    def find(self, function, text):
        """Return the span of TEXT in a function; None unless it occurs there exactly once."""
        wanted = [m[0] for m in TOKEN.finditer(text) if m.lastgroup not in ('space', 'pre')]
        first, last = self.bodies.get(function, (0, 0))
        here = [token.text for token in self.tokens[first:last]]
        places = [n for n in range(len(here)) if here[n:n + len(wanted)] == wanted]
        return self.span(first + places[0], first + places[0] + len(wanted) - 1) if len(places) == 1 else None

    def add(self, kind, unit, text, note):
        line = self.text.count("\n", 0, unit[0]) + 1
        self.mutants.append(Mutant((self.path, self.function, line), kind, unit, text, note))

    # --- grammar ---

    def find_functions(self):
        back = {close: n for n, close in self.match.items()}
        n = 0
        while n < len(self.tokens):
            if not self.is_(n, '{'):
                n += 1
                continue
            if n and self.is_(n - 1, ')'):
                self.function = self.tokens[back[n - 1] - 1].text
                self.bodies[self.function] = n, self.match[n]
                self.block(n)
            n = self.match[n] + 1

    def block(self, n):
        """Parse the block that begins with the "{" at token N; return the index of the token after
        its "}"."""
        end, before = self.match[n], None
        n += 1
        while n < end:
            start = n
            n, simple = self.statement(n)
            now = (start, n - 1) if simple else None
            if before and now:
                self.swap(before, now)
            before = now
        return end + 1

    def statement(self, n):
        """Parse the statement at token N. Return the index of the token after it, and whether it
        may be swapped with the next statement."""
        token = self.tokens[n]
        if token.text == '{':
            return self.block(n), False
        if token.text in ('if', 'while', 'switch'):
            close = self.match[n + 1]
            if token.text != 'switch':
                self.condition(n + 2, close - 1)
            n = self.statement(close + 1)[0]
            if self.is_(n, 'else'):
                n = self.statement(n + 1)[0]
            return n, False
        if token.text == 'for':
            return self.loop(n), False
        if token.text == 'do':
            n = self.statement(n + 1)[0]
            close = self.match[n + 1]
            self.condition(n + 2, close - 1)
            return close + 2, False
        if token.text in ('case', 'default'):
            while not self.is_(n, ':'):
                n += 1
            return n + 1, False
        if token.kind == 'word' and self.is_(n + 1, ':'):
            return n + 2, False
        return self.simple(n)

    def loop(self, n):
        """Parse a "for" loop, whose condition is between two semicolons; return the index of the
        token after its body."""
        close = self.match[n + 1]
        ends = self.at_depth(n + 2, close, ';')
        if len(ends) == 2 and ends[0] + 1 < ends[1]:
            self.condition(ends[0] + 1, ends[1] - 1)
        return self.statement(close + 1)[0]

    def at_depth(self, n, end, text):
        """Return the indices of the tokens TEXT between N and END that are outside of brackets."""
        found = []
        while n < end:
            if self.tokens[n].text in OPENS and self.tokens[n].kind == 'op':
                n = self.match[n]
            elif self.tokens[n].text == text:
                found.append(n)
            n += 1
        return found

    def simple(self, n):
        """Parse a declaration, an expression or a jump, up to its semicolon, or a loop that is a
        macro, such as list_for_each_entry(). Return the same as statement()."""
        if self.tokens[n].kind == 'word' and self.is_(n + 1, '('):
            close = self.match[n + 1]
            if not self.is_(close + 1, ';', '.', ',', '=', '->', '[', '?', '+', '-', '+=', '|='):
                return self.statement(close + 1)[0], False
        end = self.at_depth(n, len(self.tokens), ';')[0] if not self.is_(n, ';') else n
        if end == n:
            return n + 1, False
        if self.declares(n):
            self.declaration(n, end)
            return end + 1, False
        if OBSERVES.match(self.tokens[n].text):
            return end + 1, False
        self.expression(n, end)
        return end + 1, self.tokens[n].text not in JUMPS

    def declares(self, n):
        return (DECLARES.match(self.tokens[n].text) or
                self.tokens[n].kind == 'word' and n + 1 < len(self.tokens) and
                self.tokens[n + 1].kind == 'word' and self.tokens[n].text not in JUMPS)

    # --- units ---

    def declaration(self, n, end):
        """Make mutants of an initializer, if one variable is declared, and its value is no list."""
        equals = self.at_depth(n, end, '=')
        if self.is_(n, 'static') or len(equals) != 1 or self.at_depth(n, end, ',') or \
                self.is_(equals[0] + 1, '{'):
            return
        unit = self.span(equals[0] + 1, end - 1)
        self.units[unit] = "value"
        self.edits(unit, equals[0] + 1, end - 1)

    def condition(self, first, last):
        unit = self.span(first, last)
        self.units[unit] = "condition"
        text = self.of(unit)
        if len(self.at_depth(first, last + 1, '==') + self.at_depth(first, last + 1, '!=')) != 1 \
                or self.at_depth(first, last + 1, '&&') or self.at_depth(first, last + 1, '||'):
            self.add("condition", unit, f"!({text})", f"({flat(text)}) -> not")
        self.edits(unit, first, last)

    def expression(self, n, end):
        unit = self.span(n, end)
        self.units[unit] = "statement"
        text = self.of(unit)
        if self.tokens[n].text != 'return' or end == n + 1:
            self.add("removed", unit, ";", f"{flat(text)} -> removed")
        self.edits(unit, n, end)

    def swap(self, one, two):
        """Make a mutant that swaps two adjacent statements, if each calls a function and they
        differ. Both statements together are the mutant's unit, the code that it replaces."""
        first, second = self.span(*one), self.span(*two)
        texts = self.of(first), self.of(second)
        if flat(texts[0]) != flat(texts[1]) and all("(" in text for text in texts):
            self.units[first[0], second[1]] = "statement"
            self.add("swapped", (first[0], second[1]), f"{texts[1]} {texts[0]}",
                     f"{flat(texts[0])} {flat(texts[1])} -> swapped")

    def edits(self, unit, first, last):
        """Make all mutants that change a single token of UNIT, a condition, initializer or
        statement."""
        for n in range(first, last + 1):
            token = self.tokens[n]
            new = self.edit(n, first)
            if new is None:
                continue
            text = self.text[unit[0]:token.start] + new[1] + self.text[token.end:unit[1]]
            self.add(new[0], unit, text, f"{flat(self.of(unit))} -> {flat(text)}")

    def edit(self, n, first):
        """Return the kind of fault and the text that replaces token N; None: it is not changed."""
        token = self.tokens[n]
        before = self.tokens[n - 1] if n > first else None
        binary = before is not None and (before.kind in ('number', 'string') or
                                         before.text in (')', ']') or
                                         before.kind == 'word' and before.text not in JUMPS)
        if token.kind == 'word':
            if token.text in WORDS:
                return "constant", WORDS[token.text]
            return None
        if token.kind == 'number':
            return "constant", f"({token.text} + 1)"
        if token.kind != 'op':
            return None
        if token.text == '!':
            return "condition", ""
        if token.text in STEPS:
            return "operator", STEPS[token.text]
        if token.text == '-' and not binary and self.tokens[n + 1].text.startswith('E'):
            return "constant", ""       # -EINVAL becomes EINVAL, which is no error code
        if token.text in BINARY and binary and not self.cast_before(n):
            return "operator", BINARY[token.text]
        return None

    def cast_before(self, n):
        """Does a cast, "(type)", precede the operator at token N, so that the operator is unary?"""
        if not self.is_(n - 1, ')') or self.tokens[n].text not in '&-+':
            return False
        back = next(k for k, v in self.match.items() if v == n - 1)
        inside = self.tokens[back + 1:n - 1]
        return bool(inside) and (DECLARES.match(inside[0].text) or inside[-1].text == '*') and \
            not (back and self.tokens[back - 1].kind == 'word')


def load(top, paths):
    """Read these files of the tree TOP; return {path: Source}."""
    return {path: Source(path, (top / path).read_text(encoding='utf-8')) for path in paths}


def choose(sources, paths, seed, count):
    """Choose the first COUNT mutants of the files PATHS, in an order that SEED determines. A
    statement is swapped with at most one neighbour."""
    every = sorted((m for path in paths for m in sources[path].mutants),
                   key=lambda m: m.rank(seed))
    taken, places = [], {}
    for mutant in every:
        if len(taken) == count:
            break
        if mutant.kind == "swapped":
            mine = places.setdefault(mutant.path, [])
            if any(span[0] < mutant.span[1] and mutant.span[0] < span[1] for span in mine):
                continue
            mine.append(mutant.span)
        taken.append(mutant)
    return taken


def one_line(text):
    """Join the lines of a mutant's text, so that no line of the file moves: mutate.py drops the
    mutants of the lines in which the compiler reports errors."""
    return re.sub(r'\s*\n\s*', ' ', re.sub(r'/\*.*?\*/', ' ', text, flags=re.DOTALL))


def schemata(source, mutants):
    """Return the text of the file with these mutants in it, each selected by its number."""
    by_unit = {}
    for mutant in mutants:
        by_unit.setdefault(mutant.span, []).append(mutant)

    def unit(span, text):
        """Return C code that selects between TEXT, the original code at SPAN, and its mutants."""
        for mutant in by_unit[span]:
            new = one_line(mutant.text)
            if source.units[span] == "condition":
                text = f"(MUTANT({mutant.number}) ? !!({new}) : !!({text}))"
            elif source.units[span] == "value":
                text = f"(MUTANT({mutant.number}) ? ({new}) : ({text}))"
            else:
                text = f"{{ if (MUTANT({mutant.number})) {{ {new} }} else {{ {text} }} }}"
        return text

    def doubled(start, end, spans):
        """Return source.text[start:end], in which unit() has replaced the code at each of SPANS.
        SPANS are sorted by their starts, an outer one before those inside of it."""
        out = []
        while spans:
            span = spans[0]
            inside = [s for s in spans[1:] if s[0] < span[1]]
            assert span[1] <= end, f"{source.path}: {by_unit[span][0].name()}: it overlaps with another"
            out += [source.text[start:span[0]], unit(span, doubled(*span, inside))]
            start, spans = span[1], spans[1 + len(inside):]
        return "".join(out) + source.text[start:end]

    return doubled(0, len(source.text), sorted(by_unit, key=lambda span: (span[0], -span[1])))


def people(top, folder, text):
    """Parse TEXT, the file "people". Return {path: Source}, where a Source has only mutants that
    TEXT lists; and the entries whose "-" lines do not occur exactly once in their function."""
    entries, kind = [], None
    for line in text.splitlines():
        if line[:1] in ('-', '+'):
            entries[-1][line[0]] += line[1:] + "\n"
        elif line.startswith('['):
            kind = line.strip('[]')
        elif line and not line.startswith('#'):
            where, note = line.split(': ', 1)
            path, function = where.split()
            entries.append({"kind": kind, "path": folder + path, "function": function, "note": note,
                            "-": "", "+": ""})
    sources = load(top, dict.fromkeys(entry["path"] for entry in entries))
    for source in sources.values():
        source.mutants = []
    bad = []
    for entry in entries:
        source = sources[entry["path"]]
        source.function = entry["function"]
        span = source.find(entry["function"], entry["-"])
        if not span:
            bad.append(f"{entry['path']} {entry['function']}: {entry['note']}")
            continue
        source.units.setdefault(span, "statement" if source.text[span[1] - 1] in ';}' else "value")
        source.add(entry["kind"], span, entry["+"].strip() or ";", entry["note"])
    return sources, bad


# --- selftest ---------------------------------------------------------------------------------

SAMPLE = '''static int half = 1 < 2;

static int f(struct s *a, int n)
{
	int m = n << 1;

	if (!a || n >= 2)	/* n < 1 */
		return -EINVAL;
	for (n = 0; n < m; n++)
		list_for_each_entry(p, a, l)
			trace_p(p);
	g(a, "a < b");
	h(&a->x, (u32)-m);
	switch (m) {
	case 1 + 1:
		break;
	}
	return true;
}
'''
# Expected mutants, without the name of the function
MADE = (
    "n << 1 -> n >> 1", "n << 1 -> n << (1 + 1)", "!a || n >= 2 -> a || n >= 2",
    "!a || n >= 2 -> !a && n >= 2", "!a || n >= 2 -> !a || n > 2",
    "!a || n >= 2 -> !a || n >= (2 + 1)", "return -EINVAL; -> return EINVAL;",
    "(!a || n >= 2) -> not", "(n < m) -> not", "n < m -> n <= m", 'g(a, "a < b"); -> removed',
    "h(&a->x, (u32)-m); -> removed", 'g(a, "a < b"); h(&a->x, (u32)-m); -> swapped',
    "break; -> removed", "return true; -> return false;",
)
DOUBLED = '''	{ if (MUTANT(2)) { h(&a->x, (u32)-m); g(a, "a < b"); } else { { if (MUTANT(1)) { ; } else { g(a, "a < b"); } }
	h(&a->x, (u32)-m); } }
'''
PEOPLE = '''# what they do
[a kind]
sample.c f: two statements
-	if (!a || n >= 2) /* as it
-		was */ return -EINVAL;
+	if (!a)
+		return n;
sample.c f: a part of the first
-	n >= 2
+	n > 2

[another kind]
sample.c f: nothing in its place
-	g(a, "a < b");
sample.c f: it is not there
-	n >= 3
sample.c f: it is there twice
-	n
'''
WRITTEN = '''	{ if (MUTANT(0)) { if (!a) return n; } else { if (!a || (MUTANT(1) ? (n > 2) : (n >= 2)))	/* n < 1 */
		return -EINVAL; } }
'''


def check_whole(source):
    """Check that schemata() without mutants returns the file, and that a mutant moves no line."""
    assert schemata(source, []) == source.text, source.path
    for number, mutant in enumerate(source.mutants):
        mutant.number = number
        changed = schemata(source, [mutant])
        assert changed.count("\n") == source.text.count("\n"), mutant.name()
        assert f"MUTANT({number})" in changed, mutant.name()


def people_selftest():
    with tempfile.TemporaryDirectory() as top:
        pathlib.Path(top, "sample.c").write_text(SAMPLE, encoding='utf-8')
        sources, bad = people(pathlib.Path(top), "", PEOPLE)
    assert bad == ["sample.c f: it is not there", "sample.c f: it is there twice"], bad
    source = sources["sample.c"]
    assert [m.kind for m in source.mutants] == ["a kind", "a kind", "another kind"]
    check_whole(source)
    assert WRITTEN in schemata(source, source.mutants), schemata(source, source.mutants)


def selftest():
    people_selftest()
    source = Source("sample.c", SAMPLE)
    made = [mutant.note for mutant in source.mutants]
    assert sorted(made) == sorted(MADE), sorted(set(made) ^ set(MADE))
    assert {mutant.function for mutant in source.mutants} == {"f"}
    check_whole(source)
    two = [mutant for mutant in source.mutants if "g(a" in mutant.note]
    for number, mutant in enumerate(two):
        mutant.number = number + 1
    assert DOUBLED in schemata(source, two), schemata(source, two)
    first = choose({"sample.c": source}, ["sample.c"], 1, 5)
    assert first == choose({"sample.c": source}, ["sample.c"], 1, 9)[:5]
