"""Small faults that can be made in a C file, in an order that does not move when others come.

What is made: conditions negated, comparisons and joins swapped, numbers one off, statements
left out, functions and returns that say OK at once, rows of tables left out, and in the SQL of
the store conditions weakened.  Asserts, log lines and declarations are left alone: a fault there
is none that a user would meet.
"""
import hashlib
import os
import re
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../scripts/lint"))
from csource import FUNCTION, TOKEN, closing  # noqa: E402  (the path first)

COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SPARED = re.compile(r"\b(assert|log_[a-z]+|static_assert|SCOPED|TRACE)\s*\(")
DECLARES = re.compile(r"^\s*(static |const |struct |enum |union |unsigned |signed |int |char |bool |long |short |size_t |ssize_t "
                      r"|str |double |void |u?int\d+_t |uint_least|_Atomic |SCOPED)")
STATEMENT = re.compile(r"(?:(?<=[;{}\n])|^)(?P<tabs>\t+)(?P<what>(?:\(void\))?[*(]*[A-Za-z_][\w\[\]>.()*-]*\s*(?:\(|\+\+|--|[-+|&^*/%]?=(?!=)|<<=|>>=)"
                       r"|break\b|continue\b)", re.M)
SQL = re.compile(r"\b(SELECT|UPDATE|DELETE|INSERT|WHERE|FROM|AND|ORDER BY|VALUES|SET)\b")


@dataclass
class Fault:
    path: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    put: str
    old: str = ""   # the lines as they stand, without their indentation
    new: str = ""   # and with the fault
    name: str = ""  # of a rule that is broken by hand
    key: str = ""

    def apply(self, text):
        return text[:self.start] + self.put + text[self.end:]


def _blank(text):
    def sub(m):
        s = m.group()
        if m.lastgroup == "string":
            return s[0] + "\1" * (len(s) - 2) + s[-1]
        return re.sub(r"[^\n]", " ", s)
    return TOKEN.sub(sub, text)


