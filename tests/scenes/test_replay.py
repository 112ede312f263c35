"""A turn made again from the journal is the same, byte for byte, or the first difference is shown."""

import json
import sqlite3

from fakes.model import Reply, call

TURNS = 104


def decide(request):
    """Answers of every kind, by the number in what was said."""
    said = [m for m in request.messages if m["role"] == "user"][-1]["content"]
    after = request.messages[-1]["role"] == "tool"
    number = int(said.split()[1]) if said.startswith("turn ") else 0
    if after or number % 8 == 0:
        return Reply("answer %d \u00e9 \U0001f600 \"quoted\"" % number)
    if number % 8 == 1:
        return Reply(calls=[call("srv__echo", text="x" * 900), call("srv__echo", text="\u00fc\n\t")])
    if number % 8 == 2:
        return Reply("I look", calls=[call("no_such_tool", a=number)])
    if number % 8 == 3:
        return Reply("") if "[note:" not in said else Reply("after all")
    if number % 8 == 4:
        return Reply(reasoning="hm", text="thought")
    return Reply("plain %d" % number)


def replay(gantry, what="all", code=0, **more):
    return gantry.run("replay", what, "--json", code=code, **more).out


def test_a_hundred_turns_are_made_again_byte_for_byte(gantry, model, mcp):
    mcp.add("srv")
    model.answer(decide)
    gantry.set(GANTRY_AGENT_MAX_HISTORY_TOKENS="9000", GANTRY_AGENT_MAX_HISTORY_TURNS="30")
    half = TURNS // 2
    gantry.talk(*("turn %d please" % i for i in range(half)))
    # Another persona, other settings, a killed process between the two.
    (gantry.persona / "PERSONA.md").write_text("You are another one.\n", encoding="utf-8")
    gantry.talk(*("turn %d please" % i for i in range(half, TURNS)),
                LLM_MAX_TOKENS="777", GANTRY_AGENT_TEMPERATURE="0.3")
    seen = json.loads(replay(gantry))
    assert seen["turns"] >= TURNS
    assert seen["turns_same"] == seen["turns"], gantry.run("replay", "all", code=1).out
    assert seen["same"] == seen["requests"] > TURNS
    # Short forms, cuts and nudges were among them.
    rows = gantry.sql("SELECT sum(request LIKE '%\"thin\"%'), sum(params LIKE '%note:%'), "
                      "sum(request LIKE '%\"same\":0%') FROM model_calls")[0]
    assert all(rows), tuple(rows)


def test_a_changed_row_is_the_first_difference(gantry, model, mcp):
    mcp.add("srv")
    model.answer(decide)
    gantry.talk("turn 1 please", "turn 5 please")
    one = json.loads(replay(gantry, "last"))
    assert [r["compared"] for r in one["requests"]] == ["same"]

    def change(sql):
        con = sqlite3.connect(gantry.db_path)
        con.execute(sql)
        con.commit()
        con.close()

    change("UPDATE turn_messages SET wire = replace(wire, 'xxx', 'xxy') WHERE role = 'tool' AND idx = 1")
    out = gantry.run("replay", "last", code=1).out
    assert "message 3 of " in out and "(tool) is not what was sent; it is now:" in out and "xxy" in out
    assert "0 of 1 request is the same, byte for byte" in out
    change("UPDATE model_calls SET request = ''")
    out = gantry.run("replay", "last", code=1).out
    assert "kept no record of its requests" in out
    change("DELETE FROM turns")
    for what in "zz", "last":
        assert gantry.run("replay", what, code=1).err == gantry.run("trace", what, code=1).err
    assert "there is no turn yet" in gantry.run("replay", "last", code=1).err


def test_a_turn_that_was_killed_and_went_on_is_made_again(gantry, model, mcp):
    mcp.add("srv")
    model.reply("", calls=[call("srv__echo", text="first")])
    model.reply(status=200, text="half", close_after=40)
    first = gantry.daemon()
    first.send("work\n")
    model.wait(2)
    first.kill()
    first.wait()
    model.answer(lambda request: Reply("whole"))
    assert "whole" in gantry.talk().out
    seen = json.loads(replay(gantry, "last"))
    assert [r["compared"] for r in seen["requests"]] == ["same"] * len(seen["requests"])
    assert len(seen["requests"]) >= 2


# --- asked again of another model -----------------------------------------------------------------


