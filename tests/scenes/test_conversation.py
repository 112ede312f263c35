"""A person writes, the model answers: what a conversation through pipes promises."""

import json

import pytest

from fakes.model import Reply, call
from harness.fixtures import binary
from harness.process import Proc
from harness.watch import Gate


def test_one_line_in_one_answer_out(gantry, model):
    model.reply("Hello, Ada.")
    r = gantry.talk("I am Ada")
    assert r.out == "Hello, Ada.\n"
    assert model.last.user.startswith("I am Ada")


def test_the_end_of_input_waits_for_the_last_answer(gantry, model):
    gate = Gate()
    model.reply("late but here", gate=gate)
    d = gantry.daemon()
    d.send("hi")
    gate.wait_reached()
    d.close_stdin()
    gate.release()
    d.wait(code=0)
    assert d.out.text == "late but here\n"


def test_lines_are_answered_in_order_and_history_grows(gantry, model):
    for n in range(3):
        model.reply("answer %d" % n)
    r = gantry.talk("first", "second", "third")
    assert r.out.splitlines() == ["answer 0", "answer 1", "answer 2"]
    assert [m["content"] for m in model.last.messages if m["role"] == "assistant"] == ["answer 0", "answer 1"]
    assert [x for x in model.last.roles if x != "system"] == ["user", "assistant", "user", "assistant", "user"]


def test_what_was_sent_once_is_sent_again_byte_for_byte(gantry, model):
    for n in range(3):
        model.reply("answer %d" % n)
    gantry.talk("first ünï", "second", "third")
    for before, after in zip(model.requests, model.requests[1:]):
        assert after.messages[:len(before.messages)] == before.messages
        assert after.body.get("tools") == before.body.get("tools")


def test_the_conversation_goes_on_after_a_restart(gantry, model):
    model.reply("noted")
    gantry.talk("my cat is Mia")
    model.reply("Mia")
    r = gantry.talk("what is my cat called?")
    assert r.out == "Mia\n"
    assert [m["content"] for m in model.last.messages if m["role"] == "assistant"] == ["noted"]


def test_the_persona_is_the_system_message(gantry, model):
    (gantry.persona / "SOUL.md").write_text("Speak like a sailor.\n", encoding="utf-8")
    model.reply("Ahoy")
    gantry.talk("hi")
    assert model.last.roles[0] == "system"
    assert "You are a test persona." in model.last.system and "Speak like a sailor." in model.last.system


def test_a_missing_persona_folder_is_no_error(gantry, model):
    model.reply("hello")
    assert gantry.talk("hi", PERSONA_DIR=str(gantry.dir / "absent")).out == "hello\n"


def test_blank_lines_are_no_messages(gantry, model):
    model.reply("pong")
    assert gantry.talk("", "   ", "ping", "").out == "pong\n"
    assert len(model.requests) == 1


@pytest.mark.parametrize("text", ["那个 🙂 ünïcode \\ \" </b> \u2028 end", "tab\there", "x" * 200_000,
                                  "\u202eright to left", "a\x07bell \x1b[31mred"])
def test_any_text_reaches_the_model_and_comes_back_whole(gantry, model, text):
    model.answer(lambda r: Reply("got it"))
    gantry.talk(text)
    assert text[:100_000] in model.last.user.replace("\\u2028", "\u2028") or text.strip() in model.last.user


@pytest.mark.parametrize("raw", [b"bad \xff\xfe bytes\n", b"nul \x00 in it\n", b"half \xe9\x82\n",
                                 b"surrogate \xed\xa0\x80 in utf-8\n", b"crlf line\r\n"])
def test_bad_bytes_never_make_an_invalid_request(gantry, model, raw):
    model.reply("fine")
    r = gantry.run("run", input=raw)
    assert r.out == "fine\n"
    assert "\r" not in model.last.user.splitlines()[0] + "."


def test_an_answer_of_several_lines_is_printed_whole(gantry, model):
    model.reply("# Title\n\n- one\n- two\n\n```c\nint x;\n```")
    assert gantry.talk("hi").out == "# Title\n\n- one\n- two\n\n```c\nint x;\n```\n"


