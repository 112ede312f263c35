"""gantry chat: on a terminal, and plain when piped."""

import re
import signal
import termios

import pytest

from fakes.model import call
from harness.fixtures import binary
from harness.process import Proc
from harness.terminal import plain
from harness.watch import Gate


def chat(gantry, *args, **kw):
    t = gantry.terminal("chat", *args, **kw)
    t.see(r">")
    return t


def test_a_conversation_on_a_terminal(gantry, model):
    model.reply("Hello **Ada**, this is `code`.")
    t = chat(gantry)
    t.keys("I am Ada\r")
    t.see("Hello Ada, this is code")
    assert "**" not in t.screen.text
    t.keys("\x04")
    t.wait(20, code=0)


def test_tokens_appear_as_they_come(gantry, model):
    gate = Gate()
    model.reply(deltas=["early ", "words ", "then late"], gate=gate, gate_at=600)
    t = chat(gantry)
    t.keys("go\r")
    gate.wait_reached()
    t.see("early")
    assert "late" not in t.screen.text
    gate.release()
    t.see("early words then late")
    t.keys("\x04")
    t.wait(20, code=0)


def test_a_call_is_traced(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.reply("I look.", calls=[call("srv__echo", text="x")])
    model.reply("It is x.")
    t = chat(gantry)
    t.keys("go\r")
    t.see("It is x")
    assert "srv__echo" in plain(t.out.text)
    t.keys("/quit\r")
    t.wait(20, code=0)


def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(gantry, model):
    gate = Gate()
    model.reply("never", gate=gate)
    model.reply("still here")
    t = chat(gantry)
    t.keys("go\r")
    gate.wait_reached()
    t.keys("\x03")
    model.wait_dropped(model.requests[0])
    t.see(r"(?i)stopp|cancel|interrupt")
    t.keys("again\r")
    t.see(r"still here\n(.*\n)*> *$")
    t.keys("\x03\x03")
    assert t.wait(20) == 130


def test_the_line_can_be_edited(gantry, model):
    model.reply("ok")
    t = chat(gantry)
    t.keys("hallo wrld")
    t.keys("\x1b[D\x1b[D\x1b[Do")               # left three times, insert
    t.keys("\x01\x1b[C\x7fH")                   # to the start, right, backspace, H
    t.see("Hallo world")
    t.keys("\r")
    t.see("^ok|ok")
    model.wait(1)
    assert model.last.user.startswith("Hallo world")
    t.keys("\x04")
    t.wait(20, code=0)


def test_the_last_line_comes_back_with_arrow_up_also_after_a_restart(gantry, model):
    model.reply("one")
    model.reply("two")
    model.reply("three")
    t = chat(gantry)
    t.keys("remember me\r")
    t.see("one")
    t.keys("\x1b[A\r")
    t.see("two")
    assert model.last.user.startswith("remember me")
    t.keys("\x04")
    t.wait(20, code=0)
    t = chat(gantry)
    t.keys("\x1b[A")
    t.see("remember me")
    t.keys("\r")
    t.see("three")
    t.keys("\x04")
    t.wait(20, code=0)


def test_wide_characters_keep_their_places(gantry, model):
    model.reply("ok")
    t = chat(gantry, cols=40)
    t.keys("那个 ü 🙂x")
    t.keys("\x7f\x7f")
    t.see("那个 ü")
    t.keys("!\r")
    model.wait(1)
    assert model.last.user.startswith("那个 ü !")
    t.see("ok")
    t.keys("\x04")
    t.wait(20, code=0)


def test_a_long_line_wraps_and_is_sent_whole(gantry, model):
    model.reply("ok")
    t = chat(gantry, cols=30)
    text = "word " * 40
    t.keys(text)
    t.keys("\r")
    model.wait(1)
    assert " ".join(model.last.user.split()).startswith(text.strip())
    t.keys("\x04")
    t.wait(20, code=0)


@pytest.mark.parametrize("how", ["eof", "quit", "term", "hup"])
def test_the_terminal_is_left_as_it_was(gantry, model, how):
    t = gantry.terminal("chat")
    t.see(">")
    assert termios.tcgetattr(t.slave) != t.mode_before
    if how == "eof":
        t.keys("\x04")
    elif how == "quit":
        t.keys("/quit\r")
    else:
        t.kill(signal.SIGTERM if how == "term" else signal.SIGHUP)
    t.wait(20)
    assert t.mode == t.mode_before


def test_escape_sequences_of_the_model_do_not_reach_the_terminal(gantry, model):
    model.reply("a\x1b]0;owned\x07b\x1b[2Jc\x9b31md")
    t = chat(gantry)
    t.keys("go\r")
    t.see("a.*b.*c")
    assert "\x1b]0;" not in t.out.text and "\x1b[2J" not in t.out.text and "\x9b" not in t.out.text
    t.keys("\x04")
    t.wait(20, code=0)


def test_piped_chat_is_plain(gantry, model):
    model.reply("Hello **Ada**")
    r = gantry.run("chat", input="I am Ada\n")
    assert "\x1b" not in r.out and "\r" not in r.out
    assert "Hello **Ada**" in r.out or "Hello Ada" in r.out


def test_slash_commands_work_in_chat(gantry, model):
    t = chat(gantry)
    t.keys("/help\r")
    t.see("/status")
    t.keys("/status\r")
    t.see("test-model")
    t.keys("\x04")
    t.wait(20, code=0)


def test_asked_for_approval_a_call_waits_for_yes_or_no(gantry, model, mcp):
    mcp.add("srv", tools=["count"])
    config = gantry.dir / "config.yaml"
    config.write_text("""
agent: {model: test-model}
openai: {api_key_env: MY_KEY, base_url: %s}
storage: {dsn: %s}
mcp: {manifest: %s}
policy:
  rules:
    - {tool: "srv__count", action: ask}
""" % (model.url, gantry.db_path, gantry.manifest))
    for answer, ledger in (("n", []), ("y", ["bought"])):
        model.reply(calls=[call("srv__count", label="bought")])
        model.reply("finished")
        t = gantry.terminal("chat", "--config", str(config), MY_KEY=gantry.env()["LLM_API_KEY"])
        t.see(">")
        t.keys("buy it\r")
        t.see("srv__count")
        t.see(r"(?i)\[?y(es)?\b.*n(o)?\b")
        assert mcp.ledger_lines() == []
        t.keys(answer + "\r")
        t.see("finished")
        t.keys("\x04")
        t.wait(20, code=0)
        assert mcp.ledger_lines() == ledger
    assert re.search("(?i)den|refus|no", model.requests[1].results[0])


def test_a_line_that_is_too_long_is_told_and_the_next_one_taken(gantry, model):
    model.reply("fine")
    r = gantry.run("chat", input="x" * 600_000 + "\nhi\n")
    assert r.out == "fine\n"
    assert [line for line in r.err.splitlines() if line.startswith("gantry: ")] and len(model.requests) == 1


@pytest.mark.parametrize("command", ["chat", "prompt -"])
def test_answers_that_cannot_be_written_are_told_of(gantry, model, command):
    model.answer(lambda r: "the answer")
    p = Proc(["/bin/sh", "-c", "exec \"$0\" %s >/dev/full" % command, binary()], gantry.env(), str(gantry.dir))
    gantry.procs.append(p)
    p.send("hi")
    p.close_stdin()
    p.wait(30, 1)
    line, = [line for line in p.err.text.splitlines() if line.startswith("gantry: ")]
    assert "cannot write to standard output" in line