def counts(gantry):
    return {table: gantry.sql("SELECT count(*) FROM %s" % table)[0][0]
            for table in ("sessions", "turns", "turn_messages", "tool_calls", "inbox", "outbox", "pieces")}


def then_now(gantry, model, mcp, answer, *args, code=0, **fork):
    """A turn of two tools and an answer; then the same asked of "other", which answers so."""
    mcp.add("srv")
    model.reply(calls=[call("srv__echo", text="one"), call("srv__add", a=1, b=2)])
    model.reply("It was one and three.")
    gantry.talk("look at both")
    before, ran = counts(gantry), len(mcp.calls())
    model.answer(answer)
    r = gantry.run("replay", "last", "--model", "other", *args, code=code, **fork)
    assert counts(gantry) == before and len(mcp.calls()) == ran, "a fork wrote something or ran a tool"
    return r


def asks_the_same(request):
    assert request.body["model"] == "other"
    if request.messages[-1]["role"] != "tool":
        # In another order, and with the members of an object in another order.
        return Reply(calls=[call("srv__add", b=2, a=1), call("srv__echo", text="one")])
    assert [m["content"] for m in request.messages if m["role"] == "tool"] == ["3", "one"]
    return Reply("Three, and one.")


def test_a_turn_is_asked_again_of_another_model_with_its_recorded_results(gantry, model, mcp):
    seen = json.loads(then_now(gantry, model, mcp, asks_the_same, "--json").out)
    assert (seen["end"], seen["model"], seen["model_then"]) == ("answered", "other", "test-model")
    assert seen["answer_then"] == "It was one and three." and seen["answer"] == "Three, and one."
    assert not seen["same_answer"] and seen["first_request"] == "same"
    assert [r["same_calls"] for r in seen["rounds"]] == [False, True]
    assert all(c["recorded"] for c in seen["rounds"][0]["now"]["calls"])
    then, now = model.requests[0].body, model.requests[2].body
    assert then["messages"] == now["messages"] and then["tools"] == now["tools"]
    assert seen["cost"] is None and seen["prompt_tokens"] > 0


def test_a_fork_is_counted_and_what_it_says_is_shown_beside_what_was(gantry, model, mcp):
    r = then_now(gantry, model, mcp, lambda q: Reply("No tools\x1b[31m needed."))
    out = r.out
    assert "round 1: other calls" in out and "then: call srv__echo" in out
    assert "\nthen:\nIt was one and three.\n" in out and "No tools" in out and "\x1b" not in out
    assert "1 request, " in out and "no price" in out
    assert gantry.sql("SELECT sum(model_calls) FROM usage")[0][0] == 3


def test_a_call_without_a_recorded_result_ends_the_fork(gantry, model, mcp):
    r = then_now(gantry, model, mcp, lambda q: Reply(calls=[call("srv__echo", text="two")]), "--json", code=1)
    seen = json.loads(r.out)
    assert seen["end"] == "unrecorded" and seen["answer"] == ""
    assert seen["rounds"][0]["now"]["calls"] == [
        {"name": "srv__echo", "arguments": '{"text": "two"}', "recorded": False}]


def test_a_model_that_asks_the_same_without_end_is_given_up(gantry, model, mcp):
    r = then_now(gantry, model, mcp, lambda q: Reply(calls=[call("srv__echo", text="one")]), code=1)
    assert "it was given up after 30 rounds" in r.out and len(model.requests) == 32


def test_a_fork_obeys_the_limits_of_spending(gantry, model, mcp):
    r = then_now(gantry, model, mcp, lambda q: Reply("never"), code=1, GANTRY_SPENDING_DAY_TOKENS="100")
    assert "spending.day_tokens" in r.err and "leaves no room" in r.err
    assert len(model.requests) == 2


def test_what_cannot_be_asked_again_is_said(gantry, model):
    assert "--model wants" in gantry.run("replay", "last", "--model", code=2).err
    assert "one turn at a time" in gantry.run("replay", "all", "--model", "x", code=2).err
    model.reply("Hello")
    gantry.talk("hi")
    model.reply(status=401, body={"error": {"message": "wrong key"}})
    r = gantry.run("replay", "last", "--model", "x", code=1)
    assert "wrong key" in r.err or "key" in r.err
    con = sqlite3.connect(gantry.db_path)
    con.execute("UPDATE model_calls SET request = ''")
    con.commit()
    con.close()
    assert "cannot be made" in gantry.run("replay", "last", "--model", "x", code=1).err