def test_stdout_is_the_answer_and_nothing_else(gantry, model):
    model.reply("only this")
    r = gantry.talk("hi", LOG_LEVEL="debug")
    assert r.out == "only this\n"
    rows = gantry.log_lines()
    assert rows and all({"time", "level", "msg"} <= set(row) for row in rows)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_streaming_is_asked_for_as_configured(gantry, model, stream):
    model.reply("one two three four")
    r = gantry.talk("hi", STREAM_REPLIES=stream)
    assert model.last.stream == (stream == "true")
    assert r.out.replace("\r", "") == "one two three four\n"


def test_a_streamed_answer_appears_while_it_is_made(gantry, model):
    gate = Gate()
    model.reply(deltas=["early ", "words ", "then late"], gate=gate, gate_at=600)
    d = gantry.daemon(STREAM_REPLIES="true")
    d.send("hi")
    gate.wait_reached()
    d.out.wait("early")
    gate.release()
    d.finish()
    assert d.out.text == "early words then late\n"


@pytest.mark.parametrize("text", ["NO_REPLY", "[silent]", "[silent]\nall clear"])
def test_silence_prints_nothing(gantry, model, text):
    model.reply(text)
    model.reply("spoken")
    r = gantry.talk("anything new?", "and now?")
    assert r.out.strip() == "spoken"


def test_a_truncated_answer_says_so_to_the_user_not_to_the_history(gantry, model):
    model.reply("the first half", finish="length")
    model.reply("next")
    r = gantry.talk("long please", "go on")
    first = r.out.split("next")[0]
    assert first.startswith("the first half") and len(first.strip()) > len("the first half")
    assert "the first half" in [m["content"] for m in model.last.messages]


def test_a_refusal_is_the_answer(gantry, model):
    model.reply(refusal="I will not do that.")
    assert gantry.talk("bad thing").out == "I will not do that.\n"


def test_usage_is_stored_with_cached_tokens(gantry, model):
    model.reply("x", usage={"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234,
                            "prompt_tokens_details": {"cached_tokens": 1024}})
    gantry.talk("hi")
    (row,) = gantry.sql("select prompt_tokens, completion_tokens, cached_tokens from model_calls")
    assert tuple(row) == (1200, 34, 1024)


