"""Manual pages and completions are made of the program's own words, and can be used."""

import re
import shutil
import subprocess

import pytest

from harness.fixtures import TREE, binary


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    subprocess.run([TREE / "scripts" / "manuals", binary(), out], check=True)
    return out


@pytest.fixture
def commands(gantry):
    return dict(re.findall(r"^  ([a-z]+) +(.*)$", gantry.run("--help").out, re.M))


def unroff(path):
    return path.read_text().replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")


def bash(made, *words):
    """What bash would offer for the last word."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gantry; printf "%s\\n" "${COMPREPLY[@]}"'
    r = subprocess.run(["bash", "-uc", script, "bash", made / "completions" / "gantry.bash", *words], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, r.stderr
    return r.stdout.split()


def fish(made, line):
    r = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', made / "completions" / "gantry.fish", line],
                       capture_output=True, text=True, check=True)
    return {row.split("\t")[0] for row in r.stdout.splitlines()}


def test_every_command_has_its_page_with_all_that_its_help_says(gantry, commands, made):
    assert len(commands) > 15
    first = unroff(made / "man" / "gantry.1")
    for command, summary in commands.items():
        page = unroff(made / "man" / ("gantry-%s.1" % command))
        for line in gantry.run(command, "--help").out.splitlines():
            assert line.removeprefix("usage: ").strip() in page or line == "example:", line
        assert "gantry-%s (1)\n%s" % (command, summary) in first
    assert len(list((made / "man").iterdir())) == len(commands) + 2


def test_every_option_has_its_entry_in_the_page_of_the_file(made):
    page = unroff(made / "man" / "gantry.yaml.5")
    keys = re.findall(r'^\t\{ "([a-z_.*]+)",', (TREE / "src" / "config" / "options.c").read_text(), re.M)
    assert len(keys) > 80
    for key in keys:
        assert "\n.B %s\n" % key in page, key


@pytest.mark.parametrize("lint", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]], ids=lambda w: w[0])
def test_the_pages_are_well_formed(made, lint):
    if not shutil.which(lint[0]):
        pytest.skip("%s is not installed" % lint[0])
    r = subprocess.run([*lint, *sorted((made / "man").iterdir())], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stdout + r.stderr, r.stdout + r.stderr


@pytest.mark.parametrize("shell, name", [("bash", "gantry.bash"), ("zsh", "_gantry"), ("fish", "gantry.fish")])
def test_the_shell_takes_the_completion(made, shell, name):
    if not shutil.which(shell):
        pytest.skip("%s is not installed" % shell)
    r = subprocess.run([shell, "-n", made / "completions" / name], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, r.stderr


def test_bash_offers_commands_words_options_and_values(commands, made):
    assert bash(made, "gantry", "") == [*commands, "help"]
    assert bash(made, "gantry", "qu") == ["queue"]
    assert bash(made, "gantry", "queue", "") == ["list", "retry", "drop"]
    assert bash(made, "gantry", "approvals", "rules", "") == ["list", "rm"]
    assert bash(made, "gantry", "usage", "--by", "") == ["day", "session", "tool", "model"]
    assert bash(made, "gantry", "--log-level", "w") == ["warn"]
    assert bash(made, "gantry", "--config", "x", "queue", "r") == ["retry"]
    assert bash(made, "gantry", "--config", "x", "queue", "list", "--j") == ["--json"]
    assert bash(made, "gantry", "cron", "add", "say hello", "--wh") == ["--when"]
    assert bash(made, "gantry", "onboard", "--prov") == ["--provider"]
    assert "--config" in bash(made, "gantry", "status", "-")


def test_bash_leaves_files_to_itself(made):
    assert bash(made, "gantry", "import", "") == []
    assert bash(made, "gantry", "report", "--html", "") == []
    assert bash(made, "gantry", "--config", "") == []


def test_bash_offers_each_option_that_the_help_of_a_command_names(gantry, commands, made):
    for command in commands:
        usage = gantry.run(command, "--help").out.split("\n\n")[0]
        for line in usage.splitlines():
            words = re.match(r"(?:usage:)?\s*gantry %s((?: [a-z]+(?= |$))*)" % command, line)[1].split()
            for option in re.findall(r"--[a-z-]+", line):
                assert option in bash(made, "gantry", command, *words, option), (line, option)


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_commands_words_and_values(commands, made):
    assert {*commands, "help"} <= fish(made, "gantry ")
    assert fish(made, "gantry queue ") == {"list", "retry", "drop"}
    assert fish(made, "gantry usage --by ") == {"day", "session", "tool", "model"}
    assert "--json" in fish(made, "gantry queue list --")


def test_make_install_puts_them_where_shells_and_man_look():
    dry = subprocess.run(["make", "-n", "-C", str(TREE), "install", "DESTDIR=/nowhere"], capture_output=True, text=True).stdout
    for target in ("man/man1", "man/man5", "bash-completion/completions/gantry", "zsh/site-functions/_gantry",
                   "fish/vendor_completions.d/gantry.fish"):
        assert re.search(r"^install .*/nowhere/usr/local/share/%s( |$)" % re.escape(target), dry, re.M), target
