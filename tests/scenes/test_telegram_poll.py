"""The long poll: nothing lost, nothing twice, whatever the server, the network or a crash does."""

import re

import pytest

from fakes.model import Reply, call
from harness.tls import Front, certificate
from harness.watch import Gate, wait_until

pytestmark = pytest.mark.concurrency


@pytest.fixture
def echo(model):
    model.answer(lambda r: Reply("end " + r.user.split("\n")[0]))
    return model


@pytest.mark.parametrize("how", ["dead", "hang"])
def test_a_poll_gone_silent_is_given_up_and_the_message_is_answered(bot, echo, how):
    bot.fail("getUpdates", skip=2, **{how: True})
    d = bot.run_clocked()
    bot.say("one")
    bot.wait_text("end one")
    silent = bot.wait_calls("getUpdates", 1, test=lambda c: c.fault)
    bot.say("two")
    bot.step(130)
    bot.wait_text("end two")
    assert silent.dropped and d.running()


def test_a_handshake_that_never_ends_is_given_up(bot, echo, tmp_path):
    """The server accepts and stays silent: connecting has a deadline, and the next connection works."""
    cert, key = certificate(tmp_path, "api", "IP:127.0.0.1")
    front = Front(bot.url, cert, key)
    try:
        d = bot.run_clocked(TELEGRAM_API_BASE_URL=front.url, SSL_CERT_FILE=str(cert))
        bot.say("one")
        bot.wait_text("end one")
        front.silent = True
        bot.board.wait(lambda: bot.waiting, "a poll that waits")
        stuck = len(front.arrived)
        bot.step(45)                    # this poll is over; the next one needs a new connection
        wait_until(lambda: len(front.arrived) > stuck, "a connection")
        bot.step(11)
        d.err.wait("no connection within 10000 ms")
        bot.say("two")
        front.silent = False
        bot.step(60)
        bot.wait_text("end two")
        front.silent = True
        wait_until(lambda: bot.waiting, "a poll that waits")
        bot.step(45)
        d.term()                        # nor does the end wait for it
        assert d.wait(5) in (0, 143)
    finally:
        front.close()


def test_sends_go_on_while_a_poll_is_dead(bot, model):
    gate = Gate()
    model.reply("answered", gate=gate)
    bot.run()
    bot.fail("getUpdates", dead=True)
    bot.say("go")
    gate.wait_reached()
    bot.wait_calls("getUpdates", 1, test=lambda c: c.fault)
    gate.release()
    bot.wait_text("answered")


@pytest.mark.parametrize("how", [dict(http=502), dict(cut=15), dict(reset=True), dict(http=200, body=b"<html>"),
                                 dict(http=200, body=b'{"ok":true,"result":{}}', kind="application/json"),
                                 dict(http=200, body=b'{"ok":true}', kind="application/json"),
                                 dict(error=(500, "Internal Server Error")), dict(flood=1)])
def test_a_failing_poll_is_repeated_with_growing_waits_and_loses_nothing(bot, echo, how):
    bot.fail("getUpdates", times=4, skip=1, **how)
    bot.run()
    bot.say("one")
    bot.wait_text("end one", seconds=60)
    bot.say("two")
    bot.wait_text("end two", seconds=60)
    failed = [c for c in bot.of("getUpdates") if c.fault]
    times = [c.arrived for c in failed]
    assert len(failed) == 4 and times[3] - times[2] > 0.3 and times[3] - times[0] > 1, times
    assert len(echo.requests) == 2


