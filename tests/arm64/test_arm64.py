"""
The program for arm64 under qemu-user: start, TLS, database, chat and tool servers work.

The emulator has no openat2, Landlock, seccomp and subreaper, though the version of the kernel
says so: what needs one of them refuses in words, and nothing else is missing.
"""

import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from fakes.model import Model, call
from harness.tls import Front, certificate

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
GANTRY, ECHO = os.environ["GANTRY_ARM64"], os.environ["GANTRY_ARM64_ECHO"]
pytestmark = pytest.mark.skipif(not QEMU, reason="no qemu-user; make deps-cross installs it")


@pytest.fixture
def model():
    m = Model().start()
    yield m
    m.stop()


@pytest.fixture
def env(tmp_path, model):
    (tmp_path / "persona").mkdir()
    (tmp_path / "mcp.toml").write_text("")
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHANNEL": "stdio", "LLM_BASE_URL": model.url,
            "LLM_API_KEY": "k", "LLM_MODEL": "m", "PERSONA_DIR": str(tmp_path / "persona"),
            "DATA_DIR": str(tmp_path / "data"), "MCP_MANIFEST": str(tmp_path / "mcp.toml")}


def run(env, *words, text="", code=0):
    r = subprocess.run([QEMU, GANTRY, *words], env=env, input=text, capture_output=True, text=True, timeout=120)
    assert r.returncode == code, r.stdout + r.stderr
    return r


def test_it_is_for_arm64_and_needs_no_library():
    headers = subprocess.run(["readelf", "-hlW", GANTRY], check=True, capture_output=True, text=True).stdout
    assert "AArch64" in headers and "INTERP" not in headers and "DYN " in headers
    dynamic = subprocess.run(["readelf", "-dW", GANTRY], check=True, capture_output=True, text=True).stdout
    assert "NEEDED" not in dynamic


def test_it_is_small(figures):
    size = os.path.getsize(GANTRY)
    figures("%d bytes" % size)
    assert size <= 5_400_000


def test_a_conversation_over_tls_with_a_tool(env, model, tmp_path):
    cert, key = certificate(tmp_path, "model", "IP:127.0.0.1")
    front = Front(model.url, cert, key)
    (tmp_path / "mcp.toml").write_text('[[server]]\nname = "srv"\ncommand = "%s"\nargs = ["%s"]\n' % (QEMU, os.path.abspath(ECHO)))
    model.reply(calls=[call("srv__echo", text="from another processor")])
    model.reply("Done.")
    r = run({**env, "LLM_BASE_URL": front.url, "SSL_CERT_FILE": str(cert)}, "prompt", "go")
    assert r.stdout == "Done.\n"
    assert model.last.results == ["from another processor"]
    assert set(front.versions) == {"TLSv1.3"}
    front.close()
    stored = sqlite3.connect(tmp_path / "data" / "gantry.db")
    assert stored.execute("SELECT count(*) FROM turns").fetchone() == (1,)
    assert stored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    stored.close()


def test_an_unknown_authority_is_refused(env, model, tmp_path):
    cert, key = certificate(tmp_path, "model", "IP:127.0.0.1")
    front = Front(model.url, cert, key)
    r = run({**env, "LLM_BASE_URL": front.url}, "prompt", "go", code=1)
    assert "certificate" in r.stdout + r.stderr
    assert not model.requests
    front.close()


def test_a_daemon_answers_line_by_line_and_stops(env, model):
    model.reply("First")
    model.reply("Second")
    p = subprocess.Popen([QEMU, GANTRY, "run"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    for said, answer in ("one", "First\n"), ("two", "Second\n"):
        p.stdin.write(said + "\n")
        p.stdin.flush()
        assert p.stdout.readline() == answer
    assert "healthy" in run(env, "status").stdout
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 0
    p.stdout.close()
    p.stdin.close()
    assert "no daemon" in run(env, "status", code=1).stderr


def test_file_tools_refuse_at_the_start(env, tmp_path):
    more = {**env, "TOOLS": "fs", "GANTRY_TOOLS_FILESYSTEM_ROOTS": str(tmp_path)}
    assert "openat2" in run(more, "prompt", "go", code=1).stderr


def test_commands_refuse_where_the_sandbox_is_required(env, model, tmp_path):
    (tmp_path / "work").mkdir()
    more = {**env, "TOOLS": "exec", "GANTRY_AGENT_WORKSPACE": str(tmp_path / "work"), "GANTRY_TOOLS_EXEC_MODE": "off",
            "GANTRY_TOOLS_EXEC_SANDBOX_REQUIRE": "true"}
    model.reply(calls=[call("exec", command="echo ran >ran")])
    model.reply("Done.")
    assert run(more, "prompt", "go").stdout == "Done.\n"
    assert 'there is no tool "exec"' in model.last.results[-1]
    assert not (tmp_path / "work" / "ran").exists()
