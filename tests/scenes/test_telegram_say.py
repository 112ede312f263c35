"""Saying it: formatting, splitting, streaming edits, and every way in which a send can fail."""

import re

import pytest

from fakes.model import Reply
from fakes.telegram import ALLOWED
from harness.telegram_check import utf16
from harness.watch import Gate, wait_files, wait_until

pytestmark = pytest.mark.concurrency


def long_text(pieces, seed="w"):
    """Paragraphs that need several messages; every word is unlike all others."""
    return "\n\n".join(" ".join("%s%d.%d" % (seed, p, n) for n in range(90)) for p in range(pieces * 5)) + "\n\nthe end"


def words(texts):
    return re.findall(r"\S+", " ".join(texts))


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_long_answer_comes_whole_and_in_order(bot, model, stream):
    text = long_text(3)
    model.reply(text)
    bot.run(STREAM_REPLIES=stream)
    bot.say("go")
    bot.wait_text("the end$", seconds=40)
    bot.board.wait(lambda: words(bot.seen()) == words([text]), "the whole answer once", None, bot.view)
    assert len(bot.seen()) >= 2 and all(utf16(t) <= 4096 for t in bot.seen())


@pytest.mark.parametrize("text", ["a" * 4096, "a" * 4097, "\U0001f600" * 4097, "&" * 3000, "<" * 5000,
                                  "é" * 9000, "\U0001f1e9\U0001f1ea" * 2000, "x" * 9000])
def test_nothing_is_lost_or_doubled_at_the_limit(bot, model, text):
    model.reply(text)
    bot.run()
    bot.say("go")
    bot.board.wait(lambda: "".join(bot.seen()) == text, "all of the text", None,
                   lambda: str([(len(t), t[:20]) for t in bot.seen()]))
    assert not [t for t in bot.seen() if "\ufffd" in t]


def test_fences_are_closed_and_opened_again(bot, model):
    code = "\n".join("line %d of the program;" % n for n in range(400))
    model.reply("Look:\n\n```c\n%s\n```\n\nthat was it" % code)
    bot.run()
    bot.say("go")
    bot.wait_text("that was it")
    ours = bot.messages()
    assert len(ours) >= 3
    langs = [e.get("language") for m in ours for e in m.entities if e["type"] == "code"]
    assert len(langs) >= 2 and set(langs) == {"c"}
    assert [t for m in ours for t in re.findall(r"line \d+ of", m.text)] == ["line %d of" % n for n in range(400)]


@pytest.mark.parametrize("source, text, kinds", [
    ("**From:** Pat Doe <pat@example.com> & co </b> #include <iostream> &lt;", None, ["bold"]),
    ("**see [docs](https://ex.com/a_b_c/d_(e)_f?x=1&y=2) now** MAX_RETRY_COUNT user_id_field 2 * 3 * 4",
     "see docs now MAX_RETRY_COUNT user_id_field 2 * 3 * 4", ["text_link", "bold"]),
    ("````markdown\n```python\nx=1\n```\n````\n", "```python\nx=1\n```", ["code", "pre"]),
    ('```c"><b>x\nint a;\n', "int a;", ["pre"]),
    ("[x](javascript:alert(1)) and <script>alert(1)</script>", None, []),
    ("# Title\n\n- [x] done\n- [ ] open\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", None, None),
])
def test_markdown_becomes_valid_html(bot, model, source, text, kinds):
    model.reply(source)
    bot.run()
    bot.say("go")
    m = bot.wait_seen(1)[0]
    if text:
        assert m.text == text
    if kinds is not None:
        assert [k for k in m.kinds() if k != "code" or kinds.count("code")] == kinds, m.entities


