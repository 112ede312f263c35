"""A world that means no good, or is only sloppy: what is wrong is said at once, in one line."""

import os
import resource
import signal
import subprocess

import pytest

from harness.fixtures import FAKES, PYTHON, binary


def liar(mcp, how, method="tools/call", **keys):
    mcp.command("liar", PYTHON, ["-S", "-E", str(FAKES / "mcp_liar.py"), how, method], **keys)


# Servers whose answers are not as they should be -------------------------------------------------


@pytest.mark.parametrize("how, said", [
    ("neither", "tool error: the server gave no reason"),
    ("text error", r"tool error: out of \x1b[31mpaper"),
    ("deep", "tool error: the answer was nested too deeply or of too many parts and was dropped"),
])
def test_a_call_whose_answer_is_no_answer_fails_at_once(gantry, mcp, how, said):
    liar(mcp, how)      # the server's limit is ten minutes, the scene's is not
    r = gantry.run("tools", "call", "liar__echo", "{}", code=1, seconds=20)
    assert r.out.strip() == said


@pytest.mark.parametrize("how", ["null error", "null method", "float id"])
def test_a_sloppy_answer_is_understood(gantry, mcp, how):
    liar(mcp, how)
    assert gantry.run("tools", "call", "liar__echo", "{}", seconds=20).out == "ok\n"


def test_a_handshake_that_is_refused_in_plain_text_fails_with_it(gantry, mcp):
    liar(mcp, "text error", "initialize")
    r = gantry.run("tools", "list", code=1, seconds=20)
    assert r"initialize was refused: out of \x1b[31mpaper" in r.err


# Limits of the operating system ------------------------------------------------------------------


def limited(gantry, limit, value, *args, input=b""):
    """Run a command under a resource limit; (code, stdout, stderr)."""
    p = subprocess.run([binary(), *args], env=gantry.env(), cwd=gantry.dir, input=input,
                       capture_output=True, timeout=60, start_new_session=True,
                       preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
    return p.returncode, p.stdout.decode(), p.stderr.decode()


@pytest.mark.parametrize("size", [0, 4096, 100000])
def test_a_limit_on_the_size_of_files_is_an_error_not_a_death(gantry, size):
    code, out, err = limited(gantry, resource.RLIMIT_FSIZE, size, "prompt", "hi")
    assert (code, out) == (1, "")
    assert err.startswith("gantry: ") and err.count("\n") == 1 and "gantry.db" in err


def test_children_do_not_inherit_that_a_file_may_not_grow(gantry, mcp):
    """What we ignore is not ignored for them."""
    shown = gantry.dir / "ignored"
    mcp.command("odd", "/bin/sh", ["-c", "grep SigIgn /proc/self/status >%s" % shown])
    gantry.run("tools", "list", code=1)
    ignored = int(shown.read_text().split()[1], 16)
    assert not ignored & (1 << (signal.SIGXFSZ - 1)) and not ignored & (1 << (signal.SIGPIPE - 1))
    assert os.path.getsize(shown)
