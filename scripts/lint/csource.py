"""What the checks share: finding C files, and C text with comments and strings blanked.

Every check is a program `scripts/lint/NAME [ROOT]` that looks at the tree under ROOT
(default: the current directory), prints one line a finding and exits 1 when there is any.
"""
import os
import re
import sys
from functools import lru_cache

# Blanked lengths are kept, so an offset in the blanked text is one in the file.
TOKEN = re.compile(r"""
    (?P<block>/\*.*?(?:\*/|\Z))
  | (?P<line>//[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
""", re.S | re.X)


def root():
    return sys.argv[1] if len(sys.argv) > 1 else "."


def walk(top, suffixes, skip=("tests/lint",)):
    """Paths below root()/top with one of the suffixes, relative to root(), sorted."""
    found = []
    for folder, dirs, names in os.walk(os.path.join(root(), top)):
        here = os.path.relpath(folder, root())
        dirs[:] = [d for d in dirs if not d.startswith(".") and d not in
                   ("node_modules", "__pycache__") and os.path.join(here, d) not in skip]
        found += [os.path.normpath(os.path.join(here, n)) for n in names
                  if n.endswith(suffixes)]
    return sorted(found)


def sources():
    return walk("src", (".c", ".h"))


@lru_cache(None)
def text(path):
    with open(os.path.join(root(), path), encoding="utf-8", errors="replace") as f:
        return f.read()


def _blank(s):
    return re.sub(r"[^\n]", " ", s)


@lru_cache(None)
def code(path):
    """The file without comments and without the insides of strings."""
    def sub(m):
        if m.lastgroup == "string":
            s = m.group()
            return s[0] + " " * (len(s) - 2) + s[-1]
        return _blank(m.group())
    return TOKEN.sub(sub, text(path))


def line_of(path, offset):
    return text(path).count("\n", 0, offset) + 1


class Report:
    """Collects findings; `Report.end()` prints them in order and ends the program."""

    def __init__(self):
        self.findings = []
        self.warnings = []

    def add(self, path, line, message):
        self.findings.append((path, line, message))

    def warn(self, path, line, message):
        self.warnings.append((path, line, message))

    def end(self):
        for path, line, message in sorted(set(self.warnings)):
            print(f"{path}:{line}: note: {message}")
        for path, line, message in sorted(set(self.findings)):
            print(f"{path}:{line}: {message}")
        sys.exit(1 if self.findings else 0)


def closing(s, at):
    """Offset of the bracket that closes the one at s[at], or len(s)."""
    pair = {"(": ")", "{": "}", "[": "]"}
    depth = 0
    for i in range(at, len(s)):
        if s[i] == s[at]:
            depth += 1
        elif s[i] == pair[s[at]]:
            depth -= 1
            if depth == 0:
                return i
    return len(s)


# A definition starts in column one, its body's brace stands alone in column one.
FUNCTION = re.compile(r"^(?P<head>[A-Za-z_][^;{}#=]*?\b(?P<name>(?!__attribute__|[A-Z_]+\b)\w+)[ ]?\((?P<args>[^;{}]*)\)\s*)\n\{",
                      re.M)


def functions(path):
    """(name, head, arguments, first line, last line, is static) of each function."""
    s = code(path)
    out = []
    for m in FUNCTION.finditer(s):
        brace = m.end() - 1
        out.append((m["name"], m["head"], m["args"], line_of(path, m.start()),
                    line_of(path, closing(s, brace)), bool(re.match(r"static\b", m["head"]))))
    return out


def reason_above(path, first, word):
    """The reason in a comment `/* word: reason */` that ends in the three lines above, or ""."""
    above = "\n".join(text(path).split("\n")[max(0, first - 4):first - 1])
    m = re.search(r"/\* %s: (\w.*?)\s*\*/" % word, above, re.S)
    return re.sub(r"\s*\n[ \t*]*", " ", m[1]) if m else ""


def split_args(args):
    """The arguments between one pair of brackets, cut at the commas of the top level."""
    out, depth, start = [], 0, 0
    for i, ch in enumerate(args):
        if ch in "([{":
            depth += 1
        elif ch in ")]}":
            depth -= 1
        elif ch == "," and depth == 0:
            out.append(args[start:i].strip())
            start = i + 1
    out.append(args[start:].strip())
    return [a for a in out if a]


def calls(path, names):
    """(line, name, arguments) of each call of a plain function: no member, no declaration."""
    s = code(path)
    for m in re.finditer(rf"(?<![\w.])(?<!->)({'|'.join(names)})\s*\(", s):
        end = closing(s, m.end() - 1)
        before = s[:m.start()].rstrip()
        word = re.search(r"(\w+)$", before)
        declared = (word and word.group() not in
                    ("return", "else", "do", "case", "sizeof")) or before.endswith("*")
        if before.endswith("*") and re.search(r"[=(,&|+?:]\s*\*$", before):
            declared = False
        if not declared:
            yield line_of(path, m.start()), m[1], s[m.end():end]
