"""docs/quickstart.md and examples/README.md are followed to the letter: each command in them works."""

import re
import shlex
import subprocess

import pytest

from harness.fixtures import TREE
from harness.newcomer import Newcomer

PAGE = TREE / "docs" / "quickstart.md"
COOKBOOK = TREE / "examples" / "README.md"


def commands(page):
    """The lines of the shell blocks, without their comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.S | re.M):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield words


def test_the_quickstart_works_command_by_command(gantry, model, tmp_path_factory):
    """In one home directory, in the order of the page; the model is the fake one, and has no key."""
    n = Newcomer(gantry)
    model.key = None
    model.models = ["qwen3", "other"]
    ran = []
    for words in commands(PAGE):
        ran.append(" ".join(words))
        if words[0] != "gantry":
            continue
        args = words[1:]
        if args[0] == "onboard" and "--yes" in args:
            # The same home has been set up by hand before: the page says what to do then.
            at = tmp_path_factory.mktemp("other") / "config.yaml"
            r = n.gantry("--config", at, *args, "--base-url", model.url)
            assert "wrote %s" % at in r.out
        elif args == ["onboard"]:
            n.start()
            n.answer("Provider", "ollama").answer("address", model.url)
            n.see("It has 2 models")
            n.answer("Model", "qwen3").rest()
            n.see("Looking it over")
            n.end()
        elif args == ["chat"]:
            model.reply("I am here.")
            t = gantry.terminal("chat", env=n.env())
            t.see("^> ?$")
            t.keys("hello\r")
            t.see("I am here")
            t.keys("\x04")
            t.wait(30, 0)
        elif args == ["run"]:
            model.reply("And here.")
            daemon = gantry.start("run", env=n.env())
            daemon.send("hello")
            daemon.out.wait("And here")
        else:
            if args[0] == "prompt":
                model.reply("Much.")
            n.gantry(*args)
    daemon.finish()
    for command in ("gantry onboard", "gantry chat", "gantry run", "gantry doctor", "gantry status", "gantry init"):
        assert command in ran
    for path in re.findall(r"^~/(\S+)", PAGE.read_text(), re.M):
        assert (gantry.home / path).exists() or path.endswith("secrets/"), "%s was not written" % path
    assert (gantry.dir / ".env.example").exists() and (gantry.dir / "deploy" / "persona").is_dir()


def test_what_it_says_to_look_for_is_what_the_program_says():
    """The symptoms of the page are sentences of ours, word for word."""
    said = "\n".join(p.read_text() for p in (TREE / "src").rglob("*.c"))
    said = re.sub(r'"\s*\n\s*"', "", said)
    rows = re.findall(r"^\| (`[^`]+`|nothing.*?) \|", PAGE.read_text(), re.M)
    assert len(rows) >= 7
    for row in rows:
        words = row.strip("`").replace("the key was refused, HTTP 401", "the key was refused")
        assert row.startswith("nothing") or words in said, words


@pytest.mark.parametrize("page", [PAGE, COOKBOOK], ids=lambda p: p.name)
def test_every_command_link_and_target_of_the_page_exists(gantry, page):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (TREE / "Makefile").read_text(), re.M))
    told = set()
    for words in commands(page):
        if "make" in words[:2]:
            assert set(words[words.index("make") + 1:]) <= targets, words
        if words[0] == "gantry":
            args = [w for i, w in enumerate(words) if i and w != "--config" and words[i - 1] != "--config"]
            told.add(args[0])
    for inline in re.findall(r"`make ([a-z-]+)`", page.read_text()):
        assert inline in targets, inline
    for inline in re.findall(r"`gantry ([a-z]+)", page.read_text()):
        told.add(inline)
    for command in sorted(told):
        assert gantry.run(command, "--help").out.startswith("usage: gantry %s" % command)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_make_install_puts_the_program_where_the_page_says():
    dry = subprocess.run(["make", "-n", "-C", str(TREE), "install", "DESTDIR=/nowhere"], capture_output=True, text=True).stdout
    assert re.search(r"install .*gantry /nowhere/usr/local/bin/gantry", dry)
