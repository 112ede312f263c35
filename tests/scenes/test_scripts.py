"""The scripts behind the Makefile: what `make run` sets up, and how tests are counted."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness.fixtures import TREE
from harness.watch import limit

SHOW = """#!/bin/sh
printf '%s\\n' "$*" >>calls
[ "$1" = init ] && exit 0
env >seen
/usr/bin/python3 - <<'END'
import os, urllib.request
if os.environ["LLM_API_KEY"] == "demo":
    try:
        urllib.request.urlopen(os.environ["LLM_BASE_URL"] + "/models", timeout=10)
    except urllib.error.HTTPError:
        pass
END
exit ${STATUS:-$?}
"""


@pytest.fixture
def tree(tmp_path):
    """A tree with scripts/run and a gantry that writes down how it was called."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build").mkdir()
    for name in ("run", "demo-model.py"):
        shutil.copy(TREE / "scripts" / name, tmp_path / "scripts")
    (tmp_path / "build" / "gantry").write_text(SHOW)
    (tmp_path / "build" / "gantry").chmod(0o755)
    return tmp_path


def run(tree, *args, code=0, **env):
    done = subprocess.run([tree / "scripts" / "run", *args], cwd="/", stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(tree), **env},
                          capture_output=True, text=True, timeout=limit(60))
    assert done.returncode == code, done.stdout + done.stderr
    return done


def seen(tree):
    return dict(line.split("=", 1) for line in (tree / "seen").read_text().split("\n") if "=" in line)


def calls(tree):
    return (tree / "calls").read_text().split()


def test_run_without_a_model_starts_the_demo_model_and_grants_the_workspace(tree):
    done = run(tree)
    env = seen(tree)
    assert calls(tree) == ["init", "chat"]
    assert re.search(r"^No model is configured: .*demo model.*deploy/workspace", done.stdout, re.M)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", env["LLM_BASE_URL"])
    assert env["TOOLS"] == "fs" and env["CHANNEL"] == "stdio"
    assert env["GANTRY_TOOLS_FILESYSTEM_ROOTS"] == str(tree / "deploy/workspace")
    assert env["PERSONA_DIR"] == "deploy/persona" and env["DATA_DIR"] == "deploy/data"
    assert (tree / "deploy/workspace").is_dir()


def test_run_ends_the_demo_model_with_the_chat(tree):
    run(tree)
    mine = str(tree).encode()
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            there = (proc / "cwd").resolve() == tree and b"demo-model" in (proc / "cmdline").read_bytes()
        except OSError:
            continue
        assert not there, (proc, mine)


def test_run_gives_the_exit_status_of_the_chat(tree):
    run(tree, code=3, STATUS="3")


def test_run_with_a_model_talks_to_that(tree):
    done = run(tree, LLM_BASE_URL="http://model.example/v1", LLM_API_KEY="k", LLM_MODEL="m")
    assert "demo" not in done.stdout
    assert seen(tree)["LLM_BASE_URL"] == "http://model.example/v1"
    assert "TOOLS" not in seen(tree)


def test_run_on_another_channel_runs_the_gateway(tree):
    run(tree, CHANNEL="telegram", LLM_MODEL="m", LLM_API_KEY="k")
    assert calls(tree) == ["init", "run"]


def test_init_only_seeds(tree):
    run(tree, "--init")
    assert calls(tree) == ["init"]


def test_the_env_file_is_read_and_never_run(tree):
    (tree / ".env").write_bytes(
        b"# a comment\n\nLLM_MODEL=plain\nLLM_API_KEY=\"in $(touch ran) quotes\"\r\n"
        b"  export LLM_BASE_URL='http://model.example/v1'\nODD=a=b # c\nBLANK=\n"
        b"GIVEN=file\nLAST=`touch ran`")
    run(tree, GIVEN="environment")
    env = seen(tree)
    assert env["LLM_MODEL"] == "plain"
    assert env["LLM_API_KEY"] == "in $(touch ran) quotes"
    assert env["LLM_BASE_URL"] == "http://model.example/v1"
    assert env["ODD"] == "a=b # c" and env["BLANK"] == ""
    assert env["GIVEN"] == "environment"
    assert env["LAST"] == "`touch ran`"
    assert not (tree / "ran").exists()


@pytest.mark.parametrize("line, word", [("no sign", "no '='"), ("A-B=1", "'A-B'"), ("x y=1", "'x y'"),
                                        ("=1", "''"), ("1A=1", "'1A'")])
def test_a_bad_line_of_the_env_file_is_named(tree, line, word):
    (tree / ".env").write_text("A=1\n" + line + "\n")
    done = run(tree, code=2)
    assert done.stderr.startswith(".env:2: ") and word in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def unit(tmp_path):
    """scripts/unit over shell scripts that speak as cmocka does."""
    def go(*bodies, **env):
        programs = []
        for i, body in enumerate(bodies):
            p = tmp_path / ("t%d" % i)
            p.write_text("#!/bin/sh\n" + body + "\n")
            p.chmod(0o755)
            programs.append(str(p))
        done = subprocess.run([TREE / "scripts" / "unit", *programs], env={**os.environ, **env},
                              capture_output=True, text=True, timeout=limit(60))
        return done.returncode, done.stdout.rstrip().split("\n")
    return go


PASS = "echo '[  PASSED  ] 3 test(s).'"
FAIL = "echo '[  PASSED  ] 1 test(s).'; echo '[  FAILED  ] 2 test(s), listed below:'; exit 2"


@pytest.mark.parametrize("bodies, code, last, word", [
    ([PASS, PASS], 0, "6 passed, 0 failed", "3 passed"),
    ([PASS, FAIL], 1, "4 passed, 2 failed", "2 FAILED"),
    ([PASS, PASS + "; kill -SEGV $$"], 1, "6 passed, 1 failed", "killed by SIGSEGV"),
    ([PASS, PASS + "; exit 1"], 1, "6 passed, 1 failed", "exit status 1"),
    ([PASS, ":"], 1, "3 passed, 1 failed", "ran no test"),
    (["echo '[  SKIPPED ] 1 test(s), listed below:'"], 1, "0 passed, 0 failed", "1 skipped"),
    ([], 1, "0 passed, 0 failed", ""),
])
def test_unit_tests_are_counted_and_bad_ends_are_failures(unit, bodies, code, last, word):
    status, lines = unit(*bodies)
    assert (status, lines[-1]) == (code, last)
    assert word in "\n".join(lines)


def test_a_hanging_unit_test_is_ended_with_its_children(unit):
    status, lines = unit(PASS, "sleep 1000 & sleep 1000", UNIT_TIMEOUT="1")
    assert status == 1 and lines[-1] == "3 passed, 1 failed"
    assert "no end after 1 s" in "\n".join(lines)
