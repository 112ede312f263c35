"""Limits on what is spent: held before each request, settled afterwards, refused in one message."""

from fakes.model import call
from harness.watch import Gate

DAY = "SELECT coalesce(sum(tokens), 0), coalesce(sum(est_tokens), 0) FROM spent WHERE scope LIKE 'day:%'"


def spent(gantry):
    return tuple(gantry.sql(DAY)[0])


def test_a_day_is_used_up_by_daemon_and_commands_together(gantry, model):
    gantry.set(GANTRY_SPENDING_DAY_TOKENS="40000", GANTRY_SPENDING_ANSWER_TOKENS="100")
    model.reply("one", usage={"prompt_tokens": 20000, "completion_tokens": 10, "total_tokens": 20010})
    assert "one" in gantry.talk("hi").out
    model.reply("two", usage={"prompt_tokens": 19900, "completion_tokens": 10, "total_tokens": 19910})
    assert "two" in gantry.run("prompt", "hi").out
    assert spent(gantry) == (39920, 0)
    assert gantry.sql("SELECT count(*) FROM spend_holds")[0][0] == 0
    n = len(model.requests)
    out = gantry.run("prompt", "more", code=1).out
    assert "The limit of 40000 tokens a day leaves no room" in out
    assert "39920 tokens used" in out and "raise spending.day_tokens" in out
    assert "no room" in gantry.talk("more").out
    assert len(model.requests) == n
    # Raised, it goes on.
    model.reply("three")
    assert "three" in gantry.run("prompt", "more", GANTRY_SPENDING_DAY_TOKENS="900000").out


def test_a_turn_ends_with_what_it_has(gantry, model, mcp):
    mcp.add("srv")
    gantry.set(GANTRY_SPENDING_TURN_TOKENS="30000", GANTRY_SPENDING_ANSWER_TOKENS="100")
    model.reply("I look", calls=[call("srv__echo", text="x")],
                usage={"prompt_tokens": 29900, "completion_tokens": 10, "total_tokens": 29910})
    out = gantry.talk("hi").out
    assert out.startswith("I look\n\n[The limit of 30000 tokens a turn leaves no room")
    assert "raise spending.turn_tokens.]" in out
    assert len(model.requests) == 1 and len(mcp.calls()) == 1
    assert gantry.sql("SELECT state FROM turns")[0][0] == "done"


def test_a_death_leaves_what_was_held_counted(gantry, model):
    gantry.set(GANTRY_SPENDING_DAY_TOKENS="100000", GANTRY_SPENDING_ANSWER_TOKENS="700")
    gate = Gate()
    model.reply("never", gate=gate)
    d = gantry.daemon()
    d.send("hi")
    gate.wait_reached()
    d.kill()
    d.wait()
    gate.release()
    held = gantry.sql("SELECT sum(tokens) FROM spend_holds")[0][0]
    assert held > 700 and spent(gantry) == (0, 0)
    model.reply("there", usage={"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55})
    assert "there" in gantry.talk().out
    assert spent(gantry) == (held + 55, held)
    assert gantry.sql("SELECT count(*) FROM spend_holds")[0][0] == 0


def test_a_scheduled_run_without_room_is_skipped_and_says_why(gantry, model):
    gantry.set(GANTRY_CRON_JOBS="[{name: early, schedule: '0 5 1 1 *', prompt: look, session: ephemeral, timeout: 1m}]",
               GANTRY_SPENDING_JOB_TOKENS="50")
    d = gantry.daemon()
    d.err.wait('"msg":"ready"')
    gantry.run("cron", "run", "early")
    d.err.wait('"msg":"job.done"', 60)
    d.term()
    d.wait()
    assert [tuple(r) for r in gantry.sql("SELECT state, reason FROM job_runs")] == [("skipped", "spending.job_tokens")]
    assert model.requests == [] and d.out.text == ""


def test_a_limit_in_money_without_a_price_is_a_fault_of_the_configuration(gantry, model):
    gantry.set(GANTRY_SPENDING_DAY_MONEY="1.50")
    r = gantry.run("run", code=1, input="")
    assert "is a limit in money, and models.prices has no price of test-model" in r.err
    gantry.set(GANTRY_MODELS_PRICES="[{model: 'test-*', input: 1000, output: 1000}]")
    model.reply("dear", usage={"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000})
    assert "dear" not in gantry.talk("hi").out             # 4096 tokens of an answer are held
    assert "dear" in gantry.talk("hi", GANTRY_SPENDING_ANSWER_TOKENS="10").out
    assert "of 1.50 USD, 0.500000 USD left" in gantry.talk("/status").out
