"""The documents: their links lead somewhere, their commands exist, their tables are the program's."""

import json
import re
import shlex
import subprocess
import unicodedata
import xml.etree.ElementTree as xml

import pytest
import yaml

from harness.fixtures import TREE, binary
from harness.watch import limit

PAGES = sorted(p for p in [*TREE.glob("*.md"), *TREE.glob("docs/*.md"), *TREE.glob("examples/**/*.md"), *TREE.glob("packaging/**/*.md")]
               if "persona" not in str(p.parent.name))
COMPOSED = sorted([*TREE.glob("examples/*/compose.yml"), TREE / "packaging" / "compose.yml"])


def name(path):
    return str(path.relative_to(TREE))


def without_blocks(text):
    return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)


def anchors(page):
    """The names that a forge gives to the headings of a page."""
    for heading in re.findall(r"^#+ (.+)$", without_blocks(page.read_text()), re.M):
        kept = "".join(c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LN")
        yield kept.strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(page):
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", without_blocks(page.read_text())):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        assert not anchor or anchor in list(anchors(target)), link


def test_every_page_is_linked_from_the_first_one_or_its_index():
    first = "".join(p.read_text() for p in (TREE / "README.md", TREE / "docs" / "README.md") if p.exists())
    for page in TREE.glob("docs/*.md"):
        assert page.name == "README.md" or page.name in first, page.name


def test_every_command_and_target_that_a_page_names_exists(gantry):
    commands = set(re.findall(r"^  ([a-z]+) ", gantry.run("--help").out, re.M)) | {"help"}
    targets = set(re.findall(r"^([a-z][a-z-]*)(?= .*:|:)", (TREE / "Makefile").read_text(), re.M))
    targets |= {t for line in re.findall(r"^\.PHONY: (.*)$", (TREE / "Makefile").read_text(), re.M) for t in line.split()}
    for page in PAGES:
        text = page.read_text()
        for command in re.findall(r"(?:`|^ {4}|^(?:[A-Z_]+=\S+ )+|\$ )gantry ([a-z]+)\b(?! runs)", text, re.M):
            assert command in commands, "%s: gantry %s" % (name(page), command)
        for target in re.findall(r"`(?:FUZZ_SECONDS=\d+ )?make ([a-z][a-z-]*)", text):
            assert target in targets, "%s: make %s" % (name(page), target)


def test_every_folder_of_tests_stands_in_the_page_of_the_architecture():
    page = (TREE / "ARCHITECTURE.md").read_text()
    for folder in {p.relative_to(TREE / "tests").parts[0] for p in TREE.glob("tests/*/*") if p.suffix in (".c", ".py", ".case", ".pml")}:
        assert "`tests/%s/`" % folder in page, folder


def test_every_command_stands_in_the_first_page(gantry):
    text = (TREE / "README.md").read_text()
    table = text[text.index("## Commands"):text.index("## Configuration")]
    for command in re.findall(r"^  ([a-z]+) ", gantry.run("--help").out, re.M):
        assert re.search(r"[`,] ?`?(gantry )?%s\b" % command, table), command


@pytest.mark.parametrize("path", COMPOSED, ids=name)
def test_a_compose_file_builds_the_image_it_runs(path):
    # packaging/compose.yml is used with the tree as its project directory, as it says.
    base = TREE if "--project-directory ." in path.read_text() else path.parent
    for service in yaml.safe_load(path.read_text())["services"].values():
        context = base / service["build"]["context"]
        assert context.resolve() == TREE and (context / service["build"]["dockerfile"]).is_file()


def test_the_env_file_of_a_checkout_says_nothing_of_a_container():
    """It is made for `make run`: its paths and its channel would be those of the container, too."""
    said = set(re.findall(r'^\s*"((?:\w+_DIR|MCP_MANIFEST|CHANNEL))=', (TREE / "src" / "cli" / "templates.c").read_text(), re.M))
    service = yaml.safe_load((TREE / "packaging" / "compose.yml").read_text())["services"]["gantry"]
    assert said == {"PERSONA_DIR", "DATA_DIR", "MCP_MANIFEST", "CHANNEL"}
    inside = [v.split(":")[1] for v in service["volumes"]]
    for variable in said - {"CHANNEL"}:
        assert service["environment"][variable] in inside
    assert service["environment"]["CHANNEL"] == "telegram"


def rows(page, heading):
    """The first cells of the table whose head begins so: the words in backquotes."""
    table = page.read_text().split("\n| %s |" % heading)[1].split("\n\n")[0]
    return [re.findall(r"`([^`]+)`", line.split(" | ")[0]) for line in table.splitlines()[2:]]


def source(path, begin):
    """A table in the source, up to its closing brace."""
    text = (TREE / "src" / path).read_text()
    return text[text.index(begin):].split("\n};")[0].split("\n}")[0]


def test_the_page_of_the_manifest_has_every_key_that_is_read():
    page = TREE / "docs" / "mcp.md"
    read = re.findall(r'^\t\{ "(\w+)", ', source("mcp/manifest.c", "} keys[] = {").replace("} keys", "keys", 1), re.M)
    assert len(read) > 15 and sorted(sum(rows(page, "key"), [])) == sorted(read)
    box = re.findall(r'str_eq\(c->key, S\("(\w+)"\)\)', source("mcp/manifest_value.c", "int mcp_value_box("))
    assert len(box) > 4 and sorted(sum(rows(page, "key of `sandbox`"), [])) == sorted(box)


@pytest.mark.parametrize("heading, path, least", [
    ("key of a URL", "mcp/http_cfg.c", 8), ("key of `auth`", "mcp/auth_cfg.c", 15), ("key of `sampling`", "mcp/sampling_cfg.c", 4)])
def test_the_page_of_the_manifest_has_every_key_of_its_tables(heading, path, least):
    read = re.findall(r'^\t\{ "(\w+)", ', source(path, "} keys[] = {").replace("} keys", "keys", 1), re.M)
    # Those that are of another kind than the rest of the table.
    read += re.findall(r'str_is\(c->key, "(\w+)"\)', (TREE / "src" / path).read_text())
    assert len(read) > least and sorted(sum(rows(TREE / "docs" / "mcp.md", heading), [])) == sorted(read)


def test_every_test_that_the_page_of_security_names_exists():
    page = (TREE / "docs" / "security.md").read_text()
    sources = [p for p in TREE.glob("tests/**/*") if p.suffix in (".c", ".py")]
    there = {p.name for p in sources} | {p.stem for p in sources if p.stem.startswith("fuzz_")}
    for p in sources:
        there |= {a or b for a, b in re.findall(r"^def (test_\w+)\(|^static void (\w+)\(void \*\*", p.read_text(), re.M)}
    named = re.findall(r"\b(?:test|fuzz)_\w+(?:\.(?:c|py))?", page)
    named += re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`", page)
    assert len(named) > 150
    for word in named:
        assert word in there, word


# Words with a dot that are neither an option nor a log event, a column, a lock or a file.
OTHER_WORDS = {"b.full", "channel.asks", "fs.protected_hardlinks", "nas.lan"}
FILES = {"a", "bak", "c", "db", "json", "py", "svg", "toml", "yaml", "yml"}


def test_what_looks_like_an_option_on_a_page_is_one(gantry):
    options = re.findall(r"^\| `([a-z0-9_.]+)` \|", gantry.run("config", "docs").out, re.M)
    assert len(options) > 100
    known = OTHER_WORDS | {o.rsplit(".", n)[0] for o in options for n in range(o.count(".") + 1)}
    events = (TREE / "docs" / "operating.md").read_text().split("## Log events")[1]
    known |= {w for line in re.findall(r"^\| (`.*?) \|", events, re.M) for w in re.findall(r"`([^`]+)`", line)}
    locks = (TREE / "ARCHITECTURE.md").read_text().split("## Locks")[1]
    known |= set(re.findall(r"^\| .* \| `(\w+\.\w+)` \|", locks, re.M))
    made = re.findall(r"^CREATE TABLE (\w+) \((.*?)STRICT", (TREE / "docs" / "database.md").read_text(), re.S | re.M)
    known |= {"%s.%s" % (table, column) for table, body in made for column in re.findall(r"^[\t, ]*(\w+) (?:TEXT|INTEGER|REAL|BLOB)\b", body, re.M)}
    looked = 0
    for page in PAGES:
        for word in re.findall(r"`([^`\n]+)`", without_blocks(page.read_text())):
            said = re.fullmatch(r"([a-z_]+(?:\.[a-z0-9_]+)+)(?:\.\*|: .*)?", word)
            if said and said[1].rsplit(".", 1)[1] not in FILES:
                looked += 1
                assert said[1] in known, "%s: %s" % (name(page), said[1])
    assert looked > 300


def test_the_examples_of_the_page_of_the_manifest_are_taken(gantry):
    text = (TREE / "docs" / "mcp.md").read_text()
    blocks = [b for b in re.findall(r"^```(?:toml|json)\n(.*?)^```", text, re.S | re.M) if "[[server]]" in b or "mcpServers" in b]
    assert len(blocks) > 3
    for n, block in enumerate(blocks):
        at = gantry.dir / ("manifest.%d" % n)
        at.write_text(re.sub(r'("?command"? *[=:] *")', r"\1/nowhere/", block))
        names = json.loads(block)["mcpServers"] if block.startswith("{") else re.findall(r'^name += "(\w+)"', block, re.M)
        r = gantry.run("tools", "list", MCP_MANIFEST=at, code=1)
        assert names and all("server %s is not ready" % name in r.err for name in names)
        assert ("/nowhere/" in r.err) == ("command" in block)
        assert "unknown" not in r.err and "should be" not in r.err


def test_the_model_of_the_journal_knows_the_states_that_the_schema_has():
    """The schema on the page is compared with the program's by a unit test."""
    page = (TREE / "docs" / "database.md").read_text()
    words = re.search(r"^mtype = \{(.*?)\}", (TREE / "tests" / "model" / "journal.pml").read_text(), re.S | re.M)[1]
    known = [w.strip() for w in words.split(",") if w.strip() not in ("", "none")]
    assert len(set(known)) == len(known) > 30
    for table in ("inbox", "turns", "tool_calls", "approvals", "outbox", "pieces"):
        made = re.search(r"^CREATE TABLE %s \((.*?)STRICT;" % table, page, re.S | re.M)[1]
        states = re.findall(r"'(\w+)'", re.search(r"\bstate TEXT.*?CHECK \(state IN \((.*?)\)\)", made, re.S)[1])
        assert sorted(w for w in known if w.startswith(table + "_")) == sorted("%s_%s" % (table, s) for s in states)


def test_the_page_of_chat_words_has_each_of_them(gantry, model):
    table = source("agent/slash.c", "} table[] = {").replace("} table", "table", 1)
    there = re.findall(r'^\t\{ "(\w+)", ', table, re.M)
    page = TREE / "docs" / "chat.md"
    told = [w.split()[0].lstrip("/") for w in sum(rows(page, "word"), [])]
    assert len(there) > 12 and sorted(told) == sorted(there)
    for word in re.findall(r'str_ieq\(line, S\("(/\w+)"\)\)', (TREE / "src" / "chan" / "lines.c").read_text()):
        assert "`%s`" % word in page.read_text()
    first = (TREE / "README.md").read_text()
    for word in there:
        assert re.search(r"[` \n]/%s[` \n]" % word, first), word


def test_the_picture_of_the_first_page_is_what_a_run_shows_now(gantry, tmp_path):
    made = tmp_path / "terminal.svg"
    subprocess.run([TREE / "scripts" / "picture", binary(), made], check=True, timeout=limit(60))

    def lines(path):
        texts = [t.text for t in xml.parse(path).iter("{http://www.w3.org/2000/svg}tspan")]
        return [re.sub(r"gantry \d+\.\d+\.\d+\S*,", "gantry VERSION,", t) for t in texts]
    assert lines(made) == lines(TREE / "docs" / "terminal.svg")
    assert "buy oat milk" in lines(made)


def proof_rows():
    """(claim, said in, command, runs, figure, commit, date) of each row of docs/proof.md."""
    lines = (TREE / "docs" / "proof.md").read_text().splitlines()
    rows = [[c.strip() for c in line.strip("| ").split(" | ")] for line in lines if line.startswith("| ")]
    return [r for r in rows if r[0] != "claim" and not set(r[0]) <= set("- ")]


def wrong_in(command, targets, variables, tests):
    """What of a command of that page does not exist; "" when all of it does."""
    for part in command.split(" && "):
        words = [w for w in shlex.split(part) if not re.match(r"(FUZZ_SECONDS|GANTRY_RACE_ROUNDS)=\d+$", w)]
        for word in words if words[0] != "make" else words[1:]:
            name, _, value = word.partition("=")
            if word.startswith("build/unit/"):
                there = (TREE / "tests" / "unit" / (word.split("/")[2] + ".c")).is_file()
            elif name == "PYTEST_ARGS":
                part = re.fullmatch(r"-k (\w+)", value)
                there = part and part[1] in tests["counterparts" if "test-counterparts" in words else "scenes"]
            else:
                there = words[0] == "make" and name in (variables if value else targets)
            if not there:
                return word
    return ""


def test_every_claim_has_a_command_that_exists_and_a_figure_or_says_that_it_has_none():
    told = set(re.findall(r"^  make ([a-z][a-z-]*) ", subprocess.run(
        ["make", "help"], cwd=TREE, check=True, capture_output=True, text=True).stdout, re.M))
    variables = set(re.findall(r"\b[A-Z][A-Z_]+\b", re.sub(r"#.*", "", (TREE / "Makefile").read_text())))
    tests = {where: "\n".join([p.stem for p in found] + [n for p in found for n in re.findall(r"^def (test_\w+)", p.read_text(), re.M)])
             for where in ("scenes", "counterparts") for found in [sorted((TREE / "tests" / where).glob("test_*.py"))]}
    for bad in ("make unix", "make chaos RUN=3", "make scenes PYTEST_ARGS='-k test_no_such'", "make build/unit/test_no_such",
                "make scenes PYTEST_ARGS=tests/scenes/test_chat.py", "build/unit/test_no_such", "rm x"):
        assert wrong_in(bad, told, variables, tests), bad
    ci = set(re.findall(r"^step .*?\bmake (?:-\S+ |[A-Z]+=\S+ )*([a-z-]+)", (TREE / ".ci" / "run").read_text(), re.M))
    ci |= {"unit", "scenes", "conformance", "ci"}   # parts of its steps: test, and a counterpart
    rows = proof_rows()
    assert len(rows) > 90
    for row in rows:
        assert len(row) == 7, row
        claim, said, command, runs, figure, commit, date = row
        commands = re.findall(r"`([^`]+)`", command)
        assert commands and re.sub(r"`[^`]+`(, )?", "", command) == "", claim
        assert [wrong_in(c, told, variables, tests) for c in commands if wrong_in(c, told, variables, tests)] == [], claim
        assert re.search(r"\]\(", said), claim
        targets = re.findall(r"\bmake (?:[A-Z]+=\S+ )*([a-z][a-z-]*)(?![\w/-])", command)
        assert runs == "by hand" or runs == "CI" and all(t in ci for t in targets), claim
        if figure == "not yet measured" or re.fullmatch(r"with all (scenes|unit tests|counterparts)", figure):
            assert (commit, date) == ("-", "-"), claim
        else:
            assert figure and re.fullmatch(r"[0-9a-f]{7,12}", commit), claim
            assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", date), claim


def test_every_check_of_the_makefile_proves_something():
    told = subprocess.run(["make", "help"], cwd=TREE, check=True, capture_output=True, text=True).stdout
    checks = re.findall(r"^  make ([a-z][a-z-]*)", told, re.M)
    checks = checks[checks.index("check-static"):checks.index("run")]
    # Building and putting out, what is only several of the others, and tidying.
    checks = set(checks) - {"dist", "release", "check", "quick", "test", "ci", "fuzz-keep"}
    named = {t for row in proof_rows() for t in re.findall(r"make ([a-z][a-z-]*)", row[2])}
    assert len(checks) > 10 and checks - named == set()
