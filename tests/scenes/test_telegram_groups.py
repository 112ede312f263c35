"""Groups, topics and moves: who is heard, where the answer goes."""

import re

import pytest

from fakes.model import Reply
from fakes.telegram import ALLOWED, NAME, STRANGER, person

pytestmark = pytest.mark.concurrency

GROUP = -1001132277055
MENTION = [{"type": "mention", "offset": 3, "length": 9}]


def spoken(model):
    return [r.user.split("\n")[0] for r in model.requests]


@pytest.fixture
def echo(model):
    model.answer(lambda r: Reply("heard: " + r.user.split("\n")[0]))
    return model


def test_a_group_is_heard_when_the_bot_is_meant(bot, echo):
    bot.configure(telegram="allow_from: [%d]" % ALLOWED)
    bot.group(GROUP)
    bot.run()
    bot.say("to nobody", GROUP)
    bot.say("hi @%s" % NAME.upper(), GROUP)
    first = bot.wait_text("heard: hi", GROUP)
    bot.say("@test_bot stripped", GROUP)
    bot.wait_text("heard: stripped$", GROUP)
    bot.say("a reply", GROUP, reply_to=first)
    bot.wait_text("heard", GROUP, n=3)
    bot.say("/whoami@other_bot", GROUP)
    bot.say("@test_bot_helper hi", GROUP)
    bot.say("/status", GROUP)
    bot.say("\U0001f44b @test_bot", GROUP, entities=MENTION)
    bot.wait_text("heard: \U0001f44b", GROUP)
    bot.say("out of range", GROUP, entities=[{"type": "mention", "offset": 0, "length": 100}])
    bot.say("@test_bot stranger", GROUP, user=STRANGER)
    bot.photo(caption="what is this @Test_Bot", chat=GROUP)
    bot.board.wait(lambda: len(echo.requests) >= 5, "the photo's turn")
    bot.say("@test_bot last", GROUP)
    bot.wait_text("heard: last", GROUP)
    assert len(bot.seen(GROUP)) == 6 and len(echo.requests) == 6


@pytest.mark.parametrize("sender", [
    {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"},
    {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"},
    {"id": 777000, "is_bot": False, "first_name": "Telegram"}, dict(person(ALLOWED), is_bot=True)])
def test_pseudo_users_are_nobody(bot, echo, sender):
    bot.group(GROUP)
    bot.gantry.set(TELEGRAM_ALLOWED_USERS="111,777000,1087968824,136817688")
    bot.run()
    bot.say("@test_bot hi", GROUP, user=sender)
    bot.say("@test_bot real", GROUP)
    bot.wait_text("real", GROUP)
    assert len(echo.requests) == 1


def test_without_a_file_any_word_of_an_allowed_user_is_heard(bot, echo):
    bot.group(GROUP)
    bot.run()
    bot.say("no mention at all", GROUP)
    bot.wait_text("heard: no mention", GROUP)
    bot.say("stranger", GROUP, user=STRANGER)
    bot.say("for another /new@other_bot", GROUP)
    bot.say("again", GROUP)
    bot.wait_text("heard: again", GROUP)
    assert "stranger" not in "".join(spoken(echo))


def test_group_lists_of_their_own(bot, echo):
    other = -1009
    bot.configure(telegram="""allow_from: [111]
groups:
  "%d": {require_mention: false, allow_from: [222]}
  "*": {}""" % GROUP)
    bot.group(GROUP), bot.group(other), bot.user(222)
    bot.run()
    bot.say("not on its list", GROUP)
    bot.say("on its list", GROUP, user=222)
    bot.wait_text("heard: on its list", GROUP)
    bot.say("222 in a private chat", 222, user=222)
    bot.say("no mention", other)
    bot.say("@test_bot inherited", other)
    bot.wait_text("heard: inherited", other)
    assert len(echo.requests) == 2


def test_ids_are_exact_to_the_last_digit(bot, echo):
    big, near = 4503599627370497, 4503599627370496
    bot.gantry.set(TELEGRAM_ALLOWED_USERS=str(big))
    bot.user(big), bot.user(near)
    bot.run()
    bot.say("near", near, user=near)
    bot.say("exact", big, user=big)
    bot.wait_text("heard: exact", big)
    assert len(echo.requests) == 1


def test_a_start_without_anyone_allowed_is_refused(bot, gantry):
    bot.configure(telegram="allow_from: []")
    p = gantry.start("run", *bot.args)
    p.wait(20, code=1)
    assert "allow_from" in p.err.text


def test_sessions_of_a_group_and_of_each_topic_are_apart(bot, echo):
    f = bot.forum(42, 43)
    bot.run()
    bot.say("one", f, thread=42)
    bot.wait_text("heard: one", f, 42)
    bot.say("two", f, thread=43)
    bot.wait_text("heard: two", f, 43)
    bot.say("three", f, thread=42)
    bot.wait_text("heard: three", f, 42)
    users = [[m["content"] for m in r.messages if m["role"] == "user"] for r in echo.requests]
    assert [len(u) for u in users] == [1, 1, 2]
    assert all(c.params.get("message_thread_id") in (42, 43) for c in bot.of("sendMessage", "sendChatAction"))


@pytest.mark.parametrize("extra", [
    {"message_thread_id": 1}, {"message_thread_id": 4711}])
def test_a_thread_that_is_no_topic_is_not_named(bot, echo, extra):
    f = bot.forum(42)
    bot.run()
    bot.say("general", f, **extra)
    bot.wait_text("heard: general", f)
    assert not [c for c in bot.of("sendMessage", "sendChatAction") if "message_thread_id" in c.params]


def test_a_deleted_topic_answers_in_the_group(bot, echo):
    f = bot.forum(42)
    bot.tolerate.append("message thread not found")
    bot.run()
    bot.say("soon gone", f, thread=42)
    bot.chats[f].topics.clear()
    bot.wait_text("heard: soon gone", f)
    assert bot.seen() == []


@pytest.mark.parametrize("announce", [False, True])
def test_a_group_that_moved_is_followed_and_stays_followed(bot, echo, gantry, announce):
    old, new = bot.group(-77, "group"), -1001557912345
    d = bot.run()
    bot.say("before", old)
    bot.wait_text("heard: before", old)
    hits = len(bot.of("sendMessage", chat=old))
    if announce:
        bot.migrate(old, new)
        bot.say("after", new)
    else:
        bot.say("after", old)
        bot.migrate(old, new, announce=False)
    bot.wait_text("heard: after", new)
    assert len(bot.of("sendMessage", chat=old)) - hits <= (0 if announce else 1)
    bot.stop_gantry(d)
    bot.run()
    bot.say("restarted", new)
    bot.wait_text("heard: restarted", new)
    said = [m["content"] for m in echo.last.messages if m["role"] == "user"]
    assert len(said) == 3 and re.search("before", said[0]), said
