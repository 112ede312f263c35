"""A world that means no good, or is only sloppy: what is wrong is said at once, in one line."""


import pytest

from harness.fixtures import FAKES, PYTHON


def liar(mcp, how, method="tools/call", **keys):
    mcp.command("liar", PYTHON, ["-S", "-E", str(FAKES / "mcp_liar.py"), how, method], **keys)


# Servers whose answers are not as they should be -------------------------------------------------


@pytest.mark.parametrize("how, said", [
    ("neither", "tool error: the server gave no reason"),
    ("text error", r"tool error: out of \x1b[31mpaper"),
    ("deep", "tool error: the answer was nested too deeply and was dropped"),
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
