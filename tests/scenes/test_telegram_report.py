"""TELEGRAM_ERROR_REPORTING: what goes wrong is told to the owner, not too often, and not when it is about telling."""

import pytest

from fakes.telegram import ALLOWED


def broken(gantry, mcp, *names):
    for name in names:
        mcp.command(name, str(gantry.dir / "no-such-program"))


@pytest.mark.parametrize("level, told", [("warn", True), ("error", False), ("off", False), (None, False)])
def test_lines_of_the_level_are_told_to_the_owner(bot, gantry, model, mcp, level, told):
    broken(gantry, mcp, "gone")
    model.reply("hello")
    bot.configure(telegram="allow_from: [%d, 222]\n%s" % (ALLOWED, "error_reporting: %s" % level if level else ""))
    bot.user(222)
    p = bot.run()
    if told:
        report = bot.wait_text("From my log")
        assert "WARN mcp" in report.text and "gone" in report.text and report.text.startswith("\u26a0")
    p.err.wait("mcp.*gone")
    bot.say("hi")
    bot.wait_text("^hello$")
    assert [m.text for m in bot.messages() if "my log" in (m.text or "")] == ([report.text] if told else [])
    assert not bot.messages(222)


def trouble(bot, model, n):
    """A turn that fails, which is a warning."""
    model.reply(status=400, body={"error": {"message": "number %d" % n}})
    bot.say("go")


def reports(bot):
    return [m.text for m in bot.messages() if m.text and "my log" in m.text]


def test_one_message_a_minute_is_the_most(bot, gantry, model):
    bot.configure(telegram="allow_from: [%d]\nerror_reporting: warn" % ALLOWED)
    p = bot.run_clocked()
    trouble(bot, model, 1)
    p.err.wait("turn.failed.*number 1")
    bot.step(2)
    bot.wait_text("From my log")
    for n in (2, 3, 4):
        bot.step(9)
        trouble(bot, model, n)
        p.err.wait("turn.failed.*number %d" % n)
    bot.step(9)
    model.reply("alive")
    bot.say("and")
    bot.wait_text("^alive$")
    assert len(reports(bot)) == 1 and "number 1" in reports(bot)[0]
    bot.step(30)
    bot.wait_text("From my log", n=2)
    assert [n for n in range(9) if "number %d" % n in reports(bot)[1]] == [2, 3, 4]


def test_what_cannot_be_told_is_not_told_of(bot, gantry, model):
    bot.configure(telegram="allow_from: [%d]\nerror_reporting: warn" % ALLOWED)
    bot.tolerate.append("new")
    bot.fail("sendMessage", error=(400, "Bad Request: something new"), match="From my log", times=1)
    p = bot.run_clocked()
    trouble(bot, model, 1)
    p.err.wait("turn.failed.*number 1")
    bot.step(2)
    p.err.wait("telegram.notice")
    bot.step(30)
    trouble(bot, model, 2)
    p.err.wait("turn.failed.*number 2")
    bot.step(35)
    bot.wait_text("From my log")
    (report,) = reports(bot)
    assert "telegram.notice" not in report and "number 2" in report