@pytest.mark.parametrize("tokens", [2 ** 63 - 1, 2 ** 63, 2 ** 31, -1, "many", 1.5])
def test_a_usage_that_no_request_can_have_is_not_believed(gantry, model, tokens):
    model.reply("one", usage={"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 1})
    model.reply("two", usage={"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 1000})
    gantry.talk("hi")
    assert gantry.talk("and now?").out == "two\n"
    rows = gantry.sql("select prompt_tokens, completion_tokens, cached_tokens from model_calls order by id")
    assert [tuple(r) for r in rows] == [(None, None, None), (10, 5, 10)]


# Slash commands --------------------------------------------------------------------------------


def test_new_forgets_the_conversation(gantry, model):
    model.reply("noted")
    model.reply("I do not know")
    d = gantry.daemon()
    d.send("the word is tulip")
    d.out.wait("noted\n")
    d.send("/new")
    d.out.wait("reset")
    d.send("what is the word?")
    d.out.wait("I do not know\n")
    d.finish()
    assert "tulip" not in model.last.raw.decode()


def test_a_slash_command_with_more_words_goes_to_the_model(gantry, model):
    model.reply("a new what?")
    assert gantry.talk("/new please").out == "a new what?\n"
    assert model.last.user.startswith("/new please")


def test_an_unknown_slash_command_goes_to_the_model(gantry, model):
    model.reply("never heard of it")
    assert gantry.talk("/frobnicate").out == "never heard of it\n"


def test_read_only_commands_answer_without_the_model(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "add"])
    model.reply("hello", usage={"prompt_tokens": 77, "completion_tokens": 5, "total_tokens": 82})
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("hello")
    d.send("/status")
    for word in ("uptime", "test-model", "history", "tools", "srv"):
        d.out.wait(word, from_start=True)
    d.send("/tools")
    d.out.wait("srv__add(.|\n)*srv__echo")
    d.send("/help")
    for word in ("/help", "/new", "/status", "/tools", "/stop", "/perf"):
        d.out.wait(word, from_start=True)
    d.send("/perf")
    d.out.wait(r"rounds?|tools|tok", from_start=True)
    d.finish()
    assert len(model.requests) == 1


def test_commands_answer_while_a_turn_is_running(gantry, model):
    gate = Gate()
    model.reply("finally", gate=gate)
    d = gantry.daemon()
    d.send("a long question")
    gate.wait_reached()
    d.send("/status")
    d.out.wait("test-model")
    gate.release()
    d.out.wait("finally")
    d.finish()


# gantry prompt -----------------------------------------------------------------------------------


def test_prompt_prints_one_answer(gantry, model):
    model.reply("four")
    r = gantry.run("prompt", "two and two?")
    assert r.out == "four\n"


def test_prompt_reads_stdin(gantry, model):
    model.reply("read")
    assert gantry.run("prompt", "-", input="a question\nover two lines\n").out == "read\n"
    assert "a question\nover two lines" in model.last.user


def test_prompt_json_has_answer_and_session(gantry, model):
    model.reply("four")
    first = json.loads(gantry.run("prompt", "two and two?", "--json").out)
    assert "four" in first.values()
    session = next(v for k, v in first.items() if "session" in k)
    model.reply("five")
    gantry.run("prompt", "plus one?", "--session", session)
    assert [m["content"] for m in model.last.messages if m["role"] == "assistant"] == ["four"]
    model.reply("what?")
    gantry.run("prompt", "plus one?", "--new")
    assert "assistant" not in model.last.roles


def test_prompt_works_beside_a_running_daemon(gantry, model):
    model.answer(lambda r: "daemon" if "daemon" in r.user else "prompt")
    d = gantry.daemon()
    d.send("for the daemon")
    d.out.wait("daemon")
    assert gantry.run("prompt", "just this").out == "prompt\n"
    d.send("daemon again")
    d.out.wait("daemon")
    d.finish()


def test_prompt_failing_exits_1_and_says_why(gantry, model):
    model.reply(status=401, body={"error": {"message": "bad key", "type": "invalid_request_error"}})
    r = gantry.run("prompt", "hi", code=1)
    assert "bad key" in r.err + r.out


def test_sessions_can_be_listed_shown_exported_and_removed(gantry, model):
    model.reply("noted the tulip")
    session = json.loads(gantry.run("prompt", "remember tulip", "--json").out)
    sid = next(v for k, v in session.items() if "session" in k)
    assert sid in gantry.run("sessions", "list").out
    shown = gantry.run("sessions", "show", sid).out
    assert "remember tulip" in shown and "noted the tulip" in shown
    assert "noted the tulip" in gantry.run("sessions", "export", sid).out
    gantry.run("sessions", "rm", sid)
    assert sid not in gantry.run("sessions", "list").out
    assert gantry.run("sessions", "show", sid, code=1).err


def test_a_tool_turn_through_prompt(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.reply(calls=[call("srv__echo", text="ping")])
    model.reply("it said ping")
    assert gantry.run("prompt", "use the tool").out == "it said ping\n"
    assert mcp.calls() == [("echo", {"text": "ping"})]


@pytest.mark.parametrize("out", ["/dev/full", "left", "closed"])
def test_output_that_takes_nothing_ends_in_one_line_and_the_answer_waits(gantry, model, out):
    """The next start prints what could not be printed."""
    model.reply("the answer")
    script = {"/dev/full": "exec \"$0\" run >/dev/full", "left": "exec \"$0\" run | true",
              "closed": "exec \"$0\" run >&-"}[out]
    p = Proc(["/bin/bash", "-c", "set -o pipefail; " + script, binary()], gantry.env(), str(gantry.dir))
    gantry.procs.append(p)
    p.send("hi")
    p.wait(30, 1)
    lines = [line for line in p.err.text.splitlines() if line.startswith("gantry: standard output: ")]
    assert len(lines) == 1 and "kept for the next start" in lines[0]
    r = gantry.run("run")
    assert r.out == "the answer\n"
    assert len(model.requests) == 1


def test_a_history_in_japanese_stays_within_the_budget(gantry, model):
    """Four characters are not one token there: about one is."""
    text = "このメッセージは日本語で書かれています" * 21
    model.answer(lambda r: text[:400])
    gantry.talk(*["%d %s" % (n, text[:390]) for n in range(100)], HISTORY_MAX_TOKENS="32000",
                HISTORY_MAX_MESSAGES="200", seconds=120)
    sizes = [sum(0.75 if c > "\u3000" else 0.25 for c in json.dumps(r.body, ensure_ascii=False))
             for r in model.requests]
    assert len(sizes) >= 100 and sum(sizes) > 32000
    assert max(sizes) < 32000
    assert max(sizes) > 12000       # it is used, too