def _preprocessor(code):
    return re.sub(r"^#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)


def _spare(code):
    """Blank what is not to be touched: asserts, log lines."""
    out = list(code)
    for m in SPARED.finditer(code):
        for i in range(m.start(), closing(code, m.end() - 1) + 1):
            if out[i] != "\n":
                out[i] = "\2"
    return "".join(out)


def _in_function(code, head, first, last, add):
    body = code[first:last]
    at = lambda m, g=0: (first + m.start(g), first + m.end(g))
    answers = re.match(r"(?:static |inline |MUSTUSE )*(int|bool)\b[^*]*\(", head + "(")
    kind = answers[1] if answers else ""
    fails = kind == "int" and "struct err *" in head
    if fails:
        add("at once", first + 1, first + 1, "\n\tif (1)\n\t\treturn 0;")
    for m in re.finditer(r"\b(if|while) (\()", body):
        end = closing(body, m.start(2))
        add("negate", first + m.start(2), first + end + 1, f"(!({body[m.start(2) + 1:end]}))", True)
    for m in re.finditer(r" (<=|>=|==|!=|<|>) ", body):
        add("compare", *at(m, 1), COMPARE[m[1]])
    for m in re.finditer(r" (&&|\|\|)(?=\s)", body):
        add("join", *at(m, 1), "||" if m[1] == "&&" else "&&")
    for m in re.finditer(r" ([+-]) ", body):
        add("sign", *at(m, 1), "-" if m[1] == "+" else "+")
    for m in re.finditer(r"(?<![\w.\x02])(\d+)(?![\w.])", body):
        line = body[body.rfind("\n", 0, m.start()) + 1:m.start()]
        if not (DECLARES.match(line) and line.endswith("[")) and not line.endswith("{ "):
            add("one off", *at(m, 1), str(int(m[1], 8 if m[1].startswith("0") else 10) + 1))
    for m in re.finditer(r"(?<!\(void\))!(?=[\w(])", body):
        add("not", *at(m), "")
    for m in STATEMENT.finditer(body):
        rest = body[m.start("what"):]
        if DECLARES.match(rest) or re.match(r"(return|goto|case|default|else|do|if|for|while|switch)\b", rest):
            continue
        depth, end = 0, None
        for i, c in enumerate(rest):
            depth += c in "({["
            depth -= c in ")}]"
            if depth < 0:
                break
            if c == ";" and depth == 0:
                end = i
                break
        if end is None:
            continue
        start = first + m.start("what")
        add("drop", start, start + end, "break" if rest.startswith("continue") else "")
    for m in re.finditer(r"\breturn ([^;]+);", body):
        value = m[1].strip()
        if kind == "int" and value not in ("OK", "0") and (fails or "err_" in value or value in ("rc", "E_")):
            add("return", *at(m, 1), "0")
        elif kind == "bool":
            add("return", *at(m, 1), {"true": "false", "false": "true"}.get(value, "!(%s)"), True)


def _in_sql(text, code, add):
    for m in TOKEN.finditer(text):
        if m.lastgroup != "string" or m.group()[0] != '"' or not SQL.search(m.group()):
            continue
        s, base = m.group(), m.start()
        for x in re.finditer(r" (<=|>=|<>|<|>) ", s):
            put = "=" if x[1] == "<>" else COMPARE[x[1]]
            add("sql", base + x.start(1), base + x.end(1), put)
        for x in re.finditer(r" (AND|OR) ", s):
            add("sql", base + x.start(1), base + x.end(1), "OR" if x[1] == "AND" else "AND")
        for x in re.finditer(r"\b(NOT )(?!NULL)|\b(DESC)\b|\b(max|min|MAX|MIN)\(", s):
            group = 1 if x[1] else 2 if x[2] else 3
            put = {"max": "min", "min": "max", "MAX": "MIN", "MIN": "MAX"}.get(x[group], "")
            add("sql", base + x.start(group), base + x.end(group), put)
        for x in re.finditer(r"(?:WHERE|AND|OR|NOT|ON|WHEN) \(*[\w.]+ (=) ", s):
            add("sql", base + x.start(1), base + x.end(1), "<>")
        for x in re.finditer(r"(?:WHERE|AND) ([\w.]+ (?:=|<=|>=|<>|<|>|IN) (?:'[^']*'|\?\d|\w+|\('[^()]*\)))(?= |\"|\))", s):
            add("sql", base + x.start(1), base + x.end(1), "1")


def _in_tables(text, code, inside, add):
    """Rows of the tables outside and inside of functions."""
    for m in re.finditer(r"^\t+\{ [^\n]*\},?\n", code, re.M):
        row = text[m.start():m.end()]
        if row.count("{") == row.count("}") and not re.search(r"\{ 0 \}|=", row.split(",")[0]):
            start = m.start() + len(row) - len(row.lstrip("\t"))
            add("row", start, m.end() - 1, "")
    for m in re.finditer(r'(?<=[{,\s])"\x01*",(?= |\n)', code):
        line = code[:m.start()].rsplit("static const char *const", 1)
        if len(line) == 2 and ";" not in line[1]:
            add("row", m.start(), m.end(), "")


def lines_of(text, start, end):
    """The whole lines that hold start..end."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last


def squeeze(s):
    return re.sub(r"\s+", " ", s).strip()


def in_file(path, text):
    """All faults of one file."""
    code = _preprocessor(_blank(text))
    spared = _spare(code)
    found, spans = [], []

    def add(kind, start, end, put, cooked=False):
        here = next((n for n, f, t in spans if f <= start < t), "-")
        if cooked:  # it was made of blanked text: take the text itself
            was = text[start:end]
            put = put if "%s" not in put and kind != "negate" else \
                f"(!{was})" if kind == "negate" else put.replace("%s", was)
        first, last = lines_of(text, start, max(start, end))
        new = text[first:start] + put + text[end:last]
        if kind == "at once":
            old, new = "{", "{ return 0;"
        else:
            old, new = squeeze(text[first:last]), squeeze(new)
        if old != new:
            found.append(Fault(path, text.count("\n", 0, start) + 1, here, kind, start, end, put, old, new))

    for m in FUNCTION.finditer(code):
        brace = m.end() - 1
        spans.append((m["name"], brace, closing(code, brace)))
    for m, (_, first, last) in zip(FUNCTION.finditer(code), list(spans)):
        _in_function(spared, m["head"], first, last, add)
    _in_tables(text, code, spans, add)
    if "/store/" in path:
        _in_sql(text, code, add)
    return found


def by_hand(rules, folder, read):
    """The rules of a table as faults."""
    out = []
    for name, file, old, new in rules:
        path = f"{folder}/{file}"
        text = read(path)
        at = text.find(old)
        if at < 0:
            raise SystemExit(f"mutants: {name}: {path} has changed, change the row: {old!r}")
        out.append(Fault(path, text.count("\n", 0, at) + 1, "-", "rule", at, at + len(old), new,
                         squeeze(old), squeeze(new), name))
    return out


def in_order(faults, seed):
    """By a hash of what they are, so that a change elsewhere moves none; alike ones by place."""
    count = {}
    for f in sorted(faults, key=lambda f: (f.path, f.start, f.kind, f.put)):
        same = (f.path, f.function, f.old, f.new)
        count[same] = count.get(same, 0) + 1
        f.key = hashlib.sha256(repr((seed, same, count[same])).encode()).hexdigest()
    return sorted(faults, key=lambda f: f.key)