def test_another_instance_is_named_and_outlasted(bot, echo, gantry):
    conflict = bot.fail("getUpdates", times=None, skip=1, error=(
        409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"))
    d = bot.run()
    bot.say("one")
    d.err.wait("(?i)another (instance|program)")
    wait_until(lambda: "another instance" in gantry.run("status", *bot.args).out, "the other one in the status")
    bot.board.wait(lambda: conflict.hits >= 2, "another try")
    bot.heal()
    bot.wait_text("end one", seconds=60)
    bot.say("two")
    bot.wait_text("end two", seconds=60)
    assert d.running() and len(echo.requests) == 2


def test_a_token_revoked_in_flight_is_said_and_asked_for_once_a_minute(bot, echo, gantry):
    d = bot.run_clocked()
    bot.say("one")
    bot.wait_text("end one")
    refused = bot.fail("getUpdates", times=None, error=(401, "Unauthorized"))
    bot.say("two")
    d.err.wait("(?i)the token is not valid any more")
    wait_until(lambda: gantry.sql("select 1 from heartbeats where trouble <> ''"), "the trouble on record")
    status = gantry.run("status", *bot.args)
    assert status.out.startswith("degraded") and "401" in status.out and "token" in status.out
    assert gantry.run("status", "--json", *bot.args).out.startswith('{"status":"degraded"')
    hits = refused.hits
    bot.step(25)
    bot.step(90)
    bot.board.wait(lambda: refused.hits > hits, "another try")
    assert hits == 1 and d.running()
    bot.heal()
    bot.step(90)
    bot.wait_text("end two")
    wait_until(lambda: gantry.run("status", *bot.args).out.startswith("healthy"), "a healthy heartbeat")


def test_a_webhook_is_removed_without_losing_what_waits(bot, echo):
    bot.webhook = "https://hook.example/path"
    bot.say("waiting before the start")
    d = bot.run()
    bot.wait_text("end waiting", seconds=60)
    assert not [c for c in bot.of("deleteWebhook") if c.params.get("drop_pending_updates")]
    assert re.search("(?i)webhook", d.err.text) and len(bot.of("deleteWebhook")) == 1


def test_a_server_that_answers_at_once_is_not_hammered(bot, echo):
    bot.patient = False
    bot.run()
    first = bot.wait_calls("getUpdates", 4).arrived - bot.of("getUpdates")[0].arrived
    later = bot.wait_calls("getUpdates", 8).arrived - bot.of("getUpdates")[4].arrived
    assert first > 0.2 and later > 0.5, (first, later)
    bot.say("one")
    bot.wait_text("end one", seconds=30)


def test_updates_served_again_are_answered_once(bot, echo):
    bot.fail("getUpdates", cut=10_000_000, skip=1)
    bot.run()
    first = bot.say("one")
    bot.wait_text("end one")
    update = {"update_id": first.update + 1000, "message": first.json()}
    with bot.board.cond:
        bot.updates.append(update)
        bot.next_update = bot.tail = update["update_id"] + 1
    bot.changed()
    bot.say("two")
    bot.wait_text("end two")
    assert len(echo.requests) == 2


def test_ids_that_jump_back_are_followed(bot, echo):
    d = bot.run()
    bot.wait_confirmed(bot.say("one"))
    bot.jump_back()
    bot.say("two")
    bot.wait_text("end two")
    bot.wait_confirmed(bot.say("three"))
    bot.stop_gantry(d)
    bot.run()
    bot.say("four")
    bot.wait_text("end four")
    assert len(echo.requests) == 4


def test_another_bot_starts_with_a_cursor_of_its_own(bot, echo, gantry):
    d = bot.run()
    bot.wait_confirmed(bot.say("one"))
    bot.stop_gantry(d)
    other = "222222222:BBtest-T0ken_0123456789abcdefghijkl"
    gantry.secrets.add(other)
    bot.token, bot.me = other, dict(bot.me, id=222222222)
    bot.next_update = bot.tail = 363897059
    bot.run(TELEGRAM_BOT_TOKEN=other)
    bot.say("to the other bot")
    bot.board.wait(lambda: [c for c in bot.of("sendMessage") if "to the other bot" in c.text], "the answer")


def test_what_was_sent_while_away_is_answered_in_order(bot, echo):
    for n in range(5):
        bot.say("n%d" % n)
    bot.run()
    bot.wait_text("end n4")
    assert bot.seen() == ["end n%d" % n for n in range(5)]


def test_a_kill_while_the_model_thinks_gives_one_answer_and_runs_no_tool_twice(bot, model, mcp):
    mcp.add("srv", tools=["count"])
    gate = Gate()
    model.reply(calls=[call("srv__count", label="once")])
    model.reply("never", gate=gate)
    model.reply("after all")
    d = bot.run()
    bot.say("run the job")
    gate.wait_reached()
    d.kill()
    d.wait(20)
    gate.release()
    bot.run()
    bot.wait_text("after all")
    assert bot.seen() == ["after all"] and mcp.ledger_lines() == ["once"]


def test_shutdown_does_not_wait_for_the_poll(bot, echo):
    d = bot.run()
    bot.say("one")
    bot.wait_text("end one")
    bot.board.wait(lambda: bot.waiting, "a poll that waits")
    d.term()
    assert d.wait(5) in (0, 143)
