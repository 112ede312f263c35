"""Limits on what is spent: held before each request, settled afterwards, refused in one message."""

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