def test_a_refused_markup_falls_back_to_the_source_for_that_piece_alone(bot, model):
    text = long_text(2, "**b**")
    model.reply(text)
    bot.fail("sendMessage", error=(400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 7"))
    bot.run()
    bot.say("go")
    bot.wait_text("the end$")
    first, *rest = bot.messages()
    assert "**b**0.0" in first.text and first.entities == [] and "bold" in rest[0].kinds()
    sends = bot.of("sendMessage")
    assert "parse_mode" in sends[0].params and "parse_mode" not in sends[1].params and "parse_mode" in sends[2].params


def test_another_refusal_does_not_fall_back(bot, model):
    model.reply("**words**")
    model.reply("next")
    bot.fail("sendMessage", error=(400, "Bad Request: something else"))
    bot.run()
    bot.say("go")
    bot.wait_calls("sendMessage")
    bot.say("and")
    bot.wait_text("next")
    assert not [c for c in bot.of("sendMessage") if "words" in c.text and "parse_mode" not in c.params]
    assert len([c for c in bot.of("sendMessage") if "words" in c.text]) == 1


# Streaming -------------------------------------------------------------------------------------

def test_the_answer_grows_by_edits_at_most_one_a_second(bot, model):
    gates = [Gate(), Gate()]
    model.reply("one two three four five six seven", gate=gates[0], gate_at="end", chunk=200)
    bot.run(STREAM_REPLIES="true")
    bot.say("go")
    gates[0].wait_reached()
    live = bot.wait_text("one")
    bot.board.wait(lambda: live.text.endswith("six seven") or "six" in live.text, "the whole text before its end",
                   None, bot.view)
    gates[0].release()
    bot.board.wait(lambda: bot.seen() == ["one two three four five six seven"], "the answer", None, bot.view)
    times = [c.arrived for c in bot.of("editMessageText", "sendMessage")]
    live_times = times[:-1]
    assert all(b - a > 0.9 for a, b in zip(live_times, live_times[1:])), times
    assert bot.messages() == [live]


def test_failing_edits_neither_fail_nor_double_the_answer(bot, model):
    gate = Gate()
    model.reply("one two three " * 30 + "end", gate=gate, gate_at="end", chunk=300, pause=0.1)
    bot.run(STREAM_REPLIES="true")
    bot.fail("editMessageText", error=(400, "Bad Request: message is not modified: specified new message content and "
                                            "reply markup are exactly the same as a current content"))
    bot.fail("editMessageText", http=502, times=1)
    bot.say("go")
    gate.wait_reached()
    bot.wait_calls("editMessageText", 2, test=lambda c: c.fault)
    gate.release()
    bot.wait_text("end$", seconds=40)
    assert " ".join(bot.seen()).count("end") == 1 and len(bot.messages()) == 1


def test_a_flooded_live_message_slows_only_its_chat(bot, gantry, model):
    gate = Gate()
    gantry.set(TELEGRAM_ALLOWED_USERS="111,222")
    bot.user(222)
    model.reply("one two three", gate=gate, gate_at="end")
    model.reply("other chat")
    bot.fail("sendMessage", ALLOWED, flood=3)
    bot.run(STREAM_REPLIES="true")
    bot.say("go")
    gate.wait_reached()
    bot.board.wait(lambda: [c for c in bot.of("sendMessage") if c.description], "the flood")
    bot.say("hi", 222, 222)
    bot.wait_text("other chat", 222, seconds=2.5)
    gate.release()
    bot.wait_text("three")
    assert bot.seen() == ["one two three"]


def test_a_stopped_live_answer_says_so(bot, gantry, model):
    gate = Gate()
    model.reply("one two three four", gate=gate, gate_at=700)
    bot.run(STREAM_REPLIES="true")
    bot.say("go")
    live = bot.wait_text("one")
    wait_until(lambda: gantry.sql("select 1 from outbox where live_id <> ''"), "its number in a row")
    bot.say("/stop")
    bot.board.wait(lambda: "stopped" in live.text, "the live message to close", None, bot.view)
    bot.wait_text("(?i)stopping")


def test_a_crash_while_streaming_ends_in_one_answer(bot, gantry, model):
    gate = Gate()
    model.reply("one two three four", gate=gate, gate_at=700)
    model.reply("the real answer")
    d = bot.run(STREAM_REPLIES="true")
    bot.say("go")
    live = bot.wait_text("one")
    # A death before its number is kept leaves it standing: nobody knows of it.
    wait_files(gantry.data, lambda: gantry.sql("select 1 from outbox where state = 'reserved'"), "the reserved answer")
    d.kill()
    d.wait(20)
    gate.release()
    bot.run(STREAM_REPLIES="true")
    bot.wait_text("the real answer")
    bot.board.wait(lambda: bot.seen() == ["the real answer"], "one message", None, bot.view)
    assert bot.messages() == [live]


@pytest.mark.parametrize("announce", [True, False], ids=["announced", "found out"])
def test_a_group_that_moves_while_an_answer_is_streamed_gets_it_whole_and_once(bot, model, announce):
    old = bot.group()
    bot.configure("agent: {model: test-model, persona_dir: %s, tool_trace: \"off\", stream_replies: true}" %
                  bot.gantry.persona, telegram='allow_from: [111]\ngroups: {"*": {require_mention: false}}', agent=False)
    gate = Gate()
    model.reply("one two three four", gate=gate, gate_at=700)
    model.answer(lambda r: Reply("here"))
    bot.run()
    bot.say("go", old)
    bot.wait_text("one", old)
    new = bot.migrate(old, -1001999999999, announce=announce)
    gate.release()
    bot.wait_text("^one two three four$", new)
    assert bot.seen(new) == ["one two three four"]
    bot.say("and now?", new)
    bot.wait_text("here", new)
    assert "one two three four" in str(model.last.messages)


# Failing sends ---------------------------------------------------------------------------------

def test_a_short_flood_wait_is_honoured_and_keeps_the_format(bot, gantry, model):
    model.answer(lambda r: Reply("**end** " + r.user.split("\n")[0]))
    gantry.set(TELEGRAM_ALLOWED_USERS="111,222")
    bot.user(222)
    bot.fail("sendMessage", ALLOWED, flood=2)
    bot.run()
    bot.say("slow")
    bot.board.wait(lambda: bot.of("sendMessage", chat=ALLOWED), "the flood")
    bot.say("quick", 222, 222)
    bot.wait_text("end quick", 222)
    m = bot.wait_text("end slow")
    sends, (quick,) = bot.of("sendMessage", chat=ALLOWED), bot.of("sendMessage", chat=222)
    assert m.kinds() == ["bold"] and len(sends) == 2 and sends[1].arrived - sends[0].arrived >= 2
    assert quick.arrived < sends[1].arrived


def test_a_flood_wait_holds_beyond_a_death_also_for_what_is_only_shown(bot, gantry, model):
    gate = Gate()
    model.reply("two", gate=gate)
    bot.fail("sendMessage", ALLOWED, flood=3)
    p = bot.run()
    bot.say("/help")
    wait_until(lambda: gantry.sql("select 1 from outbox_waits"), "the wait as a row")
    p.kill()
    p.wait()
    bot.run()
    bot.say("second")
    bot.wait_calls("sendChatAction")
    gate.release()
    bot.wait_text("^two$")
    flood, typed = bot.of("sendMessage")[0], bot.of("sendChatAction")[0]
    assert typed.arrived - flood.arrived >= 3


def test_a_flood_wait_of_an_edit_holds_beyond_a_death(bot, gantry, model):
    gate = Gate()
    model.reply(deltas=["one"] + [" more"] * 50, chunk=400, pause=0.1)
    model.reply("two", gate=gate)
    bot.fail("editMessageText", ALLOWED, flood=3)
    p = bot.run(STREAM_REPLIES="true")
    bot.say("go")
    wait_until(lambda: gantry.sql("select 1 from outbox_waits"), "the wait as a row")
    p.kill()
    p.wait()
    flood = bot.of("editMessageText")[0]
    bot.run(STREAM_REPLIES="true")
    gate.release()
    bot.wait_text("^two$")
    later = [c for c in bot.of("editMessageText", "sendMessage", "sendChatAction") if c.arrived > flood.departed]
    assert later and min(c.arrived for c in later) - flood.arrived >= 3


def test_a_storm_of_floods_over_many_chats_is_not_hammered(bot, gantry, model):
    """No answer says that a 429 is meant for the whole bot; that many chats get one does."""
    chats = range(1001, 1041)
    gantry.set(TELEGRAM_ALLOWED_USERS=",".join(map(str, chats)))
    for c in chats:
        bot.user(c)
    model.answer(lambda r: Reply("re " + r.user.split("\n")[0]))
    storm = bot.fail("sendMessage", flood=1, times=None)
    bot.run()
    for c in chats:
        bot.say("m%d" % c, c, c)
    # Some are on their way before the first refusals are read; then all wait for a second, and so on.
    sends = [bot.wait_calls("sendMessage", n, 30) for n in range(1, 14)]
    assert sends[12].arrived - sends[0].arrived >= 0.9, [c.arrived - sends[0].arrived for c in sends]
    bot.heal()
    for c in chats:
        bot.wait_text("re m%d" % c, c, seconds=40)
        assert bot.seen(c) == ["re m%d" % c]
    assert storm.hits <= 20


def test_a_flood_wait_of_hours_fails_at_once_and_blocks_nobody(bot, model):
    model.reply("first")
    model.reply("second")
    bot.fail("sendMessage", flood=13938)
    bot.run()
    bot.say("one")
    bot.board.wait(lambda: bot.of("sendMessage"), "the flood")
    bot.chats[ALLOWED].quiet_until = 0
    bot.say("two")
    bot.wait_text("second", seconds=10)
    assert len([c for c in bot.of("sendMessage") if c.text == "first"]) == 1


@pytest.mark.parametrize("times, seen", [(1, ["answer", "next"]), (2, ["next"])])
def test_a_5xx_is_tried_once_more_after_a_second(bot, model, times, seen):
    model.reply("answer")
    model.reply("next")
    bot.fail("sendMessage", http=502, times=times)
    bot.run()
    bot.say("go")
    bot.wait_calls("sendMessage", 2)
    sends = bot.of("sendMessage")
    assert sends[1].arrived - sends[0].departed >= 0.9
    bot.say("again")
    bot.wait_text("next")
    assert [t for t in bot.seen() if t in ("answer", "next")] == seen


@pytest.mark.parametrize("how", [dict(reset=True, done=True), dict(cut=20), dict(reset=True),
                                 dict(http=200, body=b"<html>ok</html>")])
def test_an_ambiguous_send_is_not_repeated_but_told_and_can_be_sent_again(bot, gantry, model, how):
    model.reply("**maybe**")
    model.reply("next")
    bot.fail("sendMessage", **how)
    bot.run()
    bot.say("go")
    bot.wait_calls("sendMessage")
    wait_files(gantry.data, lambda: gantry.sql("select 1 from pieces where state = 'unknown'"), "an unknown piece")
    bot.say("again")
    m = bot.wait_text("next")
    assert len([c for c in bot.of("sendMessage") if "maybe" in c.text]) == 1
    assert re.search("(?i)/resend", m.text)
    bot.say("/resend")
    again = bot.wait_text("^maybe$", n=2 if how.get("done") or "cut" in how else 1)
    assert again.kinds() == ["bold"]
    bot.say("/resend")
    bot.wait_text("(?i)nothing")


def test_a_failed_part_leaves_a_notice_that_the_answer_is_incomplete(bot, model):
    model.reply(long_text(3))
    bot.fail("sendMessage", error=(400, "Bad Request: something new"), skip=1)
    bot.run()
    bot.say("go")
    bot.wait_text("(?i)incomplete")
    assert len([t for t in bot.seen() if re.search("(?i)incomplete", t)]) == 1


def test_a_vanished_message_to_reply_to_loses_nothing(bot, model):
    model.reply("answer")
    bot.fail("sendMessage", error=(400, "Bad Request: message to be replied not found"))
    bot.run()
    bot.say("go")
    bot.wait_text("answer")


def test_a_server_away_for_a_while_gets_the_answer_later(bot, model):
    gate = Gate()
    model.reply("kept", gate=gate)
    d = bot.run()
    bot.say("go")
    gate.wait_reached()
    port = bot.port
    bot.stop()
    gate.release()
    d.err.wait("(?i)connect|unreach|refused")
    bot.open_again(port)
    bot.wait_text("kept", seconds=60)
    assert bot.seen() == ["kept"]
